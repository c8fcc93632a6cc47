"""Findings as people, programs, annotations and code scanners want them: one function for each
format.

What a stranger's body says can neither command a terminal nor the reader of annotations. Knows no
rule by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

import click
from msgspec import Struct

from toolwire.cli.framework.usage_error import printable
from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.model import Finding, Kind
from toolwire.lint import all_rules

STDIN = "stdin"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Told(Struct, frozen=True):
    """A finding: in which file, on which line if there is a body on each, and at which line and
    column as an editor counts."""

    file: str
    line: int | None
    wire: str
    target: str
    kind: Kind
    finding: Finding
    spot: tuple[int, int] | None = None

    @property
    def place(self) -> str:
        """The file, the line if it matters, and the pointer."""
        parts = (
            STDIN if self.file == "-" else self.file,
            str(self.line or ""),
            self.finding.pointer,
        )
        return ":".join(part for part in parts if part)


class Fault(Struct, frozen=True):
    """A file or line that could not be looked at, and why."""

    file: str
    line: int | None
    why: str

    def __str__(self) -> str:
        name = STDIN if self.file == "-" else self.file
        return f"{name}:{self.line}: {self.why}" if self.line else f"{name}: {self.why}"


def lines(told: Sequence[Told], faults: Sequence[Fault]) -> str:
    """One line for each finding, coloured where somebody sees it."""
    return "\n".join(map(_line, told))


def _line(one: Told) -> str:
    finding = one.finding
    colour = "red" if finding.severity == "error" else "cyan"
    named = f"{click.style(finding.code, fg=colour, bold=True)} {finding.name}"
    fix = f" [{click.style(f'{finding.fix} fix', fg='green')}]" if finding.fix else ""
    note = "info: " if finding.severity == "info" else ""
    return (
        f"{click.style(printable(one.place), bold=True)}: {named}:"
        f" {note}{printable(finding.message)}{fix}"
    )


def rows(told: Sequence[Told], faults: Sequence[Fault]) -> str:
    """A JSON list with an object for each finding."""
    return text_of([_row(one) for one in told])


def _row(one: Told) -> JSON:
    finding = one.finding
    return {
        "file": one.file,
        "line": one.line,
        "wire": one.wire,
        "target": one.target,
        "kind": one.kind,
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "pointer": finding.pointer,
        "message": finding.message,
        "fix": finding.fix,
    }


# --- annotations of a workflow --------------------------------------------------------------------


def commands(told: Sequence[Told], faults: Sequence[Fault]) -> str:
    """Workflow commands that a runner shows beside the lines of a change."""
    return "\n".join([*map(_annotation, told), *map(_broken, faults)])


def _annotation(one: Told) -> str:
    finding = one.finding
    fields = {"file": one.file, "title": f"{finding.code} {finding.name}"}
    if one.spot is not None:
        fields |= {"line": str(one.spot[0]), "col": str(one.spot[1])}
    words = f"{finding.pointer}: {finding.message}" if finding.pointer else finding.message
    return _command("error" if finding.severity == "error" else "notice", fields, words)


def _broken(fault: Fault) -> str:
    line = {"line": str(fault.line)} if fault.line else {}
    return _command("error", {"file": fault.file, "title": "unreadable", **line}, fault.why)


def _command(verb: str, fields: dict[str, str], words: str) -> str:
    shown = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in fields.items()
    )
    return f"::{verb} {shown}::{_escaped(words)}"


def _escaped(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


# --- code scanning --------------------------------------------------------------------------------


def sarif(told: Sequence[Told], faults: Sequence[Fault]) -> str:
    """A log in the static analysis format SARIF 2.1.0."""
    number = {rule.name: n for n, rule in enumerate(all_rules())}
    driver: Object = {
        "name": "toolwire",
        "semanticVersion": version("toolwire"),
        "rules": [_described(name) for name in number],
    }
    notes: list[JSON] = [
        {
            "level": "error",
            "message": {"text": fault.why},
            "locations": [_location(fault.file, (fault.line or 1, 1), None)],
        }
        for fault in faults
    ]
    run: Object = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not faults, "toolExecutionNotifications": notes}],
        "results": [_result(one, number[one.finding.name]) for one in told],
    }
    return text_of({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _described(name: str) -> JSON:
    (rule,) = (one for one in all_rules() if one.name == name)
    return {
        "id": name,
        "name": rule.code,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


LEVELS = {"error": "error", "info": "note"}


def _result(one: Told, number: int) -> JSON:
    finding = one.finding
    return {
        "ruleId": finding.name,
        "ruleIndex": number,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(one.file, one.spot, finding.pointer)],
        "properties": {
            "wire": one.wire,
            "target": one.target,
            "kind": one.kind,
            "fix": finding.fix,
        },
    }


def _location(file: str, spot: tuple[int, int] | None, pointer: str | None) -> JSON:
    physical: Object = {"artifactLocation": {"uri": _uri(file)}}
    if spot is not None:
        physical["region"] = {"startLine": spot[0], "startColumn": spot[1]}
    logical: list[JSON] = [{"fullyQualifiedName": pointer}] if pointer else []
    return {"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}


def _uri(file: str) -> str:
    if file == "-":
        return STDIN
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


FORMATS: dict[str, Callable[[Sequence[Told], Sequence[Fault]], str]] = {
    "text": lines,
    "json": rows,
    "github": commands,
    "sarif": sarif,
}
PLACED = ("github", "sarif")
"""The formats that want lines and columns."""
