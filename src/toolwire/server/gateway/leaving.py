"""A client that leaves: whatever is done for it stops at once, and the model's server is told by its closed connection.

Most answers are over before anybody could leave, so nobody is watched in the first moment. Knows no protocol above HTTP.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from toolwire.server.asgi import Receive

SOON = 0.05
"""Seconds in which nobody is watched."""


class Leaving:
    """A block that is left when the client has gone; `gone` says so then. Its body must have been read."""

    __slots__ = ("_before", "_receive", "_task", "_timer", "_watcher", "gone")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._watcher: asyncio.Task[None] | None = None
        self.gone = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._before = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(SOON, self._watch)
        return self

    def _watch(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._left())

    async def _left(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                self._task.cancel()
                return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if not self.gone:
            return False
        return self._task.uncancel() <= self._before and kind is not None and issubclass(kind, asyncio.CancelledError)
