"""The record of one request, for logs, metrics, traces and recordings."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct, field
from opentelemetry.trace import Span

from toolwire.conversation.json import Object
from toolwire.conversation.model import Usage
from toolwire.wires.engine.encode_context import RequestInfo

MAX_LOSSES = 20
"""The maximum number of losses, and of pairs by order, that a record lists."""
MAX_CAPTURE_BYTES = 64 * 1024 * 1024
"""The bytes that are kept of one request."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text on one line of a log: control characters are escaped, because clients choose names and
    providers choose error messages."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ToolRun(Struct, frozen=True):
    """A call that the gateway ran."""

    tool: str
    state: str
    replayed: bool = False

    def __str__(self) -> str:
        return f"{self.tool} {self.state}{' (replayed)' if self.replayed else ''}"


class BodyCapture(Struct):
    """The bytes of one request and its responses, up to a limit."""

    request: bytes = b""
    """As the client sent it."""
    upstream_requests: list[bytes] = field(default_factory=list)
    """As the models got it, one for each attempt and each turn of a tool loop."""
    upstream_response: list[bytes] = field(default_factory=list)
    response: list[bytes] = field(default_factory=list)
    """As the client got it."""
    size: int = 0
    truncated: bool = False
    """True if something was left out because of the limit."""

    def add(self, pieces: list[bytes], data: bytes) -> None:
        """Add bytes to one of the lists, unless the limit is reached."""
        if self.truncated or self.size + len(data) > MAX_CAPTURE_BYTES:
            self.truncated = True
            return
        self.size += len(data)
        pieces.append(data)


class RequestRecord(Struct):
    """The record of one request. Field names without a docstring are those of the log."""

    api: str
    """The wire of the client."""
    id: str = ""
    model: str = ""
    upstream: str = ""
    upstream_wire: str = ""
    upstream_model: str = ""
    stream: bool = False
    status: int = 0
    changes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    paired_by_order: tuple[str, ...] = ()
    """The results that are paired by order alone, with the position of the call."""
    attempts: int = 0
    fallbacks: list[str] = field(default_factory=list)
    """Why other upstreams gave no response, in the order of the attempts."""
    key: str = ""
    """The name of the virtual key."""
    error: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    tools: list[ToolRun] = field(default_factory=list)
    client_disconnected: bool = False
    received_at: int = 0
    """In nanoseconds since 1970."""
    clock: Callable[[], float] = float
    """The clock of `started_at` and `first_byte_at`."""
    started_at: float = 0.0
    first_byte_at: float | None = None
    seconds: float = 0.0
    trace_headers: dict[str, str] = field(default_factory=dict)
    """Headers by which the upstream joins the trace."""
    span: Span | None = None
    capture: BodyCapture | None = None
    """Only if bodies are logged or recorded."""

    def capture_request(self, data: bytes) -> None:
        """Keep the body of the client, if bodies are captured."""
        if self.capture is not None:
            self.capture.request = data

    def capture_upstream_request(self, data: bytes) -> None:
        """Keep a request to an upstream, if bodies are captured."""
        if self.capture is not None:
            self.capture.add(self.capture.upstream_requests, data)

    def capture_upstream_response(self, data: bytes) -> None:
        """Keep a piece of an upstream's response, if bodies are captured."""
        if self.capture is not None:
            self.capture.add(self.capture.upstream_response, data)

    def capture_response(self, data: bytes) -> None:
        """Keep a piece of the response, if bodies are captured."""
        if self.capture is not None:
            self.capture.add(self.capture.response, data)

    def info(self, body: Object) -> RequestInfo:
        """Fields of a response that describe its request, if the provider sends none."""
        return RequestInfo(
            body if "model" in body else {"model": self.model, **body},
            created=self.received_at // 1_000_000_000,
            id=f"{self.id} {self.received_at}",
            elapsed=self.elapsed,
        )

    def elapsed(self) -> float:
        """Seconds since the request arrived."""
        return self.clock() - self.started_at

    def summary(self) -> Object:
        """The record as JSON, without bodies."""
        usage = self.usage or Usage()
        first_byte = None
        if self.first_byte_at is not None:
            first_byte = round(self.first_byte_at - self.started_at, 4)
        value: Object = {
            "id": self.id,
            "api": self.api,
            "model": self.model,
            "upstream": self.upstream,
            "upstream_wire": self.upstream_wire,
            "status": self.status,
            "stream": self.stream,
            "seconds": round(self.seconds, 4),
            "first_byte_seconds": first_byte,
            "attempts": self.attempts,
            "fallbacks": [*self.fallbacks],
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "finish_reason": self.finish_reason,
            "repairs": list(self.changes),
            "losses": list(self.losses[:MAX_LOSSES]),
            "loss_count": len(self.losses) if len(self.losses) > MAX_LOSSES else None,
            "paired_by_order": list(self.paired_by_order[:MAX_LOSSES]),
            "key": self.key or None,
            "error": self.error,
            "client_disconnected": self.client_disconnected or None,
            "tools": list(map(str, self.tools)),
        }
        return {key: item for key, item in value.items() if item not in (None, [], "")}

    def line(self) -> str:
        """The record as one line of text."""
        key = f" ({self.key})" if self.key else ""
        parts = [
            f"{self.api} {self.model or '-'}{key} -> {self.upstream or '-'}: {self.status} in"
            f" {self.seconds:.3f} s"
        ]
        if self.error is not None:
            parts.append(f"error: {self.error}")
        if self.fallbacks:
            parts.append(f"after {'; '.join(self.fallbacks)}")
        if self.client_disconnected:
            parts.append("the client disconnected")
        if self.usage is not None:
            parts.append(f"{self.usage.input} + {self.usage.output} tokens")
        if self.changes:
            parts.append(f"repaired {', '.join(self.changes)}")
        if self.losses:
            parts.append(f"{len(self.losses)} losses")
        if self.paired_by_order:
            parts.append(f"paired {len(self.paired_by_order)} results by order")
        if self.tools:
            parts.append(f"ran {', '.join(run.tool for run in self.tools)}")
        return printable("; ".join(parts))
