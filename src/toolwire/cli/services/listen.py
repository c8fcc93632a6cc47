"""Run an ASGI application as a server of the command line.

If the server cannot start, the error is one line that names the option to change.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.errors import describe_os_error

if TYPE_CHECKING:
    from toolwire.server.asgi import App

PORTS = click.IntRange(0, 65535)


def listen(
    app: App, host: str, port: int, *, announce: Callable[[str], str], allow_anyone: bool, hint: str
) -> None:
    """Serve until a signal stops the server.

    Args:
        announce: Makes the text that is printed once the server listens, from its URL.
        allow_anyone: Listen beyond loopback without authentication.
        hint: The options that allow listening beyond loopback.
    """
    from toolwire.errors import ConfigError
    from toolwire.server.process import freeze_startup_objects, tune_process
    from toolwire.server.run import serve

    # uvicorn would log the exceptions that are raised here, and every stray byte on a socket.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    write_error: OSError | None = None

    def ready(url: str) -> None:
        nonlocal write_error
        freeze_startup_objects()
        try:
            click.echo(announce(url))
        except OSError as error:  # The address cannot be printed: stop as after SIGTERM.
            write_error = error
            signal.raise_signal(signal.SIGTERM)

    try:
        tune_process()
        serve(app, host, port, allow_anyone=allow_anyone, ready=ready)
    except ConfigError as error:
        raise CommandError(f"{error} ({hint})") from None
    except OSError as error:
        raise listen_error(error, host, port) from None
    if write_error is not None:
        raise write_error


def listen_error(error: OSError, host: str, port: int) -> CommandError:
    """Return an error with the reason why a server cannot listen, and the option to change."""
    if isinstance(error, socket.gaierror):
        return CommandError(f"--host {host}: no such host")
    # asyncio puts the address into the text as well.
    why = os.strerror(error.errno).lower() if error.errno else describe_os_error(error)
    if error.errno == errno.EADDRINUSE:
        return CommandError(f"{host}:{port}: {why}; choose another port with --port (0: any)")
    if error.errno == errno.EACCES:
        return CommandError(f"{host}:{port}: {why}; choose a port above 1023 with --port")
    if error.errno == errno.EADDRNOTAVAIL:
        return CommandError(f"--host {host}: {why}; name an address of this machine")
    return CommandError(f"{host}:{port}: {why}")
