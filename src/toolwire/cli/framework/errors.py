"""Errors that end a command with one line on stderr and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

from toolwire.cli.output.printable import to_printable
from toolwire.errors import InputError, UsageError


class CommandError(click.ClickException):
    """The user has to change the command or its input. The message names the problem, the place and
    the remedy."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:
        click.echo(f"toolwire: {to_printable(self.message)}", file=file, err=True)


@contextmanager
def name_file_in_errors(file: str | None) -> Iterator[None]:
    """Put the name of a file before the message of an error about its content; stdin has none."""
    try:
        yield
    except InputError as error:
        if file in (None, "-"):
            raise
        raise CommandError(f"{file}: {error}") from None


def error_without_wire(error: UsageError) -> UsageError:
    """The error of a body whose wire cannot be detected, with the option that names the wire."""
    text = str(error).removesuffix(": name the wire")
    return UsageError(f"{text}; name the wire with --from WIRE")
