"""A progress bar on stderr that vanishes when the work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from toolwire.cli.output.console import Paper


@contextmanager
def bar(total: int, words: str = "checking") -> Iterator[Callable[[int], None]]:
    """A bar, and what advances it."""
    columns = (TextColumn(words), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Paper(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=total)
        yield lambda done: progress.advance(task, done)
