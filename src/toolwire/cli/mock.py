"""`toolwire mock`: a mock of a provider's server, as strict as the real one."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.services.listen import PORTS, listen
from toolwire.errors import UsageError


@click.command("mock")
@wire_option("--wire", "wire", required=True, help="The wire or provider to imitate.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=PORTS, default=8766, show_default=True, help="The port; 0 chooses a free one."
)
@click.option("--lenient", is_flag=True, help="Accept histories that the real server refuses.")
@click.option(
    "--allow-anyone", is_flag=True, help="Listen on any address, although the mock accepts any key."
)
def command(wire: str, host: str, port: int, lenient: bool, allow_anyone: bool) -> None:
    """Serve an offline model that official clients can use.

    The mock refuses what the provider refuses, with the same status and error text. Its model is
    deterministic: it calls the tools that the question names and reports their results.
    """
    require_extra("server")
    from toolwire.mock.server import MockProvider

    try:
        app = MockProvider(wire, strict=not lenient)
    except UsageError as error:
        raise CommandError(f"--wire {wire}: {error.why}") from None
    listen(
        app,
        host,
        port,
        announce=lambda url: f"{wire} at {url}; it accepts any key; Ctrl-C stops it",
        allow_anyone=allow_anyone,
        hint="--allow-anyone",
    )
