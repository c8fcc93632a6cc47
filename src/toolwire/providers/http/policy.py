"""How long a request waits, and how often it is sent again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time

from msgspec import Struct

from toolwire.errors import require_count, require_seconds


class Timeouts(Struct, frozen=True):
    """Limits on the time of one request, in seconds."""

    connect: float = 10.0
    """The time to open a connection, TLS and proxy included."""
    idle: float = 300.0
    """The time without a byte in either direction."""
    total: float | None = None
    """The time from the start of the request to the last byte of the response; None for no
    limit."""

    def __post_init__(self) -> None:
        require_seconds(self.connect, "connect=")
        require_seconds(self.idle, "idle=")
        if self.total is not None:
            require_seconds(self.total, "total=")


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a failed request is sent again, and the pause before."""

    attempts: int = 5
    """Requests in all; 1 means no retry."""
    backoff: float = 0.5
    """Seconds before the second attempt; doubled for each further one."""
    max_backoff: float = 30.0
    max_retry_after: float = 120.0
    """The longest pause that a server may ask for; after a longer one there is no retry."""

    def __post_init__(self) -> None:
        require_count(self.attempts, "attempts=", least=1)
        require_seconds(self.backoff, "backoff=", positive=False)
        require_seconds(self.max_backoff, "max_backoff=", positive=False)
        require_seconds(self.max_retry_after, "max_retry_after=", positive=False)

    def delay(self, attempt: int, retry_after: float | None = None) -> float | None:
        """Return the seconds to wait after a failed attempt; None to give up.

        Args:
            attempt: The number of the attempt that failed, from 1.
            retry_after: The seconds that the server asked for, if it did.
        """
        if attempt >= self.attempts:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= self.max_retry_after else None
        backoff = min(self.backoff * 2.0 ** (attempt - 1), self.max_backoff)
        return backoff * random.uniform(0.75, 1.25)  # so that clients do not return all at once


TIMEOUTS = Timeouts()
RETRY_POLICY = RetryPolicy()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; names of header fields are in lower case.

    A date is read by the server's own clock, if it sends one.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        seconds = None if text is None else _seconds(text, unit, headers.get("date"))
        if seconds is not None and isfinite(seconds):
            return max(0.0, seconds)
    return None


def _seconds(text: str, unit: float, date: str | None) -> float | None:
    try:
        return float(text) * unit
    except ValueError:
        pass
    try:
        now = time() if date is None else parsedate_to_datetime(date).timestamp()
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return None
