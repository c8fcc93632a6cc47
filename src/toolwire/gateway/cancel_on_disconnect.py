"""A client that leaves: whatever is done for it stops at once, and the model's server is told by
its closed connection.

Most answers are over before anybody could leave, so nobody is watched in the first moment. Knows no
protocol above HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

from toolwire.server.asgi import Receive

SOON = 0.05
"""Seconds in which nobody is watched."""


class DisconnectTimes:
    """Looks after the first moment of many blocks with one timer: one of its own for each would
    cost more than all the rest.

    Belongs to the event loop that first used it.
    """

    def __init__(self) -> None:
        self._young: deque[tuple[float, DisconnectWatch]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, one: DisconnectWatch, loop: asyncio.AbstractEventLoop) -> None:
        """One more block; it is watched when its first moment is over, if it is not."""
        self._young.append((loop.time() + SOON, one))
        if self._timer is None:
            self._timer = loop.call_later(SOON, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        young, now = self._young, loop.time()
        while young and (young[0][1].over or young[0][0] <= now):
            young.popleft()[1].watch(loop)
        self._timer = (
            loop.call_later(max(young[0][0] - now, 0.001), self._look, loop) if young else None
        )


class DisconnectWatch:
    """A block that is left when the client has gone; `gone` says so then. Its body must have been
    read."""

    __slots__ = ("_before", "_moments", "_receive", "_task", "_watcher", "gone", "over")

    def __init__(self, receive: Receive, moments: DisconnectTimes) -> None:
        self._receive = receive
        self._moments = moments
        self._watcher: asyncio.Task[None] | None = None
        self.gone = False
        self.over = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._before = task.cancelling()
        self._moments.add(self, task.get_loop())
        return self

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """The first moment is over."""
        if not self.over:
            self._watcher = loop.create_task(self._left())

    async def _left(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                self._task.cancel()
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.over = True
        if self._watcher is not None:
            self._watcher.cancel()
        if not self.gone:
            return False
        return (
            self._task.uncancel() <= self._before
            and kind is not None
            and issubclass(kind, asyncio.CancelledError)
        )
