"""`toolwire check`: what the provider of a history would refuse, reported like a linter."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import click
from msgspec import Struct

from toolwire.cli.framework.errors import CommandError, describe_error
from toolwire.cli.input.bodies import (
    InputBody,
    InputFile,
    kind_of,
    list_files,
    read_bodies,
    resembles_a_wire,
    wire_of,
)
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.rule_selection import complete_rule, select_rules
from toolwire.cli.input.source_positions import Position, find_positions
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.report import (
    FORMATS,
    FORMATS_WITH_POSITIONS,
    LocatedFinding,
    UnreadableInput,
)
from toolwire.conversation.model import Finding, Kind
from toolwire.errors import InputError, UsageError
from toolwire.lint import check

LARGE = 1_000_000
"""Bytes from which on a single file gets a progress bar."""


class CheckOptions(Struct, frozen=True, kw_only=True):
    """How to check every file."""

    source: str | None
    target: str | None
    kind: Kind | None
    select: frozenset[str]
    ignore: frozenset[str]
    with_positions: bool

    def selects(self, finding: Finding) -> bool:
        """True if the rule of a finding is selected and not ignored."""
        return (not self.select or finding.name in self.select) and finding.name not in self.ignore


class CheckResult(Struct):
    """The findings in all files."""

    findings: list[LocatedFinding] = []
    unreadable: list[UnreadableInput] = []
    bodies: int = 0
    skipped: int = 0


@click.command("check")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@wire_option("--from", "source", help="The wire of the input. Default: detected.")
@wire_option(
    "--to",
    "target",
    metavar="PROFILE",
    help="Whose rules apply: a profile of the same wire. Default: the wire itself.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="What the input is. Default: detected.",
)
@click.option(
    "--select",
    metavar="RULE,...",
    multiple=True,
    callback=select_rules,
    shell_complete=complete_rule,
    help="Only these rules: names, codes, or prefixes (id-, TW02).",
)
@click.option(
    "--ignore",
    metavar="RULE,...",
    multiple=True,
    callback=select_rules,
    shell_complete=complete_rule,
    help="All rules but these.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="Text, a JSON list, annotations of a GitHub workflow, or a SARIF log.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for an info, too.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print only which input cannot be read. The exit code stays.",
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
    output_format: str,
    strict: bool,
    quiet: bool,
) -> None:
    """Check histories by the rules of the provider they go to.

    FILE is a JSON body, a file with one body on each line (JSONL), a recorded stream, or a folder
    of such files; - or nothing is stdin. Findings with their JSON pointers go to stdout. The
    summary, and files that cannot be read, go to stderr.

    Exit codes: 0 no errors found, 1 errors found, 2 wrong usage or unreadable input. An info does
    not count.
    """
    if not files:
        exit_with_help_at_terminal(ctx)
    require_stdout()
    result = CheckResult()
    options = CheckOptions(
        source=source,
        target=target,
        kind=kind,
        select=select,
        ignore=ignore,
        with_positions=output_format in FORMATS_WITH_POSITIONS,
    )
    inputs = list_files(files)
    with _progress(inputs) as advance:
        for file in inputs:
            _check_file(file, options, result=result, advance=advance)
    report = FORMATS[output_format](result.findings, result.unreadable)
    if report and not quiet:
        click.echo(report)
    for unreadable in result.unreadable:
        click.echo(f"toolwire: {to_printable(str(unreadable))}", err=True)
    if not quiet:
        click.echo(_summarize(result), err=True)
    if result.unreadable or not result.bodies:
        ctx.exit(2)
    failed = any(strict or found.finding.severity == "error" for found in result.findings)
    ctx.exit(1 if failed else 0)


def _check_file(
    file: InputFile, options: CheckOptions, *, result: CheckResult, advance: Callable[[int], None]
) -> None:
    """Check every body of a file; an unreadable one does not stop the others."""
    line: int | None = None
    try:
        for body in read_bodies(file.name, is_stream=options.kind == "stream"):
            line = body.line
            _check_body(file, body, options=options, result=result)
            advance(len(body.text))
    except CommandError as error:
        why = error.message.removeprefix(f"{file.name}: ")
        result.unreadable.append(UnreadableInput(file.name, line, why))


def _check_body(
    file: InputFile, body: InputBody, *, options: CheckOptions, result: CheckResult
) -> None:
    try:
        wire = wire_of(body, options.source, options.target)
        kind = kind_of(body, options.kind, wire)
        findings = check(body.text, wire, kind, target=options.target)
    except (InputError, CommandError) as error:
        # A folder holds other JSON files, too.
        if isinstance(error, UsageError) and file.in_folder and not resembles_a_wire(body):
            result.skipped += 1
        else:
            why = describe_error(error) if isinstance(error, InputError) else error.message
            result.unreadable.append(UnreadableInput(file.name, body.line, why))
        return
    result.bodies += 1
    selected = [finding for finding in findings if options.selects(finding)]
    positions = _positions(body, selected) if options.with_positions else {}
    result.findings += (
        LocatedFinding(
            file=file.name,
            line=body.line,
            wire=wire,
            target=options.target or wire,
            kind=kind,
            finding=finding,
            position=positions.get(finding.path),
        )
        for finding in selected
    )


def _positions(
    body: InputBody, findings: Sequence[Finding]
) -> dict[tuple[str | int, ...], Position]:
    """Return the positions of findings in their file."""
    if body.is_stream or not findings:
        return {}
    positions = find_positions(body.text, [finding.path for finding in findings])
    if body.line is None:
        return positions
    return {path: Position(body.line, found.column) for path, found in positions.items()}


def _summarize(result: CheckResult) -> str:
    severities = Counter(found.finding.severity for found in result.findings)
    fixes = Counter(found.finding.fix for found in result.findings)
    parts = ["nothing was checked"]
    if result.bodies:
        errors = _count(severities["error"], "error", "errors") if severities["error"] else "clean"
        parts = [_count(result.bodies, "body", "bodies"), errors]
    if severities["info"]:
        parts.append(f"{severities['info']} info")
    if counts := [f"{fixes[fix]} {fix}" for fix in ("safe", "unsafe") if fixes[fix]]:
        parts.append(f"fixes: {', '.join(counts)}")
    if result.unreadable:
        parts.append(f"{len(result.unreadable)} unreadable")
    if result.skipped:
        parts.append(f"{result.skipped} of no wire skipped")
    return "; ".join(parts)


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _progress(inputs: Sequence[InputFile]) -> AbstractContextManager[Callable[[int], None]]:
    """Show a progress bar for many or large files if stderr is a terminal."""
    total = sum(file.size for file in inputs)
    small = len(inputs) < 2 and total < LARGE
    if small or sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(lambda done: None)
    from toolwire.cli.output.progress import progress_bar

    return progress_bar(total)
