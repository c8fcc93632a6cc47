"""Output in two forms: JSON for programs behind a pipe, tables and colours at a terminal.

The form for terminals uses rich and is imported only where stdout is a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Change, Finding, Loss

WHOLE_BODY = "(the whole body)"
"""Shown instead of an empty JSON pointer."""


class View(Protocol):
    """Writes bodies, losses and lists."""

    def body(self, text: bytes) -> None:
        """Write a JSON body to stdout."""

    def losses(self, losses: Sequence[Loss]) -> None:
        """Write losses to stderr; at a terminal without those that change no meaning."""

    def repairs(self, changes: Sequence[Change]) -> None:
        """Write the changes of a repair to stderr."""

    def findings(self, findings: Sequence[Finding]) -> None:
        """Write the findings that remain in the output to stderr."""

    def table(self, columns: Sequence[str], cells: Sequence[Sequence[str]], rows: JSON) -> None:
        """Write a list to stdout: `cells` as a table at a terminal, `rows` as JSON otherwise."""


def choose_view(*, as_json: bool = False) -> View:
    """Return the view that suits stdout; `as_json` asks for JSON at a terminal too."""
    if not as_json and sys.stdout is not None and sys.stdout.isatty():
        return terminal_view()
    from toolwire.cli.output.json_view import JsonView

    return JsonView()


def terminal_view() -> View:
    """Return the view for terminals, wherever stdout goes."""
    from toolwire.cli.output.terminal_view import TerminalView

    return TerminalView()
