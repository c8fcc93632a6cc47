"""Output for people: indented JSON in colours, and tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from msgspec.json import format as indented
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from toolwire.cli.framework.usage_error import printable
from toolwire.cli.output.console import Paper
from toolwire.cli.output.json_output import VIEW as JSON_VIEW
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Finding, Loss

LONGEST = 200_000
"""A body beyond this many characters is shown without colours: finding them takes longer than
anyone would wait."""


class Drawn:
    """The view of a person at a terminal."""

    def body(self, text: bytes) -> None:
        shown = "\n".join(map(printable, indented(text, indent=2).decode().split("\n")))
        if len(shown) > LONGEST:
            click.echo(shown)
        else:
            Paper().print(JSONHighlighter()(shown), soft_wrap=True)

    def losses(self, losses: Sequence[Loss]) -> None:
        if not sys.stderr.isatty():
            JSON_VIEW.losses(losses)
        elif losses:
            cells = [(loss.pointer or "(the whole body)", loss.reason) for loss in losses]
            title = (
                f"{len(losses)} lost on the way"
                if len(losses) > 1
                else "one thing was lost on the way"
            )
            Paper(stderr=True).print(_table(("pointer", "reason"), cells, title))

    def findings(self, findings: Sequence[Finding]) -> None:
        if not sys.stderr.isatty():
            JSON_VIEW.findings(findings)
        elif findings:
            cells = [
                (finding.pointer or "(the whole body)", finding.name, finding.message)
                for finding in findings
            ]
            title = f"{len(findings)} findings that the target would refuse"
            Paper(stderr=True).print(_table(("pointer", "rule", "what is wrong"), cells, title))

    def repairs(self, changes: Sequence[Change]) -> None:
        if not sys.stderr.isatty():
            JSON_VIEW.repairs(changes)
        elif changes:
            cells = [
                (change.pointer or "(the whole body)", change.name, change.message)
                for change in changes
            ]
            title = (
                f"{len(changes)} repairs for the target"
                if len(changes) > 1
                else "one repair for the target"
            )
            Paper(stderr=True).print(_table(("pointer", "rule", "what was done"), cells, title))

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        Paper().print(_table(columns, cells, None))


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], title: str | None) -> Table:
    made = Table(
        *columns,
        box=None,
        padding=(0, 2, 0, 0),
        title=title,
        title_justify="left",
        title_style="yellow",
        header_style="bold underline",
    )
    for column in made.columns:
        column.overflow = "fold"
    for row in cells:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


VIEW = Drawn()
