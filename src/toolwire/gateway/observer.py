"""What is known of the requests through a gateway: for logs, metrics, traces and those who look on.

Labels are bounded: names of fronts, upstreams, rules and tools come from tables and configuration,
and beyond some number they are counted together; nothing that a client chooses is a label. What was
said is only kept where somebody asked for it. Knows no wire by name.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from time import perf_counter, time

from msgspec import Struct, field
from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.conversation.model import Usage
from toolwire.execution.redaction import Redactor
from toolwire.execution.telemetry import Telemetry
from toolwire.gateway.metrics import GatewayMetrics, timed

KEPT = 200
"""So many exchanges are remembered for those who look on."""
_ENDS = 16 * 1024
"""Bytes at both ends of an answer in which its counts are looked for."""
_NEAR = 2048
"""Bytes at the end of an answer in which it says why it is over."""
_SELDOM = 64
"""So many requests pass before somebody looks again whether spans are collected."""
_TOLD = 20
"""So many losses are told one by one."""
_SHOWN = 20_000
"""Characters of a body in a log."""
_IN = re.compile(
    rb'"(?:prompt_tokens|input_tokens|promptTokenCount|prompt_eval_count|inputTokens)"\s*:\s*(\d+)'
)
_OUT = re.compile(
    rb'"(?:completion_tokens|output_tokens|candidatesTokenCount|eval_count|outputTokens)"\s*:\s*(\d+)'
)
_STOP = re.compile(
    rb'"(?:finish_reason|stop_reason|finishReason|done_reason|stopReason|finish_type)"\s*:\s*"([A-Za-z_-]{1,40})"'
)
_VARIES = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\d+")
_TRACE = ((b"traceparent", "traceparent"), (b"tracestate", "tracestate"))
_CHAT = {"gen_ai.operation.name": "chat"}
_log = logging.getLogger("toolwire.gateway")


_NOTHING = (b"", b"")


class BodyCapture(Struct):
    """What was said in one exchange, to the byte."""

    request: bytes = b""
    """As the client sent it."""
    sent: list[bytes] = field(default_factory=list)
    """As the model got it, each time it was asked."""
    heard: list[bytes] = field(default_factory=list)
    """What the model's server said."""
    told: list[bytes] = field(default_factory=list)
    """What the client got."""


class RequestRecord(Struct):
    """What is known of one request."""

    front: str
    model: str = ""
    upstream: str = ""
    stream: bool = False
    status: int = 0
    changes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    tries: int = 0
    first: float | None = None
    """When the first byte went out, by the clock of `perf_counter`."""
    seconds: float = 0.0
    gone: bool = False
    error: str | None = None
    key: str = ""
    """Whose key it was."""
    wire: str = ""
    """What the model speaks."""
    asked: str = ""
    """What its server calls it."""
    usage: Usage | None = None
    ends: bytes = b""
    """The last bytes of the model's answer."""
    tools: list[tuple[str, str, bool]] = field(default_factory=list)
    """Calls that the gateway ran: the tool, how it ended, and whether it had run before."""
    carrier: dict[str, str] = field(default_factory=dict)
    """Header fields by which the model's server joins the trace."""
    tape: BodyCapture | None = None
    start: float = 0.0
    id: str = ""
    span: Span | None = None
    head: bytes = b""
    last: tuple[bytes, bytes] = _NOTHING

    def took(self, raw: bytes) -> None:
        """The client's request came."""
        if self.tape is not None:
            self.tape.request = raw

    def sent(self, data: bytes) -> None:
        """The model is asked; what another one said before does not count any more."""
        self.head, self.last = b"", _NOTHING
        if self.tape is not None:
            self.tape.sent.append(data)

    def heard(self, data: bytes) -> None:
        """A piece of the model's answer came."""
        if not self.head:
            self.head = data
        self.last = (self.last[1], data)
        if self.tape is not None:
            self.tape.heard.append(data)

    def said(self, data: bytes) -> None:
        """A piece of the answer goes to the client."""
        if self.tape is not None:
            self.tape.told.append(data)

    def counted(self) -> None:
        """Find in the answer what it used up and why it ended, unless somebody knows."""
        if not self.head:
            return
        ends = b"".join(self.last)[-_ENDS:] if len(self.last[1]) < _ENDS else self.last[1][-_ENDS:]
        self.ends = ends[-_NEAR:]
        if self.usage is None:
            spent = [_last(one, ends) or _last(one, self.head[:_ENDS]) for one in (_IN, _OUT)]
            self.usage = (
                Usage(*[None if one is None else int(one) for one in spent])
                if spent != [None, None]
                else None
            )

    @property
    def stop(self) -> str:
        """Why the answer ended, in the words of the model's server."""
        found = _STOP.findall(self.ends)
        return found[-1].decode() if found else ""

    def summary(self) -> Object:
        """Everything that may be told of it, as JSON."""
        used = self.usage or Usage()
        first = None if self.first is None else round(self.first - self.start, 4)
        out: Object = {
            "id": self.id,
            "front": self.front,
            "model": self.model,
            "upstream": self.upstream,
            "wire": self.wire,
            "status": self.status,
            "stream": self.stream,
            "seconds": round(self.seconds, 4),
            "first": first,
            "tries": self.tries,
            "input_tokens": used.input,
            "output_tokens": used.output,
            "stop": self.stop or None,
            "repairs": list(self.changes),
            "losses": list(self.losses[:_TOLD]),
            "lost": len(self.losses) if len(self.losses) > _TOLD else None,
            "key": self.key or None,
            "error": self.error,
            "gone": self.gone or None,
            "tools": [
                f"{name} {state}{' (replayed)' * again}" for name, state, again in self.tools
            ],
        }
        return {key: value for key, value in out.items() if value not in (None, [], "")}


def _last(pattern: re.Pattern[bytes], text: bytes) -> bytes | None:
    """What a pattern finds last; it is mostly near the end."""
    for part in (text[-_NEAR:], text[:-_NEAR]):
        if found := pattern.findall(part):
            last: bytes = found[-1]
            return last
    return None


# --- those who look on ----------------------------------------------------------------------------


class RecentRequests:
    """The last exchanges, the newest at the end: for a page that shows them. Each has a number that
    only grows."""

    def __init__(self, most: int = KEPT) -> None:
        self._ring: deque[tuple[int, float, RequestRecord]] = deque(maxlen=most)
        self._numbers = count(1)

    def put(self, seen: RequestRecord) -> None:
        """One more exchange."""
        self._ring.append((next(self._numbers), time(), seen))

    def since(self, number: int = 0) -> list[tuple[int, Object]]:
        """The exchanges after one of them."""
        return [
            (n, {"at": round(at, 3), **seen.summary()}) for n, at, seen in self._ring if n > number
        ]


class Observer:
    """Sees every exchange when it begins and when it is over.

    `keeps` is given each exchange with its tape; without it, and without `bodies`, nothing that was
    said is kept. `folder` is where processes that share a port put their numbers.
    """

    def __init__(
        self,
        *,
        json: bool = False,
        bodies: bool = False,
        keeps: Callable[[RequestRecord], None] | None = None,
        folder: Path | None = None,
        process: str = "",
        alive: Callable[[str], bool] = lambda process: True,
        provider: TracerProvider | None = None,
    ) -> None:
        self.counts = GatewayMetrics()
        self._kinds: dict[tuple[str, str, int], tuple[list[float], ...]] = {}
        self.feed = RecentRequests()
        self.secrets = Redactor(())
        self._json = json
        self._bodies = bodies
        self._keeps = keeps
        self._folder = folder
        self._process = process
        self._prefix = f"{process}-" if process else ""
        self._alive = alive
        self._telemetry = Telemetry(provider)
        self._traces = provider is not None
        self._numbers = count(1)

    def hide(self, values: list[str]) -> None:
        """These are told nowhere."""
        self.secrets = Redactor(values)

    def begin(self, front: str, headers: Mapping[bytes, bytes]) -> RequestRecord:
        """An exchange begins. It joins the trace that the client names, and names it to the model's
        server."""
        number = next(self._numbers)
        seen = RequestRecord(front, start=perf_counter(), id=f"{self._prefix}{number}")
        if self._bodies or self._keeps is not None:
            seen.tape = BodyCapture()
        self.counts.running += 1
        carrier = {name: headers[key].decode("latin-1") for key, name in _TRACE if key in headers}
        if (
            self._traces or not number % _SELDOM or number == 1
        ):  # to look for an SDK costs more than all the rest
            tracer = self._telemetry.tracer()
            self._traces = tracer is not None
        else:
            tracer = None
        if tracer is None:
            seen.carrier = carrier
            return seen
        try:
            above = propagate.extract(carrier) if carrier else None
            seen.span = tracer.start_span(
                "chat", context=above, kind=SpanKind.CLIENT, attributes=_CHAT
            )
            propagate.inject(seen.carrier, trace.set_span_in_context(seen.span, above))
        except (
            Exception
        ):  # samplers, processors and propagators are anybody's: a request does not fail for them
            _log.exception("a trace was not begun")
            seen.carrier = carrier
        return seen

    def over(self, seen: RequestRecord) -> None:
        """An exchange is over: count it, tell it, keep it."""
        seen.seconds = perf_counter() - seen.start
        seen.counted()
        if seen.error is not None:
            seen.error = self.secrets(seen.error)
        self._count(seen)
        if seen.span is not None:
            try:
                self._traced(seen, seen.span)
            except Exception:
                _log.exception("a trace was not finished")
        self._tell(seen)
        if self._keeps is not None:
            self._keeps(seen)
        seen.head, seen.last = b"", _NOTHING
        if seen.tape is not None or seen.span is not None:
            seen.tape, seen.span = None, None
        if seen.losses:
            seen.losses = seen.losses[:_TOLD]
        self.feed.put(seen)

    def _count(self, seen: RequestRecord) -> None:
        add, upstream, front = self.counts.add, seen.upstream or "none", seen.front
        self.counts.running -= 1
        kind = front, upstream, seen.status
        requests, seconds, first, read, written = self._kinds.get(kind) or self._kind(*kind)
        requests[0] += 1
        timed(seconds, seen.seconds)
        if seen.first is not None:
            timed(first, seen.first - seen.start)
        if not seen.upstream and seen.status >= 400:
            add("refused_total", str(seen.status))
        used = seen.usage
        if used is not None:
            read[0] += used.input or 0
            written[0] += used.output or 0
        for rule in dict.fromkeys(seen.changes):
            add("repairs_total", rule, upstream)
        for loss in seen.losses:
            add("losses_total", _reason(loss), upstream)
        for name, state, _ in seen.tools:
            add("tool_calls_total", name, state)
        if seen.gone:
            add("gone_total", front)

    def _kind(self, front: str, upstream: str, status: int) -> tuple[list[float], ...]:
        """Where the numbers stand that every exchange counts: they are looked up once."""
        at = self.counts.at
        found = self._kinds[front, upstream, status] = (
            at("requests_total", front, upstream, str(status)),
            at("seconds", front, upstream),
            at("first_byte_seconds", front, upstream),
            at("tokens_total", upstream, "input"),
            at("tokens_total", upstream, "output"),
        )
        return found

    def _traced(self, seen: RequestRecord, span: Span) -> None:
        span.update_name(f"chat {seen.model}" if seen.model else "chat")
        used = seen.usage or Usage()
        given: dict[str, str | int | float | bool | None] = {
            "gen_ai.provider.name": seen.upstream or None,
            "gen_ai.request.model": seen.model or None,
            "gen_ai.response.model": seen.asked or None,
            "gen_ai.usage.input_tokens": used.input,
            "gen_ai.usage.output_tokens": used.output,
            "http.response.status_code": seen.status or None,
            "toolwire.front": seen.front,
            "toolwire.stream": seen.stream,
            "toolwire.repairs": len(seen.changes),
            "toolwire.losses": len(seen.losses),
            "toolwire.tries": seen.tries,
        }
        for name, value in given.items():
            if value is not None:
                span.set_attribute(name, value)
        if stop := seen.stop:
            span.set_attribute("gen_ai.response.finish_reasons", [stop])
        if seen.gone or seen.status >= 400 or seen.error is not None:
            span.set_attribute(
                "error.type",
                (
                    "client_gone"
                    if seen.gone
                    else str(seen.status)
                    if seen.status >= 400
                    else "stream"
                ),
            )
            span.set_status(StatusCode.ERROR, seen.error)
        span.end()

    def _tell(self, seen: RequestRecord) -> None:
        if not _log.isEnabledFor(logging.INFO):
            return
        if self._json:
            _log.info("%s", dump({"at": round(time(), 3), **seen.summary()}).decode())
        else:
            _log.info("%s", _line(seen))
        if self._bodies and seen.tape is not None:
            for what, data in (
                ("request", seen.tape.request),
                ("answer", b"".join(seen.tape.told)),
            ):
                _log.info(
                    "%s %s: %s",
                    seen.id,
                    what,
                    self.secrets(data[:_SHOWN].decode("utf-8", "replace")),
                )

    # --- several processes ---

    def keep(self) -> None:
        """Put the numbers where other processes find them."""
        if self._folder is not None:
            new = self._folder / f".{self._process}"
            new.write_bytes(self.counts.kept())
            new.replace(self._folder / self._process)

    def render(self) -> str:
        """All numbers: of this process, and of those that share its port."""
        others: dict[bool, list[bytes]] = {True: [], False: []}
        if self._folder is not None:
            for file in sorted(self._folder.glob("[!.]*")):
                if file.name != self._process:
                    others[self._alive(file.name)].append(file.read_bytes())
        return self.counts.render(others)


def _reason(loss: str) -> str:
    """Why something was lost, without what the client chose."""
    return _VARIES.sub("…", loss.partition(": ")[2] or loss)[:120]


def _line(seen: RequestRecord) -> str:
    """One exchange in words."""
    used = seen.usage
    more = [
        f"error: {seen.error}" if seen.error is not None else "",
        "the client left" if seen.gone else "",
        f"{used.input} + {used.output} tokens" if used is not None else "",
        f"repaired {', '.join(seen.changes)}" if seen.changes else "",
        f"{len(seen.losses)} losses" if seen.losses else "",
        f"ran {', '.join(name for name, _, _ in seen.tools)}" if seen.tools else "",
    ]
    whose = f" ({seen.key})" if seen.key else ""
    head = (
        f"{seen.front} {seen.model or '-'}{whose} -> {seen.upstream or '-'}: {seen.status} in"
        f" {seen.seconds:.3f} s"
    )
    return "; ".join((head, *(one for one in more if one)))


def json_of(data: bytes) -> JSON:
    """Bytes as the JSON value they are, or else as the text."""
    try:
        return parse(data)
    except ValueError:
        return data.decode("utf-8", "replace")
