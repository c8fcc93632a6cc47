"""The metrics of a gateway. `execution/metrics.py` counts and renders them."""

from __future__ import annotations

from toolwire.execution.metrics import Metric, MetricSet

MAX_LABEL_VALUES = 200
"""Further values of a label are counted together."""
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


class GatewayMetrics(MetricSet):
    """The values of all metrics, by name and labels."""

    def __init__(self, *, max_label_values: int = MAX_LABEL_VALUES) -> None:
        super().__init__("toolwire_gateway_", METRICS, max_label_values=max_label_values)
        self.in_flight_cell = self.cell("in_flight")

    @property
    def in_flight(self) -> int:
        """The number of requests in progress."""
        return int(self.in_flight_cell[0])
