"""Load a configuration and its keys from files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import which

from msgspec import Struct
from msgspec.structs import replace

from toolwire.errors import ConfigError, describe_os_error
from toolwire.gateway.config.checks import check_address, find_mistakes
from toolwire.gateway.config.environment import config_from_environment
from toolwire.gateway.config.mistakes import Mistake, SourceLines, table_name
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import parse_config
from toolwire.gateway.config.schema import Config, is_demo
from toolwire.gateway.key_files import read_keys
from toolwire.gateway.keys import KeyConfig

_PROGRAM = "mcp:"
_SERVERS = ("http://", "https://", "mcp+http://", "mcp+https://")


class LoadedConfig(Struct, frozen=True):
    """A configuration that can be used."""

    models: ModelTable
    keys: list[KeyConfig] | None = None
    """The virtual keys; None if clients need none."""
    files: tuple[Path, ...] = ()
    """The files that it was read from."""


class ConfigSource(Struct, frozen=True, kw_only=True):
    """The file or environment of a configuration, and the additions of the command line."""

    env: Mapping[str, str]
    demo_url: Callable[[], str]
    """The address of the mock in this process; called only if a model uses it."""
    file: Path | None = None
    keys: Path | None = None
    tools: tuple[str, ...] = ()

    def load(self) -> LoadedConfig:
        """The configuration as it is now.

        Raises:
            ConfigError: lists everything that is wrong, with files and lines.
        """
        config, mistakes, lines = self._read()
        if self.tools:
            sources = (*config.tools.sources, *self.tools)
            config = replace(config, tools=replace(config.tools, sources=sources))
        folder = self.file.parent if self.file is not None else Path()
        demo_url = None
        if any(is_demo(model.upstream) for model in config.models.values()):
            demo_url = self.demo_url()

        def read_file(name: str) -> str:
            return (folder / name).read_text()

        models = ModelTable(config, self.env, demo_url=demo_url, read_file=read_file, check=False)
        reported = {(mistake.table, mistake.key) for mistake in mistakes}
        others = [*find_mistakes(config, models), *_missing_tools(config, self.env)]
        others += _missing_variables(config, self.env)
        mistakes += [other for other in others if (other.table, other.key) not in reported]
        if self.file is not None and not config.models and not mistakes:
            example = '[models."claude-*"] with upstream = "anthropic"'
            mistakes.append(Mistake("", "", f"there are no models; add a table, such as {example}"))
        key_file = self.keys
        if key_file is None and config.keys.file is not None:
            key_file = folder / config.keys.file
            if not key_file.exists():
                mistakes.append(Mistake("keys", "file", f"{config.keys.file}: no such file"))
                key_file = None
        described = lines.describe(mistakes) if lines is not None else list(map(str, mistakes))
        keys: list[KeyConfig] | None = None
        try:
            keys = read_keys(key_file) if key_file is not None else None
        except ConfigError as error:
            described += error.mistakes
        described += _missing_for_budgets(config, key_file, keys or [])
        if described:
            raise ConfigError(*described)
        key_files = [model.key_file for model in config.models.values()]
        secret_files = [folder / name for name in key_files if name is not None]
        files = (self.file, key_file, *secret_files)
        return LoadedConfig(models, keys, tuple(file for file in files if file is not None))

    def _read(self) -> tuple[Config, list[Mistake], SourceLines | None]:
        if self.file is None:
            return config_from_environment(self.env), [], None
        try:
            text = self.file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            reason = "not text"
            if isinstance(error, OSError):
                reason = describe_os_error(error)
            raise ConfigError(f"{self.file}: {reason}") from None
        config, mistakes = parse_config(text, str(self.file))
        return config, mistakes, SourceLines(str(self.file), text)


def _missing_tools(config: Config, env: Mapping[str, str]) -> list[Mistake]:
    """Tool files and commands of the configuration that do not exist, and invalid addresses."""
    mistakes: list[Mistake] = []
    for source in config.tools.sources:
        shown, reason = source, ""
        if source.startswith(_PROGRAM):
            reason = _program_mistake(source.removeprefix(_PROGRAM), env)
        elif source.startswith(_SERVERS):
            shown = f"{source.partition('://')[0]}://…"  # the rest may hold a password
            reason = check_address(source.removeprefix("mcp+")) or ""
        elif source.endswith(".py") and not Path(source).is_file():
            reason = "no such file"
        if reason:
            mistakes.append(Mistake("tools", "sources", f"{shown}: {reason}"))
    return mistakes


def _program_mistake(command: str, env: Mapping[str, str]) -> str:
    """Why a command cannot be started; empty if it can."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return str(error).lower()
    if not words:
        return "name a command, as in mcp:uvx some-server"
    return "" if which(words[0], path=env.get("PATH")) else f"no such command: {words[0]}"


def _missing_variables(config: Config, env: Mapping[str, str]) -> list[Mistake]:
    """Credentials of tool servers that the environment does not have."""
    return [
        Mistake(
            f"tools.{table_name('servers', source)}",
            key,
            f"the environment variable {variable} is not set",
        )
        for source, server in config.tools.servers.items()
        for key, variable in (("key_env", server.key_env), ("token_env", server.token_env))
        if variable is not None and not env.get(variable)
    ]


def _missing_for_budgets(config: Config, file: Path | None, keys: list[KeyConfig]) -> list[str]:
    """Tables that the budgets of keys need and the configuration lacks."""
    with_budget = [
        key.name
        for key in keys
        if key.budget_per_day is not None or key.budget_per_month is not None
    ]
    if not with_budget:
        return []
    missing = [] if config.usage.store is not None else ["[usage] store"]
    missing += [] if config.prices else ["[prices.MODEL]"]
    return [f"{file}: {with_budget[0]}: a budget needs {need}" for need in missing]
