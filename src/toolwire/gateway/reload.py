"""A configuration that is read again while the gateway runs: on SIGHUP, and when its files change.

What is under way ends as it began; no connection is dropped. A file that is wrong never replaces
one that works: what is wrong is logged. Where the server listens does not change before it is
started anew.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from toolwire.errors import ConfigError
from toolwire.gateway.app import Gateway
from toolwire.gateway.config import DEMO, Config, ModelTable, ToolsRow, found_in, read
from toolwire.gateway.keys import KeyRow, Keys, read_keys
from toolwire.gateway.tools import GatewayTools

EVERY = 1.0
"""Seconds between two looks at the files."""
_log = logging.getLogger("toolwire.gateway")


class LoadedConfig(Struct, frozen=True):
    """A configuration that can be used."""

    models: ModelTable
    keys: list[KeyRow] | None = None
    """None if nobody is asked for one."""
    files: tuple[Path, ...] = ()
    """What it was read from."""


class ConfigSource(Struct, frozen=True, kw_only=True):
    """Where a configuration comes from: a file, or the environment; and what the command line says
    on top of it."""

    env: Mapping[str, str]
    demo: Callable[[], str]
    """The address of the offline model; asked for only if it is needed."""
    file: Path | None = None
    keys: Path | None = None
    tools: tuple[str, ...] = ()

    def load(self) -> LoadedConfig:
        """The configuration as it is now. Raises ConfigError that lists everything that
        is wrong.
        """
        config = self._config()
        if self.tools:
            config = replace(
                config, tools=replace(config.tools, sources=(*config.tools.sources, *self.tools))
            )
        folder = self.file.parent if self.file is not None else Path()
        mistakes: list[str] = []
        models: ModelTable | None = None
        try:
            demo = (
                self.demo()
                if any(row.upstream.partition(":")[0] == DEMO for row in config.models.values())
                else None
            )
            models = ModelTable(config, self.env, demo=demo, folder=folder)
        except ConfigError as error:
            mistakes += [
                f"{self.file}: {one}" if self.file is not None else one for one in error.mistakes
            ]
        if self.file is not None and not config.models:
            mistakes.append(
                f'{self.file}: there are no models; write [models."claude-*"] and upstream ='
                ' "anthropic", say'
            )
        kept = self.keys or (folder / config.keys.file if config.keys.file is not None else None)
        rows: list[KeyRow] | None = None
        try:
            rows = read_keys(kept) if kept is not None else None
        except ConfigError as error:
            mistakes += error.mistakes
        if mistakes or models is None:
            raise ConfigError(*mistakes)
        held = [folder / row.key_file for row in config.models.values() if row.key_file is not None]
        return LoadedConfig(
            models, rows, tuple(one for one in (self.file, kept, *held) if one is not None)
        )

    def _config(self) -> Config:
        if self.file is None:
            return found_in(self.env)
        try:
            text = self.file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = (
                (error.strerror or str(error)).lower()
                if isinstance(error, OSError)
                else "not a text"
            )
            raise ConfigError(f"{self.file}: {why}") from None
        return read(text, str(self.file))


class Reloader:
    """Keeps a gateway at what its files say."""

    def __init__(
        self,
        source: ConfigSource,
        first: LoadedConfig,
        *,
        tools: Callable[[ToolsRow], GatewayTools | None] = lambda row: None,
        hide: Callable[[list[str]], None] = lambda values: None,
        every: float = EVERY,
    ) -> None:
        self._source = source
        self._tools = tools
        self._hide = hide
        self._every = every
        self._loaded = first
        self._marks = _marks(first.files)
        self._task: asyncio.Task[None] | None = None
        self._old: set[asyncio.Task[None]] = set()
        self._now = asyncio.Event()
        self.gateway: Gateway | None = None
        hide(first.models.secrets())

    async def open(self) -> None:
        """Look at the files from now on."""
        loop = asyncio.get_running_loop()
        self._now = asyncio.Event()
        self._task = loop.create_task(self._look())
        with suppress(
            ValueError, RuntimeError, NotImplementedError
        ):  # only the main thread gets signals
            loop.add_signal_handler(signal.SIGHUP, self._now.set)

    async def close(self) -> None:
        """Look no longer."""
        with suppress(ValueError, RuntimeError, NotImplementedError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
        for task in (*([self._task] if self._task is not None else []), *self._old):
            task.cancel()
            await asyncio.wait([task])

    async def _look(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), self._every)
            marks = _marks(self._loaded.files)
            if self._now.is_set() or marks != self._marks:
                self._now.clear()
                self._marks = marks
                await self.again()

    async def again(self) -> bool:
        """Read it again; whether it is used."""
        gateway = self.gateway
        assert gateway is not None
        try:
            new = self._source.load()
            await self._use(gateway, new)
        except ConfigError as error:
            gateway.watch.counts.add("reloads_total", "no")
            for line in error.mistakes:
                _log.error("the configuration stays as it was: %s", line)
            return False
        gateway.watch.counts.add("reloads_total", "yes")
        _log.info("the configuration was read again: %d models", len(new.models.config.models))
        return True

    async def _use(self, gateway: Gateway, new: LoadedConfig) -> None:
        if self._loaded.keys is not None and new.keys is None:
            raise ConfigError("keys cannot be done without while it runs; start it anew")
        before, after = self._loaded.models.config, new.models.config
        own = gateway.own
        if before.tools != after.tools:
            own = self._tools(after.tools)
            try:
                if own is not None:
                    await own.open()
            except Exception as error:
                raise ConfigError(f"[tools] {type(error).__name__}: {error}") from None
        if new.keys is not None:
            if isinstance(gateway.auth, Keys):
                gateway.auth.use(new.keys)
            else:
                gateway.auth = Keys(new.keys)
        self._hide(new.models.secrets())
        gateway.use(new.models)
        if own is not gateway.own:
            old, gateway.own = gateway.own, own
            if old is not None:
                task = asyncio.get_running_loop().create_task(old.close())
                self._old.add(task)
                task.add_done_callback(self._old.discard)
        self._loaded = new
        self._marks = _marks(new.files)
        kept = ("host", "port", "names", "body_mb")
        if any(getattr(before.server, one) != getattr(after.server, one) for one in kept):
            _log.warning("[server] %s count when it is started anew", ", ".join(kept))


def _marks(files: tuple[Path, ...]) -> list[tuple[int, int, int] | None]:
    """What tells that a file is another one."""
    out: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            found = file.stat()
        except OSError:
            out.append(None)
        else:
            out.append((found.st_mtime_ns, found.st_size, found.st_ino))
    return out
