"""The metrics of a ToolExecutor."""

from __future__ import annotations

from toolwire.execution.metrics import Metric, MetricSet

METRICS = {
    "calls_total": Metric("counter", ("tool", "state"), "Results of calls, by tool and state."),
    "replays_total": Metric(
        "counter", ("tool",), "Results that came from the ledger or from a call in progress."
    ),
    "calls_in_flight": Metric("gauge", (), "Calls in progress."),
    "ledger_errors_total": Metric("counter", ("operation",), "Failed ledger operations."),
    "tool_seconds": Metric("histogram", ("tool",), "Run time of tools."),
}
MAX_TOOLS = 300


class CallMetrics:
    """Counts calls. Labels hold nothing that a caller can choose."""

    def __init__(self, *, max_tools: int = MAX_TOOLS) -> None:
        self._metrics = MetricSet("toolwire_", METRICS, max_label_values=max_tools)
        self._in_flight = self._metrics.cell("calls_in_flight")

    def count_result(self, tool: str, state: str, *, replayed: bool = False) -> None:
        """Count the result of a call."""
        self._metrics.cell("calls_total", tool, state)[0] += 1
        if replayed:
            self._metrics.cell("replays_total", tool)[0] += 1

    def observe_duration(self, tool: str, seconds: float) -> None:
        """Add the duration of a tool's run."""
        self._metrics.observe("tool_seconds", seconds, tool)

    def count_ledger_error(self, operation: str) -> None:
        """Count a failed ledger operation; `operation` is the name of the method."""
        self._metrics.add("ledger_errors_total", operation)

    def change_in_flight(self, by: int) -> None:
        """Add to the number of calls in progress."""
        self._in_flight[0] += by

    @property
    def in_flight(self) -> int:
        """The number of calls in progress."""
        return int(self._in_flight[0])

    def render(self) -> str:
        """All values in Prometheus' text format."""
        return self._metrics.render()
