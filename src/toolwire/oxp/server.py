"""The ASGI app of a tool server: OXP 1.0, health, metrics, and whatever is mounted beside them.

    app = ToolServer(Tools(add, ring), Calls(SqliteLedger("calls.db")))

Every request goes the same way: the name it asks for, who asks, the shape of the request, the tool,
and then the call, which looks into the record before it runs anything. Knows no ledger and runs no
tool itself.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Literal, TypeAlias

from toolwire.conversation.json import Object, dump
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.metrics import TYPE as METRICS_TYPE
from toolwire.execution.telemetry import joined
from toolwire.execution.tool_call import MissingRequirements, ToolCall
from toolwire.oxp import protocol as oxp
from toolwire.oxp.protocol import AuthChallenge, OxpRejection, OxpResponse
from toolwire.server.asgi import (
    AllowedHosts,
    App,
    BodyLimits,
    BodyReader,
    Pairs,
    Receive,
    Request,
    Scope,
    Send,
    answer,
    is_json,
    lifespan,
    request_of,
)
from toolwire.server.auth import NOBODY, Auth
from toolwire.tools.errors import InvalidInput, UnknownTool
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import Authorization

Challenges: TypeAlias = Callable[
    [ToolCall, Authorization], "AuthChallenge | None | Awaitable[AuthChallenge | None]"
]
"""Where a user can give an authorization that is missing; None if there is no such place."""
Ready: TypeAlias = Callable[[], bool]
Handle: TypeAlias = Callable[[Request], Awaitable[OxpResponse | None]]
Route: TypeAlias = tuple[str, tuple[str, ...], Handle]
Stage: TypeAlias = Literal["starting", "open", "draining", "closed"]

DRAIN = 60.0
"""Seconds that calls under way are given when the server stops: a little more than a tool may take.
"""
_log = logging.getLogger("toolwire.server")

_VERSION = (oxp.HEADER.lower().encode(), oxp.VERSION.encode())
_JSON: Pairs = ((b"content-type", b"application/json"), _VERSION)
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="toolwire"'),)
_READ = ("GET", "HEAD")
_WRITE = ("POST",)
_TRACE = ("traceparent", "tracestate")
_GREETING = {"starting": "starting", "draining": "shutting down", "closed": "shut down"}


class _HttpError(OxpResponse, frozen=True):
    """An answer whose bytes are known already."""

    content: bytes = b""


class ToolServer:
    """Tools for agents, as an ASGI app.

    `ready` is asked by `/health`. `challenges` says where users can give authorizations that are
    missing. `hosts` are names that the server answers to beside local ones (needed behind a proxy
    on the same machine; `*` is any). Without `oxp` only health, metrics and what is mounted are
    served. `tools_too` also lists the tools under `tools`, for clients that follow the letter of
    the first documentation.
    """

    def __init__(
        self,
        tools: Tools,
        calls: ToolExecutor,
        *,
        auth: Auth = NOBODY,
        ready: Ready | None = None,
        challenges: Challenges | None = None,
        limits: BodyLimits | None = None,
        hosts: Collection[str] = (),
        drain: float = DRAIN,
        oxp: bool = True,
        tools_too: bool = False,
    ) -> None:
        calls.fits(tools)
        self.tools = tools
        self.calls = calls
        self.auth = auth
        self.limits = limits or BodyLimits()
        self._ready = ready
        self._challenges = challenges
        self._names = AllowedHosts(hosts)
        self._intake = BodyReader(self.limits)
        self._drain = drain
        self._tools_too = tools_too
        self.failure: Exception | None = None
        """Why it could not be opened."""
        self._stage: Stage = "starting"
        self._running = 0
        self._listed: tuple[object, bytes, bytes] | None = None
        self._mounts: list[tuple[str, App]] = []
        self._contexts: list[Callable[[], AbstractAsyncContextManager[object]]] = []
        self._stack = AsyncExitStack()
        self._routes: dict[str, dict[str, Handle]] = {}
        shared: tuple[Route, ...] = (
            ("/health", _READ, self._health),
            ("/metrics", _READ, self._metrics),
        )
        spoken: tuple[Route, ...] = (
            ("/tools", _READ, self._list),
            ("/tools/call", _WRITE, self._call),
            ("/call", _WRITE, self._call),
        )
        for path, methods, handle in shared + (spoken if oxp else ()):
            # With a slash at the end it is the same, and answered on the spot: not every client
            # follows a redirect with its body
            self._routes[path] = self._routes[f"{path}/"] = dict.fromkeys(methods, handle)

    # --- what a host of this app may do -----------------------------------------------------------

    def mount(
        self,
        prefix: str,
        app: App,
        *,
        context: Callable[[], AbstractAsyncContextManager[object]] | None = None,
    ) -> None:
        """Serve another app under a prefix, behind the same names and the same authentication.

        It sees the whole path, and who asks as `scope["state"]["principal"]`. `context` is entered
        when the server starts and left when it stops.
        """
        if not prefix.startswith("/") or prefix.endswith("/"):
            raise ValueError(f"expected a prefix like /mcp, got {prefix!r}")
        self._mounts.append((prefix, app))
        if context is not None:
            self._contexts.append(context)

    async def open(self) -> None:
        """Open the record and everything mounted. A server that hosts this app does it by itself
        (lifespan)."""
        try:
            await self.calls.open()
            self._stack.push_async_callback(self.calls.close)
            for context in self._contexts:
                await self._stack.enter_async_context(context())
        except BaseException as error:
            self.failure = error if isinstance(error, Exception) else None
            await self._stack.aclose()
            raise
        self._stage = "open"

    def drain(self) -> None:
        """Say on `/health` that this server is going away. Calls are still taken, until it is
        closed."""
        if self._stage == "open":
            self._stage = "draining"

    async def close(self) -> None:
        """Take no more calls, let those under way finish, and close the record."""
        self._stage = "closed"
        try:
            await self.calls.drain(self._drain)
        finally:
            await self._stack.aclose()

    @property
    def running(self) -> int:
        """Calls that somebody is waiting for right now."""
        return self._running

    # --- ASGI -------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._http(request_of(scope, receive), send)
        elif kind == "lifespan":
            await lifespan(receive, send, self.open, self.close)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, request: Request, send: Send) -> None:
        reply: OxpResponse | None
        try:
            if not self._names.take(request):
                reply = oxp.refused("host")
            elif (route := self._routes.get(request.path)) is not None:
                handle = route.get(request.method)
                reply = await handle(request) if handle is not None else _not_allowed(route)
            elif (app := self._mounted(request.path)) is not None:
                reply = await self._forward(app, request, send)
            else:
                reply = oxp.refused("path")
        except Exception:
            _log.exception("a bug while answering %s %s", request.method, request.path)
            reply = oxp.refused("bug")
        if reply is not None:  # otherwise it is answered already, or nobody is there any more
            if isinstance(reply, _HttpError):
                await answer(send, reply.status, reply.content, reply.headers)
            else:
                await answer(send, reply.status, dump(reply.body), (*_JSON, *reply.headers))

    def _mounted(self, path: str) -> App | None:
        for prefix, app in self._mounts:
            if path == prefix or path.startswith(f"{prefix}/"):
                return app
        return None

    async def _forward(self, app: App, request: Request, send: Send) -> OxpResponse | None:
        principal = self.auth.principal(request.headers)
        if principal is None:
            return _unauthorized()
        state = request.scope.get("state")
        held: dict[str, object] = (
            {**state, "principal": principal}
            if isinstance(state, dict)
            else {"principal": principal}
        )
        await app({**request.scope, "state": held}, request.receive, send)
        return None

    # --- routes -----------------------------------------------------------------------------------

    async def _health(self, request: Request) -> OxpResponse | None:
        """Never asks who it is, and reads no body."""
        if self._stage == "open" and (self._ready is None or self._ready()):
            return OxpResponse(200, {"status": "ok", "tool_count": len(self.tools)})
        body: Object = {
            "status": "unavailable",
            "message": f"The server is {_GREETING.get(self._stage, 'not ready')}.",
        }
        return OxpResponse(503, body, ((b"retry-after", b"1"),))

    async def _metrics(self, request: Request) -> OxpResponse | None:
        if self.auth.principal(request.headers) is None:
            return _unauthorized()
        text = self.calls.metrics.render().encode()
        return _HttpError(200, {}, ((b"content-type", METRICS_TYPE.encode()), _VERSION), text)

    async def _list(self, request: Request) -> OxpResponse | None:
        if self.auth.principal(request.headers) is None:
            return _unauthorized()
        headers = request.headers
        body: bytes | str = b""
        if (
            b"content-length" in headers or b"transfer-encoding" in headers
        ):  # one client sends `{}` with its GET
            body = await self._intake.read(request)
        if isinstance(body, str):
            return self._trouble(body)
        if (no := oxp.read_list(body, _text(headers.get(_VERSION[0])))) is not None:
            return no
        content, etag = self._listing()
        known = (*_JSON, (b"etag", etag), (b"cache-control", b"no-cache"))
        if (given := headers.get(b"if-none-match")) is not None and _matches(given, etag):
            return _HttpError(304, {}, known[1:])
        return _HttpError(200, {}, known, content)

    def _listing(self) -> tuple[bytes, bytes]:
        """The list as bytes, and its tag; made anew when tools were added."""
        tools = tuple(self.tools)
        if self._listed is None or self._listed[0] != tools:
            body = oxp.listing(tools)
            if self._tools_too:
                body["tools"] = body["items"]
            content = dump(body)
            self._listed = (
                tools,
                content,
                b'"%b"' % hashlib.sha256(content).hexdigest()[:32].encode(),
            )
        return self._listed[1:]

    async def _call(self, request: Request) -> OxpResponse | None:
        headers = request.headers
        if not is_json(headers):
            return oxp.refused("media")
        principal = self.auth.principal(headers)
        if principal is None:
            return _unauthorized()
        if self._running >= self.limits.calls:
            return oxp.refused("unavailable", "too many calls at once")
        body = await self._intake.read(request)
        if isinstance(body, str):
            return self._trouble(body)
        asked = oxp.read_call(body, _text(headers.get(_VERSION[0])))
        if isinstance(asked, OxpRejection):
            return asked
        if asked.ignored:
            _log.debug("keys that nobody knows: %r", asked.ignored[:20])
        enveloped = asked.enveloped
        try:
            tool = self.tools.resolve(asked.tool_id)
        except UnknownTool as unknown:
            return oxp.refused(
                "tool", unknown.developer_message, enveloped=enveloped, message=unknown.message
            )
        if self._stage in ("starting", "closed"):
            return oxp.refused(
                "unavailable", f"the server is {_GREETING[self._stage]}", enveloped=enveloped
            )
        ask = ToolCall(
            tool=tool,
            input=asked.input,
            call_id=asked.call_id,
            principal=principal,
            user_id=asked.user_id,
            tokens=asked.tokens,
            secrets=asked.secrets,
            trace_id=asked.trace_id,
        )
        self._running += 1
        try:
            if b"traceparent" in headers:
                with joined(
                    {
                        name: _text(headers[name.encode()]) or ""
                        for name in _TRACE
                        if name.encode() in headers
                    }
                ):
                    return oxp.reply(await self.calls.call(ask), enveloped=enveloped)
            return oxp.reply(await self.calls.call(ask), enveloped=enveloped)
        except InvalidInput as wrong:
            return oxp.invalid(wrong.errors, enveloped=enveloped, call_id=asked.call_id)
        except MissingRequirements as lacks:
            return oxp.lacking(
                tool,
                lacks.missing,
                await self._challenged(ask, lacks.missing.authorization),
                enveloped=enveloped,
            )
        finally:
            self._running -= 1

    async def _challenged(
        self, ask: ToolCall, lacking: Collection[Authorization]
    ) -> list[AuthChallenge]:
        found: list[AuthChallenge] = []
        if self._challenges is None:
            return found
        for one in lacking:
            try:
                challenge = self._challenges(ask, one)
                if inspect.isawaitable(challenge):
                    challenge = await challenge
            except Exception:
                _log.exception("no challenge for %s", one.id)
                continue
            if challenge is not None:
                found.append(challenge)
        return found

    def _trouble(self, word: str) -> OxpResponse | None:
        if word == "gone":
            return None
        if word == "busy":
            return oxp.refused("unavailable", "too many bytes are arriving at once")
        # What is left of the body is not worth waiting for
        if word == "slow":
            return oxp.refused("slow", headers=((b"connection", b"close"),))
        return oxp.refused("large", f"at most {self.limits.body} bytes")


def _unauthorized() -> OxpRejection:
    return oxp.refused("credentials", headers=_CHALLENGE)


def _not_allowed(route: Collection[str]) -> OxpRejection:
    return oxp.refused("method", headers=((b"allow", ", ".join(route).encode()),))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _matches(given: bytes, etag: bytes) -> bool:
    return any(one.strip().removeprefix(b"W/") in (etag, b"*") for one in given.split(b","))
