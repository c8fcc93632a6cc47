"""`toolwire translate`: a body of one wire as a body of another, and what was lost on the way."""

from __future__ import annotations

import sys

import click

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    read_input,
    said,
)
from toolwire.cli.input.id_map_file import read_ids, save_ids
from toolwire.cli.output.output_mode import view
from toolwire.codec import decode
from toolwire.conversation.model import Kind
from toolwire.errors import DecodeError, InputError
from toolwire.translate import detect, translate
from toolwire.wires.engine.server_tools import POLICIES, ServerToolPolicy


@click.command("translate")
@click.argument("file", required=False)
@click.option(
    "--from",
    "source",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    help="The wire of the input. Found out when missing.",
)
@click.option(
    "--to",
    "target",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    required=True,
    help="The wire, or a provider's profile of it, to write.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response"]),
    default="request",
    show_default=True,
    help="A history going to a model, or a model's answer.",
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
    "--save-ids", "ids_file", metavar="FILE", help="Write the id map of this translation there."
)
@click.option("--no-repair", is_flag=True, help="Leave in place what the target would refuse.")
@click.option("--strict", is_flag=True, help="Write no body and no id map if anything is lost.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Do not report losses and repairs. The exit code stays."
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    target: str,
    kind: Kind,
    server_tools: ServerToolPolicy,
    ids: str | None,
    ids_file: str | None,
    no_repair: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Translate a body of one wire into a body of another.

    FILE is a JSON file; - or nothing is stdin. The body goes to stdout: compact when piped,
    indented on a terminal. What the target cannot hold is reported on stderr, with its JSON pointer
    in the input. A history that the target would refuse is repaired on the way, and what was done
    is reported too, as is what no safe fix exists for.

    Exit codes: 0 the target accepts all of it, 1 something was lost or would be refused, 2 misuse.
    """
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    home = read_ids(ids) if ids else None
    body = read_input(file or "-")
    wire = source or _detected(body)
    try:
        made = translate(
            body, wire, target, kind, ids=home, server_tools=server_tools, repair=not no_repair
        )
    except DecodeError as error:
        raise _advised(error, body, wire, kind) from None
    out = view()
    if not (strict and made.losses):
        need_stdout()
        if ids_file:
            save_ids(ids_file, made.ids)
        out.body(made.json())
    if not quiet:
        out.losses(made.losses)
        out.repairs(made.changes)
        out.findings(made.findings)
    ctx.exit(1 if made.losses or made.findings else 0)


def _detected(body: bytes) -> str:
    try:
        return detect(body)
    except DecodeError:
        raise
    except InputError as error:
        raise CommandError(f"{said(error)} (--from WIRE decides)") from None


def _advised(error: DecodeError, body: bytes, wire: str, kind: Kind) -> Exception:
    """The error; if the body can only be read as the other kind, one that says so."""
    other: Kind = "response" if kind == "request" else "request"
    try:
        decode(body, wire, other)
    except InputError:
        return error
    return CommandError(f"{said(error)} (but it can be read with --kind {other})")
