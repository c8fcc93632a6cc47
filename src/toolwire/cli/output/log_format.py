"""Logs on stderr whose records no text of a client can forge.

The text of an exception may repeat what a client sent. A line break in it could begin a line that
looks like another record, and an escape sequence could control the terminal.
"""

from __future__ import annotations

import logging

from toolwire.cli.output.printable import to_printable

_CONTINUATION = "\n  "


class PrintableFormatter(logging.Formatter):
    """Escapes characters that are not printable, and indents every line of a record but the
    first."""

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).split("\n")
        return _CONTINUATION.join(to_printable(line, keep="\t") for line in lines)


def format_logs() -> None:
    """Use this format for the records of loggers without a handler, which Python prints."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableFormatter())
