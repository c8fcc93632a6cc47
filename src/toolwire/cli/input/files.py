"""Files and standard streams as commands name them: `-` is stdin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from toolwire.cli.framework.errors import CommandError
from toolwire.errors import describe_os_error


def read_input(file: str) -> bytes:
    """Return the bytes of a file; `-` is stdin."""
    if file == "-":
        return stdin().read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"{file}: {describe_os_error(error)}") from None


def stdin() -> BinaryIO:
    """Return stdin; raise CommandError if it is closed."""
    if sys.stdin is None:
        raise CommandError("stdin is closed; name a file")
    return sys.stdin.buffer


def write_file(file: str, text: bytes) -> None:
    """Write a file; `-` is refused, because stdout holds the body."""
    if file == "-":
        raise CommandError("stdout is for the body; name a file")
    try:
        Path(file).write_bytes(text)
    except OSError as error:
        raise CommandError(f"{file}: {describe_os_error(error)}") from None


def require_stdout() -> None:
    """Raise CommandError if stdout is closed: the output of the command would be lost."""
    if sys.stdout is None:
        raise CommandError("stdout is closed")


def exit_with_help_at_terminal(ctx: click.Context) -> None:
    """Show the help and exit with 2 if stdin is a terminal, so that there is no input to read."""
    if sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
