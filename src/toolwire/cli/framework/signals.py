"""Ctrl-C while modules are being loaded: the end, at once and without a word.

A KeyboardInterrupt in the middle of an import may be swallowed by a callback, or turned into
another error by a class that is being made. Nothing has been written yet, so there is nothing to
clean up. Imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

CTRL_C, PIPE_CLOSED = 130, 141
"""What a shell reports of a program that these signals ended: 128 and the signal's number."""


def _end(number: int, frame: object) -> None:
    os._exit(CTRL_C)


@contextmanager
def exit_on_ctrl_c() -> Iterator[None]:
    """Inside, Ctrl-C ends the process; unless it is ignored, as in the background, or somebody else
    handles it."""
    ours = (
        current_thread() is main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
