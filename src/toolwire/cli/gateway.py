"""`toolwire gateway`: one address in front of all models, for clients of every wire."""

from __future__ import annotations

import socket
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.output.client_snippets import client_programs, curl_lines
from toolwire.cli.output.counts import count
from toolwire.cli.output.printable import to_printable
from toolwire.cli.services.gateway_process import (
    GatewayOptions,
    build_gateway,
    configure_logs,
    load_config,
)
from toolwire.cli.services.ledger_url import open_ledger
from toolwire.cli.services.listen import PORTS, listen_error
from toolwire.errors import ConfigError

if TYPE_CHECKING:
    from toolwire.gateway.config.files import LoadedConfig
    from toolwire.gateway.config.model_table import ModelTarget

BACKLOG = 2048


@click.command("gateway")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--host",
    help=(
        "The address to listen on. Addresses other than loopback require keys."
        "  [default: 127.0.0.1]"
    ),
)
@click.option("--port", type=PORTS, help="The port; 0 chooses a free one.  [default: 8080]")
@click.option(
    "--check", is_flag=True, help="Check the configuration and print every mistake; do not serve."
)
@click.option("--strict", is_flag=True, help="Refuse histories that need a repair.")
@click.option(
    "--workers",
    type=click.IntRange(1, 512),
    default=1,
    show_default=True,
    help="The number of processes that share the port.",
)
@click.option(
    "--keys",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file of virtual keys: .toml, .jsonl or .db.",
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
    help="Record every request and response in this folder.",
)
@click.option("--log", type=click.Choice(("text", "json")), help="The format of log lines.")
@click.option("--log-bodies", is_flag=True, help="Also log bodies, with keys redacted.")
@click.option(
    "--clients",
    "show_clients",
    is_flag=True,
    help="Print a short program for each official client.",
)
@click.option("--allow-anyone", is_flag=True, help="Accept clients without a key on any address.")
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
    tools: tuple[str, ...],
    record: Path | None,
    log: str | None,
    log_bodies: bool,
    show_clients: bool,
    allow_anyone: bool,
) -> None:
    """Serve every model to clients of every wire.

    FILE is a TOML file that lists the models. Without FILE, clients ask for `provider/model`, for
    every provider whose API key is in the environment; without any key, the offline model answers.
    The gateway reloads FILE when it changes, and on SIGHUP.

    Exit codes: 0 stopped, or --check found no mistakes; 1 --check found mistakes; 2 wrong usage.
    """
    require_extra("server")
    options = GatewayOptions(
        file=file,
        keys=keys,
        tools=tools,
        strict=strict,
        record=record,
        log=log,
        log_bodies=log_bodies,
    )
    if check:
        ctx.exit(_check_config(options, workers))
    try:
        loaded = load_config(options)
    except ConfigError as error:
        raise _config_error(error) from None
    _check_stores(loaded, workers)
    server = loaded.models.config.server
    host, port = host or server.host, server.port if port is None else port
    _check_host(host, loaded, allow_anyone=allow_anyone)
    configure_logs(options, loaded.models.config)
    try:
        ctx.exit(_serve(options, loaded, (host, port), workers=workers, clients=show_clients))
    except OSError as error:
        raise listen_error(error, host, port) from None


def _serve(
    options: GatewayOptions,
    loaded: LoadedConfig,
    address: tuple[str, int],
    *,
    workers: int,
    clients: bool,
) -> int:
    """Serve until a signal stops the gateway, and return the exit code."""
    from toolwire.gateway.workers import Workers
    from toolwire.server.process import freeze_startup_objects, tune_process
    from toolwire.server.run import ConnectionLimits, Server, config, url_of

    tune_process()
    with _open_socket(*address) as listener, ExitStack() as stack:
        if workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-"))
            processes = Workers(
                lambda: build_gateway(options, Path(folder)),
                listener,
                workers,
                hang_timeout=loaded.models.config.server.worker_timeout,
            )
            return processes.run(
                lambda url: _announce(url, loaded, clients=clients, workers=workers)
            )
        gateway, limits = build_gateway(options, None), ConnectionLimits()

        def ready(url: str) -> None:
            freeze_startup_objects()
            _announce(url, loaded, clients=clients, workers=workers)

        server = Server(
            config(gateway, limits), gateway, limits=limits, url=url_of(listener), ready=ready
        )
        try:
            server.run([listener])
        except SystemExit:  # uvicorn exits if the application could not start.
            why = str(gateway.failure or "the gateway could not start")
            raise CommandError(why) from None
        return 0


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


# --- checks ---------------------------------------------------------------------------------------


def _check_config(options: GatewayOptions, workers: int) -> int:
    """Print the models of the configuration, or every mistake in it; return the exit code."""
    try:
        loaded = load_config(options)
    except ConfigError as error:
        for mistake in error.mistakes:
            click.echo(to_printable(mistake), err=True)
        click.echo(f"toolwire: {_count_mistakes(error)} in the configuration", err=True)
        return 1
    _check_stores(loaded, workers)
    _print_models(loaded, options.file)
    return 0


def _config_error(error: ConfigError) -> CommandError:
    if len(error.mistakes) == 1:
        return CommandError(error.mistakes[0])
    for mistake in error.mistakes:
        click.echo(to_printable(mistake), err=True)
    return CommandError(f"{_count_mistakes(error)} in the configuration; the gateway did not start")


def _count_mistakes(error: ConfigError) -> str:
    count = len(error.mistakes)
    return "1 mistake" if count == 1 else f"{count} mistakes"


def _check_stores(loaded: LoadedConfig, workers: int) -> None:
    """Raise CommandError if the stores of a configuration cannot be used by that many processes."""
    _check_ledger(loaded, workers)
    if workers > 1 and loaded.models.config.responses.store == "memory:":
        raise CommandError(
            "[responses] store: memory: belongs to one process; with --workers write store ="
            ' "sqlite:///…" or "postgresql://…", or leave out --workers'
        )


def _check_ledger(loaded: LoadedConfig, workers: int) -> None:
    """Raise CommandError if the ledger for tools of the gateway cannot be used."""
    row = loaded.models.config.tools
    if not row.sources:
        return
    open_ledger(row.ledger)
    if workers > 1 and row.ledger in ("memory:", "sqlite:///:memory:"):
        raise CommandError(
            f"[tools] ledger: {row.ledger} belongs to one process; with --workers write ledger ="
            ' "sqlite:///FILE" or "postgresql://…", or leave out --workers'
        )


def _check_host(host: str, loaded: LoadedConfig, *, allow_anyone: bool) -> None:
    """Raise CommandError if other machines could use a gateway without keys."""
    from toolwire.providers.http.url import is_loopback

    if loaded.keys is None and not is_loopback(host) and not allow_anyone:
        raise CommandError(
            f"other machines can reach {host}, and the gateway requires no key: create one with"
            " `toolwire keys add NAME keys.toml` and pass --keys keys.toml, or listen on 127.0.0.1"
            " (--allow-anyone)"
        )


# --- output ---------------------------------------------------------------------------------------


def _print_models(loaded: LoadedConfig, file: Path | None) -> None:
    """Print the targets of every model."""
    models = loaded.models.config.models
    for name in models:
        targets = " then ".join(map(_describe_target, loaded.models.find(name)))
        click.echo(f"{name}: {targets}")
    keys = "clients need no key" if loaded.keys is None else count(len(loaded.keys), "key", "keys")
    source = to_printable(str(file or "the environment"))
    click.echo(f"{source} is valid: {count(len(models), 'model', 'models')}, {keys}")


def _describe_target(target: ModelTarget) -> str:
    """Return the provider and the model of a target; the offline model is marked with `demo:`."""
    from toolwire.gateway.config.schema import is_demo

    mark = "demo:" if is_demo(target.config.upstream) else ""
    return f"{mark}{target.endpoint.provider.name}:{target.endpoint.model}"


def _announce(url: str, loaded: LoadedConfig, *, clients: bool, workers: int) -> None:
    """Print the address and what to try."""
    config, with_key = loaded.models.config, loaded.keys is not None
    names = loaded.models.names()
    model = config.server.default or (names[0] if names else "MODEL")
    processes = f", {workers} processes" if workers > 1 else ""
    models = count(len(config.models), "model", "models")
    click.echo(
        f"{models} at {to_printable(url)}{processes}; /health, /metrics and /v1/models;"
        " Ctrl-C stops it\n"
    )
    click.echo(f"toolwire probe {to_printable(url)} --model {to_printable(model)}")
    for line in curl_lines(url, model, key=with_key):
        click.echo(line)
    if clients:
        for name, program in client_programs(url, model, key=with_key).items():
            click.echo(f"\n# {name}\n{program}")
    sys.stdout.flush()
