"""`toolwire stream`: a stream of one wire as a stream of another, live; or as the body it stands
for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import click

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    read_input,
)
from toolwire.cli.input.id_map_file import read_ids, save_ids
from toolwire.cli.output.output_mode import view
from toolwire.conversation.json import dump
from toolwire.streaming.restream import fold, restream
from toolwire.wires.engine.server_tools import POLICIES, ServerToolPolicy

PIECE = 65536
"""So many bytes are read at most before they are passed on; fewer if fewer are there."""


@click.command("stream")
@click.argument("file", required=False)
@click.option(
    "--from",
    "source",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    required=True,
    help="The wire of the input.",
)
@click.option(
    "--to",
    "target",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    help="The wire, or a provider's profile of it, to write.",
)
@click.option(
    "--fold",
    "whole",
    is_flag=True,
    help="Write the whole body that the stream stands for, on its own wire.",
)
@click.option(
    "--target-version",
    "version",
    type=int,
    help="The version of the target, where it has several (ai-sdk: 5, 6, 7).",
)
@click.option(
    "--server-tools",
    type=click.Choice(POLICIES),
    default="auto",
    show_default=True,
    help="What calls that another provider ran become.",
)
@click.option(
    "--ids",
    metavar="FILE",
    help="The id map of an earlier translation, to restore its ids and names.",
)
@click.option(
    "--save-ids", "ids_file", metavar="FILE", help="Write the id map of this stream there."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not report losses. The exit code stays.")
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str,
    target: str | None,
    whole: bool,
    version: int | None,
    server_tools: ServerToolPolicy,
    ids: str | None,
    ids_file: str | None,
    quiet: bool,
) -> None:
    """Pass a stream on, event by event, as a stream of another wire.

    FILE holds the stream as it came (SSE, NDJSON, a JSON array, an AWS event stream); - or nothing
    is stdin. Each event goes out before the next is waited for. What the target cannot hold is
    reported on stderr when the stream is over.

    Exit codes: 0 nothing was lost, 1 something was lost or the stream broke off, 2 misuse.
    """
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    if (target is None) is not whole:
        raise CommandError("say either --to WIRE or --fold")
    need_stdout()
    home = read_ids(ids) if ids else None
    pieces = _pieces(_opened(file or "-"))
    if target is None:
        view().body(dump(fold(pieces, source)))
        return
    made = restream(pieces, source, target, ids=home, server_tools=server_tools, version=version)
    out = sys.stdout.buffer
    for event in made:
        out.write(event)
        out.flush()
    if ids_file:
        save_ids(ids_file, made.ids)
    if not quiet:
        view().losses(made.losses)
    if made.fault is not None:
        click.echo(f"toolwire: {made.fault}", err=True)
    ctx.exit(1 if made.losses or made.fault is not None else 0)


def _opened(file: str) -> BinaryIO:
    """The stream: stdin as it comes, or a file."""
    if file != "-":
        return BytesIO(read_input(file))
    if sys.stdin is None:
        raise CommandError("stdin is closed")
    return sys.stdin.buffer


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """What is there to read, without waiting for more."""
    read = getattr(stream, "read1", stream.read)
    while piece := read(PIECE):
        yield piece
