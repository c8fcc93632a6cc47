"""Take the first step of an awaitable without a task or a timer.

Most awaitables finish in their first step. A timer or a task costs more than all the rest, so the
caller creates one only for an awaitable that really waits.
"""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine
from typing import TypeVar

T = TypeVar("T")


@coroutine
def finish_await(
    steps: Generator[object, object, T], awaited: object
) -> Generator[object, object, T]:
    """Await the rest of an awaitable whose first step yielded `awaited`."""
    try:
        while True:
            try:
                sent = yield awaited
            except BaseException as error:
                awaited = steps.throw(error)
            else:
                awaited = steps.send(sent)
    except StopIteration as done:
        value: T = done.value
        return value
