"""One request on its way to a model and back: other models are tried only before the first byte.

What the client's wire looks like is known to the relay, who may ask to the app. Here are time,
failure and order: a client that leaves, a server that refuses, hangs, breaks off or never ends.
Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import aclosing, asynccontextmanager
from time import perf_counter
from urllib.parse import quote

from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import dump, load
from toolwire.errors import InputError
from toolwire.execution.eager_await import finish_await
from toolwire.execution.redaction import Redactor
from toolwire.gateway.client_apis import ClientApi, RouteMatch
from toolwire.gateway.config import ModelTarget
from toolwire.gateway.errors import RequestRejected, UpstreamFailed, done, header, pairs
from toolwire.gateway.observer import RequestRecord
from toolwire.gateway.token_count import COUNTS
from toolwire.gateway.tools import GatewayTools, ToolLoop
from toolwire.gateway.translator import RelayStream, Translator, UpstreamRequest
from toolwire.lint.explain import explain
from toolwire.providers.api_errors import read_error_message
from toolwire.providers.http.response import LARGEST_BODY, Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS, Upstream
from toolwire.server.asgi import Request, Send, answer
from toolwire.streaming.events import StreamError
from toolwire.streaming.stream_translator import StreamTranslator

BUSY = frozenset({408, 409, 425, 429})
"""What a server says, beside 500 and above, when another try, or another model, may help."""
_WRONG = frozenset({400, 413, 422})
"""What a server says when it understood the request and will not have it."""
_KEPT = frozenset({"retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"})
"""What an upstream says about another try, and how it calls the request."""
_JSON = {"content-type": "application/json"}
_PLAIN = pairs(_JSON)
_LAST = 0.25
"""Seconds for a server to close a stream that is over, so that the connection can be used again."""
_LONG = 1024 * 1024
"""Bytes of a line that is passed on before its end."""
_UNREAD = (*CONNECTION_ERRORS, InputError, ValueError)
"""What is raised when an answer cannot be had or read. ValueError: it is larger than any answer is.
"""
_FAULTS = (
    ("overloaded", 529),
    ("rate_limit", 429),
    ("throttl", 429),
    ("unavailable", 503),
    ("timeout", 504),
)
"""What a server says in a stream that it ends before it began, and the status for that."""


class GatewayRequest:
    """A request of a client, and the way to whoever sent it."""

    __slots__ = ("array", "own", "raw", "relays", "request", "routed", "seen", "send", "strict")

    def __init__(
        self,
        request: Request,
        routed: RouteMatch,
        raw: bytes,
        send: Send,
        seen: RequestRecord,
        *,
        strict: bool,
        own: GatewayTools | None = None,
        relays: Translators | None = None,
    ) -> None:
        self.relays = relays
        """The ways that were used before, with what is known of them."""
        self.request = request
        self.routed = routed
        self.raw = raw
        self.send = send
        self.seen = seen
        self.strict = strict
        self.own = own
        """Tools that are run here."""
        query = request.scope.get("query_string", b"")
        self.array = (
            routed.does == "stream" and isinstance(query, bytes) and b"alt=sse" not in query
        )
        """Whether a stream is read as one JSON array."""


class Translators:
    """The ways from fronts to models that were used last. Clients choose the names of models, so
    there are only so many."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._known: dict[tuple[str, str, str, str], Translator] = {}

    def find(self, front: ClientApi, target: ModelTarget) -> Translator:
        """The way from a front to a model."""
        key = (
            front.wire,
            target.address.provider.profile,
            target.address.model,
            repr(target.settings) if target.settings else "",
        )
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= self._most:
                self._known.clear()
            found = self._known[key] = Translator(
                front,
                target.address.provider.profile,
                model=target.address.model,
                settings=target.settings,
            )
        return found


async def exchanged(asked: GatewayRequest, target: ModelTarget, upstream: Upstream) -> None:
    """Ask one model and answer. Raises Failed if it gave no answer, Refused if none would."""
    relay = (asked.relays or Translators()).find(asked.routed.front, target)
    seen = asked.seen
    seen.wire, seen.asked = relay.wire, target.address.model
    if asked.routed.does == "count":
        await _counted(asked, relay, target, upstream)
        return
    if asked.own is not None:
        await _tooled(asked, asked.own, relay, target, upstream)
        return
    sent = relayed(asked, relay)
    address = target.address
    data = sent.data(lambda body: address.body(body, stream=seen.stream))
    response = await _posted(asked, target, upstream, data)
    try:
        if response.status >= 300:
            raise await _refusal(response, relay, sent, target)
        if not seen.stream:
            await _whole(asked, relay, sent, response)
        elif sent.same and not asked.array:
            await _untouched(asked, relay, sent, response)
        else:
            await _streamed(asked, relay, sent, response)
    finally:
        response.close()


def relayed(asked: GatewayRequest, relay: Translator) -> UpstreamRequest:
    """The request as the model gets it. Raises Refused."""
    try:
        sent = relay.request(asked.raw)
    except InputError as error:
        raise RequestRejected(
            f"{error.pointer}: {error.why}" if error.pointer else error.why
        ) from None
    _noted(asked, sent)
    return sent


def _noted(asked: GatewayRequest, sent: UpstreamRequest) -> None:
    """What was done to a request, told. Raises Refused if nothing may be."""
    seen = asked.seen
    seen.changes = (
        tuple(dict.fromkeys(change.name for change in sent.changes)) if sent.changes else ()
    )
    seen.losses = tuple(map(str, sent.losses)) if sent.losses else ()
    if asked.strict and sent.changes:
        told = "; ".join(map(str, sent.changes[:5]))
        raise RequestRejected(f"This history would have to be repaired: {told}", headers=done(sent))


async def _posted(
    asked: GatewayRequest,
    target: ModelTarget,
    upstream: Upstream,
    data: bytes,
    url: str | None = None,
) -> Response:
    seen, headers = asked.seen, asked.request.headers
    more = dict(seen.carrier)
    front = asked.routed.front
    for name in (*target.row.headers, *(front.passes if seen.wire == front.wire else ())):
        value = headers.get(name.lower().encode())
        if value is not None:
            more[name.lower()] = value.decode("latin-1")
    seen.sent(data)
    try:
        return await upstream.post(
            target.address, data, stream=seen.stream, headers=more, url=url, timeouts=target.waits
        )
    except CONNECTION_ERRORS as error:
        raise lost(error, f"{target.address.provider.name} could not be reached") from None
    except ValueError as error:  # its address or its key is none: the words hold neither
        raise UpstreamFailed(
            f"{target.address.provider.name} cannot be asked: {error}", 502, again=True
        ) from None


def lost(error: BaseException, what: str) -> UpstreamFailed:
    """What a lost connection is for the client: by its kind only, for its words may hold
    secrets.
    """
    return UpstreamFailed(
        f"{what}: {type(error).__name__}",
        504 if isinstance(error, TimeoutError) else 502,
        again=True,
    )


def _unread(error: Exception) -> UpstreamFailed:
    """What an answer that cannot be had or read is for the client."""
    if isinstance(error, CONNECTION_ERRORS):
        return lost(error, "the answer broke off")
    return UpstreamFailed(
        f"the answer cannot be read: {error}" if isinstance(error, InputError) else str(error),
        502,
        again=True,
    )


async def _whole(
    asked: GatewayRequest, relay: Translator, sent: UpstreamRequest, response: Response
) -> None:
    try:
        data = await response.read_all()
        asked.seen.heard(data)
        if data.lstrip()[:1] != b"{":
            raise ValueError("the answer cannot be read: it is no JSON object")
        body, losses, usage = relay.answer(data, sent)
    except _UNREAD as error:
        raise _unread(error) from None
    seen = asked.seen
    seen.status, seen.first = 200, perf_counter()
    if losses:
        seen.losses += tuple(map(str, losses))
    seen.usage = usage or seen.usage
    seen.said(body)
    more = {**_kept(response), **done(sent, losses)}
    await answer(asked.send, 200, body, pairs({**_JSON, **more}) if more else _PLAIN)


def _kept(response: Response) -> dict[str, str]:
    headers = response.headers
    return (
        {}
        if _KEPT.isdisjoint(headers)
        else {name: value for name, value in headers.items() if name in _KEPT}
    )


class ResponseWriter:
    """An answer that is sent in pieces; nothing is sent before the first."""

    __slots__ = ("_asked", "_head", "begun")

    def __init__(self, asked: GatewayRequest, head: Mapping[str, str]) -> None:
        self._asked = asked
        self._head = head
        self.begun = False

    async def piece(self, data: bytes, *, last: bool = False) -> None:
        seen, send = self._asked.seen, self._asked.send
        if not self.begun:
            self.begun = True
            seen.status, seen.first = 200, perf_counter()
            await send({"type": "http.response.start", "status": 200, "headers": pairs(self._head)})
        seen.said(data)
        await send({"type": "http.response.body", "body": data, "more_body": not last})

    def now(self, data: bytes) -> Awaitable[None] | None:
        """Send a piece at once; what is still to be waited for, if the client does not keep up."""
        if not self.begun:
            return self.piece(data)
        self._asked.seen.said(data)
        steps = self._asked.send(
            {"type": "http.response.body", "body": data, "more_body": True}
        ).__await__()
        try:
            waits_for = next(steps)
        except StopIteration:
            return None
        return finish_await(steps, waits_for)


async def _streamed(
    asked: GatewayRequest, relay: Translator, sent: UpstreamRequest, response: Response
) -> None:
    pipe = relay.stream(sent, array=asked.array)
    media = "application/json" if asked.array else pipe.target_spec.media
    out = ResponseWriter(
        asked,
        {
            "content-type": media,
            "cache-control": "no-cache",
            **pipe.target_spec.headers,
            **_kept(response),
            **done(sent),
        },
    )
    rest: list[bytes] = []
    broken: UpstreamFailed | None = None
    at_once = _at_once(relay, response)
    try:
        rest = (
            pipe.told_whole(await response.read_all())
            if at_once
            else await _fed(asked, pipe, response, out)
        )
        if not at_once:
            rest += pipe.end()
    except _UNREAD as error:
        broken = _unread(error)
    if broken is None and pipe.fault is not None:
        broken = _faulted(pipe.fault)
    if broken is not None:
        if not out.begun:
            raise broken
        rest += pipe.failed(broken.message)
        asked.seen.error = broken.message
    await out.piece(b"".join(rest) + pipe.trailer, last=True)
    losses = pipe.losses
    if losses:
        asked.seen.losses += tuple(map(str, losses))
    asked.seen.usage = pipe.usage or asked.seen.usage
    if broken is None and not at_once and not response.ended:
        response.drain(_LAST)


async def _fed(
    asked: GatewayRequest, pipe: RelayStream, response: Response, out: ResponseWriter
) -> list[bytes]:
    """Pass on what comes, and give what is still to be sent. Raises ValueError if something never
    ends."""
    held = 0
    heard, feed = asked.seen.heard, pipe.feed
    rest: list[bytes] = []
    waits: Awaitable[None] | None = None

    def take(item: bytes) -> bool:
        nonlocal held, rest, waits
        heard(item)
        said = feed(item)
        if pipe.source_ended:
            rest = said
            return False
        if said:
            held = 0
            waits = out.now(said[0] if len(said) == 1 else b"".join(said))
            return waits is None
        held += len(item)
        if held > LARGEST_BODY:
            raise ValueError(f"an event of more than {LARGEST_BODY} bytes")
        return True

    while True:
        await response.pump(take)
        if waits is None:
            return rest
        await waits
        waits = None


async def _tooled(
    asked: GatewayRequest,
    own: GatewayTools,
    relay: Translator,
    target: ModelTarget,
    upstream: Upstream,
) -> None:
    """Ask a model that may call tools of this gateway, as often as it does, and answer."""
    seen = asked.seen
    mark = asked.request.headers.get(b"idempotency-key", b"").decode("latin-1")
    try:
        work = ToolLoop(
            own, relay, asked.raw, seen, stream=seen.stream, array=asked.array, mark=mark
        )
    except InputError as error:
        raise RequestRejected(
            f"{error.pointer}: {error.why}" if error.pointer else error.why
        ) from None
    _noted(asked, work.first)
    head = {"content-type": work.media, **work.headers, **done(work.first)}

    @asynccontextmanager
    async def ask(sent: UpstreamRequest) -> AsyncIterator[Response]:
        data = dump(target.address.body(sent.body, stream=seen.stream))
        response = await _posted(asked, target, upstream, data)
        try:
            if response.status >= 300:
                raise await _refusal(response, relay, sent, target)
            yield response
        finally:
            response.close()

    out = ResponseWriter(asked, {**head, "cache-control": "no-cache"})
    try:
        async with aclosing(work.run(ask)) as pieces:
            async for piece in pieces:
                if seen.stream:
                    await out.piece(piece)
                else:
                    seen.status, seen.first = 200, perf_counter()
                    seen.said(piece)
                    await answer(asked.send, 200, piece, pairs(head))
    except (UpstreamFailed, *_UNREAD) as error:
        # nobody else can be asked any more, and no error be told: all that is left is to break it
        # off
        if out.begun:
            raise RuntimeError("an answer that had begun cannot go on") from error
        raise error if isinstance(error, UpstreamFailed) else _unread(error) from None
    if seen.stream:
        await out.piece(b"", last=True)


async def _untouched(
    asked: GatewayRequest, relay: Translator, sent: UpstreamRequest, response: Response
) -> None:
    """Pass on what comes line by line, to the byte: what breaks off in a line is not passed on, so
    that an error can follow."""
    head = {
        "content-type": response.headers.get("content-type", "text/event-stream"),
        "cache-control": "no-cache",
    }
    out = ResponseWriter(asked, {**head, **_kept(response), **done(sent)})
    held = b""
    named = False
    heard = asked.seen.heard
    at_once = _at_once(relay, response)
    try:
        while item := await response.read():
            heard(item)
            held = held + item if held else item
            end = len(held) if len(held) > _LONG else held.rfind(b"\n") + 1
            if end:
                whole_lines, held = (held, b"") if end == len(held) else (held[:end], held[end:])
                if not out.begun:
                    _looked_at(relay, whole_lines, at_once=at_once)
                if not named:
                    whole_lines, named = relay.renamed(whole_lines, sent)
                await out.piece(whole_lines)
    except CONNECTION_ERRORS as error:
        broken = lost(error, "the answer broke off")
        if not out.begun:
            raise broken from None
        asked.seen.error = broken.message
        told: StreamTranslator[bytes] = StreamTranslator(relay.wire, relay.wire)
        held = b"\n" + b"".join(told.report_source_failure(error))
    if not out.begun:
        _looked_at(relay, held, at_once=at_once, over=True)
    await out.piece(held if named else relay.renamed(held, sent)[0], last=True)


def _looked_at(relay: Translator, data: bytes, *, at_once: bool, over: bool = False) -> None:
    """The beginning of a stream before it is passed on. Raises Failed if it is an error, or nothing
    that could be one."""
    if at_once:
        if data.lstrip()[:1] != b"{":
            raise UpstreamFailed("the answer cannot be read: it is no JSON object", 502, again=True)
        return
    if (
        data.lstrip()[:1] == b"<"
    ):  # no framing begins so, and one that skips what it does not know would pass it on
        raise UpstreamFailed("the answer cannot be read: it is a page", 502, again=True)
    pipe: StreamTranslator[bytes] = StreamTranslator(relay.wire, relay.wire, ids=NO_MAP)
    pipe.feed(data)
    if over:
        pipe.end()
    if pipe.fault is not None:
        raise _faulted(pipe.fault)


def _faulted(fault: StreamError) -> UpstreamFailed:
    return UpstreamFailed(fault.message, _status(f"{fault.code or ''} {fault.message}"), again=True)


def _at_once(relay: Translator, response: Response) -> bool:
    """Whether a server gave the whole answer although it was asked for a stream."""
    return (
        response.headers.get("content-type", "").startswith("application/json")
        and relay.media != "application/json"
    )


def _status(text: str) -> int:
    low = text.lower().replace(" ", "_")
    return next((status for word, status in _FAULTS if word in low), 502)


async def _counted(
    asked: GatewayRequest, relay: Translator, target: ModelTarget, upstream: Upstream
) -> None:
    """How many tokens a request has, where the model's server can tell."""
    address = target.address
    count = COUNTS.get(relay.wire)
    if count is None:
        raise RequestRejected(f"{address.provider.name} does not count tokens.", 404)
    url = address.base_url.rstrip("/") + count.path(address.provider.path).replace(
        "{model}", quote(address.model, safe="")
    )
    sent = relayed(asked, relay)
    response = await _posted(
        asked, target, upstream, dump(count.asks(sent.body, address.model)), url
    )
    try:
        if response.status >= 300:
            raise await _refusal(response, relay, sent, target)
        told, _ = load(await response.read_all(), "")
    except _UNREAD as error:
        raise _unread(error) from None
    finally:
        response.close()
    many = told.get(count.field) if isinstance(told, dict) else None
    if not isinstance(many, int):
        raise UpstreamFailed("the answer has no number of tokens", 502, again=True)
    asked.seen.status = 200
    head = {"content-type": "application/json", **done(sent)}
    await answer(asked.send, 200, dump(asked.routed.front.counted(many)), pairs(head))


async def _refusal(
    response: Response, relay: Translator, sent: UpstreamRequest, target: ModelTarget
) -> UpstreamFailed:
    """What an upstream's refusal is for the client."""
    name = target.address.provider.name
    status = (
        response.status if response.status < 600 else 502
    )  # beyond that nothing has a meaning, and no server can say it
    try:
        data = await response.read_all()
    except (*CONNECTION_ERRORS, ValueError):
        data = b""
    hide = Redactor(target.address.secrets())
    text = hide(read_error_message(data)) or f"{name} said {response.status}"
    kept = _kept(response) | done(sent)
    if status < 400:
        return UpstreamFailed(
            f"{name} said {status}: it is elsewhere, and nobody is followed there",
            502,
            again=False,
            headers=kept,
        )
    if status in (401, 403):
        return UpstreamFailed(
            f"{name} does not take this gateway's key ({status})", 502, again=True, headers=kept
        )
    meaning = explain(text, sent.body, relay.target) if status in _WRONG else []
    if meaning:
        kept["x-toolwire-explain"] = header("; ".join(map(str, meaning)))
        text = f"{text} ({meaning[0].message})"
    raw = (
        data
        if sent.same
        and data
        and hide(data.decode("utf-8", "replace")) == data.decode("utf-8", "replace")
        else None
    )
    return UpstreamFailed(
        text, status, again=status in BUSY or status >= 500, headers=kept, raw=raw
    )
