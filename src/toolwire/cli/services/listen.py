"""A server on the command line: where it may listen, what is said when it does, and what is not.

What keeps a server from starting is one line. Knows no verb and no protocol.
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from toolwire.cli.framework.usage_error import CommandError
from toolwire.cli.services.lazy_import import part

if TYPE_CHECKING:
    from toolwire.server.asgi import App

PORTS = click.IntRange(0, 65535)


def listen(
    app: App, host: str, port: int, told: Callable[[str], str], *, allow_anyone: bool, hint: str
) -> None:
    """Serve until it is told to stop. `told` makes of the address what is said; `hint` is what may
    be done about strangers."""
    run = part("toolwire.server.run")
    # Its own words about what is raised here anyway, and about every stray byte on a socket
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    unsaid: OSError | None = None

    def ready(url: str) -> None:
        nonlocal unsaid
        try:
            click.echo(told(url))
        except OSError as error:  # nobody can know where it is: it stops as if it were told to
            unsaid = error
            signal.raise_signal(signal.SIGTERM)

    try:
        run.serve(app, host, port, allow_anyone=allow_anyone, ready=ready)
    except run.ConfigError as error:
        raise CommandError(f"{error} ({hint})") from None
    except socket.gaierror:
        raise CommandError(f"--host {host}: no such name") from None
    except OSError as error:
        raise CommandError(f"{host}:{port}: {(error.strerror or str(error)).lower()}") from None
    if unsaid is not None:
        raise unsaid
