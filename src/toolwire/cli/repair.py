"""`toolwire repair`: make a history acceptable to its provider, and report every change."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.session import line_option, read_session
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.report import STDIN
from toolwire.cli.output.view import choose_view
from toolwire.conversation.json import dump, load
from toolwire.conversation.model import Kind
from toolwire.errors import DecodeError
from toolwire.lint import Repaired
from toolwire.sessions.history import indent
from toolwire.sessions.session import Session

DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("repair")
@click.argument("file", required=False)
@wire_option("--from", "source", help="The wire of the input. Default: detected.")
@wire_option(
    "--to",
    "target",
    metavar="PROFILE",
    help="Apply the rules of this profile of the same wire. Default: the wire itself.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response"]),
    help="The kind of the input. Default: detected.",
)
@click.option(
    "--unsafe",
    is_flag=True,
    help="Pair results and arguments with calls by order if nothing else identifies the call.",
)
@click.option(
    "--abandon-pending",
    is_flag=True,
    help="Add error results to calls at the end that still wait for their results.",
)
@click.option("--diff", "show_diff", is_flag=True, help="Write a diff instead of the body.")
@click.option("--in-place", is_flag=True, help="Overwrite FILE; FILE.bak keeps the old content.")
@click.option("--output", metavar="FILE", help="Write to another file instead of stdout.")
@line_option
@click.option(
    "--strict", is_flag=True, help="Also exit with 1 for remaining findings of level info."
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Do not report changes and findings. The exit code does not change.",
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    target: str | None,
    kind: Kind | None,
    unsafe: bool,
    abandon_pending: bool,
    show_diff: bool,
    in_place: bool,
    output: str | None,
    line: int | None,
    strict: bool,
    quiet: bool,
) -> None:
    """Repair a history so that its provider accepts it.

    FILE is a JSON body or a session file, such as one of Claude Code or Codex. Without FILE, or
    with -, the command reads stdin. The repaired body or session goes to stdout. A clean file is
    copied byte for byte; in a session, only the lines that need a repair change. Changes and
    remaining findings go to stderr. Text that a repair adds starts with [toolwire].

    Exit codes: 0 no findings remain, 1 findings remain, 2 wrong usage. Findings of level info do
    not count.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    if show_diff and in_place:
        raise CommandError("give either --diff or --in-place")
    if in_place and file in (None, "-"):
        raise CommandError("--in-place needs the name of a file")
    if output is not None and (in_place or show_diff):
        raise CommandError("give either --output, --in-place or --diff")
    session = read_session(file or "-", source=source, target=target, kind=kind, line=line)
    original, skipped_lines = session.content, session.skipped_lines
    with name_file_in_errors(file):
        repaired = session.repair(unsafe=unsafe, abandon_pending=abandon_pending, target=target)
    backup: Path | None = None
    if in_place:
        backup = session.save()
    elif output is not None:
        session.save(output)
    else:
        require_stdout()
        _write(session, repaired, original, show_diff=show_diff)
    if not quiet:
        _report(repaired, backup, skipped_lines)
    failed = any(strict or finding.severity == "error" for finding in repaired.findings)
    ctx.exit(1 if failed else 0)


def _write(session: Session, repaired: Repaired, original: bytes, *, show_diff: bool) -> None:
    """Write to stdout: a diff, a body, or a session file."""
    if show_diff:
        lines = _diff(session.name, original, session.content) if repaired.changes else ()
        click.echo("".join(lines), nl=False)
    elif session.format == "json":
        choose_view().body(dump(repaired.body) if repaired.changes else original)
    else:
        click.echo(session.content, nl=False)


def _diff(name: str, original: bytes, repaired: bytes) -> Iterator[str]:
    """Yield the lines of a unified diff: of the lines of a session, or of indented JSON."""
    old, new = (_lines_to_compare(text) for text in (original, repaired))
    shown_name = name or STDIN
    for line in unified_diff(old, new, f"a/{shown_name}", f"b/{shown_name}", lineterm=""):
        yield f"{click.style(to_printable(line), fg=DIFF_COLOURS.get(line[:1]))}\n"


def _lines_to_compare(text: bytes) -> list[str]:
    try:
        text = indent(dump(load(text, "")[0]), 2)
    except DecodeError:
        text = text.removesuffix(b"\n")
    return text.decode("utf-8", "backslashreplace").split("\n")


def _report(repaired: Repaired, backup: Path | None, skipped_lines: list[int]) -> None:
    for change in repaired.changes:
        click.echo(f"{click.style('change', fg='green')} {to_printable(str(change))}", err=True)
    if backup is not None:
        click.echo(f"{click.style('backup', fg='green')} {to_printable(str(backup))}", err=True)
    for line in skipped_lines:
        click.echo(f"line {line} is not JSON and stays as it is", err=True)
    for finding in repaired.findings:
        colour = "red" if finding.severity == "error" else "cyan"
        fix = f" [{finding.fix} fix]" if finding.fix else ""
        label = click.style("remaining", fg=colour)
        click.echo(f"{label} {to_printable(str(finding))}{fix}", err=True)
