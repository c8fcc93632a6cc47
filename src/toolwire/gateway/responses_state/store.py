"""The protocol of response stores, and the store in memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from toolwire.errors import ToolwireError
from toolwire.gateway.responses_state.history import ResponseHistory


class StoreLimits(Struct, frozen=True, kw_only=True):
    """How much a store keeps. The oldest responses are removed first."""

    size: int
    """Bytes of all responses."""
    age: float
    """Seconds that a response is kept."""


class StoreUnavailable(ToolwireError):
    """A store cannot be read or written now."""


class ResponseStore(Protocol):
    """Keeps responses by their owner and id: no client finds those of another key."""

    async def open(self) -> None:
        """Connect. Raises StoreUnavailable."""

    async def close(self) -> None:
        """Disconnect."""

    async def save(self, owner: str, history: ResponseHistory) -> None:
        """Keep a response in place of an earlier one with its id. Raises StoreUnavailable."""

    async def find(self, owner: str, response_id: str) -> ResponseHistory | None:
        """A response; None if there is none. Raises StoreUnavailable."""

    async def remove(self, owner: str, response_id: str) -> None:
        """Delete a response if it exists. Raises StoreUnavailable."""


class MemoryStore:
    """Keeps responses in this process."""

    def __init__(self, limits: StoreLimits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._histories: OrderedDict[tuple[str, str], tuple[float, ResponseHistory]] = OrderedDict()
        self._size = 0

    async def open(self) -> None:
        """Nothing is open here."""

    async def close(self) -> None:
        """Nothing is open here."""

    async def save(self, owner: str, history: ResponseHistory) -> None:
        key = (owner, history.response_id)
        if key in self._histories:
            self._remove(key)
        self._histories[key] = self._clock(), history
        self._size += history.size
        self._trim()

    async def find(self, owner: str, response_id: str) -> ResponseHistory | None:
        self._trim()
        found = self._histories.get((owner, response_id))
        return None if found is None else found[1]

    async def remove(self, owner: str, response_id: str) -> None:
        if (owner, response_id) in self._histories:
            self._remove((owner, response_id))

    def _trim(self) -> None:
        """Remove expired responses, and the oldest ones beyond the size."""
        oldest_allowed = self._clock() - self._limits.age
        while self._histories:
            key, (saved_at, _) = next(iter(self._histories.items()))
            if self._size <= self._limits.size and saved_at >= oldest_allowed:
                return
            self._remove(key)

    def _remove(self, key: tuple[str, str]) -> None:
        _, history = self._histories.pop(key)
        self._size -= history.size
