"""`toolwire check`: report what a provider would refuse in a history, like a linter."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import click
from msgspec import Struct
from msgspec.structs import replace

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.input.bodies import (
    InputBody,
    InputFile,
    histories_of,
    kind_of,
    list_files,
    read_bodies,
    resembles_a_wire,
    wire_of_stream,
)
from toolwire.cli.input.files import exit_with_help_at_terminal, require_stdout
from toolwire.cli.input.rule_selection import complete_rule, select_rules
from toolwire.cli.input.source_positions import (
    Excerpt,
    Position,
    excerpt_at,
    find_positions,
    lines_of,
)
from toolwire.cli.input.wire_option import wire_option
from toolwire.cli.output.counts import count
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.report import (
    FORMATS,
    FORMATS_WITH_POSITIONS,
    LocatedFinding,
    UnreadableInput,
)
from toolwire.codec import resolve
from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Finding, Kind
from toolwire.errors import InputError, UsageError
from toolwire.lint import check
from toolwire.sessions.history import History

MAX_COMMANDS = 3
"""The maximum number of fix commands to print."""
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
    repairable: dict[str, str] = {}
    """The files and lines that `repair` can fix, and the wire of each."""


@click.command("check")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@wire_option("--from", "source", help="The wire of the input. Default: detected.")
@wire_option(
    "--to",
    "target",
    metavar="PROFILE",
    help="Apply the rules of this profile, or of another wire. Default: the wire itself.",
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="The kind of the input. Default: detected.",
)
@click.option(
    "--select",
    metavar="RULE,...",
    multiple=True,
    callback=select_rules,
    shell_complete=complete_rule,
    help="Check only these rules: names, codes, or prefixes (id-, TW02).",
)
@click.option(
    "--ignore",
    metavar="RULE,...",
    multiple=True,
    callback=select_rules,
    shell_complete=complete_rule,
    help="Skip these rules.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="The output: text, a JSON list, GitHub workflow annotations, or a SARIF log.",
)
@click.option("--strict", is_flag=True, help="Also exit with 1 for findings of level info.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Report only unreadable input. The exit code does not change.",
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
    """Find what a provider would refuse in a history.

    FILE is a JSON body, a JSONL file with one message or one body per line, a session of a coding
    agent, a recorded stream, or a folder of such files. Without FILE, or with -, the command reads
    stdin. Findings go to stdout, with line and column. The summary, the names of unreadable files,
    and the commands that fix the findings go to stderr.

    Exit codes: 0 no errors, 1 errors, 2 wrong usage or unreadable input. Findings of level info do
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
        for line in _fix_commands(result, options):
            click.echo(to_printable(line), err=True)
    if result.unreadable or not result.bodies:
        ctx.exit(2)
    failed = any(strict or found.finding.severity == "error" for found in result.findings)
    ctx.exit(1 if failed else 0)


def _check_file(
    file: InputFile, options: CheckOptions, *, result: CheckResult, advance: Callable[[int], None]
) -> None:
    """Check every body of a file; an unreadable one does not stop the others."""
    line: int | None = None
    is_stream = options.kind == "stream"
    try:
        for body in read_bodies(file.name, is_stream=is_stream, wire=options.source):
            line = body.line
            _check_body(file, body, options=options, result=result)
            advance(len(body.text))
    except CommandError as error:
        why = error.message.removeprefix(f"{file.name}: ")
        result.unreadable.append(UnreadableInput(file.name, line, why))
    except InputError as error:
        result.unreadable.append(UnreadableInput(file.name, line, str(error)))


def _check_body(
    file: InputFile, body: InputBody, *, options: CheckOptions, result: CheckResult
) -> None:
    try:
        found = _check_stream(file, body, options) if body.is_stream else []
        if not body.is_stream:
            for history in histories_of(body, options.source, options.target):
                found += _check_history(file, body, history, options=options)
    except (InputError, CommandError) as error:
        # A folder holds other JSON files, too.
        if isinstance(error, UsageError) and file.in_folder and not resembles_a_wire(body):
            result.skipped += 1
        else:
            why = str(error) if isinstance(error, InputError) else error.message
            result.unreadable.append(UnreadableInput(file.name, body.line, why))
        return
    result.bodies += 1
    result.findings += found
    has_file = not body.is_stream and file.name != "-"
    if has_file and any(located.finding.fix == "safe" for located in found):
        line = "" if body.line is None else f" --line {body.line}"
        result.repairable[shlex.quote(file.name) + line] = found[0].wire


def _check_stream(file: InputFile, body: InputBody, options: CheckOptions) -> list[LocatedFinding]:
    wire = wire_of_stream(options.source, options.target)
    findings = check(body.text, wire, "stream", target=options.target)
    return [
        _locate(file, finding, line=None, wire=wire, kind="stream", options=options)
        for finding in findings
        if options.selects(finding)
    ]


def _check_history(
    file: InputFile, body: InputBody, history: History, *, options: CheckOptions
) -> list[LocatedFinding]:
    kind = kind_of(history, options.kind)
    wire = history.wire
    found: list[LocatedFinding] = []
    for finding in check(history.body, wire, kind, target=options.target):
        if options.selects(finding):
            place = history.place(finding.path)
            finding = replace(finding, path=place.path)
            found.append(
                _locate(file, finding, line=place.line, wire=wire, kind=kind, options=options)
            )
    return _with_positions(body, found) if options.with_positions else found


def _locate(
    file: InputFile,
    finding: Finding,
    *,
    line: int | None,
    wire: str,
    kind: Kind,
    options: CheckOptions,
) -> LocatedFinding:
    return LocatedFinding(
        file=file.name,
        line=line,
        wire=wire,
        target=options.target or wire,
        kind=kind,
        finding=finding,
    )


def _with_positions(body: InputBody, findings: list[LocatedFinding]) -> list[LocatedFinding]:
    """Return findings with their positions in their file, as an editor counts."""
    paths: dict[int | None, list[JsonPath]] = {}
    for found in findings:
        paths.setdefault(found.line, []).append(found.finding.path)
    lines = body.text.split(b"\n") if body.transcript is not None else []
    places: dict[tuple[int | None, JsonPath], tuple[Position, Excerpt]] = {}
    for line, wanted in paths.items():
        text = lines[line - 1] if lines and line is not None else body.text
        text_lines = lines_of(text)
        for path, position in find_positions(text, wanted).items():
            excerpt = excerpt_at(text_lines, position)
            if line is not None:
                position = Position(line, position.column)
            places[line, path] = (position, excerpt)
    return [_with_place(found, places.get((found.line, found.finding.path))) for found in findings]


def _with_place(found: LocatedFinding, place: tuple[Position, Excerpt] | None) -> LocatedFinding:
    return found if place is None else replace(found, position=place[0], excerpt=place[1])


def _summarize(result: CheckResult) -> str:
    severities = Counter(found.finding.severity for found in result.findings)
    fixes = Counter(found.finding.fix for found in result.findings)
    parts = ["nothing was checked"]
    if result.bodies:
        errors = count(severities["error"], "error", "errors") if severities["error"] else "clean"
        parts = [count(result.bodies, "body", "bodies"), errors]
    if severities["info"]:
        parts.append(f"{severities['info']} info")
    if counts := [f"{fixes[fix]} {fix}" for fix in ("safe", "unsafe") if fixes[fix]]:
        parts.append(f"fixes: {', '.join(counts)}")
    if result.unreadable:
        parts.append(f"{len(result.unreadable)} unreadable")
    if result.skipped:
        parts.append(f"{result.skipped} skipped (no known wire)")
    return "; ".join(parts)


def _fix_commands(result: CheckResult, options: CheckOptions) -> list[str]:
    """Return the commands that apply safe fixes, one for each file."""
    commands = [
        f"fix with: toolwire {_fix_command(file, wire, options.target)}"
        for file, wire in result.repairable.items()
    ]
    more = len(commands) - MAX_COMMANDS
    return [*commands[:MAX_COMMANDS], *([f"and {more} more"] if more > 0 else [])]


def _fix_command(file: str, wire: str, target: str | None) -> str:
    """Return the command that fixes a file: a repair, or a translation to another wire."""
    if target is None:
        return f"repair {file} --from {wire} --in-place"
    if resolve(target)[0].name == resolve(wire)[0].name:
        return f"repair {file} --from {wire} --to {target} --in-place"
    return f"translate {file} --from {wire} --to {target}"


def _progress(inputs: Sequence[InputFile]) -> AbstractContextManager[Callable[[int], None]]:
    """Show a progress bar for many or large files if stderr is a terminal."""
    total = sum(file.size for file in inputs)
    small = len(inputs) < 2 and total < LARGE
    if small or sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(lambda done: None)
    from toolwire.cli.output.progress import progress_bar

    return progress_bar(total)
