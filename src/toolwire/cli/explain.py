"""`toolwire explain`: a provider's refusal in plain words, and with the refused body, which call it
means."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import fill

import click

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    printable,
    read_input,
)
from toolwire.conversation.json import JSON, dump
from toolwire.lint.explain import Explanation, explain

WIDEST = 100


@click.command("explain")
@click.argument("words", metavar="[TEXT]...", nargs=-1)
@click.option("--body", metavar="FILE", help="The body that was refused.")
@click.option(
    "--from",
    "source",
    metavar="WIRE",
    callback=known_wire,
    shell_complete=complete_wire,
    help="The wire or profile it was sent to. Found out when missing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal, too.")
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], body: str | None, source: str | None, as_json: bool
) -> None:
    """Explain why a provider refused a request.

    TEXT is what it said; - or nothing is stdin. With the body, each explanation points at what is
    wrong in it. For people on a terminal, JSON when piped; the likeliest comes first.

    Exit codes: 0 explained, 1 nothing is known about these words, 2 misuse.
    """
    if not words and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    need_stdout()
    from_stdin = words in ((), ("-",))
    if from_stdin and body == "-":
        raise CommandError("stdin is either the text or the body; name a file for the other")
    text = read_input("-").decode("utf-8", "replace") if from_stdin else " ".join(words)
    found = explain(text, read_input(body) if body else None, source)
    if as_json or not sys.stdout.isatty():
        click.echo(dump([_row(one) for one in found]))
    else:
        click.echo("\n\n".join(map(_shown, found)) or "nothing is known about these words")
    ctx.exit(0 if found else 1)


def _row(one: Explanation) -> JSON:
    return {
        "code": one.code,
        "name": one.name,
        "pointer": one.pointer,
        "message": one.message,
        "fix": one.fix,
    }


def _shown(one: Explanation) -> str:
    width = min(get_terminal_size().columns, WIDEST)
    place = f" at {printable(one.pointer)}" if one.pointer else ""
    words = fill(
        printable(one.message),
        width - 2,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    return f"{click.style(f'{one.code} {one.name}', bold=True)}{place}\n{words}"
