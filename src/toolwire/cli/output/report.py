"""Findings in four formats: text, JSON, annotations of a GitHub workflow, SARIF.

Text that comes from a body is escaped, so that it can send commands neither to a terminal nor to a
workflow runner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

import click
from msgspec import Struct

from toolwire.cli.input.source_positions import Excerpt, Position
from toolwire.cli.output.printable import to_printable
from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.model import Finding, Kind
from toolwire.lint import all_rules
from toolwire.lint.rule import Rule

STDIN = "stdin"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "info": "note"}
"""The levels of SARIF for severities."""


class LocatedFinding(Struct, frozen=True):
    """A finding and where it is.

    `line` is the line of the body if its file has a body on each line. `position` is the line and
    column, and `excerpt` the text there, if the format needs them.
    """

    file: str
    line: int | None
    wire: str
    target: str
    kind: Kind
    finding: Finding
    position: Position | None = None
    excerpt: Excerpt | None = None

    @property
    def location(self) -> str:
        """The file with line and column; without a position, with the JSON pointer."""
        name = STDIN if self.file == "-" else self.file
        if self.position is not None:
            return f"{name}:{self.position.line}:{self.position.column}"
        parts = (name, str(self.line or ""), self.finding.pointer)
        return ":".join(part for part in parts if part)


class UnreadableInput(Struct, frozen=True):
    """A file or line that could not be checked, and why."""

    file: str
    line: int | None
    why: str

    def __str__(self) -> str:
        name = STDIN if self.file == "-" else self.file
        return f"{name}:{self.line}: {self.why}" if self.line else f"{name}: {self.why}"


Findings = Sequence[LocatedFinding]
Unreadable = Sequence[UnreadableInput]


# --- text and JSON --------------------------------------------------------------------------------


def format_text(findings: Findings, unreadable: Unreadable) -> str:
    """Return each finding with the place where it is, in colours at a terminal."""
    return "\n".join(line for found in findings for line in _text_lines(found))


def _text_lines(found: LocatedFinding) -> list[str]:
    if found.excerpt is None or found.position is None:
        return [_text_line(found)]
    number = str(found.position.line)
    bar = click.style("|", fg="blue")
    caret = click.style("^", fg="red", bold=True)
    pointer = to_printable(found.finding.pointer)
    indent = " " * len(to_printable(found.excerpt.text[: found.excerpt.offset]))
    return [
        _text_line(found),
        f"  {number} {bar} {to_printable(found.excerpt.text)}",
        f"  {' ' * len(number)} {bar} {indent}{caret} {pointer}",
    ]


def _text_line(found: LocatedFinding) -> str:
    finding = found.finding
    colour = "red" if finding.severity == "error" else "cyan"
    rule = f"{click.style(finding.code, fg=colour, bold=True)} {finding.name}"
    fix = f" [{click.style(f'{finding.fix} fix', fg='green')}]" if finding.fix else ""
    severity = "info: " if finding.severity == "info" else ""
    location = click.style(to_printable(found.location), bold=True)
    return f"{location}: {rule}: {severity}{to_printable(finding.message)}{fix}"


def format_json(findings: Findings, unreadable: Unreadable) -> str:
    """Return a JSON list with one object per finding."""
    return text_of([_json_row(found) for found in findings])


def _json_row(found: LocatedFinding) -> JSON:
    finding = found.finding
    return {
        "file": found.file,
        "line": found.line,
        "wire": found.wire,
        "target": found.target,
        "kind": found.kind,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "pointer": finding.pointer,
        "message": finding.message,
        "fix": finding.fix,
    }


# --- annotations of a GitHub workflow -------------------------------------------------------------


def format_github(findings: Findings, unreadable: Unreadable) -> str:
    """Return workflow commands; a runner shows them beside the lines of a change."""
    return "\n".join([*map(_annotate_finding, findings), *map(_annotate_unreadable, unreadable)])


def _annotate_finding(found: LocatedFinding) -> str:
    finding = found.finding
    fields = {"file": found.file, "title": f"{finding.code} {finding.name}"}
    if found.position is not None:
        fields |= {"line": str(found.position.line), "col": str(found.position.column)}
    text = f"{finding.pointer}: {finding.message}" if finding.pointer else finding.message
    return _workflow_command("error" if finding.severity == "error" else "notice", fields, text)


def _annotate_unreadable(unreadable: UnreadableInput) -> str:
    line = {"line": str(unreadable.line)} if unreadable.line else {}
    fields = {"file": unreadable.file, "title": "unreadable", **line}
    return _workflow_command("error", fields, unreadable.why)


def _workflow_command(name: str, fields: dict[str, str], text: str) -> str:
    pairs = ",".join(
        f"{key}={_escape(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in fields.items()
    )
    return f"::{name} {pairs}::{_escape(text)}"


def _escape(text: str) -> str:
    return to_printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


# --- SARIF ----------------------------------------------------------------------------------------


def format_sarif(findings: Findings, unreadable: Unreadable) -> str:
    """Return a log in the static analysis format SARIF 2.1.0."""
    rules = all_rules()
    rule_index = {rule.name: n for n, rule in enumerate(rules)}
    driver: Object = {
        "name": "toolwire",
        "semanticVersion": version("toolwire"),
        "rules": list(map(_sarif_rule, rules)),
    }
    notifications = [_sarif_notification(file) for file in unreadable]
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not unreadable, "toolExecutionNotifications": notifications}
        ],
        "results": [
            _sarif_result(located, rule_index[located.finding.name]) for located in findings
        ],
    }
    return text_of({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_rule(rule: Rule) -> JSON:
    return {
        "id": rule.name,
        "name": rule.code,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _sarif_notification(unreadable: UnreadableInput) -> JSON:
    position = Position(unreadable.line or 1, 1)
    return {
        "level": "error",
        "message": {"text": unreadable.why},
        "locations": [_sarif_location(unreadable.file, position, pointer=None)],
    }


def _sarif_result(found: LocatedFinding, rule_index: int) -> JSON:
    finding = found.finding
    return {
        "ruleId": finding.name,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_sarif_location(found.file, found.position, pointer=finding.pointer)],
        "properties": {
            "wire": found.wire,
            "target": found.target,
            "kind": found.kind,
            "fix": finding.fix,
        },
    }


def _sarif_location(file: str, position: Position | None, *, pointer: str | None) -> JSON:
    physical: Object = {"artifactLocation": {"uri": _uri(file)}}
    if position is not None:
        physical["region"] = {"startLine": position.line, "startColumn": position.column}
    location: Object = {"physicalLocation": physical}
    if pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": pointer}]
    return location


def _uri(file: str) -> str:
    if file == "-":
        return STDIN
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


FORMATS: dict[str, Callable[[Findings, Unreadable], str]] = {
    "text": format_text,
    "json": format_json,
    "github": format_github,
    "sarif": format_sarif,
}
FORMATS_WITH_POSITIONS = ("text", "github", "sarif")
"""The formats that show lines and columns."""
