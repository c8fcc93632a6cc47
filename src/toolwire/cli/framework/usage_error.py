"""Errors of usage in one line: what cannot be read, what does not exist, what was probably meant.

Knows no verb.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO

import click

from toolwire.errors import InputError
from toolwire.translate import profiles


class CommandError(click.ClickException):
    """What a person has to change about the command or its input."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:
        click.echo(f"toolwire: {printable(self.message)}", file=file, err=True)


def printable(text: str) -> str:
    """The text on one line, and without anything a terminal would obey: keys and ids come from
    strangers."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def said(error: InputError) -> str:
    """An error of the library: wire, JSON pointer and reason, as far as they are known."""
    where = " ".join(word for word in (error.wire, error.pointer) if word)
    return f"{where}: {error.why}" if where else error.why


def hush() -> None:
    """Send what is still to be written nowhere: the reader has gone, and the interpreter will flush
    once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def known_wire(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """The name of a wire or profile, as given."""
    names = profiles()
    if name is None or name in names:
        return name
    near = get_close_matches(name.lower().replace("_", "-"), names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    raise CommandError(f"no such wire: {name}; {hint}")


def known_wires(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Several names of wires or profiles."""
    return tuple(name for one in given if (name := known_wire(ctx, param, one)))


def complete_wire(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names that a shell offers."""
    return [name for name in profiles() if name.startswith(incomplete)]


def read_input(file: str) -> bytes:
    """The bytes of a file; `-` is stdin."""
    if file != "-":
        try:
            return Path(file).read_bytes()
        except OSError as error:
            raise CommandError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    if sys.stdin is None:
        raise CommandError("stdin is closed")
    return sys.stdin.buffer.read()


def need_stdout() -> None:
    """Refuse to go on if what is going to be written would go nowhere."""
    if sys.stdout is None:
        raise CommandError("stdout is closed")


def write_output(file: str, text: bytes) -> None:
    """Write a file."""
    if file == "-":
        raise CommandError("stdout is for the body; name a file")
    try:
        Path(file).write_bytes(text)
    except OSError as error:
        raise CommandError(f"{file}: {(error.strerror or str(error)).lower()}") from None
