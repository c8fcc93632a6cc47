"""rich's console, with a BrokenPipeError that reaches the caller.

rich itself would end the process with exit code 1, which means findings or losses here.
"""

from __future__ import annotations

from rich.console import Console


class PipeSafeConsole(Console):
    """A console that raises BrokenPipeError when the reader has closed the pipe."""

    def on_broken_pipe(self) -> None:
        raise  # The console calls this while it handles the error.
