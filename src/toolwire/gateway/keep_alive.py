"""Keep connections to clients alive while a model is silent.

Proxies and clients close a connection on which nothing arrives for some time. One timer serves all
streams: it sends a comment or a ping on those that sent nothing since its last run.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

INTERVAL_SECONDS = 10.0
"""The interval of the timer; a client gets bytes at least once in two intervals."""


class QuietWriter(Protocol):
    """A response that may be silent."""

    quiet: bool
    """True if nothing was sent since the last run of the timer."""

    def keep_alive(self) -> None:
        """Send a comment or a ping."""


class KeepAliveTimer:
    """Watches the streams of a gateway. Belongs to the event loop that first uses it."""

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        self._interval = interval
        self._writers: set[QuietWriter] = set()
        self._handle: asyncio.TimerHandle | None = None

    def add(self, writer: QuietWriter) -> None:
        """Keep a response alive from now on."""
        self._writers.add(writer)
        if self._handle is None:
            self._schedule(asyncio.get_running_loop())

    def remove(self, writer: QuietWriter) -> None:
        """Stop keeping a response alive."""
        self._writers.discard(writer)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = loop.call_later(self._interval, self._run, loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = None
        for writer in list(self._writers):
            if writer.quiet:
                writer.keep_alive()
            writer.quiet = True
        if self._writers:
            self._schedule(loop)
