"""The limits of a key, and how much of them it has used.

Rates are token buckets: a minute without requests allows a burst of as many as the limit. Processes
that share a store subtract the usage of the others since the last exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta

from msgspec import Struct

CONCURRENCY_WAIT = 1.0
"""Seconds after which a client with too many requests in progress may try again."""


class KeyLimits(Struct, frozen=True, kw_only=True):
    """The limits of a key; None for no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None
    budget_per_day: float | None = None
    budget_per_month: float | None = None


class LimitReached(Struct, frozen=True):
    """Why a request is rejected, and when to try again."""

    reason: str
    seconds: float


class ProcessCount(Struct, frozen=True):
    """The counts of one process for a key since it started."""

    requests: int = 0
    tokens: int = 0
    in_progress: int = 0


class SharedUsage(Struct, frozen=True, kw_only=True):
    """The stored usage of a key."""

    others: Mapping[str, ProcessCount]
    """The counts of the other running processes, by process."""
    day: str = ""
    cost_of_day: float = 0.0
    """The totals of all processes for this day."""
    month: str = ""
    cost_of_month: float = 0.0


class RateBucket:
    """A token bucket, which refills over one minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used = 0.0
        """The part of the limit that is in use; more than the limit after a large request."""
        self._updated_at = clock()

    def take(self, amount: float, limit: float | None) -> None:
        """Use up an amount."""
        self._fill(limit)
        self._used += amount

    def seconds_until(self, amount: float, limit: float) -> float:
        """Seconds until this amount is available."""
        self._fill(limit)
        missing = self._used + amount - max(limit, 1.0)
        return max(0.0, missing * 60.0 / limit)

    def _fill(self, limit: float | None) -> None:
        now = self._clock()
        if limit is not None:
            self._used = max(0.0, self._used - (now - self._updated_at) * limit / 60.0)
        self._updated_at = now


class KeyUsage:
    """The usage of a key in this process. Shared by all rows that the key had."""

    def __init__(self, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        """Prepare the counts.

        Args:
            clock: seconds that never go back.
            wall_clock: seconds since 1970.
        """
        self.unstored_cost = 0.0
        """Cost that the store does not know yet."""
        self._wall_clock = wall_clock
        self._requests = RateBucket(clock)
        self._tokens = RateBucket(clock)
        self._count = ProcessCount()
        self._shared: SharedUsage | None = None
        self._limits = KeyLimits()

    @property
    def count(self) -> ProcessCount:
        """The counts of this process."""
        return self._count

    def acquire(self, limits: KeyLimits) -> LimitReached | None:
        """Start a request, unless a limit is reached."""
        self._limits = limits
        reached = self._find_limit(limits)
        if reached is None:
            self._requests.take(1, limits.requests_per_minute)
            self._add(requests=1, in_progress=1)
        return reached

    def release(self) -> None:
        """End a request."""
        self._add(in_progress=-1)

    def add_tokens(self, tokens: int, cost: float) -> None:
        """Count the tokens of a request and what they cost."""
        self._tokens.take(tokens, self._limits.tokens_per_minute)
        self._add(tokens=tokens)
        self.unstored_cost += cost

    def share(self, shared: SharedUsage, stored_cost: float) -> None:
        """Subtract the usage of other processes since the last exchange.

        Args:
            shared: the stored usage.
            stored_cost: the part of `unstored_cost` that it contains.
        """
        if self._shared is not None:
            for process, count in shared.others.items():
                known = self._shared.others.get(process, ProcessCount())
                self._requests.take(
                    count.requests - known.requests, self._limits.requests_per_minute
                )
                self._tokens.take(count.tokens - known.tokens, self._limits.tokens_per_minute)
        self._shared = shared
        self.unstored_cost -= stored_cost

    def _add(self, *, requests: int = 0, tokens: int = 0, in_progress: int = 0) -> None:
        count = self._count
        self._count = ProcessCount(
            count.requests + requests, count.tokens + tokens, count.in_progress + in_progress
        )

    def _find_limit(self, limits: KeyLimits) -> LimitReached | None:
        return (
            self._find_concurrency_limit(limits.concurrency)
            or _find_rate_limit(self._requests, limits.requests_per_minute, "requests")
            or _find_rate_limit(self._tokens, limits.tokens_per_minute, "tokens")
            or self._find_budget_limit(limits.budget_per_day, limits.budget_per_month)
        )

    def _find_concurrency_limit(self, limit: int | None) -> LimitReached | None:
        if limit is None:
            return None
        running = self._count.in_progress
        if self._shared is not None:
            running += sum(count.in_progress for count in self._shared.others.values())
        if running < limit:
            return None
        return LimitReached(f"its limit of {limit} requests at the same time", CONCURRENCY_WAIT)

    def _find_budget_limit(
        self, per_day: float | None, per_month: float | None
    ) -> LimitReached | None:
        if per_day is None and per_month is None:
            return None
        now = datetime.fromtimestamp(self._wall_clock(), UTC)
        day, month = now.date(), now.date().replace(day=1)
        of_day = of_month = self.unstored_cost
        if self._shared is not None:
            of_day += self._shared.cost_of_day if self._shared.day == f"{day}" else 0.0
            of_month += self._shared.cost_of_month if self._shared.month == f"{month}" else 0.0
        if per_day is not None and of_day >= per_day:
            wait = _seconds_to(now, day + timedelta(days=1))
            return LimitReached(f"its budget of {per_day:g} for a day", wait)
        if per_month is not None and of_month >= per_month:
            wait = _seconds_to(now, (month + timedelta(days=31)).replace(day=1))
            return LimitReached(f"its budget of {per_month:g} for a month", wait)
        return None


def _find_rate_limit(bucket: RateBucket, limit: float | None, what: str) -> LimitReached | None:
    wait = 0.0 if limit is None else bucket.seconds_until(1, limit)
    return LimitReached(f"its limit of {limit:g} {what} per minute", wait) if wait > 0 else None


def _seconds_to(now: datetime, day: date) -> float:
    return (datetime.combine(day, time.min, UTC) - now).total_seconds()
