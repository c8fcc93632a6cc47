"""Sessions of MCP over streamable HTTP, for clients that support elicitation or sampling.

Before 2026-07-28, a client answers a request of a tool with a separate HTTP request, and only a
session connects that request to the tool. A client that declares neither elicitation nor sampling
gets no session: any replica can handle any of its requests.

A client that lost the connection reconnects and gets the events that it missed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import nullcontext
from uuid import uuid4

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    EventCallback,
    EventMessage,
    EventStore,
    StreamableHTTPServerTransport,
)
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types import JSONRPCMessage
from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder

from toolwire.server.asgi import Message, Receive, Scope, Send

MAX_SESSIONS = 1000
IDLE_TIMEOUT = 1800.0
"""Seconds after which a session without requests ends."""
RETRY_MS = 1000
"""The delay after which a client reconnects, in milliseconds."""
MAX_EVENTS = 256
MAX_EVENT_BYTES = 512 * 1024


class _Capabilities(Struct, frozen=True):
    elicitation: object = None
    sampling: object = None


class _Params(Struct, frozen=True):
    capabilities: _Capabilities = _Capabilities()


class _Initialize(Struct, tag_field="method", tag="initialize"):
    params: _Params


_INITIALIZE = Decoder(_Initialize)


def needs_session(body: bytes) -> bool:
    """True for an `initialize` of a client that supports elicitation or sampling."""
    try:
        capabilities = _INITIALIZE.decode(body).params.capabilities
    except (DecodeError, ValidationError, RecursionError):
        return False
    return capabilities.elicitation is not None or capabilities.sampling is not None


class RecentEvents(EventStore):
    """The latest events of one session. The oldest ones are dropped first."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, tuple[str, JSONRPCMessage | None, int]] = OrderedDict()
        self._bytes = 0
        self._count = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event; None is the event that opens a stream."""
        size = 0 if message is None else len(message.model_dump_json())
        self._count += 1
        event_id = str(self._count)
        self._events[event_id] = (stream_id, message, size)
        self._bytes += size
        while len(self._events) > MAX_EVENTS or self._bytes > MAX_EVENT_BYTES:
            _, (_, _, dropped) = self._events.popitem(last=False)
            self._bytes -= dropped
        return event_id

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send the events of a stream that follow the last one that its client has."""
        last = self._events.get(last_event_id)
        if last is None:
            return None
        found = False
        for event_id, (stream_id, message, _) in list(self._events.items()):
            if found and stream_id == last[0] and message is not None:
                await send_callback(EventMessage(message, event_id))
            found = found or event_id == last_event_id
        return last[0]


class McpSession:
    """A session of one client, with the task that serves it."""

    def __init__(self, server: Server[dict[str, object]], principal: str, *, max_body: int) -> None:
        self.principal = principal
        self.id = uuid4().hex
        self._server = server
        self._transport = StreamableHTTPServerTransport(
            self.id, event_store=RecentEvents(), retry_interval=RETRY_MS, idle_timeout=IDLE_TIMEOUT
        )
        self._handle = RequestBodyLimitMiddleware(self._transport.handle_request, max_body)

    async def run(self, ready: asyncio.Future[None]) -> None:
        """Serve the session until it ends."""
        try:
            async with self._transport.connect() as (read, write):
                ready.set_result(None)
                with self._transport.idle_scope or nullcontext():
                    options = self._server.create_initialization_options()
                    await self._server.run(read, write, options)
        finally:
            if not ready.done():
                ready.cancel()
            if not self._transport.is_terminated:
                await self._transport.terminate()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Handle a request and return the status of its response; 0 if there was none."""
        status = 0

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                sent = message["status"]
                assert isinstance(sent, int)
                status = sent
            await send(message)

        await self._handle(scope, receive, observe)
        return status


class McpSessions:
    """The sessions of one server."""

    def __init__(self, server: Server[dict[str, object]], *, max_body: int) -> None:
        self._server = server
        self._max_body = max_body
        self._sessions: dict[str, McpSession] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def find(self, session_id: str, principal: str) -> McpSession | None:
        """The session with this id, if this caller opened it."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.principal == principal else None

    async def open(self, principal: str) -> McpSession | None:
        """Open a session; None if there are too many."""
        if len(self._sessions) >= MAX_SESSIONS:
            return None
        session = McpSession(self._server, principal, max_body=self._max_body)
        self._sessions[session.id] = session
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(session.run(ready))
        self._tasks[session.id] = task
        task.add_done_callback(lambda _: self._forget(session.id))
        await ready
        return session

    def end(self, session: McpSession) -> None:
        """End a session that could not be initialized."""
        self._tasks[session.id].cancel()

    def _forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._tasks.pop(session_id, None)

    async def close(self) -> None:
        """End all sessions."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
