"""Lines that show how far a measurement is. They go to standard error: the tables can be piped."""

from __future__ import annotations

import sys


def report(text: str) -> None:
    """Print a line."""
    print(text, file=sys.stderr, flush=True)
