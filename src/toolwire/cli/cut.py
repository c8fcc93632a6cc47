"""`toolwire cut`: the newest part of a history, with every pair whole."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.session import line_option, read_session
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.view import choose_view
from toolwire.conversation.model import real_losses
from toolwire.history import cut


@click.command("cut")
@click.argument("file", required=False)
@wire_option("--from", "source", help="The wire or profile of the input. Default: detected.")
@click.option(
    "--messages", type=click.IntRange(min=1), metavar="N", help="Keep the newest N messages."
)
@click.option(
    "--tokens", type=click.IntRange(min=1), metavar="N", help="Keep about N tokens in total."
)
@line_option
@click.option(
    "-q", "--quiet", is_flag=True, help="Do not report losses. The exit code does not change."
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    messages: int | None,
    tokens: int | None,
    line: int | None,
    quiet: bool,
) -> None:
    """Keep the newest part of a history.

    FILE is a JSON body or a session file. Without FILE, or with -, the command reads stdin. The
    shortened body or session goes to stdout. The system prompt, tools and settings stay, and no
    call is separated from its result. If the part that you ask for cannot start a history, the
    command keeps more.

    Exit codes: 0 success, 1 the provider would refuse the start of the kept part, 2 wrong usage.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    if (messages is None) is (tokens is None):
        raise CommandError("give either --messages N or --tokens N")
    session = read_session(file or "-", source=source, line=line)
    is_body = session.format == "json"
    with name_file_in_errors(file):
        body = session.content if is_body else session.body
        shortened = cut(body, session.wire, messages=messages, tokens=tokens)
    require_stdout()
    view = choose_view()
    losses = session.locate(shortened.losses)
    if is_body:
        view.body(shortened.json())
    else:
        session.body = shortened.body
        click.echo(session.content, nl=False)
    if not quiet:
        view.losses(losses)
    ctx.exit(1 if real_losses(losses) else 0)
