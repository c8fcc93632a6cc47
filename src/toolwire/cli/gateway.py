"""`toolwire gateway`: one door in front of all models, for every wire that clients speak."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolwire.cli.framework.usage_error import CommandError, printable
from toolwire.cli.output.client_snippets import clients, curls
from toolwire.cli.services.lazy_import import open_ledger, part
from toolwire.cli.services.tool_sources import gathered

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from toolwire.gateway.app import Gateway
    from toolwire.gateway.config.files import ConfigSource, LoadedConfig
    from toolwire.gateway.config.schema import Config, ToolsConfig
    from toolwire.gateway.tools.gateway_tools import GatewayTools
    from toolwire.tools.registry import Tools

BACKLOG = 2048


@click.command("gateway")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--host", help="Where to listen. Beyond this machine, keys are needed.  [default: 127.0.0.1]"
)
@click.option("--port", type=click.IntRange(0, 65535), help="0 is any free one.  [default: 8080]")
@click.option(
    "--check",
    is_flag=True,
    help="Say what is wrong with the configuration, and where; serve nothing.",
)
@click.option("--strict", is_flag=True, help="Refuse histories that would have to be repaired.")
@click.option(
    "--workers",
    type=click.IntRange(1, 512),
    default=1,
    show_default=True,
    help="So many processes share the port.",
)
@click.option(
    "--keys",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Virtual keys: .toml, .jsonl or .db.",
)
@click.option(
    "--new-key",
    metavar="NAME",
    help="Make a key, add its hash to the file of --keys, and show it this once.",
)
@click.option(
    "--tools",
    metavar="SOURCE",
    multiple=True,
    help=(
        "Tools that the gateway offers and runs: a Python file, an OXP server (http://…), an MCP"
        " server (mcp+http://…, mcp:COMMAND)."
    ),
)
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write down every exchange there.",
)
@click.option("--log", type=click.Choice(("text", "json")), help="How a line of the log looks.")
@click.option("--log-bodies", is_flag=True, help="Log what is said, too; without keys.")
@click.option(
    "--clients", "shows_clients", is_flag=True, help="Show a few lines for each official client."
)
@click.option(
    "--allow-anyone", is_flag=True, help="Listen beyond this machine without keys all the same."
)
@click.pass_context
def command(
    ctx: click.Context,
    file: Path | None,
    host: str | None,
    port: int | None,
    check: bool,
    strict: bool,
    workers: int,
    keys: Path | None,
    new_key: str | None,
    tools: tuple[str, ...],
    record: Path | None,
    log: str | None,
    log_bodies: bool,
    shows_clients: bool,
    allow_anyone: bool,
) -> None:
    """Serve models to clients of every wire, whatever wire a model speaks.

    FILE is a TOML file with the models (see docs/gateway.md). Without one, every provider whose key
    is in the environment can be asked as `provider/model`; without any key, the offline model
    answers. SIGHUP, or a change of the file, lets it be read again.

    Exit codes: 0 it was stopped, or --check found nothing; 1 --check found something; 2 misuse.
    """
    if new_key is not None:
        _make_key(new_key, keys)
        return
    door = _Door(
        file, keys, tools, strict=strict, workers=workers, record=record, log=log, bodies=log_bodies
    )
    loaded = door.load(checks=check)
    if loaded is None:
        ctx.exit(1)
    server = loaded.models.config.server
    if check:
        _tell_all(loaded, file)
        return
    run, asgi = part("toolwire.server.run"), part("toolwire.server.asgi")
    where, at = host or server.host, server.port if port is None else port
    if loaded.keys is None and not asgi.is_loopback(where) and not allow_anyone:
        raise CommandError(
            f"{where} can be reached from other machines, and nobody is asked for a key: make one"
            " with --new-key NAME --keys FILE, or listen on 127.0.0.1 (--allow-anyone)"
        )
    door.logs(loaded.models.config)

    def ready(url: str) -> None:
        _ready(url, loaded, shows_clients, workers)

    try:
        with _listening(where, at) as listener, ExitStack() as stack:
            if workers > 1:
                door.folder = Path(
                    stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-"))
                )
                ctx.exit(
                    part("toolwire.gateway.workers").Workers(door.app, listener, workers).run(ready)
                )
            run.raise_file_limit()
            app, bounds = door.app(), run.ConnectionLimits()
            _served(
                app,
                lambda: run.Server(
                    run.config(app, bounds), app, bounds, run.url_of(listener), ready
                ).run([listener]),
            )
    except OSError as error:
        raise CommandError(f"{where}:{at}: {(error.strerror or str(error)).lower()}") from None


def _served(app: Gateway, serve: Callable[[], None]) -> None:
    try:
        serve()
    except SystemExit:  # uvicorn's way to say that the app could not be opened
        raise CommandError(str(app.failure or "the gateway could not be opened")) from None


def _listening(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


class _Door:
    """What one command line asks for; each process makes its own gateway of it."""

    def __init__(
        self,
        file: Path | None,
        keys: Path | None,
        tools: tuple[str, ...],
        *,
        strict: bool,
        workers: int,
        record: Path | None,
        log: str | None,
        bodies: bool,
    ) -> None:
        self.file = file
        self.keys = keys
        self.tools = tools
        self.strict = strict
        self.workers = workers
        self.record = record
        self.log = log
        self.bodies = bodies
        self.folder: Path | None = None
        """Where processes that share the port put their numbers."""

    def _source(self, demo: Callable[[], str]) -> ConfigSource:
        made: ConfigSource = part("toolwire.gateway.config.files").ConfigSource(
            env=os.environ, demo_url=demo, file=self.file, keys=self.keys, tools=self.tools
        )
        return made

    def load(self, *, checks: bool) -> LoadedConfig | None:
        """The configuration; if it is wrong, that is said, and there is none."""
        mistake = part("toolwire.errors").ConfigError
        try:
            found: LoadedConfig = self._source(lambda: "http://127.0.0.1:1").load()
        except mistake as error:
            if len(error.mistakes) == 1 and not checks:
                raise CommandError(error.mistakes[0]) from None
            for line in error.mistakes:
                click.echo(printable(line), err=True)
            many = len(error.mistakes)
            click.echo(f"toolwire: {many} mistake{'s' * (many > 1)} in the configuration", err=True)
            if checks:
                return None
            raise CommandError("nothing is served") from None
        row = found.models.config.tools
        if row.sources:
            open_ledger(row.ledger)
            if self.workers > 1 and row.ledger == "memory:":
                raise CommandError(
                    "[tools] ledger: memory: is that of one process; with --workers write ledger ="
                    ' "sqlite:///calls.db"'
                )
        return found

    def logs(self, config: Config) -> None:
        """Where log lines go, and how they look."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(
            _Json()
            if (self.log or config.server.log) == "json"
            else logging.Formatter("%(asctime)s %(message)s")
        )
        for name in ("toolwire.gateway", "toolwire.calls"):
            logger = logging.getLogger(name)
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            logger.propagate = False

    def app(self) -> Gateway:
        """A gateway for this process."""
        watch_module, workers = (
            part("toolwire.gateway.observe.observer"),
            part("toolwire.gateway.workers"),
        )
        offline = part("toolwire.gateway.mock_upstream").MockUpstream()
        source = self._source(offline.url)
        loaded: LoadedConfig = source.load()
        config = loaded.models.config
        recorder = (
            part("toolwire.gateway.observe.recorder").Recorder(self.record)
            if self.record is not None
            else None
        )
        pid = str(os.getpid()) if self.folder is not None else ""
        watch = watch_module.Observer(
            json_log=(self.log or config.server.log) == "json",
            log_bodies=self.bodies,
            recorder=recorder,
            metrics_folder=self.folder,
            process=pid,
            is_alive=workers.is_alive,
        )

        def hide(values: list[str]) -> None:
            watch.hide_secrets(values)
            if recorder is not None:
                recorder.hide_secrets(values)

        reloader = part("toolwire.gateway.config.reload").Reloader(
            source, loaded, open_tools=_own, hide_secrets=hide
        )
        beside = [
            offline,
            reloader,
            *([workers.WorkerMetrics(watch)] if self.folder is not None else []),
        ]
        auth = part("toolwire.server.auth").NOBODY
        if loaded.keys is not None:
            auth = part("toolwire.gateway.keys").Keys(loaded.keys)
        made: Gateway = part("toolwire.gateway.app").Gateway(
            loaded.models,
            auth=auth,
            strict=True if self.strict else None,
            tools=_own(config.tools),
            services=beside,
            observer=watch,
        )
        reloader.gateway = made
        return made


def _own(row: ToolsConfig) -> GatewayTools | None:
    """The tools of a configuration; None if there are none."""
    if not row.sources:
        return None

    async def gather(stack: AsyncExitStack) -> list[Tools]:
        return [await gathered(row.sources, stack)]

    secrets = {name: os.environ[name] for name in row.secrets if name in os.environ}
    part("toolwire.execution.log_redaction").redact_all_logs()
    calls = part("toolwire.execution.executor").ToolExecutor
    made: GatewayTools = part("toolwire.gateway.tools.gateway_tools").GatewayTools(
        gather, lambda: calls(open_ledger(row.ledger)), row, secrets=secrets
    )
    return made


class _Json(logging.Formatter):
    """A log record as one line of JSON; what is JSON already stays as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if text.startswith("{"):
            return text
        told = {
            "at": round(time.time(), 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": text,
        }
        return json.dumps(told)


def _make_key(name: str, keys: Path | None) -> None:
    if keys is None:
        raise CommandError("--new-key needs --keys FILE, where its hash is kept")
    module = part("toolwire.gateway.key_files")
    try:
        made = module.new_key(keys, name)
    except module.ConfigError as error:
        raise CommandError(error.mistakes[0]) from None
    click.echo(made)
    click.echo(
        f"this is shown once; {printable(str(keys))} holds its hash, and may say which models it"
        " may use and how often",
        err=True,
    )


def _tell_all(loaded: LoadedConfig, file: Path | None) -> None:
    """What a configuration comes to."""
    for name in loaded.models.config.models:
        targets = loaded.models.find(name.replace("*", "x"))
        way = " then ".join(
            f"{one.endpoint.provider.name}:{one.endpoint.model if '*' not in name else name}"
            for one in targets
        )
        click.echo(f"{name}: {way}")
    many = "nobody is asked for a key" if loaded.keys is None else f"{len(loaded.keys)} keys"
    click.echo(
        f"{printable(str(file or 'the environment'))} is right: {len(loaded.models.config.models)}"
        f" models, {many}"
    )


def _ready(url: str, loaded: LoadedConfig, shows_clients: bool, workers: int) -> None:
    config, keyed = loaded.models.config, loaded.keys is not None
    names = loaded.models.names()
    model = config.server.default or (names[0] if names else "MODEL")
    several = f", {workers} processes" if workers > 1 else ""
    click.echo(
        f"{len(config.models)} models at {printable(url)}{several}; /health, /metrics and"
        " /v1/models; Ctrl-C stops it\n"
    )
    for line in curls(url, model, key=keyed):
        click.echo(line)
    if shows_clients:
        for name, text in clients(url, model, key=keyed).items():
            click.echo(f"\n# {name}\n{text}")
    sys.stdout.flush()
