"""How much longer four times the work takes, in CPU time: the same on a fast and on a busy machine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time

GROWTH_LIMIT = 8
"""Linear time gives 4 and quadratic time 16; the rest is noise."""


def growth(quarter: Callable[[], object], whole: Callable[[], object]) -> float:
    """How many times longer the whole takes than a quarter of it: the minimum of several attempts.

    Half a millisecond of work cannot be measured precisely next to other processes; quadratic work
    is slow in every attempt.
    """
    least = float("inf")
    for _ in range(10):
        least = min(least, _least_time(whole, runs=1) / _least_time(quarter, runs=3))
        if least < GROWTH_LIMIT:
            break
    return least


def _least_time(work: Callable[[], object], *, runs: int) -> float:
    """The least CPU time of some runs, without garbage collection."""
    times: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(runs):
            start = process_time()
            work()
            times.append(process_time() - start)
    finally:
        gc.enable()
    return min(times)
