"""Run a coroutine to its end from synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from toolwire.errors import UsageError

T = TypeVar("T")


def run_in_new_loop(main: Callable[[], Coroutine[None, None, T]], *, instead: str) -> T:
    """Run a coroutine in an event loop of its own.

    Args:
        main: Makes the coroutine.
        instead: The call to await where an event loop runs already, for the error.

    Raises:
        UsageError: An event loop runs in this thread, as in notebooks and async functions.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    raise UsageError(f"an event loop runs in this thread; use `await {instead}`")
