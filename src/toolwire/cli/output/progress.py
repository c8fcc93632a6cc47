"""A progress bar on stderr that disappears when the work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from toolwire.cli.output.console import PipeSafeConsole


@contextmanager
def progress_bar(total: int, label: str = "checking") -> Iterator[Callable[[int], None]]:
    """Show a bar and yield the function that advances it."""
    columns = (TextColumn(label), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=PipeSafeConsole(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.advance(task, done)
