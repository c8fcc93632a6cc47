"""Cancel the work for a client that disconnects, and close its connection to the upstream.

Most responses end before a client could disconnect, so watching starts after a short delay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

from toolwire.server.asgi import Receive

GRACE_SECONDS = 0.05
"""Seconds before a client is watched."""


class DisconnectTimer:
    """Starts the watches of many requests with one timer: one timer per request would cost more
    than the watch itself. Belongs to the event loop that first uses it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, DisconnectWatch]] = deque()
        self._handle: asyncio.TimerHandle | None = None

    def add(self, watch: DisconnectWatch, loop: asyncio.AbstractEventLoop) -> None:
        """Start this watch after the grace period, unless it has ended by then."""
        self._waiting.append((loop.time() + GRACE_SECONDS, watch))
        if self._handle is None:
            self._handle = loop.call_later(GRACE_SECONDS, self._start_due, loop)

    def _start_due(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, now = self._waiting, loop.time()
        while waiting and (waiting[0][1].ended or waiting[0][0] <= now):
            _, watch = waiting.popleft()
            if not watch.ended:
                watch.start(loop)
        self._handle = None
        if waiting:
            delay = max(waiting[0][0] - now, 0.001)
            self._handle = loop.call_later(delay, self._start_due, loop)


class DisconnectWatch:
    """A context manager whose block is cancelled when the client disconnects. The body must have
    been read."""

    disconnected = False
    ended = False
    _watcher: asyncio.Task[None] | None = None

    def __init__(self, receive: Receive, timer: DisconnectTimer) -> None:
        self._receive = receive
        self._timer = timer

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._timer.add(self, task.get_loop())
        return self

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch the client from now on."""
        self._watcher = loop.create_task(self._watch())

    async def _watch(self) -> None:
        task, receive = self._task, self._receive
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected = True
                task.cancel()
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.ended = True
        task = self._task
        # The timer keeps this object for a while, but not the request, which would stay in memory
        # with all that it refers to.
        del self._task, self._receive
        if self._watcher is not None:
            self._watcher.cancel()
        if not self.disconnected:
            return False
        return (
            task.uncancel() <= self._cancelling
            and kind is not None
            and issubclass(kind, asyncio.CancelledError)
        )
