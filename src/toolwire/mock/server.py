"""A strict mock of a provider's server, as an ASGI application.

    uvicorn.run(toolwire.mock.app("anthropic"), port=8080)

`demo_model` generates the responses. With `strict`, the mock first checks a history by the rules of
the profile, and refuses it with the provider's error text. Any key is accepted. Violations that a
provider does not notice are listed in the header field `toolwire-findings`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import decode, resolve
from toolwire.conversation.json import JSON, Object, SurrogateBytes, dump, load
from toolwire.errors import DecodeError, UsageError
from toolwire.lint.facts import Facts
from toolwire.mock.all_checks import check_request
from toolwire.mock.answers import CREATED, MockAnswer, with_shown_reasoning
from toolwire.mock.compaction import compacted
from toolwire.mock.demo_ids import id_form
from toolwire.mock.demo_model import DemoAnswer, demo_answer
from toolwire.mock.error_bodies import ErrorResponse, error_for_status, write_error
from toolwire.mock.history_checks import findings_header
from toolwire.mock.paths import (
    ROUTES,
    SERVER_PROFILES,
    TOKEN_COUNTS,
    MockRoute,
    find_route,
    model,
    model_list,
)
from toolwire.mock.request_checks import check_fields, check_key, unreadable_body
from toolwire.mock.schema_errors import check_schema
from toolwire.mock.stored_answers import STATES
from toolwire.profiles.table import Profile
from toolwire.server.asgi import (
    MIB,
    App,
    BodyLimits,
    BodyReader,
    Receive,
    Request,
    Scope,
    Send,
    lifespan,
    request_of,
)
from toolwire.server.asgi import answer as send_whole
from toolwire.server.cors import CorsPolicy
from toolwire.streaming.events import Chunk
from toolwire.streaming.stream_input import resolve_stream

_NO_ORIGINS = CorsPolicy()
MAX_KEPT = 200
"""The number of responses, and of requests, that are kept."""


class MockRequest(Struct, frozen=True):
    """A request, and the status of its response."""

    method: str
    path: str
    body: JSON
    status: int
    rule: str = ""
    """The rule that the request broke; empty if it was not refused."""


class _RejectedRequest(Exception):
    def __init__(self, refusal: ErrorResponse) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class _MockReply(Struct, frozen=True):
    """The content of a response: one body, or pieces."""

    status: int
    body: bytes
    headers: dict[str, str]
    pieces: tuple[bytes, ...] | None = None
    pause: float = 0.0
    cut: bool = False


class MockProvider:
    """An ASGI application with the API of one provider, or with all APIs of its server."""

    def __init__(self, wire: str, *, strict: bool = True, keys: bool = True) -> None:
        """`wire` is a wire or a profile. `strict=False` accepts any history, `keys=False` requests
        without a key. Raises UsageError."""
        _, profile = resolve(wire)
        if profile.wire not in ROUTES:
            raise UsageError(
                f"no provider's API uses this wire; the mock supports {', '.join(sorted(ROUTES))}",
                wire=wire,
            )
        self.profiles = tuple(
            resolve(name)[1] for name in SERVER_PROFILES.get(profile.name, (profile.name,))
        )
        self.strict = strict
        self.keys = keys
        self.requests: deque[MockRequest] = deque(maxlen=MAX_KEPT)
        """The last requests, the newest at the end."""
        self._intake = BodyReader(BodyLimits(body=64 * MIB))
        self._stored: OrderedDict[str, tuple[list[JSON], Object]] = OrderedDict()
        """Stored responses by id: the items up to and including each, and its body."""
        self._request_counts: Counter[bytes] = Counter()
        """How often each request was received."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _nothing, _nothing)
            return
        assert scope["type"] == "http", "the mock serves HTTP only"
        request = request_of(scope, receive)
        body = await self._intake.read(request)
        if body == "gone":
            return
        reply = self._reply(request, body if isinstance(body, bytes) else None)
        await _send_reply(reply, receive, send)

    # --- one request ---

    def _reply(self, request: Request, raw: bytes | None) -> _MockReply:
        """The response to any request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in request.headers.items()
        }
        query = request.scope.get("query_string", b"")
        query_text = query.decode("latin-1") if isinstance(query, bytes) else ""
        profile, route, named = self._find_route(request.method, request.path)
        names = (profile.name, profile.wire)
        body: JSON = None
        try:
            if self.keys and (refusal := check_key(names, headers, query_text)) is not None:
                raise _RejectedRequest(refusal)
            if _NO_ORIGINS.refuses(request):
                raise _RejectedRequest(
                    ErrorResponse("A page of another site may not use this server.", 403)
                )
            if route is None:
                raise _RejectedRequest(_not_found(request, known=bool(named)))
            if raw is None:
                raise _RejectedRequest(
                    ErrorResponse("The request is too large, or came too slowly.", 413)
                )
            if route.does in ("answer", "stream", "count", "compact"):
                body = _parse_body(raw, profile, strict=self.strict)
            reply = self._handle(route, named, body, profile, headers, query_text)
        except _RejectedRequest as rejected:
            error, more = write_error(names, rejected.refusal)
            reply = _MockReply(
                rejected.refusal.status, dump(error), {"content-type": "application/json", **more}
            )
            self._note(request, body, rejected.refusal.status, rejected.refusal.rule)
            return reply
        self._note(request, body, reply.status)
        return reply

    def _note(self, request: Request, body: JSON, status: int, rule: str = "") -> None:
        self.requests.append(MockRequest(request.method, request.path, body, status, rule))

    def _find_route(
        self, method: str, path: str
    ) -> tuple[Profile, MockRoute | None, dict[str, str]]:
        """The profile and the route of a path; a path that is known only under another method is an
        error of its own."""
        at = ""
        for profile in self.profiles:
            here = find_route(profile.wire, method, path)
            if isinstance(here, tuple):
                return profile, *here
            at = at or (profile.name if here else "")
        return self.profiles[0], None, {"method": at} if at else {}

    def _handle(
        self,
        route: MockRoute,
        named: dict[str, str],
        body: JSON,
        profile: Profile,
        headers: Mapping[str, str],
        query: str,
    ) -> _MockReply:
        if route.does == "models":
            return _whole(model_list(profile.wire, CREATED))
        if route.does == "model":
            return _whole(model(profile.wire, named["model"].removeprefix("models/"), CREATED))
        if route.does in ("stored", "delete"):
            kept = self._stored.get(named["id"])
            if kept is None:
                noun = STATES[profile.wire].noun
                raise _RejectedRequest(
                    ErrorResponse(f"{noun} with id '{named['id']}' not found.", 404)
                )
            if route.does == "delete":
                del self._stored[named["id"]]
            return _whole({} if route.does == "delete" else kept[1])
        assert isinstance(body, dict)
        if profile.wire == "anthropic" and "anthropic-version" not in headers:
            raise _RejectedRequest(ErrorResponse("anthropic-version: header is required"))
        if (
            profile.name == "azure-openai"
            and "model" in named
            and "api-version" not in parse_qs(query)
        ):
            raise _RejectedRequest(ErrorResponse("Resource not found", 404, code="404"))
        if "model" in named and profile.wire != "bedrock":
            body = {"model": named["model"], **body}
        if route.does == "compact":
            return _whole(compacted(body, STATES[profile.wire].items(body.get("input"))))
        if route.does == "count":
            field, others = TOKEN_COUNTS[profile.wire]
            return _whole({**others, field: max(1, len(dump(body)) // 4)})
        streams = route.does == "stream" or body.get("stream", profile.wire == "ollama") is True
        framed = "alt=sse" in query or profile.wire != "gemini"
        return self._answer(body, profile, named, headers, streams=streams, framed=framed)

    def _answer(
        self,
        body: Object,
        profile: Profile,
        named: dict[str, str],
        headers: Mapping[str, str],
        *,
        streams: bool,
        framed: bool,
    ) -> _MockReply:
        view = self._read(body, profile, headers)
        quiet: dict[str, str] = {}
        name = named.get("model") or str(body.get("model") or "")
        if self.strict:
            refusal, findings = check_request(view, body, model=name, headers=headers)
            if refusal is not None:
                raise _RejectedRequest(refusal)
            if findings:
                quiet["toolwire-findings"] = findings_header(findings)
        demo = demo_answer(view.conversation, id_profile=id_form(profile, name))
        self._fail(demo, body, profile, name)
        message = with_shown_reasoning(demo.message, view)
        options = body.get("stream_options")
        counted = (
            not streams
            or profile.wire not in ("openai-chat", "text")
            or (isinstance(options, dict) and options.get("include_usage") is True)
        )
        seed = blake2b(dump(body), digest_size=16).hexdigest()
        answer = MockAnswer(message, profile, body, seed=seed, model=name, usage=counted)
        if not demo.cut:
            self._keep(view, answer, body)
        return (
            _stream_reply(answer, demo, quiet, framed=framed)
            if streams
            else _whole_reply(answer, demo, quiet)
        )

    def _read(self, body: Object, profile: Profile, headers: Mapping[str, str]) -> Facts:
        """The history of a request, with the stored items that it continues."""
        lacks = check_fields(body, profile, headers)
        if lacks is not None:
            raise _RejectedRequest(lacks)
        whole = body
        state = STATES.get(profile.wire)
        before = body.get(state.previous_field) if state is not None else None
        if state is not None and isinstance(before, str):
            kept = self._stored.get(before)
            if kept is None:
                raise _RejectedRequest(state.not_found(before))
            body = {key: value for key, value in body.items() if key != state.previous_field}
            body["input"] = [*kept[0], *state.items(body.get("input"))]
        try:
            return Facts(decode(body, profile.wire), profile)
        except DecodeError as broken:
            raise _RejectedRequest(
                check_schema(whole, profile, headers)
                or ErrorResponse(f"Invalid value at '{broken.pointer}': {broken.why}.")
            ) from None

    def _fail(self, demo: DemoAnswer, body: Object, profile: Profile, name: str) -> None:
        """Fail as often as the question asks for, counted per request."""
        if demo.status == 200:
            return
        key = blake2b(dump(body), digest_size=16).digest()
        if len(self._request_counts) > MAX_KEPT:
            self._request_counts.clear()
        self._request_counts[key] += 1
        if not demo.times or self._request_counts[key] <= demo.times:
            raise _RejectedRequest(error_for_status(profile.wire, demo.status, name))

    def _keep(self, view: Facts, answer: MockAnswer, body: Object) -> None:
        state = STATES.get(answer.profile.wire)
        if state is None or body.get("store") is False:
            return
        whole = answer.body()
        made, output = whole.get("id"), whole.get(state.output_field)
        source = view.conversation.source.body
        so_far = state.items(source.get("input")) if isinstance(source, dict) else []
        self._stored[str(made)] = ([*so_far, *(output if isinstance(output, list) else [])], whole)
        while len(self._stored) > MAX_KEPT:
            self._stored.popitem(last=False)


def app(profile: str) -> App:
    """The server of a wire or profile, strict."""
    return MockProvider(profile)


async def _nothing() -> None:
    pass


# --- sending responses ----------------------------------------------------------------------------


def _whole(body: JSON) -> _MockReply:
    return _MockReply(200, dump(body), {"content-type": "application/json"})


def _whole_reply(answer: MockAnswer, demo: DemoAnswer, more: dict[str, str]) -> _MockReply:
    reply = _whole(answer.body())
    return replace(reply, headers={**reply.headers, **more}, pause=demo.pause, cut=demo.cut)


def _stream_reply(
    answer: MockAnswer, demo: DemoAnswer, more: dict[str, str], *, framed: bool
) -> _MockReply:
    _, how = resolve_stream(answer.profile.wire)
    events = list(answer.events(cut=demo.cut))
    headers = {"content-type": how.media, **how.headers, **more}
    pieces: Iterable[bytes] = map(how.frame, events)
    if not framed:
        pieces, headers["content-type"] = _array(events, demo.cut), "application/json"
    sent = [*pieces, *([how.trailer] if how.trailer and not demo.cut else [])]
    if demo.cut and not events:  # the wire sends a call in one event, so that event is cut
        first = how.frame(next(answer.events()))
        sent = [first[: len(first) // 2]]
    return _MockReply(200, b"", headers, tuple(sent), demo.pause, demo.cut)


def _array(events: list[Chunk], cut: bool) -> Iterable[bytes]:
    """The events as one JSON array, piece by piece."""
    for n, event in enumerate(events):
        yield (b"[" if n == 0 else b",\n") + dump(event)
    if not cut:
        yield b"]"


async def _send_reply(reply: _MockReply, receive: Receive, send: Send) -> None:
    """Send a reply, until its end or until the client disconnects.

    The server closes the connection after a reply that is cut in the middle.
    """
    headers = [
        (name.encode(), value.encode("latin-1", "replace")) for name, value in reply.headers.items()
    ]
    if await _wait_for_disconnect(receive, reply.pause):
        return
    if reply.pieces is None and not reply.cut:
        await send_whole(send, reply.status, reply.body, headers)
        return
    if reply.pieces is None:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for piece in (reply.body[: len(reply.body) // 2],) if reply.pieces is None else reply.pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        if await _wait_for_disconnect(receive, reply.pause):
            return
    if not reply.cut:
        await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive, seconds: float) -> bool:
    """Wait this long, at most ten minutes, and return whether the client disconnected."""
    if not seconds:
        return False
    try:
        async with asyncio.timeout(min(seconds, 600.0)):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


# --- helpers --------------------------------------------------------------------------------------


def _parse_body(raw: bytes, profile: Profile, *, strict: bool) -> Object:
    try:
        body, parsed = load(raw, profile.wire)
    except DecodeError as broken:
        raise _RejectedRequest(unreadable_body(profile.wire, broken.why)) from None
    is_cut = isinstance(parsed, SurrogateBytes)
    if strict and is_cut and profile.rejects_lone_surrogates:
        error = unreadable_body(profile.wire, "no low surrogate in string")
        raise _RejectedRequest(replace(error, rule="lone-surrogate"))
    if not isinstance(body, dict):
        raise _RejectedRequest(unreadable_body(profile.wire, "expected an object"))
    return body


def _not_found(request: Request, *, known: bool) -> ErrorResponse:
    if known:
        return ErrorResponse(f"Not allowed to {request.method} on {request.path}.", 405)
    return ErrorResponse(f"Invalid URL ({request.method} {request.path})", 404)
