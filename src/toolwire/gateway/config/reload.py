"""Read the configuration again while the gateway runs: on SIGHUP, and when its files change.

Requests in progress end with the configuration they started with, and no connection is dropped. A
configuration with mistakes is logged and not applied.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from toolwire.errors import ConfigError
from toolwire.gateway.config.files import ConfigSource, LoadedConfig
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.schema import ToolsConfig
from toolwire.gateway.keys import KeyConfig
from toolwire.gateway.observe.metrics import GatewayMetrics
from toolwire.gateway.tools.gateway_tools import GatewayTools

CHECK_SECONDS = 1.0
"""Seconds between two checks of the files."""
_FIXED_SETTINGS = ("host", "port", "allowed_hosts", "cors_origins", "max_body_mb", "worker_timeout")
"""Settings of the server that a restart applies."""
_log = logging.getLogger("toolwire.gateway")


class ReloadableGateway(Protocol):
    """A gateway that can use another configuration."""

    @property
    def tools(self) -> GatewayTools | None: ...
    @property
    def metrics(self) -> GatewayMetrics: ...
    def use_models(self, models: ModelTable) -> None: ...
    def use_keys(self, keys: Sequence[KeyConfig]) -> None: ...
    def use_tools(self, tools: GatewayTools | None) -> GatewayTools | None: ...


class Reloader:
    """Applies changes of the configuration files to a gateway."""

    def __init__(
        self,
        source: ConfigSource,
        first: LoadedConfig,
        *,
        open_tools: Callable[[ToolsConfig], GatewayTools | None] = lambda config: None,
        hide_secrets: Callable[[list[str]], None] = lambda secrets: None,
    ) -> None:
        """Prepare the reloader; `gateway` has to be set before it is opened."""
        self._source = source
        self._open_tools = open_tools
        self._hide_secrets = hide_secrets
        self._loaded = first
        self._stamps = _stamps(first.files)
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._requested = asyncio.Event()
        self.gateway: ReloadableGateway | None = None
        hide_secrets(first.models.secrets())

    async def open(self) -> None:
        """Watch the files from now on."""
        loop = asyncio.get_running_loop()
        self._requested = asyncio.Event()
        self._task = loop.create_task(self._watch())
        with suppress(ValueError, RuntimeError, NotImplementedError):  # not the main thread
            loop.add_signal_handler(signal.SIGHUP, self._requested.set)

    async def close(self) -> None:
        """Stop watching the files."""
        with suppress(ValueError, RuntimeError, NotImplementedError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
        for task in (*([self._task] if self._task is not None else []), *self._closing):
            task.cancel()
            await asyncio.wait([task])

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), CHECK_SECONDS)
            stamps = _stamps(self._loaded.files)
            if self._requested.is_set() or stamps != self._stamps:
                self._requested.clear()
                self._stamps = stamps
                await self.reload()

    async def reload(self) -> bool:
        """Read the configuration again; True if it is applied."""
        gateway = self.gateway
        assert gateway is not None
        try:
            loaded = self._source.load()
            await self._apply(gateway, loaded)
        except ConfigError as error:
            gateway.metrics.add("reloads_total", "rejected")
            for mistake in error.mistakes:
                _log.error("the configuration is not applied: %s", mistake)
            return False
        gateway.metrics.add("reloads_total", "applied")
        _log.info("the configuration is reloaded: %d models", len(loaded.models.config.models))
        return True

    async def _apply(self, gateway: ReloadableGateway, loaded: LoadedConfig) -> None:
        if self._loaded.keys is not None and loaded.keys is None:
            raise ConfigError("keys cannot be removed while the gateway runs; restart it")
        previous, current = self._loaded.models.config, loaded.models.config
        tools = gateway.tools
        if previous.tools != current.tools:
            tools = self._open_tools(current.tools)
            try:
                if tools is not None:
                    await tools.open(gateway.tools)
            except Exception as error:  # whatever a tool server raises keeps the old tools
                raise ConfigError(f"[tools] {type(error).__name__}: {error}") from None
        if loaded.keys is not None:
            gateway.use_keys(loaded.keys)
        self._hide_secrets(loaded.models.secrets())
        gateway.use_models(loaded.models)
        if tools is not gateway.tools:
            old = gateway.use_tools(tools)
            if old is not None:
                task = asyncio.get_running_loop().create_task(old.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        self._loaded = loaded
        self._stamps = _stamps(loaded.files)
        changed = [
            name
            for name in _FIXED_SETTINGS
            if getattr(previous.server, name) != getattr(current.server, name)
        ]
        for table in ("usage", "responses"):
            if getattr(previous, table) != getattr(current, table):
                _log.warning("[%s]: restart the gateway to apply it", table)
        if changed:
            _log.warning("[server] %s: restart the gateway to apply it", ", ".join(changed))


def _stamps(files: tuple[Path, ...]) -> list[tuple[int, int, int] | None]:
    """Values that differ if a file was changed or replaced."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return stamps
