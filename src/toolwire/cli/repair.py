"""`toolwire repair`: a history as the provider it goes to will take it, and every change
that took.
"""

from __future__ import annotations

import json
import sys
from difflib import unified_diff

import click
from msgspec import DecodeError
from msgspec.json import format as indented

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    printable,
)
from toolwire.cli.input.bodies import Held, held, kind_of, wire_of
from toolwire.cli.output.atomic_write import swap
from toolwire.cli.output.output_mode import view
from toolwire.cli.output.report import STDIN
from toolwire.conversation.json import load
from toolwire.conversation.model import Kind
from toolwire.lint import Repaired, repair


@click.command("repair")
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
    metavar="PROFILE",
    callback=known_wire,
    shell_complete=complete_wire,
    help="Whose rules apply: a profile of the same wire. The wire's own when missing.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response"]),
    help="What the input is. Found out when missing.",
)
@click.option(
    "--unsafe",
    is_flag=True,
    help="Assign results and arguments by their order where nothing else shows the call.",
)
@click.option(
    "--diff", "compare", is_flag=True, help="Write what would change instead of the body."
)
@click.option(
    "--in-place",
    "in_place",
    is_flag=True,
    help="Write the body into FILE, and what was there into FILE.bak.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for an info that is left, too.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Do not report changes, nor what is left. The exit code stays.",
)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    source: str | None,
    target: str | None,
    kind: Kind | None,
    unsafe: bool,
    compare: bool,
    in_place: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Repair a history for the provider it goes to.

    FILE is a JSON body; - or nothing is stdin. The repaired body goes to stdout; a clean one comes
    back to the byte. Each change, and what is left, is reported on stderr. Whatever a fix puts in
    is marked as made here.

    Exit codes: 0 nothing is left, 1 something is left, 2 misuse. An info does not count.
    """
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    if compare and in_place:
        raise CommandError("say either --diff or --in-place")
    if in_place and file in (None, "-"):
        raise CommandError("--in-place needs the name of a file")
    name = file or "-"
    body = _only(name)
    wire = wire_of(body, source, target)
    done = repair(body.text, wire, kind_of(body, kind, wire), unsafe=unsafe, target=target)
    kept = ""
    if not in_place:
        need_stdout()
        if compare:
            click.echo(_difference(name, body.text, done), nl=False)
        else:
            view().body(done.json())
    elif done.changes:
        kept = str(swap(name, body.text, _alike(done.json(), body.text)))
    if not quiet:
        _report(done, kept)
    ctx.exit(1 if any(strict or finding.severity == "error" for finding in done.findings) else 0)


def _only(file: str) -> Held:
    """The body of a file that holds one."""
    bodies = held(file)
    body = next(bodies, None)
    if body is None or body.line is not None or body.stream:
        raise CommandError(
            f"{STDIN if file == '-' else file}: one body is repaired at a time, not a stream or a"
            " file of lines"
        )
    return body


def _alike(text: bytes, before: bytes) -> bytes:
    """JSON in the form that another has: indented as much, or compact; with a line break at its
    end, or not."""
    lines = before.split(b"\n", 2)
    margin = len(lines[1]) - len(lines[1].lstrip(b" ")) if len(lines) > 2 else 0
    return (_indented(text, margin) if margin else text).rstrip(b"\n") + (
        b"\n" if before.endswith(b"\n") else b""
    )


def _indented(text: bytes, margin: int) -> bytes:
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return indented(text, indent=margin)
    except DecodeError:  # It takes no half of a surrogate pair.
        return json.dumps(load(text, "")[0], indent=margin).encode()


def _difference(name: str, before: bytes, done: Repaired) -> str:
    """What changes, as a patch of the indented JSON."""
    if not done.changes:
        return ""
    old, new = (
        _indented(text, 2).decode("utf-8", "backslashreplace").split("\n")
        for text in (before, done.json())
    )
    shown = STDIN if name == "-" else name
    lines = list(unified_diff(old, new, f"a/{shown}", f"b/{shown}", lineterm=""))
    return "".join(f"{click.style(printable(line), fg=COLOURS.get(line[:1]))}\n" for line in lines)


COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _report(done: Repaired, kept: str) -> None:
    for change in done.changes:
        click.echo(f"{click.style('change', fg='green')} {printable(str(change))}", err=True)
    if kept:
        click.echo(f"{click.style('kept', fg='green')} {printable(kept)}", err=True)
    for finding in done.findings:
        colour = "red" if finding.severity == "error" else "cyan"
        fix = f" [{finding.fix} fix]" if finding.fix else ""
        click.echo(f"{click.style('left', fg=colour)} {printable(str(finding))}{fix}", err=True)
