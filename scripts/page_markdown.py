"""Markdown for the generated pages."""

from __future__ import annotations

from collections.abc import Iterable

GENERATED = "<!-- written by scripts/gen.py from the code; do not edit -->"


def cell(text: str) -> str:
    """Escape text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """Format a name as code for a cell of a table."""
    return f"`{cell(text)}`" if text else ""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format rows of cells as a table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
