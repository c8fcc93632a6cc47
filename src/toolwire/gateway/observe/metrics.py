"""The metrics of a gateway, in Prometheus' text format. Several processes can be added up.

Which metrics there are, and with which labels, is a table. The number of values of a label is
bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from msgspec import Struct, convert

from toolwire.conversation.json import dump, parse
from toolwire.execution.metrics import BUCKETS, OTHER

MAX_LABEL_VALUES = 200
"""Further values of a label are counted together."""
_PREFIX = "toolwire_gateway_"


class Metric(Struct, frozen=True):
    """One metric: its kind, its labels and its help text."""

    kind: str
    labels: tuple[str, ...]
    help: str


METRICS: dict[str, Metric] = {
    "requests_total": Metric("counter", ("api", "upstream", "status"), "Requests."),
    "in_flight": Metric("gauge", (), "Requests in progress."),
    "tokens_total": Metric("counter", ("upstream", "direction"), "Input and output tokens."),
    "seconds": Metric("histogram", ("api", "upstream"), "Seconds to the last byte of a response."),
    "first_byte_seconds": Metric(
        "histogram", ("api", "upstream"), "Seconds to the first byte of a response."
    ),
    "repairs_total": Metric("counter", ("rule", "upstream"), "Repaired requests, by rule."),
    "losses_total": Metric("counter", ("reason", "upstream"), "Losses of translations, by reason."),
    "fallbacks_total": Metric("counter", ("upstream",), "Attempts that another upstream replaced."),
    "tool_calls_total": Metric("counter", ("tool", "state"), "Tool calls that the gateway ran."),
    "rejected_total": Metric(
        "counter", ("status",), "Requests that were rejected before an upstream was asked."
    ),
    "client_disconnects_total": Metric(
        "counter", ("api",), "Clients that disconnected before the end of the response."
    ),
    "reloads_total": Metric(
        "counter", ("result",), "Configurations that were applied or rejected."
    ),
}


class GatewayMetrics:
    """The values of all metrics, by name and labels."""

    def __init__(self, *, max_label_values: int = MAX_LABEL_VALUES) -> None:
        self._max_label_values = max_label_values
        self._values: dict[tuple[str, ...], list[float]] = {}
        """One number; of a histogram, the count of each bucket and then the sum."""
        self._label_values: dict[tuple[str, int], set[str]] = {}
        self.in_flight = 0

    def add(self, name: str, *labels: str, by: float = 1.0) -> None:
        """Add to a counter."""
        self.cell(name, *labels)[0] += by

    def observe(self, name: str, seconds: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        observe(self.cell(name, *labels), seconds)

    def cell(self, name: str, *labels: str) -> list[float]:
        """The mutable values of a metric, for callers that update it often."""
        cell = self._values.get((name, *labels))
        if cell is None:
            bounded = tuple(self._bound(name, n, label) for n, label in enumerate(labels))
            size = len(BUCKETS) + 2 if METRICS[name].kind == "histogram" else 1
            cell = self._values.setdefault((name, *bounded), [0.0] * size)
        return cell

    def _bound(self, name: str, index: int, value: str) -> str:
        known = self._label_values.setdefault((name, index), set())
        if value in known or len(known) < self._max_label_values:
            known.add(value)
            return value
        return OTHER

    def dump(self) -> bytes:
        """All values, for another process."""
        return dump([[list(key), list(values)] for key, values in self._all().items()])

    def _all(self) -> dict[tuple[str, ...], list[float]]:
        values = {key: list(values) for key, values in self._values.items()}
        return {**values, ("in_flight",): [float(self.in_flight)]}

    def render(self, others: Mapping[bool, list[bytes]] | None = None) -> str:
        """All values, added to those of other processes.

        Args:
            others: dumps of living (True) and dead (False) processes. Gauges of dead ones are left
                out.
        """
        total = self._all()
        for alive, dumps in (others or {}).items():
            for key, values in (row for data in dumps for row in _load(data)):
                if key[0] in METRICS and (alive or METRICS[key[0]].kind != "gauge"):
                    known = total.get(key) or [0.0] * len(values)
                    total[key] = [a + b for a, b in zip(known, values, strict=True)]
        lines: list[str] = []
        for name, metric in METRICS.items():
            lines += [
                f"# HELP {_PREFIX}{name} {metric.help}",
                f"# TYPE {_PREFIX}{name} {metric.kind}",
            ]
            for key in sorted(key for key in total if key[0] == name):
                lines += _samples(metric, key, total[key])
        return "\n".join(lines) + "\n"


def observe(cell: list[float], seconds: float) -> None:
    """Add an observation to the values of a histogram."""
    cell[bisect_left(BUCKETS, seconds)] += 1
    cell[-1] += seconds


def _samples(metric: Metric, key: tuple[str, ...], values: list[float]) -> list[str]:
    """The lines of one metric with one set of labels."""
    name = _PREFIX + key[0]
    labels = [
        f'{label}="{_escape(value)}"' for label, value in zip(metric.labels, key[1:], strict=True)
    ]
    if metric.kind != "histogram":
        return [f"{name}{_braces(labels)} {values[0]:.10g}"]
    lines: list[str] = []
    total = 0.0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), values[:-1], strict=True):
        total += count
        bucket = _braces([*labels, f'le="{bound}"'])
        lines.append(f"{name}_bucket{bucket} {total:.10g}")
    return [
        *lines,
        f"{name}_sum{_braces(labels)} {values[-1]:.6f}",
        f"{name}_count{_braces(labels)} {total:.10g}",
    ]


def _braces(labels: list[str]) -> str:
    return "{" + ",".join(labels) + "}" if labels else ""


def _load(data: bytes) -> list[tuple[tuple[str, ...], list[float]]]:
    try:
        return convert(parse(data), list[tuple[tuple[str, ...], list[float]]])
    except ValueError:  # another process is writing it
        return []


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
