"""`toolwire cut`: the newest part of a history, with every pair whole."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.bodies import InputBody, wire_of
from toolwire.cli.input.files import exit_with_help_at_terminal, read_input, require_stdout
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.view import choose_view
from toolwire.history import cut


@click.command("cut")
@click.argument("file", required=False)
@wire_option("--from", "source", help="The wire or profile of the input. Default: detected.")
@click.option(
    "--messages", type=click.IntRange(min=1), metavar="N", help="Keep the newest N messages."
)
@click.option(
    "--tokens", type=click.IntRange(min=1), metavar="N", help="Keep about N tokens in all."
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
    settings stay. No pair of call and result is split. Where less could not start a history, more
    is kept than you ask for.

    Exit codes: 0 success, 1 the provider would refuse how the rest starts, 2 wrong usage.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    if (messages is None) is (tokens is None):
        raise CommandError("give either --messages N or --tokens N")
    body = read_input(file or "-")
    with name_file_in_errors(file):
        wire = wire_of(InputBody(body), source, None)
        shortened = cut(body, wire, messages=messages, tokens=tokens)
    require_stdout()
    view = choose_view()
    view.body(shortened.json())
    if not quiet:
        view.losses(shortened.losses)
    ctx.exit(1 if shortened.losses else 0)
