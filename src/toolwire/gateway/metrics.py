"""What a gateway counts, in Prometheus' text format; several processes can be counted together.

Which numbers there are, and under which labels, is a table. Of each label only so many values are
told apart. Knows no server.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from msgspec import convert

from toolwire.conversation.json import dump, parse
from toolwire.execution.metrics import BUCKETS as BOUNDS
from toolwire.execution.metrics import OTHER

LABELS = 200
"""So many values of a label, and one for all others."""
_G = "toolwire_gateway_"
_KINDS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "requests_total": ("counter", ("front", "upstream", "status"), "Requests."),
    "in_flight": ("gauge", (), "Requests under way."),
    "tokens_total": ("counter", ("upstream", "direction"), "Tokens that models read and wrote."),
    "seconds": ("histogram", ("front", "upstream"), "From the request to the last byte."),
    "first_byte_seconds": (
        "histogram",
        ("front", "upstream"),
        "From the request to the first byte of the answer.",
    ),
    "repairs_total": ("counter", ("rule", "upstream"), "Requests that were repaired, by rule."),
    "losses_total": ("counter", ("reason", "upstream"), "What a wire could not carry, by reason."),
    "tool_calls_total": ("counter", ("tool", "state"), "Calls that the gateway ran."),
    "refused_total": (
        "counter",
        ("status",),
        "Requests that were refused before any model was asked.",
    ),
    "gone_total": ("counter", ("front",), "Clients that left before the end."),
    "reloads_total": ("counter", ("taken",), "Configurations that were taken up, or refused."),
}
"""All numbers: their kind, their labels, and what they say."""


class GatewayMetrics:
    """Numbers by name and labels, in Prometheus' text format. Several processes can be counted
    together."""

    def __init__(self, *, most: int = LABELS) -> None:
        self._most = most
        self._values: dict[tuple[str, ...], list[float]] = {}
        """One number; of times, how many fell into each bucket and then their sum."""
        self._known: dict[tuple[str, int], set[str]] = {}
        self.running = 0
        """Requests under way."""

    def add(self, name: str, *labels: str, by: float = 1.0) -> None:
        """Count on."""
        self.at(name, *labels)[0] += by

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """One more time."""
        timed(self.at(name, *labels), seconds)

    def at(self, name: str, *labels: str) -> list[float]:
        """Where a number stands, for whoever counts it often: one number; of times, see `timed`."""
        held = self._values.get((name, *labels))
        if held is None:
            bounded = tuple(self._bounded(name, n, label) for n, label in enumerate(labels))
            size = len(BOUNDS) + 2 if _KINDS[name][0] == "histogram" else 1
            held = self._values.setdefault((name, *bounded), [0.0] * size)
        return held

    def _bounded(self, name: str, n: int, value: str) -> str:
        known = self._known.setdefault((name, n), set())
        if value in known or len(known) < self._most:
            known.add(value)
            return value
        return OTHER

    def kept(self) -> bytes:
        """All numbers, for another process."""
        return dump([[list(at), list(values)] for at, values in self._all().items()])

    def _all(self) -> dict[tuple[str, ...], list[float]]:
        return {
            **{at: list(values) for at, values in self._values.items()},
            ("in_flight",): [float(self.running)],
        }

    def render(self, others: Mapping[bool, list[bytes]] | None = None) -> str:
        """All numbers, together with what other processes have kept; of those that are dead, only
        what does not fall again."""
        total = self._all()
        for alive, some in (others or {}).items():
            for at, values in (row for one in some for row in _rows(one)):
                if at[0] in _KINDS and (alive or _KINDS[at[0]][0] != "gauge"):
                    before = total.get(at) or [0.0] * len(values)
                    total[at] = [one + other for one, other in zip(before, values, strict=True)]
        lines: list[str] = []
        for name, (kind, _, says) in _KINDS.items():
            lines += [f"# HELP {_G}{name} {says}", f"# TYPE {_G}{name} {kind}"]
            for at in sorted(at for at in total if at[0] == name):
                lines += _samples(kind, at, total[at])
        return "\n".join(lines) + "\n"


def timed(held: list[float], seconds: float) -> None:
    """One more time: it falls into a bucket, and counts for the sum at the end."""
    held[bisect_left(BOUNDS, seconds)] += 1
    held[-1] += seconds


def _samples(kind: str, at: tuple[str, ...], values: list[float]) -> list[str]:
    """The lines of one number."""
    name = _G + at[0]
    labels = [
        f'{label}="{_escaped(value)}"'
        for label, value in zip(_KINDS[at[0]][1], at[1:], strict=True)
    ]
    if kind != "histogram":
        return [f"{name}{_braced(labels)} {values[0]:.10g}"]
    lines: list[str] = []
    total = 0.0
    for bound, many in zip((*map(str, BOUNDS), "+Inf"), values[:-1], strict=True):
        total += many
        within = _braced([*labels, f'le="{bound}"'])
        lines.append(f"{name}_bucket{within} {total:.10g}")
    return [
        *lines,
        f"{name}_sum{_braced(labels)} {values[-1]:.6f}",
        f"{name}_count{_braced(labels)} {total:.10g}",
    ]


def _braced(labels: list[str]) -> str:
    return "{" + ",".join(labels) + "}" if labels else ""


def _rows(data: bytes) -> list[tuple[tuple[str, ...], list[float]]]:
    try:
        return convert(parse(data), list[tuple[tuple[str, ...], list[float]]])
    except ValueError:  # it is just being written
        return []


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
