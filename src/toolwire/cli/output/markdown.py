"""Markdown pages at a terminal."""

from __future__ import annotations

from rich.markdown import Markdown

from toolwire.cli.output.console import PipeSafeConsole

MAX_WIDTH = 120


def print_markdown(text: str) -> None:
    """Print a page on stdout."""
    console = PipeSafeConsole()
    console.width = min(console.width, MAX_WIDTH)
    console.print(Markdown(text))
