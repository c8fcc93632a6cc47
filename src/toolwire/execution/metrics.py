"""Counters, gauges and histograms in Prometheus' text format.

A table defines the metrics. The number of values of each label is limited, so that callers cannot
fill the memory. Dumps of several processes can be rendered together.
`docs/decisions/012-metrics.md` says why this is not `prometheus_client`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct, convert

from toolwire.conversation.json import dump, parse

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The media type of `MetricSet.render`."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of a histogram, in seconds."""
OTHER = "other"
"""The label value for all values beyond the limit."""


class Metric(Struct, frozen=True):
    """A metric: its type, the names of its labels, and its help text."""

    type: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


class MetricSet:
    """The values of a table of metrics. It belongs to one event loop."""

    def __init__(
        self, prefix: str, metrics: Mapping[str, Metric], *, max_label_values: int = 200
    ) -> None:
        self._prefix = prefix
        self._metrics = metrics
        self._max_label_values = max_label_values
        self._cells: dict[tuple[str, ...], list[float]] = {}
        self._label_values: dict[tuple[str, int], set[str]] = {}

    def add(self, name: str, *labels: str, by: float = 1.0) -> None:
        """Increase a counter or a gauge."""
        self.cell(name, *labels)[0] += by

    def observe(self, name: str, seconds: float, *labels: str) -> None:
        """Add a duration to a histogram."""
        observe(self.cell(name, *labels), seconds)

    def cell(self, name: str, *labels: str) -> list[float]:
        """The storage of one time series, for callers that update it often.

        A counter or a gauge is one number. A histogram is its bucket counts and then the sum; use
        `observe` to add to it.
        """
        cell = self._cells.get((name, *labels))
        if cell is None:
            limited = tuple(self._limit(name, n, value) for n, value in enumerate(labels))
            size = len(BUCKETS) + 2 if self._metrics[name].type == "histogram" else 1
            cell = self._cells.setdefault((name, *limited), [0.0] * size)
        return cell

    def _limit(self, name: str, position: int, value: str) -> str:
        values = self._label_values.setdefault((name, position), set())
        if value in values or len(values) < self._max_label_values:
            values.add(value)
            return value
        return OTHER

    def dump(self) -> bytes:
        """All values, for `render` in another process."""
        return dump([[list(key), list(cell)] for key, cell in self._cells.items()])

    def render(self, others: Mapping[bool, Iterable[bytes]] | None = None) -> str:
        """All values, added to those of other processes.

        Args:
            others: dumps of living (True) and dead (False) processes. Gauges of dead ones are left
                out.
        """
        total = {key: list(cell) for key, cell in self._cells.items()}
        for alive, dumps in (others or {}).items():
            for key, values in (row for data in dumps for row in _rows(data)):
                metric = self._metrics.get(key[0])
                if metric is not None and (alive or metric.type != "gauge"):
                    cell = total.setdefault(key, [0.0] * len(values))
                    total[key] = [a + b for a, b in zip(cell, values, strict=True)]
        lines: list[str] = []
        for name, metric in self._metrics.items():
            full_name = self._prefix + name
            lines += [f"# HELP {full_name} {metric.help}", f"# TYPE {full_name} {metric.type}"]
            for key in sorted(key for key in total if key[0] == name):
                lines += _samples(full_name, metric, key[1:], total[key])
        return "\n".join(lines) + "\n"


def observe(cell: list[float], seconds: float) -> None:
    """Add a duration to the cell of a histogram."""
    cell[bisect_left(BUCKETS, seconds)] += 1
    cell[-1] += seconds


def _samples(name: str, metric: Metric, values: tuple[str, ...], cell: list[float]) -> list[str]:
    """The lines of one time series."""
    labels = [
        f'{label}="{_escape(value)}"' for label, value in zip(metric.labels, values, strict=True)
    ]
    if metric.type != "histogram":
        return [f"{name}{_braces(labels)} {cell[0]:.10g}"]
    lines: list[str] = []
    total = 0.0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), cell[:-1], strict=True):
        total += count
        bucket = _braces([*labels, f'le="{bound}"'])
        lines.append(f"{name}_bucket{bucket} {total:.10g}")
    return [
        *lines,
        f"{name}_sum{_braces(labels)} {cell[-1]:.6f}",
        f"{name}_count{_braces(labels)} {total:.10g}",
    ]


def _braces(labels: list[str]) -> str:
    return "{" + ",".join(labels) + "}" if labels else ""


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _rows(data: bytes) -> list[tuple[tuple[str, ...], list[float]]]:
    try:
        return convert(parse(data), list[tuple[tuple[str, ...], list[float]]])
    except ValueError:  # the other process is writing it
        return []
