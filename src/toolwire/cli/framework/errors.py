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


def describe_error(error: InputError) -> str:
    """Return wire, JSON pointer and reason of an error, as far as they are known."""
    location = " ".join(word for word in (error.wire, error.pointer) if word)
    return f"{location}: {error.why}" if location else error.why


def describe_os_error(error: OSError) -> str:
    """Return the reason of a failed system call without its number and file name."""
    return (error.strerror or str(error)).lower()


@contextmanager
def name_file_in_errors(file: str | None) -> Iterator[None]:
    """Put the name of a file before the message of an error about its content; stdin has none."""
    try:
        yield
    except InputError as error:
        if file in (None, "-"):
            raise
        raise CommandError(f"{file}: {describe_error(error)}") from None


def error_without_wire(error: UsageError) -> UsageError:
    """The error of a body whose wire cannot be detected, with the option that names the wire."""
    text = describe_error(error).removesuffix(": name the wire")
    return UsageError(f"{text}; name the wire with --from WIRE")
