"""`toolwire check`: what is wrong in histories, by the rules of the provider they go to, as a
linter says it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

import click
from msgspec import Struct

from toolwire.cli.framework.usage_error import (
    CommandError,
    complete_wire,
    known_wire,
    need_stdout,
    printable,
    said,
)
from toolwire.cli.input.bodies import Held, Named, held, kind_of, known, named, wire_of
from toolwire.cli.input.rule_selection import complete_rule, names_of
from toolwire.cli.input.source_positions import spots
from toolwire.cli.output.report import FORMATS, PLACED, Fault, Told
from toolwire.conversation.model import Finding, Kind
from toolwire.errors import InputError, UsageError
from toolwire.lint import check


class Asked(Struct, frozen=True):
    """What the command line says about every file."""

    source: str | None
    target: str | None
    kind: Kind | None
    select: frozenset[str]
    ignore: frozenset[str]
    placed: bool

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is of a rule that was chosen."""
        return (not self.select or finding.name in self.select) and finding.name not in self.ignore


class Seen(Struct):
    """What came of looking at all files."""

    told: list[Told] = []
    faults: list[Fault] = []
    bodies: int = 0
    skipped: int = 0


@click.command("check")
@click.argument("files", metavar="[FILE]...", nargs=-1)
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
    type=click.Choice(["request", "response", "stream"]),
    help="What the input is. Found out when missing.",
)
@click.option(
    "--select",
    metavar="RULE,...",
    multiple=True,
    callback=names_of,
    shell_complete=complete_rule,
    help="Only these rules: names, codes, or how they begin (id-, TW02).",
)
@click.option(
    "--ignore",
    metavar="RULE,...",
    multiple=True,
    callback=names_of,
    shell_complete=complete_rule,
    help="Not these rules.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="Lines, a JSON list, annotations of a workflow, or a SARIF log.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for an info, too.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print nothing but what could not be read. The exit code stays.",
)
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    source: str | None,
    target: str | None,
    kind: Kind | None,
    select: frozenset[str],
    ignore: frozenset[str],
    form: str,
    strict: bool,
    quiet: bool,
) -> None:
    """Check histories by the rules of the provider they go to.

    FILE is a JSON body, a file with one on each line (JSONL), a recorded stream, or a folder of
    such files; - or nothing is stdin. Findings go to stdout, with their JSON pointers; the summary,
    and files that cannot be read, to stderr.

    Exit codes: 0 clean, 1 something was found, 2 misuse, or something or everything could not be
    read. An info does not count.
    """
    if not files and sys.stdin is not None and sys.stdin.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    need_stdout()
    seen = Seen()
    asked = Asked(source, target, kind, select, ignore, form in PLACED)
    everything = named(files)
    with _progress(everything) as advance:
        for one in everything:
            _look(one, asked, seen, advance)
    shown = FORMATS[form](seen.told, seen.faults)
    if shown and not quiet:
        click.echo(shown)
    for fault in seen.faults:
        click.echo(f"toolwire: {printable(str(fault))}", err=True)
    if not quiet:
        click.echo(_summary(seen), err=True)
    if seen.faults or not seen.bodies:
        ctx.exit(2)
    ctx.exit(1 if any(strict or one.finding.severity == "error" for one in seen.told) else 0)


def _look(one: Named, asked: Asked, seen: Seen, advance: Callable[[int], None]) -> None:
    """Look at every body of a file; one that is broken does not keep the others from it."""
    line: int | None = None
    try:
        for body in held(one.file, stream=asked.kind == "stream"):
            line = body.line
            _look_at(one, body, asked, seen)
            advance(len(body.text))
    except CommandError as error:
        why = error.message.removeprefix(f"{one.file}: ")
        seen.faults.append(Fault(one.file, line, why))


def _look_at(one: Named, body: Held, asked: Asked, seen: Seen) -> None:
    try:
        wire = wire_of(body, asked.source, asked.target)
    except UsageError as error:
        if one.found and not known(body):  # A folder holds other things, too.
            seen.skipped += 1
        else:
            seen.faults.append(Fault(one.file, body.line, said(error)))
        return
    except (InputError, CommandError) as error:
        seen.faults.append(
            Fault(
                one.file, body.line, said(error) if isinstance(error, InputError) else error.message
            )
        )
        return
    try:
        kind = kind_of(body, asked.kind, wire)
        findings = [
            finding
            for finding in check(body.text, wire, kind, target=asked.target)
            if asked.wants(finding)
        ]
    except InputError as error:
        seen.faults.append(Fault(one.file, body.line, said(error)))
        return
    seen.bodies += 1
    at = (
        spots(body.text, [finding.path for finding in findings])
        if asked.placed and findings and not body.stream
        else {}
    )
    for finding in findings:
        spot = at.get(finding.path)
        if spot is not None and body.line is not None:
            spot = (body.line, spot[1])
        seen.told.append(Told(one.file, body.line, wire, asked.target or wire, kind, finding, spot))


def _summary(seen: Seen) -> str:
    count = Counter(one.finding.severity for one in seen.told)
    fixes = Counter(one.finding.fix for one in seen.told)
    parts = ["nothing was checked"]
    if seen.bodies:
        errors = _many(count["error"], "error", "errors") if count["error"] else "clean"
        parts = [_many(seen.bodies, "body", "bodies"), errors]
    parts += [f"{count['info']} info"] if count["info"] else []
    mended = [f"{fixes[fix]} {fix}" for fix in ("safe", "unsafe") if fixes[fix]]
    parts += [f"fixes: {', '.join(mended)}"] if mended else []
    parts += [f"{len(seen.faults)} unreadable"] if seen.faults else []
    parts += [f"{seen.skipped} of no wire skipped"] if seen.skipped else []
    return "; ".join(parts)


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _progress(everything: Sequence[Named]) -> AbstractContextManager[Callable[[int], None]]:
    """A bar on stderr for many files, or large ones, if somebody sees it."""
    total = sum(one.size for one in everything)
    if sys.stderr is None or not sys.stderr.isatty() or (len(everything) < 2 and total < 1_000_000):
        return nullcontext(lambda done: None)
    bar: AbstractContextManager[Callable[[int], None]] = import_module(
        "toolwire.cli.output.progress"
    ).bar(total)
    return bar
