"""Spans and log lines of calls.

Spans follow OpenTelemetry's conventions for generative AI (`execute_tool`) and use its API only:
without an SDK there is no span and almost no cost. Spans and log lines have no inputs and results;
a line at debug level has the redacted input.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider

from toolwire.conversation.json import text_of
from toolwire.execution.log_redaction import redacting_logger
from toolwire.execution.redaction import Redactor
from toolwire.execution.tool_call import ToolCall, ToolCallResult

logger = redacting_logger("toolwire.execution")
_SCOPE = "toolwire"
_CHECK_EVERY_CALL = 100
"""The number of first calls that each look for an SDK: programs set one up when they start."""
_CHECK_INTERVAL = 16
"""After those, only every 16th call looks for one."""


@contextmanager
def use_trace_context(carrier: Mapping[str, str]) -> Iterator[None]:
    """Make the trace of a request current (W3C `traceparent` and `tracestate`, lower case)."""
    if "traceparent" not in carrier:
        yield
        return
    token = contexts.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        contexts.detach(token)


class Telemetry:
    """The tracer of the given provider, or else of the process's provider."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer: Tracer | None = None if provider is None else provider.get_tracer(_SCOPE)
        self._lookups = 0

    def tracer(self) -> Tracer | None:
        """The tracer; None without an SDK. The lookup is repeated: a program may set up an SDK at
        any time."""
        if self._tracer is None:
            self._lookups += 1
            if self._lookups > _CHECK_EVERY_CALL and self._lookups % _CHECK_INTERVAL:
                return None
            provider = trace.get_tracer_provider()
            if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
                return None
            self._tracer = provider.get_tracer(_SCOPE)
        return self._tracer

    @contextmanager
    def call_span(
        self, tracer: Tracer, call: ToolCall, call_id: str, *, redactor: Redactor | None
    ) -> Iterator[Span]:
        """A span for a call. It is the parent of the spans that the tool creates."""
        name = call.tool.name
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "extension" if call.tool.remote else "function",
            "gen_ai.tool.call.id": call_id,
            "toolwire.tool.id": str(call.tool.id),
        }
        if call.trace_id:
            attributes["oxp.trace_id"] = call.trace_id
        if redactor is not None:
            attributes = {key: redactor(value) for key, value in attributes.items()}
        span = tracer.start_span(
            f"execute_tool {name}", kind=SpanKind.INTERNAL, attributes=attributes
        )
        with trace.use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            yield span


def set_result_attributes(span: Span, result: ToolCallResult) -> None:
    """Add the result of a call to its span. The failure is redacted already."""
    span.set_attribute("toolwire.state", result.state)
    span.set_attribute("toolwire.attempt", result.attempt)
    span.set_attribute("toolwire.replayed", result.replayed)
    failure = result.failure
    if result.state != "done":
        span.set_attribute("error.type", (failure and failure.kind) or result.state)
        span.set_status(StatusCode.ERROR, None if failure is None else failure.message)


def log_result(
    call: ToolCall, result: ToolCallResult, duration_ms: float, *, redactor: Redactor | None
) -> None:
    """Log one line about a finished call, with its data as fields of the record."""
    if not logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, object] = {
        "call_id": result.call_id,
        "tool": str(call.tool.id),
        "state": result.state,
        "attempt": result.attempt,
        "replayed": result.replayed,
        "ms": round(duration_ms, 3),
    }
    logger.info(
        "call %r of %s: %s in %.1f ms%s",
        result.call_id,
        fields["tool"],
        result.state,
        duration_ms,
        " (replayed)" if result.replayed else "",
        extra=fields,
    )
    if logger.isEnabledFor(logging.DEBUG):
        text = text_of(call.input)
        logger.debug(
            "input of %r: %s",
            result.call_id,
            text if redactor is None else redactor(text),
            extra=fields,
        )
