"""Spans and log lines about calls.

Spans follow OpenTelemetry's conventions for generative AI (`execute_tool`), by its API only:
without an SDK there is no span and next to no cost. Neither spans nor lines hold inputs or results;
a line at debug level holds the input, without secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider

from toolwire.conversation.json import text_of
from toolwire.execution.redaction import RedactionFilter, Redactor
from toolwire.execution.tool_call import ToolCall, ToolCallResult

logger = logging.getLogger("toolwire.calls")
logger.addFilter(RedactionFilter())
_SCOPE = "toolwire"
_OFTEN = 100
"""So many calls look for an SDK each by itself: programs that set one up do it at their beginning.
"""
_SELDOM = 16
"""After that, one in so many."""


@contextmanager
def joined(carrier: Mapping[str, str]) -> Iterator[None]:
    """What is called in here belongs to the trace that a request names (W3C `traceparent` and
    `tracestate`, lower case)."""
    if "traceparent" not in carrier:
        yield
        return
    token = contexts.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        contexts.detach(token)


class Telemetry:
    """Where spans go: the provider given, or the one of the process if it has one."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer: Tracer | None = None if provider is None else provider.get_tracer(_SCOPE)
        self._asked = 0

    def tracer(self) -> Tracer | None:
        """None if nobody collects spans. An SDK may be set up at any time, so this is looked at
        again every few calls."""
        if self._tracer is None:
            self._asked += 1
            if self._asked > _OFTEN and self._asked % _SELDOM:
                return None
            provider = trace.get_tracer_provider()
            if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
                return None
            self._tracer = provider.get_tracer(_SCOPE)
        return self._tracer

    @contextmanager
    def call(
        self, tracer: Tracer, ask: ToolCall, call_id: str, secrets: Redactor | None
    ) -> Iterator[Span]:
        """A span that is the current one, for what tools and their libraries trace themselves."""
        name = ask.tool.name
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "extension" if ask.tool.remote else "function",
            "gen_ai.tool.call.id": call_id,
            "toolwire.tool.id": str(ask.tool.id),
        }
        if ask.trace_id:
            attributes["oxp.trace_id"] = ask.trace_id
        if secrets is not None:
            attributes = {key: secrets(value) for key, value in attributes.items()}
        span = tracer.start_span(
            f"execute_tool {name}", kind=SpanKind.INTERNAL, attributes=attributes
        )
        with trace.use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            yield span


def answered(span: Span, answer: ToolCallResult) -> None:
    """Write into a span what became of its call. Failures are scrubbed by now."""
    span.set_attribute("toolwire.state", answer.state)
    span.set_attribute("toolwire.attempt", answer.attempt)
    span.set_attribute("toolwire.replayed", answer.replayed)
    failure = None if answer.outcome is None else answer.outcome.failure
    if answer.state != "done":
        span.set_attribute("error.type", (failure and failure.kind) or answer.state)
        span.set_status(StatusCode.ERROR, None if failure is None else failure.message)


def log(ask: ToolCall, answer: ToolCallResult, ms: float, secrets: Redactor | None) -> None:
    """One line about a call that was answered, with the same things as fields of the record."""
    if not logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, object] = {
        "call_id": answer.call_id,
        "tool": str(ask.tool.id),
        "state": answer.state,
        "attempt": answer.attempt,
        "replayed": answer.replayed,
        "ms": round(ms, 3),
    }
    logger.info(
        "call %r of %s: %s in %.1f ms%s",
        answer.call_id,
        fields["tool"],
        answer.state,
        ms,
        " (replayed)" if answer.replayed else "",
        extra=fields,
    )
    if logger.isEnabledFor(logging.DEBUG):
        text = text_of(ask.input)
        logger.debug(
            "input of %r: %s",
            answer.call_id,
            text if secrets is None else secrets(text),
            extra=fields,
        )
