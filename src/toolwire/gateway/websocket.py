"""Responses over WebSocket: each `response.create` message is one request of the same API.

The stages see an ordinary request whose body is the message, and each event of their response is
sent as a message. A connection remembers its last responses, so that a message can continue one by
`previous_response_id` and send only what is new. Messages are answered one after the other.

Protocol: https://developers.openai.com/api/docs/guides/websocket-mode
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from time import time
from uuid import uuid4

from msgspec import Struct

from toolwire.codec import encode
from toolwire.conversation.json import JSON, Object, dump, parse_body
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Message as ConversationMessage
from toolwire.gateway.client_apis.openai_responses import API, STATE
from toolwire.gateway.errors import RequestRejected, raw_headers
from toolwire.gateway.responses_state.history import (
    FinalResponse,
    ResponseHistory,
    build_history,
    continue_response,
)
from toolwire.providers.api_errors import ApiError, write_error
from toolwire.server.asgi import MIB, App, Message, Receive, Request, Scope, Send, request_of
from toolwire.streaming.framing.sse import SSE
from toolwire.wires.engine.encode_context import RequestInfo

_log = logging.getLogger("toolwire.gateway")
_HANDSHAKE_HEADERS = (b"connection", b"upgrade", b"content-type", b"content-length")
_SOCKET_FIELDS = ("type", "generate", "stream", "stream_id")
"""Fields of a message that are no part of the request."""
_NORMAL, _GOING_AWAY, _POLICY_VIOLATION = 1000, 1001, 1008


class SocketLimits(Struct, frozen=True, kw_only=True):
    """How much the connections of one process may use."""

    idle: float = 600.0
    """Seconds without a message or a response after which a connection is closed."""
    lifetime: float = 3600.0
    """Seconds after which a connection accepts no more messages."""
    send: float = 60.0
    """Seconds in which a client must read a message."""
    histories: int = 4
    """Responses that a connection remembers."""
    history_bytes: int = 256 * MIB
    """Bytes of all remembered responses. Beyond, clients have to send their whole input."""


class HistoryBudget:
    """The bytes that the histories of all connections take."""

    def __init__(self, limit: int) -> None:
        self._free = limit

    def acquire(self, size: int) -> bool:
        """Reserve bytes; False if fewer are free."""
        if size > self._free:
            return False
        self._free -= size
        return True

    def release(self, size: int) -> None:
        """Give bytes back."""
        self._free += size


class ResponsesSocket:
    """One connection."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        limits: SocketLimits,
        budget: HistoryBudget,
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._limits = limits
        self._budget = budget
        self._messages: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        self._closed = asyncio.Event()
        self._histories: OrderedDict[str, ResponseHistory] = OrderedDict()

    async def serve(self, app: App) -> None:
        """Answer messages with an application until the client leaves or a limit is reached."""
        await self._send({"type": "websocket.accept"})
        reader = asyncio.create_task(self._read())
        deadline = asyncio.get_running_loop().time() + self._limits.lifetime
        try:
            while (text := await self._next_message(deadline)) is not None:
                await self._answer(text, app)
        finally:
            reader.cancel()
            while self._histories:
                self._forget()

    async def _read(self) -> None:
        """Receive messages until the client disconnects; at most one waits for its turn."""
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                self._closed.set()
                return
            text, data = message.get("text"), message.get("bytes")
            if isinstance(data, bytes):
                text = data.decode("utf-8", "replace")
            await self._messages.put(text if isinstance(text, str) else "")

    async def _next_message(self, deadline: float) -> str | None:
        """The next message; None if the connection is over."""
        loop = asyncio.get_running_loop()
        get, closed = loop.create_task(self._messages.get()), loop.create_task(self._closed.wait())
        try:
            await asyncio.wait(
                (get, closed), timeout=self._limits.idle, return_when=asyncio.FIRST_COMPLETED
            )
            if self._closed.is_set():
                return None
            if not get.done():
                await self._close(_GOING_AWAY, "The connection was idle.")
                return None
            if loop.time() > deadline:
                minutes = f"{self._limits.lifetime / 60:g} minutes"
                await self._send_error(
                    f"The connection has been open for more than {minutes}."
                    " Connect again to continue.",
                    code="websocket_connection_limit_reached",
                )
                await self._close(_NORMAL, "Connect again to continue.")
                return None
            return get.result()
        finally:
            get.cancel()
            closed.cancel()

    # --- one message ---

    async def _answer(self, text: str, app: App) -> None:
        try:
            message = parse_body(text.encode("utf-8", "replace"))
        except ValueError:
            await self._send_error("The message is not JSON.")
            return
        if not isinstance(message, dict) or message.get("type") != "response.create":
            await self._send_error("The type of a message must be response.create.")
            return
        stream_id = message.get("stream_id")
        body: Object = {key: message[key] for key in message if key not in _SOCKET_FIELDS}
        previous = body.get("previous_response_id")
        history = self._histories.get(previous) if isinstance(previous, str) else None
        if history is not None:
            body = continue_response(body, history, STATE)
        if message.get("generate") is False:
            await self._warm_up(body, stream_id)
            return
        response = _SocketResponse(self, stream_id)
        try:
            await app(
                self._http_scope(), self._http_receive({**body, "stream": True}), response.send
            )
        except Exception:
            _log.exception("a response over WebSocket broke off")
            await self._send_error("The response broke off.", status=500, stream_id=stream_id)
        if response.final is not None:
            self._remember(build_history(body, response.final, STATE))

    async def _warm_up(self, body: Object, stream_id: JSON) -> None:
        """Remember the input of a message that asks for no output."""
        info = RequestInfo(body, created=int(time()), id=uuid4().hex)
        empty = Conversation((ConversationMessage("assistant", (), "stop"),), kind="response")
        response = encode(empty, "openai-responses", "response", request=info).body
        assert isinstance(response, dict)
        self._remember(build_history(body, response, STATE))
        started: Object = {**response, "status": "in_progress"}
        for number, (event, value) in enumerate(
            (("response.created", started), ("response.completed", response))
        ):
            await self.send_event(
                {"type": event, "sequence_number": number, "response": value}, stream_id
            )

    def _http_scope(self) -> Scope:
        headers = self._scope["headers"]
        assert isinstance(headers, list)
        kept = [
            (name, value)
            for name, value in headers
            if name not in _HANDSHAKE_HEADERS and not name.startswith(b"sec-websocket-")
        ]
        kept.append((b"content-type", b"application/json"))
        return {**self._scope, "type": "http", "method": "POST", "headers": kept}

    def _http_receive(self, body: Object) -> Receive:
        """The body of a request, and the end of the connection after it."""
        remaining = [dump(body)]

        async def receive() -> Message:
            if remaining:
                return {"type": "http.request", "body": remaining.pop(), "more_body": False}
            await self._closed.wait()
            return {"type": "http.disconnect"}

        return receive

    # --- remembered responses ---

    def _remember(self, history: ResponseHistory | None) -> None:
        if history is None or not self._budget.acquire(len(history.items)):
            return
        known = self._histories.pop(history.response_id, None)
        if known is not None:
            self._budget.release(len(known.items))
        self._histories[history.response_id] = history
        while len(self._histories) > self._limits.histories:
            self._forget()

    def _forget(self) -> None:
        _, history = self._histories.popitem(last=False)
        self._budget.release(len(history.items))

    # --- sending ---

    async def send_event(self, event: Object, stream_id: JSON) -> None:
        """Send an event; with the id of its stream, if the client gave one."""
        await self.send_text(
            dump(event if stream_id is None else {**event, "stream_id": stream_id})
        )

    async def send_text(self, data: bytes) -> None:
        """Send a message. Nothing is sent to a client that has left or does not read."""
        if self._closed.is_set():
            return
        try:
            async with asyncio.timeout(self._limits.send):
                await self._send({"type": "websocket.send", "text": data.decode()})
        except OSError:  # the connection is closed, or the time is over
            self._closed.set()

    async def _send_error(
        self, message: str, *, status: int = 400, code: str | None = None, stream_id: JSON = None
    ) -> None:
        error: Object = {
            "type": "invalid_request_error" if status < 500 else "server_error",
            "message": message,
            "code": code,
            "param": None,
        }
        await self.send_event(error_event(status, error, {}), stream_id)

    async def _close(self, code: int, reason: str) -> None:
        if not self._closed.is_set():
            self._closed.set()
            await self._send({"type": "websocket.close", "code": code, "reason": reason})


class _SocketResponse:
    """Takes the response to one request, and sends it as messages."""

    def __init__(self, socket: ResponsesSocket, stream_id: JSON) -> None:
        self._socket = socket
        self._stream_id = stream_id
        self._status = 500
        self._headers: dict[str, str] = {}
        self._events = SSE()
        self._body: list[bytes] = []
        self._reader = FinalResponse(STATE, API.wire)
        self.final: Object | None = None
        """The response as its last event has it."""

    async def send(self, message: Message) -> None:
        """Take a message of ASGI."""
        if message["type"] == "http.response.start":
            status, headers = message["status"], message["headers"]
            assert isinstance(status, int) and isinstance(headers, list | tuple)
            self._status = status
            self._headers = {name.decode(): value.decode("latin-1") for name, value in headers}
            return
        data = message.get("body", b"")
        assert isinstance(data, bytes)
        if self._headers.get("content-type", "").startswith("text/event-stream"):
            for frame in self._events.feed(data):
                await self._send_frame(frame.data)
            return
        self._body.append(data)
        if not message.get("more_body"):
            await self._send_whole(b"".join(self._body))

    async def _send_frame(self, data: bytes) -> None:
        final = self._reader.read(data)
        self.final = final or self.final
        if self._stream_id is None:
            await self._socket.send_text(data)
            return
        event = parse_body(data)
        assert isinstance(event, dict)
        await self._socket.send_event(event, self._stream_id)

    async def _send_whole(self, data: bytes) -> None:
        """Send an error, or the response of a server that does not stream."""
        body = parse_body(data)
        value = body if isinstance(body, dict) else {}
        if self._status == 200:
            self.final = value
            event: Object = {"type": "response.completed", "sequence_number": 0, "response": value}
        else:
            error = value.get("error")
            event = error_event(
                self._status, error if isinstance(error, dict) else {}, self._headers
            )
        await self._socket.send_event(event, self._stream_id)


def error_event(status: int, error: Object, headers: dict[str, str]) -> Object:
    """An error as a message: as the guide shows it, and with the fields of an event."""
    shown: Object = {
        name: headers[name] for name in ("retry-after", "x-request-id") if name in headers
    }
    return {
        "type": "error",
        "status": status,
        "error": error,
        "code": error.get("code"),
        "message": error.get("message", ""),
        "param": error.get("param"),
        "sequence_number": 0,
        **({"headers": shown} if shown else {}),
    }


class SocketServer:
    """Accepts the connections of one application."""

    def __init__(self, app: App, limits: SocketLimits | None = None) -> None:
        self._app = app
        self._limits = limits or SocketLimits()
        self._budget = HistoryBudget(self._limits.history_bytes)

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, check: Callable[[Request], None]
    ) -> None:
        """Serve a connection.

        Args:
            scope: the scope of the handshake.
            receive: receives messages of ASGI.
            send: sends them.
            check: raises RequestRejected if the client may not connect.
        """
        await receive()
        try:
            check(request_of({**scope, "type": "http", "method": "GET"}, receive))
        except RequestRejected as rejection:
            await _reject(scope, send, rejection)
            return
        socket = ResponsesSocket(scope, receive, send, limits=self._limits, budget=self._budget)
        await socket.serve(self._app)


async def _reject(scope: Scope, send: Send, rejection: RequestRejected) -> None:
    """Refuse a connection, with an HTTP response if the server can send one."""
    extensions = scope.get("extensions")
    if not isinstance(extensions, dict) or "websocket.http.response" not in extensions:
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    error = ApiError(rejection.message, rejection.status, rejection.code)
    body, media_type = write_error("openai-responses", error)
    headers = raw_headers({"content-type": media_type, **rejection.headers})
    start: Message = {"type": "websocket.http.response.start", "status": rejection.status}
    await send({**start, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
