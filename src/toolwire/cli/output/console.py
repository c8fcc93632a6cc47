"""What people's output is drawn on: rich's console, which leaves a broken pipe to the program.

By itself it would end the process with 1, which means that something was lost.
"""

from __future__ import annotations

from rich.console import Console


class Paper(Console):
    """A console whose BrokenPipeError reaches the caller."""

    def on_broken_pipe(self) -> None:
        raise  # The console calls this while it handles the error.
