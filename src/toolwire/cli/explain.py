"""`toolwire explain`: an error of a provider in plain words; with the body, which call it means."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import fill

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, read_input, require_stdout
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.printable import to_printable
from toolwire.conversation.json import JSON, dump
from toolwire.lint.explain import Explanation, explain

MAX_WIDTH = 100


@click.command("explain")
@click.argument("words", metavar="[TEXT]...", nargs=-1)
@click.option("--body", metavar="FILE", help="The body that the provider refused.")
@wire_option("--from", "source", help="The wire or profile of the body. Default: detected.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal, too.")
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], body: str | None, source: str | None, as_json: bool
) -> None:
    """Explain why a provider refused a request.

    TEXT is the error of the provider; - or nothing is stdin. With the body, each explanation points
    at the place in it. The most likely explanation comes first. The output is text at a terminal
    and JSON when piped.

    Exit codes: 0 explained, 1 no explanation is known, 2 wrong usage.
    """
    if not words:
        exit_with_help_at_terminal(ctx)
    require_stdout()
    text_from_stdin = words in ((), ("-",))
    if text_from_stdin and body == "-":
        raise CommandError("stdin is either the text or the body; name a file for the other")
    text = read_input("-").decode("utf-8", "replace") if text_from_stdin else " ".join(words)
    with name_file_in_errors(body):
        explanations = explain(text, read_input(body) if body else None, source)
    if as_json or not sys.stdout.isatty():
        click.echo(dump([_row(one) for one in explanations]))
    else:
        click.echo("\n\n".join(map(_format, explanations)) or "no explanation is known")
    ctx.exit(0 if explanations else 1)


def _row(explanation: Explanation) -> JSON:
    return {
        "code": explanation.code,
        "name": explanation.name,
        "pointer": explanation.pointer,
        "message": explanation.message,
        "fix": explanation.fix,
    }


def _format(explanation: Explanation) -> str:
    width = min(get_terminal_size().columns, MAX_WIDTH)
    place = f" at {to_printable(explanation.pointer)}" if explanation.pointer else ""
    message = fill(
        to_printable(explanation.message),
        width - 2,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    rule = click.style(f"{explanation.code} {explanation.name}", bold=True)
    return f"{rule}{place}\n{message}"
