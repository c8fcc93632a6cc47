"""Observe every request at its start and end: count, log, trace and record it.

Labels of metrics come from tables and configuration; nothing that a client chooses is a label.
Bodies are kept only if they are logged or recorded.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from time import perf_counter, time, time_ns

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

from toolwire.conversation.json import Object, dump
from toolwire.conversation.model import Usage
from toolwire.execution.metrics import observe
from toolwire.execution.redaction import Redactor
from toolwire.execution.telemetry import Telemetry
from toolwire.gateway.observe.metrics import GatewayMetrics
from toolwire.gateway.observe.request_record import (
    MAX_LOSSES,
    BodyCapture,
    RequestRecord,
    printable,
)
from toolwire.gateway.redaction import redactor

MAX_RECENT = 200
_SDK_CHECK_INTERVAL = 64
"""Requests between two searches for an OpenTelemetry SDK: a search costs more than the rest."""
_MAX_LOGGED_BODY = 20_000
_VARIABLE_TEXT = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\d+")
_TRACE_HEADERS = {b"traceparent": "traceparent", b"tracestate": "tracestate"}
_SPAN_ATTRIBUTES = {"gen_ai.operation.name": "chat"}
_log = logging.getLogger("toolwire.gateway")


class RecentRequests:
    """The last requests, the newest at the end, each with an increasing number."""

    def __init__(self, limit: int = MAX_RECENT) -> None:
        self._ring: deque[tuple[int, float, RequestRecord]] = deque(maxlen=limit)
        self._numbers = count(1)

    def add(self, record: RequestRecord) -> None:
        """Add a finished request."""
        self._ring.append((next(self._numbers), time(), record))

    def since(self, number: int = 0) -> list[tuple[int, Object]]:
        """The requests after the one with this number."""
        return [
            (n, {"at": round(at, 3), **record.summary()})
            for n, at, record in self._ring
            if n > number
        ]


class Observer:
    """Counts, logs, traces and records the requests of one process."""

    def __init__(
        self,
        *,
        json_log: bool = False,
        log_bodies: bool = False,
        recorder: Callable[[RequestRecord], None] | None = None,
        metrics_folder: Path | None = None,
        process: str = "",
        is_alive: Callable[[str], bool] = lambda process: True,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        """Prepare the observer.

        Args:
            json_log: log each request as JSON instead of text.
            log_bodies: log request and response bodies too, without secrets.
            recorder: gets each finished request with its bodies.
            metrics_folder: where processes that share a port exchange their metrics.
            process: the name of this process in that folder.
            is_alive: returns True if another process of that folder is running.
            tracer_provider: where spans go; by default the one of the process, if it has one.
        """
        self.metrics = GatewayMetrics()
        self.recent = RecentRequests()
        self.redact = Redactor(())
        self._cells: dict[tuple[str, str, int], tuple[list[float], ...]] = {}
        self._json_log = json_log
        self._log_bodies = log_bodies
        self._recorder = recorder
        self._metrics_folder = metrics_folder
        self._process = process
        self._id_prefix = f"{process}-" if process else ""
        self._is_alive = is_alive
        self._telemetry = Telemetry(tracer_provider)
        self._traces = tracer_provider is not None
        self._numbers = count(1)

    def hide_secrets(self, secrets: list[str]) -> None:
        """Remove these values from everything that is logged or traced."""
        self.redact = redactor(secrets)

    def begin(self, api: str, headers: Mapping[bytes, bytes]) -> RequestRecord:
        """Start the record of a request. Its span joins the trace that the client names."""
        number = next(self._numbers)
        record = RequestRecord(
            api,
            f"{self._id_prefix}{number}",
            received_at=time_ns(),
            clock=perf_counter,
            started_at=perf_counter(),
        )
        if self._log_bodies or self._recorder is not None:
            record.capture = BodyCapture()
        self.metrics.in_flight_cell[0] += 1
        if not headers.keys().isdisjoint(_TRACE_HEADERS):
            for key, name in _TRACE_HEADERS.items():
                if key in headers:
                    record.trace_headers[name] = headers[key].decode("latin-1")
        if self._traces or number == 1 or not number % _SDK_CHECK_INTERVAL:
            self._start_span(record)
        return record

    def _start_span(self, record: RequestRecord) -> None:
        tracer = self._telemetry.tracer()
        self._traces = tracer is not None
        if tracer is None:
            return
        client_headers = record.trace_headers
        try:
            parent = propagate.extract(client_headers) if client_headers else None
            record.span = tracer.start_span(
                "chat", context=parent, kind=SpanKind.CLIENT, attributes=_SPAN_ATTRIBUTES
            )
            upstream_headers: dict[str, str] = {}
            propagate.inject(upstream_headers, trace.set_span_in_context(record.span, parent))
            record.trace_headers = upstream_headers
        except Exception:  # a sampler or propagator failed, which must not fail the request
            _log.exception("the span of a request was not started")

    def end(self, record: RequestRecord) -> None:
        """Count, trace, log and record a finished request."""
        record.seconds = perf_counter() - record.started_at
        if record.error is not None:
            record.error = self.redact(record.error)
        self._count(record)
        if record.span is not None:
            try:
                self._end_span(record, record.span)
            except Exception:  # a span processor failed, which must not fail the request
                _log.exception("the span of a request was not ended")
        if _log.isEnabledFor(logging.INFO):
            self._write_log(record)
        if self._recorder is not None:
            self._recorder(record)
        if record.capture is not None or record.span is not None:
            record.capture, record.span = None, None
        if record.losses:
            record.losses = record.losses[:MAX_LOSSES]
        if record.paired_by_order:
            record.paired_by_order = record.paired_by_order[:MAX_LOSSES]
        self.recent.add(record)

    def _count(self, record: RequestRecord) -> None:
        metrics, upstream = self.metrics, record.upstream or "none"
        metrics.in_flight_cell[0] -= 1
        key = record.api, upstream, record.status
        requests, seconds, first_byte, input_tokens, output_tokens = self._cells.get(
            key
        ) or self._find_cells(*key)
        requests[0] += 1
        observe(seconds, record.seconds)
        if record.first_byte_at is not None:
            observe(first_byte, record.first_byte_at - record.started_at)
        usage = record.usage
        if usage is not None:
            input_tokens[0] += usage.input or 0
            output_tokens[0] += usage.output or 0
        if not record.upstream and record.status >= 400:
            metrics.add("rejected_total", str(record.status))
        if record.changes or record.losses or record.tools or record.client_disconnected:
            self._count_events(record, upstream)

    def _count_events(self, record: RequestRecord, upstream: str) -> None:
        """Count events that occur in few requests."""
        metrics = self.metrics
        for rule in dict.fromkeys(record.changes):
            metrics.add("repairs_total", rule, upstream)
        for loss in record.losses:
            metrics.add("losses_total", _loss_reason(loss), upstream)
        for run in record.tools:
            metrics.add("tool_calls_total", run.tool, run.state)
        if record.client_disconnected:
            metrics.add("client_disconnects_total", record.api)

    def _find_cells(self, api: str, upstream: str, status: int) -> tuple[list[float], ...]:
        """The values that every request updates; they are looked up once."""
        cell = self.metrics.cell
        found = self._cells[api, upstream, status] = (
            cell("requests_total", api, upstream, str(status)),
            cell("seconds", api, upstream),
            cell("first_byte_seconds", api, upstream),
            cell("tokens_total", upstream, "input"),
            cell("tokens_total", upstream, "output"),
        )
        return found

    def _end_span(self, record: RequestRecord, span: Span) -> None:
        span.update_name(f"chat {record.model}" if record.model else "chat")
        usage = record.usage or Usage()
        attributes: dict[str, str | int | bool | None] = {
            "gen_ai.provider.name": record.upstream or None,
            "gen_ai.request.model": record.model or None,
            "gen_ai.response.model": record.upstream_model or None,
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
            "http.response.status_code": record.status or None,
            "toolwire.api": record.api,
            "toolwire.stream": record.stream,
            "toolwire.repairs": len(record.changes),
            "toolwire.losses": len(record.losses),
            "toolwire.attempts": record.attempts,
        }
        for name, value in attributes.items():
            if value is not None:
                span.set_attribute(name, value)
        if record.finish_reason:
            span.set_attribute("gen_ai.response.finish_reasons", [record.finish_reason])
        if (error_type := _error_type(record)) is not None:
            span.set_attribute("error.type", error_type)
            span.set_status(StatusCode.ERROR, record.error)
        span.end()

    def _write_log(self, record: RequestRecord) -> None:
        if self._json_log:
            line = dump({"at": round(time(), 3), **record.summary()}).decode()
            _log.info("%s", printable(line))
        else:
            _log.info("%s", record.line())
        if self._log_bodies and record.capture is not None:
            bodies = {
                "request": record.capture.request,
                "response": b"".join(record.capture.response),
            }
            for name, data in bodies.items():
                text = data[:_MAX_LOGGED_BODY].decode("utf-8", "replace")
                _log.info("%s %s: %s", record.id, name, printable(self.redact(text)))

    # --- several processes ---

    def share_metrics(self) -> None:
        """Write the metrics where other processes find them."""
        if self._metrics_folder is not None:
            new = self._metrics_folder / f".{self._process}"
            new.write_bytes(self.metrics.dump())
            new.replace(self._metrics_folder / self._process)

    def render_metrics(self) -> str:
        """The metrics of this process and of those that share its port."""
        others: dict[bool, list[bytes]] = {True: [], False: []}
        if self._metrics_folder is not None:
            for file in sorted(self._metrics_folder.glob("[!.]*")):
                if file.name != self._process:
                    others[self._is_alive(file.name)].append(file.read_bytes())
        return self.metrics.render(others)


def _error_type(record: RequestRecord) -> str | None:
    if record.client_disconnected:
        return "client_disconnected"
    if record.status >= 400:
        return str(record.status)
    return "stream" if record.error is not None else None


def _loss_reason(loss: str) -> str:
    """The reason of a loss, without names that the client chose."""
    return _VARIABLE_TEXT.sub("…", loss.partition(": ")[2] or loss)[:120]
