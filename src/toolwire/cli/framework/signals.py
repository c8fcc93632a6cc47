"""Exit codes of signals, and Ctrl-C while modules are being imported.

A KeyboardInterrupt in the middle of an import may be swallowed by a callback or turned into another
error. Nothing has been written yet, so the process can just exit. Imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

CTRL_C, PIPE_CLOSED = 130, 141
"""The exit codes of a program that SIGINT or SIGPIPE ended: 128 plus the signal's number."""


def _exit(number: int, frame: object) -> None:
    os._exit(CTRL_C)


@contextmanager
def exit_on_ctrl_c() -> Iterator[None]:
    """Exit at once on Ctrl-C inside this context.

    Does nothing if SIGINT is ignored (as in the background) or has another handler.
    """
    replace = (
        current_thread() is main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if replace:
        signal.signal(signal.SIGINT, _exit)
    try:
        yield
    finally:
        if replace:
            signal.signal(signal.SIGINT, signal.default_int_handler)
