"""Translate large requests in threads, so that they do not block the event loop.

The number of threads and their time are limited. A thread cannot be stopped: one that exceeds its
time keeps its slot until it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from toolwire.execution.thread_pool import ThreadPool
from toolwire.gateway.errors import RequestRejected

MIN_BYTES = 64 * 1024
"""Smaller requests are translated at once: a thread would cost more."""
MAX_THREADS = 4
MAX_SECONDS = 30.0

T = TypeVar("T")


class TranslationThreads:
    """The threads of one gateway."""

    def __init__(self, *, threads: int = MAX_THREADS, seconds: float = MAX_SECONDS) -> None:
        self._pool = ThreadPool("toolwire-translate")
        self._free = threads
        self._waiting: list[asyncio.Future[None]] = []
        self._seconds = seconds

    async def run(self, function: Callable[[], T]) -> T:
        """The value of a function that runs in a thread.

        Raises:
            RequestRejected: it takes too long, or no thread becomes free in time.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await self._take_slot()
                return await self._start(function)
        except TimeoutError:
            message = (
                f"Translating this request took longer than {self._seconds:g} seconds. Shorten its"
                " history."
            )
            raise RequestRejected(message, 413) from None

    async def _take_slot(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._free:
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            finally:
                self._waiting.remove(waiter)
        self._free -= 1

    def _release_slot(self) -> None:
        self._free += 1
        waiter = next((waiter for waiter in self._waiting if not waiter.done()), None)
        if waiter is not None:
            waiter.set_result(None)

    def _start(self, function: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def finish(value: T | None, error: BaseException | None) -> None:
            self._release_slot()
            if future.done():  # the request was cancelled or took too long
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)  # type: ignore[arg-type]

        def job() -> None:
            value: T | None = None
            failure: BaseException | None = None
            try:
                value = function()
            except Exception as error:
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, value, failure)

        self._pool.start(job)
        return future
