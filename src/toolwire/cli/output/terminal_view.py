"""Output for terminals: indented JSON in colours, and tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from msgspec.json import format as indent_json
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from toolwire.cli.output.console import PipeSafeConsole
from toolwire.cli.output.counts import count
from toolwire.cli.output.json_view import JsonView
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.view import WHOLE_BODY
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Finding, Loss, position, real_losses

MAX_COLOURED = 200_000
"""Longer bodies are shown without colours: highlighting them takes seconds."""


class TerminalView:
    """A view for people at a terminal."""

    def body(self, text: bytes) -> None:
        lines = _indent(text).split("\n")
        shown = "\n".join(map(to_printable, lines))
        if len(shown) > MAX_COLOURED:
            click.echo(shown)
        else:
            PipeSafeConsole().print(JSONHighlighter()(shown), soft_wrap=True)

    def losses(self, losses: Sequence[Loss]) -> None:
        cells = [
            (position(loss.line, loss.path) or WHOLE_BODY, loss.reason)
            for loss in real_losses(losses)
        ]
        if not sys.stderr.isatty():
            JsonView().losses(losses)
        elif cells:
            _print_report(count(len(cells), "loss", "losses"), ("pointer", "reason"), cells)

    def findings(self, findings: Sequence[Finding]) -> None:
        cells = [
            (position(finding.line, finding.path) or WHOLE_BODY, finding.name, finding.message)
            for finding in findings
        ]
        if not sys.stderr.isatty():
            JsonView().findings(findings)
        elif cells:
            title = f"{count(len(cells), 'finding', 'findings')} that the target would refuse"
            _print_report(title, ("pointer", "rule", "what is wrong"), cells)

    def repairs(self, changes: Sequence[Change]) -> None:
        cells = [
            (position(change.line, change.path) or WHOLE_BODY, change.name, change.message)
            for change in changes
        ]
        if not sys.stderr.isatty():
            JsonView().repairs(changes)
        elif cells:
            title = f"{count(len(cells), 'repair', 'repairs')} for the target"
            _print_report(title, ("pointer", "rule", "what changed"), cells)

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        PipeSafeConsole().print(_table(columns, cells, title=None))


def _indent(text: bytes) -> str:
    try:
        return indent_json(text, indent=2).decode()
    except (ValueError, RecursionError):  # a lone surrogate, or very deep JSON
        return text.decode("utf-8", "replace")


def _print_report(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    PipeSafeConsole(stderr=True).print(_table(columns, cells, title=title))


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]], *, title: str | None) -> Table:
    table = Table(
        *columns,
        box=None,
        padding=(0, 2, 0, 0),
        title=title,
        title_justify="left",
        title_style="yellow",
        header_style="bold underline",
    )
    for column in table.columns:
        column.overflow = "fold"
    for row in cells:
        table.add_row(*(Text(to_printable(cell)) for cell in row))
    return table
