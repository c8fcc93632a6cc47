"""`toolwire cut`: the newest part of a history, with every pair whole."""

from __future__ import annotations

import sys

import click

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    read_input,
)
from toolwire.cli.input.bodies import Held, wire_of
from toolwire.cli.output.output_mode import view
from toolwire.history import cut


@click.command("cut")
@click.argument("file", required=False)
@click.option(
    "--from",
    "source",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    help="The wire or profile of the input. Found out when missing.",
)
@click.option(
    "--messages", type=click.IntRange(min=1), metavar="N", help="Keep the newest N messages."
)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep about as much as N tokens hold, all included.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not report losses. The exit code stays.")
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    messages: int | None,
    tokens: int | None,
    quiet: bool,
) -> None:
    """Keep the newest part of a history.

    FILE is a JSON body; - or nothing is stdin. The body goes to stdout. System prompt, tools and
    settings stay; no pair of a call and its result is split, and more is kept than was asked for
    where less could not begin a history.

    Exit codes: 0 done, 1 it cannot begin as its provider wants, 2 misuse.
    """
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    if (messages is None) is (tokens is None):
        raise CommandError("say either --messages N or --tokens N")
    body = read_input(file or "-")
    made = cut(body, wire_of(Held(body), source, None), messages=messages, tokens=tokens)
    need_stdout()
    out = view()
    out.body(made.json())
    if not quiet:
        out.losses(made.losses)
    ctx.exit(1 if made.losses else 0)
