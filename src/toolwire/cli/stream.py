"""`toolwire stream`: a stream of one wire as a stream of another, live; or as a whole body."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, read_input, require_stdout, stdin
from toolwire.cli.input.id_map_file import ids_option, read_id_map, save_id_map
from toolwire.cli.input.wire_option import server_tools_option, wire_option
from toolwire.cli.output.view import choose_view
from toolwire.conversation.json import dump
from toolwire.conversation.model import real_losses
from toolwire.streaming.restream import fold, restream
from toolwire.wires.engine.server_tools import ServerToolPolicy

CHUNK = 65536
"""The most bytes that one read returns; it returns fewer if fewer have arrived."""


@click.command("stream")
@click.argument("file", required=False)
@wire_option("--from", "source", required=True, help="The wire of the input.")
@wire_option("--to", "target", help="The wire or profile to write.")
@click.option(
    "--fold",
    "fold_stream",
    is_flag=True,
    help="Write the whole response as one body of its own wire.",
)
@click.option(
    "--target-version",
    "version",
    type=int,
    help="The version of the target, if it has several (ai-sdk: 5, 6, 7).",
)
@server_tools_option
@ids_option
@click.option("--save-ids", metavar="FILE", help="Write the id map of this stream to FILE.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Do not report losses. The exit code does not change."
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str,
    target: str | None,
    fold_stream: bool,
    version: int | None,
    server_tools: ServerToolPolicy,
    ids_file: str | None,
    save_ids: str | None,
    quiet: bool,
) -> None:
    """Translate a stream from one wire to another, event by event.

    FILE contains the stream as the provider sent it: SSE, NDJSON, a JSON array, or an AWS event
    stream. Without FILE, or with -, the command reads stdin. The command writes each event before
    it reads the next. Losses (what the target cannot express) go to stderr at the end.

    Exit codes: 0 nothing was lost, 1 something was lost or the stream broke off, 2 wrong usage.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    if (target is None) is not fold_stream:
        raise CommandError("give either --to WIRE or --fold")
    require_stdout()
    ids = read_id_map(ids_file) if ids_file else None
    chunks = _read_chunks(BytesIO(read_input(file)) if file not in (None, "-") else stdin())
    if target is None:
        with name_file_in_errors(file):
            body = fold(chunks, source)
        choose_view().body(dump(body))
        return
    stream = restream(chunks, source, target, ids=ids, server_tools=server_tools, version=version)
    out = sys.stdout.buffer
    for event in stream:
        out.write(event)
        out.flush()
    if save_ids:
        save_id_map(save_ids, stream.ids)
    if not quiet:
        choose_view().losses(stream.losses)
    if stream.fault is not None:
        click.echo(f"toolwire: {stream.fault}", err=True)
    ctx.exit(1 if real_losses(stream.losses) or stream.fault is not None else 0)


def _read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield bytes as they arrive, without waiting for a full chunk."""
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK):
        yield chunk
