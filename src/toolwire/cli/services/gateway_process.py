"""Build a gateway from the options of the command line.

Each worker process builds its own gateway from the same options.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from toolwire.cli.output.log_format import PrintableFormatter, format_logs
from toolwire.cli.services.ledger_url import open_ledger
from toolwire.cli.services.tool_sources import ServerCredentials, load_all_tools

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from toolwire.gateway.app import Gateway, Service
    from toolwire.gateway.config.files import ConfigSource, LoadedConfig
    from toolwire.gateway.config.schema import Config, ToolsConfig
    from toolwire.gateway.tools.gateway_tools import GatewayTools
    from toolwire.tools.registry import Tools

UNUSED_URL = "http://127.0.0.1:1"
"""The address of the offline model while a configuration is only checked."""


class GatewayOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    file: Path | None
    keys: Path | None
    tools: tuple[str, ...]
    strict: bool
    record: Path | None
    log: str | None
    log_bodies: bool


def load_config(options: GatewayOptions) -> LoadedConfig:
    """Load the configuration. Raises ConfigError with every mistake in it."""
    return _config_source(options, lambda: UNUSED_URL).load()


def _config_source(options: GatewayOptions, demo: Callable[[], str]) -> ConfigSource:
    from toolwire.gateway.config.files import ConfigSource

    return ConfigSource(
        env=os.environ, demo_url=demo, file=options.file, keys=options.keys, tools=options.tools
    )


def build_gateway(options: GatewayOptions, metrics_folder: Path | None) -> Gateway:
    """Build the gateway of this process.

    `metrics_folder` is where processes that share the port exchange their metrics.
    """
    from toolwire.gateway.app import Gateway
    from toolwire.gateway.config.reload import Reloader
    from toolwire.gateway.keys import Keys
    from toolwire.gateway.mock_upstream import MockUpstream
    from toolwire.gateway.observe.observer import Observer
    from toolwire.gateway.observe.recorder import Recorder
    from toolwire.gateway.worker_metrics import WorkerMetrics, is_alive
    from toolwire.server.auth import NO_AUTH

    offline = MockUpstream()
    source = _config_source(options, offline.url)
    loaded = source.load()
    config = loaded.models.config
    recorder = Recorder(options.record) if options.record is not None else None
    observer = Observer(
        json_log=(options.log or config.server.log) == "json",
        log_bodies=options.log_bodies,
        recorder=recorder,
        metrics_folder=metrics_folder,
        process=str(os.getpid()) if metrics_folder is not None else "",
        is_alive=is_alive,
    )

    def redact(values: list[str]) -> None:
        observer.hide_secrets(values)
        if recorder is not None:
            recorder.hide_secrets(values)

    reloader = Reloader(source, loaded, open_tools=_gateway_tools, hide_secrets=redact)
    services: list[Service] = [offline, reloader]
    if metrics_folder is not None:
        services.append(WorkerMetrics(observer))
    gateway = Gateway(
        loaded.models,
        auth=NO_AUTH if loaded.keys is None else Keys(loaded.keys),
        strict=True if options.strict else None,
        tools=_gateway_tools(config.tools),
        services=services,
        observer=observer,
    )
    reloader.gateway = gateway
    return gateway


def _gateway_tools(row: ToolsConfig) -> GatewayTools | None:
    """Return the tools that the gateway runs; None if the configuration has none."""
    if not row.sources:
        return None
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.log_redaction import redact_all_logs
    from toolwire.gateway.tools.gateway_tools import GatewayTools

    async def load(stack: AsyncExitStack) -> list[Tools]:
        return [await load_all_tools(row.sources, stack, _server_credentials(row))]

    secrets = _environment_values(row.secrets)
    redact_all_logs()
    return GatewayTools(load, lambda: ToolExecutor(open_ledger(row.ledger)), row, secrets=secrets)


def _server_credentials(row: ToolsConfig) -> dict[str, ServerCredentials]:
    """Return the credentials for each tool server of the configuration."""
    return {
        source: ServerCredentials(
            key=os.environ.get(server.key_env or "", ""),
            token=os.environ.get(server.token_env or "", ""),
            secrets=_environment_values(server.secrets),
        )
        for source, server in row.servers.items()
    }


def _environment_values(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


# --- logs -----------------------------------------------------------------------------------------


def configure_logs(options: GatewayOptions, config: Config) -> None:
    """Send the logs of the gateway to stderr, as text or JSON."""
    format_logs()
    handler = logging.StreamHandler(sys.stderr)
    if (options.log or config.server.log) == "json":
        handler.setFormatter(_JsonFormatter())
    else:
        handler.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    for name in ("toolwire.gateway", "toolwire.calls"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False


class _JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON; a message that is JSON already stays as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if text.startswith("{"):
            return text
        row = {
            "at": round(time.time(), 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": text,
        }
        return json.dumps(row)
