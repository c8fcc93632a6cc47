"""Text that is safe to print: strings of a body cannot send commands to the terminal."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def to_printable(text: str, *, keep: str = "") -> str:
    """Escape every character that is not printable, line breaks included.

    Characters of `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else ascii(char)[1:-1] for char in text
    )


def discard_stdout() -> None:
    """Discard further output.

    The reader has closed the pipe, and the interpreter flushes stdout once more when it exits.
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
