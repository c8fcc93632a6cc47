"""A Markdown page as people at a terminal see it."""

from __future__ import annotations

from rich.markdown import Markdown

from toolwire.cli.output.console import Paper

WIDEST = 120


def show(text: str) -> None:
    """Print a page on stdout."""
    paper = Paper()
    paper.width = min(paper.width, WIDEST)
    paper.print(Markdown(text))
