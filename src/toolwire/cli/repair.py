"""`toolwire repair`: a history that its provider accepts, and every change that this took."""

from __future__ import annotations

import json
from difflib import unified_diff

import click
from msgspec.json import format as indent_json

from toolwire.cli.framework.errors import CommandError, name_file_in_errors
from toolwire.cli.input.bodies import InputBody, kind_of, read_bodies, wire_of
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.atomic_write import replace_file
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.report import STDIN
from toolwire.cli.output.view import choose_view
from toolwire.conversation.json import load
from toolwire.conversation.model import Kind
from toolwire.lint import Repaired, repair

DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("repair")
@click.argument("file", required=False)
@wire_option("--from", "source", help="The wire of the input. Default: detected.")
@wire_option(
    "--to",
    "target",
    metavar="PROFILE",
    help="Whose rules apply: a profile of the same wire. Default: the wire itself.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response"]),
    help="What the input is. Default: detected.",
)
@click.option(
    "--unsafe",
    is_flag=True,
    help="Assign results and arguments by their order where nothing else shows the call.",
)
@click.option("--diff", "show_diff", is_flag=True, help="Write a diff instead of the body.")
@click.option(
    "--in-place", is_flag=True, help="Write the body into FILE; FILE.bak keeps the old content."
)
@click.option("--strict", is_flag=True, help="Exit with 1 for a remaining info, too.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Do not report changes and remaining findings. The exit code stays.",
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    target: str | None,
    kind: Kind | None,
    unsafe: bool,
    show_diff: bool,
    in_place: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Repair a history for the provider it goes to.

    FILE is a JSON body; - or nothing is stdin. The repaired body goes to stdout; a clean body is
    returned byte for byte. Changes and remaining findings are reported on stderr. Whatever a fix
    adds is marked with [toolwire].

    Exit codes: 0 no findings remain, 1 findings remain, 2 wrong usage. An info does not count.
    """
    if file is None:
        exit_with_help_at_terminal(ctx)
    if show_diff and in_place:
        raise CommandError("give either --diff or --in-place")
    if in_place and file in (None, "-"):
        raise CommandError("--in-place needs the name of a file")
    name = file or "-"
    body = _read_single_body(name)
    with name_file_in_errors(file):
        wire = wire_of(body, source, target)
        detected = kind_of(body, kind, wire)
        repaired = repair(body.text, wire, detected, unsafe=unsafe, target=target)
    backup = ""
    if not in_place:
        require_stdout()
        if show_diff:
            click.echo(_diff(name, body.text, repaired), nl=False)
        else:
            choose_view().body(repaired.json())
    elif repaired.changes:
        new = _match_layout(repaired.json(), body.text)
        backup = str(replace_file(name, body.text, new))
    if not quiet:
        _report(repaired, backup)
    failed = any(strict or finding.severity == "error" for finding in repaired.findings)
    ctx.exit(1 if failed else 0)


def _read_single_body(file: str) -> InputBody:
    body = next(read_bodies(file), None)
    if body is None or body.line is not None or body.is_stream:
        name = STDIN if file == "-" else file
        raise CommandError(
            f"{name}: expected a single body, not a stream or a file with a body on each line"
        )
    return body


def _match_layout(text: bytes, original: bytes) -> bytes:
    """Return JSON with the indentation and the final line break of another text."""
    lines = original.split(b"\n", 2)
    margin = len(lines[1]) - len(lines[1].lstrip(b" ")) if len(lines) > 2 else 0
    formatted = _indent(text, margin) if margin else text
    return formatted.rstrip(b"\n") + (b"\n" if original.endswith(b"\n") else b"")


def _indent(text: bytes, margin: int) -> bytes:
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return indent_json(text, indent=margin)
    except (ValueError, RecursionError):  # msgspec refuses lone surrogates and deep nesting.
        return json.dumps(load(text, "")[0], indent=margin).encode()


def _diff(name: str, original: bytes, repaired: Repaired) -> str:
    """Return the changes as a unified diff of the indented JSON."""
    if not repaired.changes:
        return ""
    old, new = (
        _indent(text, 2).decode("utf-8", "backslashreplace").split("\n")
        for text in (original, repaired.json())
    )
    shown_name = STDIN if name == "-" else name
    lines = unified_diff(old, new, f"a/{shown_name}", f"b/{shown_name}", lineterm="")
    return "".join(
        f"{click.style(to_printable(line), fg=DIFF_COLOURS.get(line[:1]))}\n" for line in lines
    )


def _report(repaired: Repaired, backup: str) -> None:
    for change in repaired.changes:
        click.echo(f"{click.style('change', fg='green')} {to_printable(str(change))}", err=True)
    if backup:
        click.echo(f"{click.style('backup', fg='green')} {to_printable(backup)}", err=True)
    for finding in repaired.findings:
        colour = "red" if finding.severity == "error" else "cyan"
        fix = f" [{finding.fix} fix]" if finding.fix else ""
        label = click.style("remaining", fg=colour)
        click.echo(f"{label} {to_printable(str(finding))}{fix}", err=True)
