"""Compute a function of a history once for all rules that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from toolwire.lint.facts import Facts

T = TypeVar("T")


def once_per_history(compute: Callable[[Facts], T]) -> Callable[[Facts], T]:
    """Keep the value of a function of facts for as long as the facts exist.

    The value is shared, so callers must not change it.
    """
    values: WeakKeyDictionary[Facts, T] = WeakKeyDictionary()

    @wraps(compute)
    def lookup(facts: Facts) -> T:
        if facts in values:
            return values[facts]
        value = values[facts] = compute(facts)
        return value

    return lookup
