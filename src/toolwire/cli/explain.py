"""`toolwire explain`: explain an error of a provider; with the body, name the call that caused
it."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size
from textwrap import fill

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, read_input, require_stdout
from toolwire.cli.input.session import line_option
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.printable import to_printable
from toolwire.conversation.json import JSON, Object, dump, load
from toolwire.errors import DecodeError, UsageError
from toolwire.lint.explain import UNRELATED_CODE, Explanation, explain
from toolwire.sessions.session import Session

NO_EXPLANATION = (
    "no explanation is known; `toolwire check FILE` finds what a provider would refuse in a history"
)

MIN_WIDTH, MAX_WIDTH = 20, 100


@click.command("explain")
@click.argument("words", metavar="[TEXT]... [FILE]", nargs=-1)
@click.option("--body", metavar="FILE", help="The same as FILE.")
@wire_option("--from", "source", help="The wire or profile of the body. Default: detected.")
@line_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal as well.")
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    body: str | None,
    source: str | None,
    line: int | None,
    as_json: bool,
) -> None:
    """Explain why a provider refused a request.

    TEXT is the error message as you see it: whole or cut off, plain, in JSON, or in a traceback.
    Without TEXT, or with -, the command reads stdin. FILE is the refused body, or its session file:
    with it, each explanation points to a place in the body, and the findings of check are among
    them. The most likely explanation comes first, the command that fixes it last. The output is
    text on a terminal and JSON in a pipe.

    Exit codes: 0 explained; 1 no explanation is known, or the error is not about tool calls; 2
    wrong usage.
    """
    if body is None:
        words, body = _separate_body(words)
    if not words:
        exit_with_help_at_terminal(ctx)
    require_stdout()
    text_from_stdin = words in ((), ("-",))
    if text_from_stdin and body == "-":
        raise CommandError("stdin is either the text or the body; name a file for the other")
    text = read_input("-").decode("utf-8", "replace") if text_from_stdin else " ".join(words)
    explanations = _explain_in_file(text, body, source, line) if body else explain(text)
    file = quote(body) if body and body != "-" else "FILE"
    if as_json or not sys.stdout.isatty():
        click.echo(dump([_row(explanation, file) for explanation in explanations]))
    else:
        click.echo("\n\n".join(_format_all(explanations, file)) or NO_EXPLANATION)
    explained = any(
        explanation.likely or explanation.code != UNRELATED_CODE for explanation in explanations
    )
    ctx.exit(0 if explained else 1)


def _separate_body(words: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The words of the text, and the file of the body if the last or the first word is a file."""
    if words and _is_file(words[-1]):
        return words[:-1], words[-1]
    if words and _is_file(words[0]):
        return words[1:], words[0]
    return words, None


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # the text is too long for a file name
        return False


def _command(explanation: Explanation, file: str) -> str:
    return explanation.command.replace("FILE", file, 1)


def _explain_in_file(
    text: str, file: str, source: str | None, line: int | None
) -> list[Explanation]:
    """Explain an error by the history of a file. The text may show the wire of a body."""
    data = read_input(file)
    name = "" if file == "-" else file
    try:
        session = Session(data, name, wire=source, line=line)
    except UsageError:
        if not _is_json(data):
            raise
    else:
        if session.format != "json":
            return session.explain(text)
    with name_file_in_errors(file):
        return explain(text, data, source)


def _is_json(data: bytes) -> bool:
    try:
        load(data, "")
    except DecodeError:
        return False
    return True


def _row(explanation: Explanation, file: str) -> JSON:
    row: Object = {} if explanation.line is None else {"line": explanation.line}
    return {
        **row,
        "code": explanation.code,
        "name": explanation.name,
        "pointer": explanation.pointer,
        "message": explanation.message,
        "fix": explanation.fix,
        "likely": explanation.likely,
        "command": _command(explanation, file),
    }


def _format_all(explanations: list[Explanation], file: str) -> list[str]:
    """The explanations as paragraphs; the last one is the command of the first that has one."""
    commands = [_command(explanation, file) for explanation in explanations if explanation.command]
    return [
        *map(_format, explanations),
        *(f"  {to_printable(command)}" for command in commands[:1]),
    ]


def _format(explanation: Explanation) -> str:
    place = f" at {to_printable(explanation.pointer)}" if explanation.pointer else ""
    if explanation.line is not None:
        place = f" on line {explanation.line}{place}"
    message = to_printable(explanation.message)
    rule = f"{explanation.code} {explanation.name}"
    if len(rule) + len(place) > _width():
        message, place = f"{place.strip()}: {message}", ""
    return f"{click.style(rule, bold=True)}{place}\n{_indent(message)}"


def _width() -> int:
    return max(MIN_WIDTH, min(get_terminal_size().columns, MAX_WIDTH))


def _indent(text: str) -> str:
    """The text in indented lines that fit the terminal."""
    return fill(text, _width(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
