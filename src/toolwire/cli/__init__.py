"""The command line: `toolwire VERB ...`, one module per verb, found by listing this folder.

This file is the door: it imports nothing heavy, so that Ctrl-C is answered while the rest is still
being loaded. What is behind it is `_verbs`. A module without an underscore is a verb; it has a
command called `verb`.

Exit codes: 0 clean, 1 something was found or lost, 2 misuse (one line on stderr), 130 stopped with
Ctrl-C, 141 the reader of a pipe went away. Knows no verb by name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from toolwire.cli._signals import CTRL_C, at_once

if TYPE_CHECKING:
    from toolwire.cli._verbs import verbs as verbs


def __getattr__(name: str) -> object:
    """`verbs`, loaded when somebody asks for it."""
    if name != "verbs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = import_module(f"{__name__}._verbs").verbs
    return found


def main() -> None:
    """The program `toolwire`."""
    try:
        with at_once():
            behind = import_module(f"{__name__}._verbs")
        behind.run()
    except KeyboardInterrupt:
        sys.exit(CTRL_C)
