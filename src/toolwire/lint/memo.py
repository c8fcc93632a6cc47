"""Compute values that several rules need only once per history."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from toolwire.lint.facts import Facts

T = TypeVar("T")
Owner = TypeVar("Owner")


class lazy_property(Generic[Owner, T]):
    """A property that is computed on first use.

    `functools.cached_property` takes a lock up to Python 3.11, which costs more than most facts.
    """

    def __init__(self, compute: Callable[[Owner], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Owner, kind: type[Owner] | None = None) -> T:
        value = owner.__dict__[self._name] = self._compute(owner)
        return value


def once_per_history(compute: Callable[[Facts], T]) -> Callable[[Facts], T]:
    """Return a function that stores its value in the facts.

    The value is shared, so callers must not change it.
    """

    @wraps(compute)
    def lookup(facts: Facts) -> T:
        values = facts.computed
        if compute in values:
            return values[compute]  # type: ignore[return-value]
        value = values[compute] = compute(facts)
        return value

    return lookup
