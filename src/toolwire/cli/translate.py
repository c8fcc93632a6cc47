"""`toolwire translate`: translate a body from one wire to another, and report the losses."""

from __future__ import annotations

import click

from toolwire.cli.framework.errors import name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.id_map_file import ids_option, read_id_map, save_id_map
from toolwire.cli.input.session import line_option, read_session
from toolwire.cli.input.wire_option import server_tools_option, wire_option
from toolwire.cli.output.view import choose_view
from toolwire.codec import decode
from toolwire.conversation.json import Body
from toolwire.conversation.model import Kind, real_losses
from toolwire.errors import DecodeError, InputError
from toolwire.sessions.session import Session
from toolwire.translate import translate
from toolwire.wires.engine.cache_breakpoints import BREAKPOINT_POLICIES, BreakpointPolicy
from toolwire.wires.engine.server_tools import ServerToolPolicy


@click.command("translate")
@click.argument("file", required=False)
@wire_option("--from", "source", help="The wire of the input. Default: detected.")
@wire_option("--to", "target", required=True, help="The wire or profile to write.")
@click.option(
    "--kind",
    type=click.Choice(["request", "response"]),
    default="request",
    show_default=True,
    help="The kind of the body: a request or a response.",
)
@server_tools_option
@click.option(
    "--cache-breakpoints",
    type=click.Choice(BREAKPOINT_POLICIES),
    default="keep",
    show_default=True,
    help="Keep the cache breakpoints of the input, or add some if it has none (auto).",
)
@ids_option
@click.option("--save-ids", metavar="FILE", help="Write the id map of this translation to FILE.")
@line_option
@click.option("--no-repair", is_flag=True, help="Do not repair what the target would refuse.")
@click.option("--strict", is_flag=True, help="Write no body and no id map if anything is lost.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Do not report losses and repairs. The exit code does not change.",
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    target: str,
    kind: Kind,
    server_tools: ServerToolPolicy,
    cache_breakpoints: BreakpointPolicy,
    ids_file: str | None,
    save_ids: str | None,
    line: int | None,
    no_repair: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Translate a body from one wire to another.

    FILE is a JSON body or a session file. Without FILE, or with -, the command reads stdin. The
    body goes to stdout: indented on a terminal, compact in a pipe. The command repairs a
    history that the target would refuse. Losses (what the target cannot express), repairs, and
    findings without a safe fix go to stderr, each with its JSON pointer in the input.

    Exit codes: 0 nothing was lost and nothing is wrong, 1 losses or findings, 2 wrong usage.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    ids = read_id_map(ids_file) if ids_file else None
    session = read_session(file or "-", source=source, kind=kind, line=line)
    wire, body = session.wire, _body_of(session)
    with name_file_in_errors(file):
        try:
            encoded = translate(
                body,
                wire,
                target,
                kind,
                ids=ids,
                server_tools=server_tools,
                cache_breakpoints=cache_breakpoints,
                repair=not no_repair,
            )
        except DecodeError as error:
            raise _suggest_other_kind(error, body, wire=wire, kind=kind) from None
    view = choose_view()
    losses = real_losses(encoded.losses)
    if not (strict and losses):
        require_stdout()
        if save_ids:
            save_id_map(save_ids, encoded.ids)
        view.body(encoded.json())
    if not quiet:
        view.losses(session.locate(encoded.losses))
        view.repairs(session.locate(encoded.changes))
        view.findings(session.locate(encoded.findings))
    ctx.exit(1 if losses or encoded.findings else 0)


def _body_of(session: Session) -> Body:
    """Return the bytes of a file that is a body, so that its own wire writes them back verbatim;
    otherwise the body in the file."""
    return session.content if session.format == "json" else session.body


def _suggest_other_kind(error: DecodeError, body: Body, *, wire: str, kind: Kind) -> InputError:
    """Return an error that suggests the other kind if the body can be read as that kind; otherwise
    the same error."""
    other: Kind = "response" if kind == "request" else "request"
    try:
        decode(body, wire, other)
    except InputError:
        return error
    return InputError(f"{error}; it can be read with --kind {other}")
