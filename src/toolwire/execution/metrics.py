"""Counts and times of calls, in Prometheus' text format.

Labels are bounded: tools beyond the first few hundred are counted together, and nothing a caller
chooses is ever a label. Knows no server: somebody else puts `render()` behind a route.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The media type of `render()`."""
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OTHER = "other"


class Metrics:
    """What a server counts. Belongs to one event loop."""

    def __init__(self, *, most_tools: int = 300) -> None:
        self.most_tools = most_tools
        self.in_flight = 0
        self._tools: set[str] = set()
        self._calls: dict[tuple[str, str], int] = {}
        self._replays: dict[str, int] = {}
        self._ledger_errors: dict[str, int] = {}
        self._seconds: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def _label(self, tool: str) -> str:
        if tool in self._tools:
            return tool
        if len(self._tools) >= self.most_tools:
            return OTHER
        self._tools.add(tool)
        return tool

    def called(self, tool: str, state: str, *, replayed: bool = False) -> None:
        """One more answer."""
        tool = self._label(tool)
        self._calls[tool, state] = self._calls.get((tool, state), 0) + 1
        if replayed:
            self._replays[tool] = self._replays.get(tool, 0) + 1

    def took(self, tool: str, seconds: float) -> None:
        """One more run of a tool's body."""
        tool = self._label(tool)
        buckets = self._seconds.get(tool)
        if buckets is None:
            buckets = self._seconds[tool] = [0] * (len(BOUNDS) + 1)
            self._sums[tool] = 0.0
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self._sums[tool] += seconds

    def ledger_failed(self, operation: str) -> None:
        """One more operation that the ledger could not do; `operation` is one of its methods."""
        self._ledger_errors[operation] = self._ledger_errors.get(operation, 0) + 1

    def render(self) -> str:
        """Everything counted so far."""
        lines = _head("toolwire_calls_total", "counter", "Answers by tool and state.")
        lines += (
            f"toolwire_calls_total{_labels(tool=tool, state=state)} {n}"
            for (tool, state), n in sorted(self._calls.items())
        )
        lines += _head(
            "toolwire_replays_total",
            "counter",
            "Answers that came from the record or from a call under way.",
        )
        lines += (
            f"toolwire_replays_total{_labels(tool=tool)} {n}"
            for tool, n in sorted(self._replays.items())
        )
        lines += _head("toolwire_calls_in_flight", "gauge", "Calls under way.")
        lines.append(f"toolwire_calls_in_flight {self.in_flight}")
        lines += _head(
            "toolwire_ledger_errors_total", "counter", "Operations the ledger could not do."
        )
        lines += (
            f"toolwire_ledger_errors_total{_labels(operation=name)} {n}"
            for name, n in sorted(self._ledger_errors.items())
        )
        lines += _head("toolwire_tool_seconds", "histogram", "How long the bodies of tools ran.")
        for tool, buckets in sorted(self._seconds.items()):
            total = 0
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                total += n
                lines.append(f"toolwire_tool_seconds_bucket{_labels(tool=tool, le=bound)} {total}")
            lines.append(f"toolwire_tool_seconds_sum{_labels(tool=tool)} {self._sums[tool]:.6f}")
            lines.append(f"toolwire_tool_seconds_count{_labels(tool=tool)} {total}")
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, says: str) -> list[str]:
    return [f"# HELP {name} {says}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
