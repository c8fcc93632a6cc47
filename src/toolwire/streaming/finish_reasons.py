"""Why each candidate of a streamed response stopped, according to its events and its calls."""

from __future__ import annotations

from toolwire.streaming.events import Finish


class FinishReasons:
    """Keeps finish reasons until the stream ends: some servers send more parts after one."""

    def __init__(self) -> None:
        self._last: dict[int, Finish] = {}
        """The last finish of each candidate."""
        self._with_calls: set[int] = set()
        """The candidates with a call that the client runs."""

    def add_call(self, choice: int) -> None:
        """Record that a candidate has a call that the client runs."""
        self._with_calls.add(choice)

    def has_call(self, choice: int) -> bool:
        """True if a candidate has a call that the client runs."""
        return choice in self._with_calls

    def add(self, finish: Finish) -> None:
        """Store the finish of a candidate; it replaces an earlier one."""
        self._last[finish.choice] = finish

    def finishes(self) -> list[Finish]:
        """One finish per candidate, with a reason that agrees with its calls.

        Some sources send `stop`, or no reason, after a call. A writer that supports results checks
        itself whether a call still waits.
        """
        return [self._with_reason(finish) for finish in self._last.values() or (Finish(None),)]

    def _with_reason(self, finish: Finish) -> Finish:
        if finish.choice in self._with_calls and finish.stop in (None, "stop"):
            return Finish("tool", finish.choice)
        return Finish(finish.stop or "stop", finish.choice)
