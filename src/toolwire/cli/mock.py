"""`toolwire mock`: a model's server on this machine, as strict as the real one."""

from __future__ import annotations

import click

from toolwire.cli.framework.usage_error import CommandError, complete_wire, known_wire
from toolwire.cli.services.lazy_import import part
from toolwire.cli.services.listen import PORTS, listen


@click.command("mock")
@click.option(
    "--wire",
    "name",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    required=True,
    help="The wire or provider to speak for.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=PORTS, default=8766, show_default=True, help="0 is any free one.")
@click.option("--lenient", is_flag=True, help="Answer histories that the real server would refuse.")
@click.option(
    "--allow-anyone", is_flag=True, help="Listen beyond loopback: the mock takes any key."
)
def command(name: str, host: str, port: int, lenient: bool, allow_anyone: bool) -> None:
    """Serve a model that needs no network: official clients can be pointed at it.

    It refuses what the provider refuses, with its status and its words. The model itself is small
    and always says the same: it reads the tools and the question, calls what the question names,
    and tells the results.
    """
    module = part("toolwire.mock.server")
    try:
        app = module.MockProvider(name, strict=not lenient)
    except module.UsageError as error:
        raise CommandError(f"--wire {name}: {error.why}") from None
    listen(
        app,
        host,
        port,
        lambda url: f"{name} at {url}; any key will do; Ctrl-C stops it",
        allow_anyone=allow_anyone,
        hint="--allow-anyone",
    )
