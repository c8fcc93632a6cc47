"""The first step of something awaited, taken at once: most of what is awaited does not wait.

A clock or a task around it costs more than all the rest, so it is only made for what really waits.
Knows no clock.
"""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine
from typing import TypeVar

T = TypeVar("T")


@coroutine
def resumed(steps: Generator[object, object, T], waits_for: object) -> Generator[object, object, T]:
    """The rest of something awaited whose first step was taken: it waits, and whatever comes is
    handed on to it."""
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:
                waits_for = steps.throw(error)
            else:
                waits_for = steps.send(sent)
    except StopIteration as done:
        value: T = done.value
        return value
