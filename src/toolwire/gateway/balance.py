"""Choose the upstream for a request: the one with the fewest requests in progress.

An upstream that fails rests for a while: requests try it only after all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from toolwire.gateway.config.model_table import ModelTarget

COOLDOWN = 10.0
"""Seconds that an upstream rests after a failure, unless its response names a time."""
MAX_COOLDOWN = 300.0


class _Load(Struct):
    """The state of one upstream."""

    in_progress: int = 0
    last_used: int = 0
    """The number of the last request that it got."""
    rests_until: float = 0.0


class Balancer:
    """The load of the upstreams of one process, by their table in the configuration."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._loads: defaultdict[str, _Load] = defaultdict(_Load)
        self._requests = 0

    def order(self, targets: list[ModelTarget]) -> list[ModelTarget]:
        """The targets of a request in the order to try them.

        Targets that share the load come first, the least busy one at the front; fallbacks keep
        their order. Upstreams that rest come last.
        """
        if len(targets) == 1:
            return targets
        now = self._clock()

        def rank(item: tuple[int, ModelTarget]) -> tuple[bool, bool, int, int]:
            position, target = item
            load = self._loads[target.table]
            if target.shares_load:
                return load.rests_until > now, False, load.in_progress, load.last_used
            return load.rests_until > now, True, position, 0

        return [target for _, target in sorted(enumerate(targets), key=rank)]

    def start(self, target: ModelTarget) -> None:
        """Count a request that an upstream serves, until `end`. A context manager would cost as
        much as the rest of the balancer."""
        self._requests += 1
        load = self._loads[target.table]
        load.last_used = self._requests
        load.in_progress += 1

    def end(self, target: ModelTarget) -> None:
        """Count a request no longer: the upstream has served it, or failed."""
        self._loads[target.table].in_progress -= 1

    def rest(self, target: ModelTarget, seconds: float | None) -> None:
        """Try other upstreams first for a while."""
        load = self._loads[target.table]
        pause = COOLDOWN if seconds is None else min(seconds, MAX_COOLDOWN)
        load.rests_until = self._clock() + pause
