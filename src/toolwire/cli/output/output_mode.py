"""Two ways to show things: for people at a terminal, and for programs at the other end of a pipe.

The way for people draws with rich and is imported only when somebody is there to see it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Finding, Loss


class View(Protocol):
    """How bodies, losses and lists are shown."""

    def body(self, text: bytes) -> None:
        """A JSON body, on stdout."""

    def losses(self, losses: Sequence[Loss]) -> None:
        """What was lost, on stderr."""

    def repairs(self, changes: Sequence[Change]) -> None:
        """What was repaired, on stderr."""

    def findings(self, findings: Sequence[Finding]) -> None:
        """What the target would still refuse, on stderr."""

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        """A list, on stdout: `cells` as a table for people, `rows` as JSON for programs."""


def view(*, piped: bool = False) -> View:
    """The view for whoever reads stdout; `piped` asks for the programs' one."""
    people = not piped and sys.stdout is not None and sys.stdout.isatty()
    found: View = import_module(
        "toolwire.cli.output.terminal_output" if people else "toolwire.cli.output.json_output"
    ).VIEW
    return found
