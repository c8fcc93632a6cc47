"""The history of a file that a command works on."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import CommandError, error_without_wire
from toolwire.cli.input.bodies import SSE_FIELDS
from toolwire.cli.input.files import read_input
from toolwire.cli.output.report import STDIN
from toolwire.codec import resolve
from toolwire.conversation.model import Kind
from toolwire.errors import UsageError
from toolwire.sessions.session import Session

line_option = click.option(
    "--line",
    type=click.IntRange(min=1),
    metavar="N",
    help="Use line N of a JSONL file that has one body per line.",
)


def read_session(
    file: str,
    *,
    source: str | None,
    target: str | None = None,
    kind: Kind | None = None,
    line: int | None = None,
) -> Session:
    """Return the history of a file; `-` is stdin. The target decides between several wires.

    Raises CommandError if there is none, or if there are several.
    """
    data = read_input(file)
    name = "" if file == "-" else file
    if data.lstrip().startswith(SSE_FIELDS):
        raise CommandError(f"{name or STDIN}: expected a body or a session, not a stream")
    try:
        return Session(data, name, wire=source, line=line, kind=kind)
    except UsageError as error:
        if source is not None:
            raise
        if target is not None:
            target_wire = resolve(target)[0].name
            return Session(data, name, wire=target_wire, line=line, kind=kind)
        raise error_without_wire(error) from None
