"""The command line: `toolwire COMMAND ...`, one module of this folder per command.

A module holds its command as `command`. The subfolders have the code that commands share. This file
imports nothing heavy, so that Ctrl-C ends the program at once while the rest is being imported.

Exit codes: 0 success, 1 findings or losses, 2 wrong usage (one line on stderr), 130 stopped with
Ctrl-C, 141 the reader of a pipe has closed it.
"""

from __future__ import annotations

import sys

from toolwire.cli.framework.signals import CTRL_C, exit_on_ctrl_c


def main() -> None:
    """Run the program `toolwire`."""
    try:
        with exit_on_ctrl_c():
            from toolwire.cli.framework.group import run
        run()
    except KeyboardInterrupt:
        sys.exit(CTRL_C)
