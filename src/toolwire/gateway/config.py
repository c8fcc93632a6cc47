"""Which models a gateway has, and how each is reached: a TOML file, or the keys that are in the
environment.

    [models."claude-*"] upstream = "anthropic"

    [models.fast] upstream = "groq" model = "llama-4" fallbacks = ["claude-haiku"]

Every mistake is told at once, each with its place in the file and what to do. Opens no connection.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import FieldInfo, fields

from toolwire.conversation.model import Setting
from toolwire.errors import ConfigError, UsageError
from toolwire.profiles.table import PROFILES
from toolwire.providers.endpoints import ModelEndpoint, find_endpoint
from toolwire.providers.http.policy import TIMEOUTS, Timeouts
from toolwire.providers.table import BY_NAME, PROVIDERS

DEMO = "demo"
_FOLDERS = "/*"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class ModelRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[models.NAME]`, one for each name that clients may use. A name may be a pattern with `*`;
    the longest that fits counts."""

    upstream: str
    """Whose model it is: a provider or profile as `toolwire wires` lists them, or `demo`, or
    `demo:` and a provider."""
    model: str | None = None
    """What the provider calls it. Without it, the name that the client used; of `groq/*` what
    stands behind the slash."""
    base_url: str | None = None
    """Another address than the provider's usual one."""
    key_env: str | None = None
    """The variable of the environment that holds the key. Without it, the one that the provider's
    own tools use."""
    key_file: str | None = None
    """A file that holds the key, and nothing else. Relative to this file."""
    fallbacks: tuple[str, ...] = ()
    """Models that are tried, in this order, if this one gives no answer; only before the first
    byte."""
    connect: float = TIMEOUTS.connect
    """Seconds until a connection must stand."""
    timeout: float = TIMEOUTS.idle
    """Seconds without a byte after which an answer has broken off."""
    concurrency: int | None = None
    """Requests at once, in one process; the next ones wait."""
    headers: tuple[str, ...] = ()
    """Header fields of the client that are passed on, such as `anthropic-beta`."""
    settings: dict[str, str | int | float | bool | list[str]] = field(default_factory=dict)
    """Settings that count whatever the client says, such as `temperature`."""


class ToolsRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[tools]`: tools that are offered to every model and run by the gateway."""

    sources: tuple[str, ...] = ()
    """Python files and packages, OXP servers (`http://…`), MCP servers (`mcp+http://…`,
    `mcp:COMMAND`)."""
    ledger: str = "memory:"
    """Where calls are recorded: `sqlite:///FILE` or `postgresql://…`. `memory:` is that of one
    process."""
    turns: int = 20
    """Answers of the model to one request, at most."""
    parallel: int = 8
    """Calls at once, of one request."""
    seconds: float = 300.0
    """How long a call may take."""
    again: float = 600.0
    """A request that is sent again within so many seconds runs nothing again."""
    show: Literal["text", "none"] = "text"
    """What a client sees of these calls where its wire has no form for them."""
    secrets: tuple[str, ...] = ()
    """Variables of the environment that the tools may be given."""


class ServerRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[server]`."""

    host: str = "127.0.0.1"
    """Where to listen. Beyond this machine only with keys."""
    port: int = 8080
    """0 is any free one."""
    strict: bool = False
    """Refuse a history that would have to be repaired."""
    default: str | None = None
    """The model for requests that name none."""
    body_mb: float = 32.0
    """The largest request."""
    names: tuple[str, ...] = ()
    """Names under which this server is asked for, besides those of this machine; `*` is any."""
    log: Literal["text", "json"] = "text"
    """How a line of the log looks: there is one for each request."""


class KeysRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[keys]`: who may ask."""

    file: str | None = None
    """A file with virtual keys (`.toml`, `.jsonl`, `.db`), as `--new-key` writes it. Relative to
    this file."""


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole configuration file."""

    server: ServerRow = ServerRow()
    models: dict[str, ModelRow] = field(default_factory=dict)
    tools: ToolsRow = ToolsRow()
    keys: KeysRow = KeysRow()


TABLES: dict[str, type[ServerRow] | type[ToolsRow] | type[KeysRow]] = {
    "server": ServerRow,
    "tools": ToolsRow,
    "keys": KeysRow,
}
MODELS = "models"


class ModelTarget(Struct, frozen=True, kw_only=True):
    """A model that a request can go to."""

    name: str
    row: ModelRow
    address: ModelEndpoint
    waits: Timeouts
    settings: dict[str, Setting] = {}


# --- reading --------------------------------------------------------------------------------------


def read(text: str, where: str = "the configuration") -> Config:
    """The configuration in a text. Raises ConfigError that lists everything that is wrong with
    its form."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    reading = _ConfigReader(where, text)
    config = reading.config(given)
    if reading.mistakes:
        raise ConfigError(*reading.mistakes)
    return config


class _ConfigReader:
    """One file being read, with all that is wrong with it."""

    def __init__(self, where: str, text: str) -> None:
        self._where = where
        self._lines = text.splitlines()
        self.mistakes: list[str] = []

    def config(self, given: Mapping[str, object]) -> Config:
        made: dict[str, object] = {}
        for name, value in given.items():
            if name == MODELS and isinstance(value, dict):
                rows = {
                    key: self._row(ModelRow, f"models.{_written(key)}", one)
                    for key, one in value.items()
                }
                made[name] = {key: row for key, row in rows.items() if row is not None}
            elif name in TABLES and isinstance(value, dict):
                row = self._row(TABLES[name], name, value)
                made |= {name: row} if row is not None else {}
            elif name in TABLES or name == MODELS:
                self._say(
                    name,
                    "",
                    (
                        "expected a table, as in [models.fast]"
                        if name == MODELS
                        else f"expected a table: [{name}]"
                    ),
                )
            else:
                self._say("", name, f"no such table{_near(name, [*TABLES, MODELS])}")
        return Config(**made)  # type: ignore[arg-type]

    def _row(self, kind: type[Struct], table: str, value: object) -> Struct | None:
        if not isinstance(value, dict):
            self._say(
                table,
                "",
                "expected a table with"
                f" {', '.join(one.name for one in fields(kind) if one.required)}",
            )
            return None
        known: dict[str, FieldInfo] = {one.name: one for one in fields(kind)}
        made: dict[str, object] = {}
        for key, one in value.items():
            if key not in known:
                self._say(table, key, f"no such key{_near(key, list(known))}")
                continue
            try:
                made[key] = convert(one, known[key].type)
            except ValidationError as error:
                self._say(table, key, _plain(str(error)))
        lacks = [name for name, one in known.items() if one.required and name not in value]
        for name in lacks:
            self._say(table, name, f"is missing{_HINTS.get(name, '')}")
        return None if lacks or len(made) < len(value) else kind(**made)

    def _say(self, table: str, key: str, what: str) -> None:
        line = self._line(table, key)
        at = f"{self._where}:{line}" if line else self._where
        place = " ".join(word for word in (f"[{table}]" if table else "", key) if word)
        self.mistakes.append(f"{at}: {place}: {what}")

    def _line(self, table: str, key: str) -> int | None:
        """Where it stands, as far as a look at the lines can tell."""
        inside = not table
        found: int | None = None
        for n, line in enumerate(self._lines, 1):
            bare = line.strip()
            if bare.startswith("["):
                head = bare.strip("[] ").replace("'", '"').replace(" ", "")
                inside = head in (table.replace(" ", ""), key)
                found = n if inside and found is None else found
            elif inside and key and re.match(rf"[\"']?{re.escape(key)}[\"']?\s*=", bare):
                return n
        return found


_HINTS = {"upstream": ': whose model is it? As in upstream = "anthropic"'}


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1, 0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(known)}" if known else ""


def _plain(text: str) -> str:
    """What the converter says, in the words of a file."""
    for before, after in (
        ("`str`", "a text"),
        ("`int`", "a whole number"),
        ("`float`", "a number"),
        ("`bool`", "true or false"),
        ("`array`", "a list"),
        ("`object`", "a table"),
        (" | null", ""),
        ("Expected", "expected"),
    ):
        text = text.replace(before, after)
    return text


def _written(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE.fullmatch(name) else f'"{name}"'


# --- models ---------------------------------------------------------------------------------------


class ModelTable:
    """The models of a configuration, by what clients call them."""

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        *,
        demo: str | None = None,
        folder: Path | None = None,
    ) -> None:
        """`demo` is the address of the offline model, `folder` the one that files are relative to.

        Raises ConfigError that lists everything that is wrong.
        """
        self.config = config
        self._env = env
        self._demo = demo
        self._folder = folder or Path()
        self._known: dict[str, list[ModelTarget]] = {}
        mistakes: list[str] = []
        for name, row in config.models.items():
            mistakes += self._wrong(name, row)
        if config.server.default is not None and not self._rows(config.server.default):
            mistakes.append(
                "[server] default: no such model:"
                f" {config.server.default}{_near(config.server.default, self.names())}"
            )
        mistakes += _misfits(config)
        if mistakes:
            raise ConfigError(*mistakes)

    def names(self) -> list[str]:
        """The names that are listed: those without a pattern."""
        return sorted(name for name in self.config.models if "*" not in name)

    def secrets(self) -> list[str]:
        """The keys of all upstreams: what must not be told."""
        rows = self.config.models.items()
        return [
            one
            for name, row in rows
            for one in self._target(name.replace("*", "x"), name, row).address.secrets()
        ]

    def find(self, name: str | None) -> list[ModelTarget]:
        """Where a request for a model goes, the first one first; none if there is no such model."""
        wanted = name or self.config.server.default
        if not wanted:
            return []
        if wanted not in self._known:
            found = self._targets(wanted, set())
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[wanted] = found
        return self._known[wanted]

    def _rows(self, name: str) -> tuple[str, ModelRow] | None:
        exact = self.config.models.get(name)
        if exact is not None:
            return name, exact
        rows = self.config.models.items()
        # of `groq/` alone nothing would be left to ask the provider for
        fits = [
            key
            for key, row in rows
            if "*" in key and fnmatchcase(name, key) and (row.model or _own_name(name, key))
        ]
        best = max(fits, key=len, default=None)
        return None if best is None else (best, self.config.models[best])

    def _targets(self, name: str, seen: set[str]) -> list[ModelTarget]:
        found = self._rows(name)
        if found is None or found[0] in seen:
            return []
        seen.add(found[0])
        out = [self._target(name, *found)]
        for fallback in found[1].fallbacks:
            out += self._targets(fallback, seen)
        return out

    def _target(self, name: str, pattern: str, row: ModelRow) -> ModelTarget:
        settings: dict[str, Setting] = {}
        for key, value in row.settings.items():
            settings[key] = [*value] if isinstance(value, list) else value
        where = self._address(row.model or _own_name(name, pattern), row)
        return ModelTarget(
            name=name,
            row=row,
            address=where,
            waits=Timeouts(row.connect, row.timeout),
            settings=settings,
        )

    def _address(self, model: str, row: ModelRow) -> ModelEndpoint:
        if row.upstream == DEMO or row.upstream.startswith(f"{DEMO}:"):
            spoken = row.upstream.partition(":")[2] or "openai"
            if spoken not in BY_NAME:
                raise UsageError(
                    f"upstream: there is no demo of {spoken}{_near(spoken, list(BY_NAME))}"
                )
            if self._demo is None:
                raise UsageError("upstream: the offline model is not served here")
            return find_endpoint(
                f"{spoken}:{model}",
                {},
                base_url=f"{self._demo}/{spoken}{below(spoken)}",
                api_key=DEMO,
            )
        if row.upstream not in BY_NAME and row.upstream not in PROFILES:
            raise UsageError(
                "upstream: no such provider:"
                f" {row.upstream}{_near(row.upstream, [*BY_NAME, *PROFILES, DEMO])}"
            )
        return find_endpoint(
            f"{row.upstream}:{model}", self._env, base_url=row.base_url, api_key=self._key(row)
        )

    def _key(self, row: ModelRow) -> str | None:
        if row.key_env is not None:
            key = self._env.get(row.key_env)
            if not key:
                raise UsageError(f"key_env: {row.key_env} is not set in the environment")
            return key
        if row.key_file is None:
            return None
        try:
            key = (self._folder / row.key_file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a text"
            raise UsageError(f"key_file: {row.key_file}: {str(why).lower()}") from None
        if not key or len(key.split()) > 1:
            raise UsageError(f"key_file: {row.key_file}: expected one key and nothing else")
        return key

    def _wrong(self, name: str, row: ModelRow) -> list[str]:
        out: list[str] = []
        try:
            self._address(row.model or _own_name(name.replace("*", "x"), name), row)
        except UsageError as error:
            why = error.why.partition(": ")
            out.append(why[2] if ":" in why[0] and why[2] else error.why)
        if row.key_env is not None and row.key_file is not None:
            out.append("key_file: there is a key_env too; one of them is enough")
        url = row.base_url
        if url is not None and not url.startswith(("http://", "https://")):
            scheme, found, _ = url.partition("://")  # without one it may begin with a password
            out.append(
                f"base_url: expected http:// or https://{f', got {scheme}' if found else ''}"
            )
        for one in row.fallbacks:
            if self._rows(one) is None:
                out.append(
                    "fallbacks: no such model:"
                    f" {one}{_near(one, self.names()) if self.names() else ''}"
                )
            elif one == name:
                out.append(f"fallbacks: {one} cannot stand in for itself")
        if row.concurrency is not None and row.concurrency < 1:
            out.append(f"concurrency: expected a number above zero, got {row.concurrency}")
        for key, value in (("connect", row.connect), ("timeout", row.timeout)):
            if value <= 0:
                out.append(f"{key}: expected seconds, got {value:g}")
        kept = {one.lower() for one in row.headers}
        out += [
            f"headers: {one} is the gateway's own and is never passed on"
            for one in sorted(kept & _NEVER)
        ]
        out += [
            f"headers: {one} is between the client and the gateway and is never passed on"
            for one in sorted(kept & _HOP)
        ]
        return [f"[models.{_written(name)}] {one}" for one in out]


_NEVER = {
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "host",
    "cookie",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
}
"""Who the gateway is for a server, and what it says of a body that it wrote itself."""
_HOP = {
    "connection",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
}
"""What says something of one connection only."""


def _misfits(config: Config) -> list[str]:
    """What is wrong with numbers outside the models."""
    server, tools = config.server, config.tools
    some = "more than 0"
    checks = (
        ("[server] port", 0 <= server.port < 65536, "0 to 65535"),
        ("[server] body_mb", server.body_mb > 0, some),
        ("[tools] turns", tools.turns > 0, some),
        ("[tools] parallel", tools.parallel > 0, some),
        ("[tools] seconds", tools.seconds > 0, some),
        ("[tools] again", tools.again >= 0, "seconds"),
    )
    return [f"{place}: expected {wanted}" for place, good, wanted in checks if not good]


def _own_name(name: str, pattern: str) -> str:
    """What the provider calls a model: of `groq/*` what stands behind the slash."""
    return name.removeprefix(pattern[:-1]) if pattern.endswith(_FOLDERS) else name


def below(spoken: str) -> str:
    """What an address of a provider ends with before its path."""
    row = BY_NAME[spoken]
    return "/v1" if row.base_url.endswith("/v1") or row.path == "/chat/completions" else ""


def found_in(env: Mapping[str, str]) -> Config:
    """Models for the keys that are in the environment: any model of a provider by `provider/model`;
    if none, the demo."""
    models: dict[str, ModelRow] = {}
    for row in PROVIDERS:
        if (
            row.base_url
            and row.key_envs
            and not row.keyless
            and any(env.get(key) for key in row.key_envs)
        ):
            models[f"{row.name}{_FOLDERS}"] = ModelRow(upstream=row.name)
    models |= {
        pattern: ModelRow(upstream=name)
        for pattern, name in _USUAL.items()
        if f"{name}{_FOLDERS}" in models
    }
    alone = not models
    models[DEMO] = ModelRow(upstream=DEMO)
    if alone:  # so that what any example asks for is answered
        models["*"] = ModelRow(upstream=DEMO)
    return Config(models=models, server=ServerRow(default=DEMO if alone else None))


_USUAL = {
    "gpt-*": "openai",
    "o3*": "openai",
    "o4*": "openai",
    "claude-*": "anthropic",
    "gemini-*": "gemini",
    "mistral-*": "mistral",
    "command-*": "cohere",
    "grok-*": "xai",
    "deepseek-*": "deepseek",
    "kimi-*": "kimi",
}
"""What models are usually called, and whose they are."""
