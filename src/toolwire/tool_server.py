"""An ASGI application that serves tools over OXP and MCP, with health and metrics.

    app = ToolServer([add, ring], ledger=SqliteLedger("calls.db"))

Run it with any ASGI server, or mount it in another application. It opens its ledger in the ASGI
lifespan, or on the first request if the host runs no lifespan. Constructing it opens nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Set
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from toolwire.conversation.json import Object, dump
from toolwire.errors import UsageError, require_type
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Ledger
from toolwire.execution.metrics import CONTENT_TYPE
from toolwire.oxp import protocol as oxp
from toolwire.oxp.protocol import OxpRejection, OxpResponse
from toolwire.oxp.server import (
    JSON_HEADERS,
    VERSION_HEADER,
    Challenges,
    EncodedResponse,
    OxpHandler,
    reject_unauthorized,
)
from toolwire.server.asgi import (
    AllowedHosts,
    App,
    BodyLimits,
    Receive,
    Request,
    Scope,
    Send,
    answer,
    lifespan,
    request_of,
)
from toolwire.server.auth import NO_AUTH, Auth
from toolwire.server.cors import CorsPolicy
from toolwire.tools.registry import Tools, ToolSource

if TYPE_CHECKING:
    from toolwire.mcp.server import McpApp

Handler: TypeAlias = Callable[[Request], Awaitable[OxpResponse | None]]
ContextFactory: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]
State: TypeAlias = Literal["new", "open", "draining", "closed"]

DRAIN_TIMEOUT = 60.0
"""Seconds that calls in progress have when the server stops: a little more than the default timeout
of a tool."""
_log = logging.getLogger("toolwire.server")
_READ = ("GET", "HEAD")
_WRITE = ("POST",)
_MESSAGES: dict[State, str] = {
    "new": "The server is starting.",
    "open": "The server is not ready.",
    "draining": "The server is shutting down.",
    "closed": "The server is shut down.",
}


class ToolServer:
    """Serves tools as an ASGI application.

    Args:
        tools: a tool, several tools, modules with tools, or `Tools`.
        ledger: where calls are recorded; by default in memory.
        executor: runs the calls, instead of one made for `ledger`.
        auth: authenticates callers; by default every caller is accepted.
        oxp: serve OXP under `/tools`.
        mcp: serve MCP under `/mcp`.
        ready: called by `/health`; False makes it respond with 503.
        challenges: finds the address where a user can grant a missing authorization.
        limits: limits of request bodies and concurrent calls.
        allowed_hosts: accepted values of the Host header, in addition to localhost; `*` for
            any.
        allowed_origins: origins whose web pages may call tools, in addition to the server's own.
        drain_timeout: seconds that calls in progress have when the server stops.
        repeat_list_as_tools: also list the tools under `tools`, as the first documentation of OXP
            did.

    Raises:
        ToolDefinitionError: a tool needs a ledger with transactions.
    """

    def __init__(
        self,
        tools: ToolSource | Iterable[ToolSource],
        *,
        ledger: Ledger | None = None,
        executor: ToolExecutor | None = None,
        auth: Auth = NO_AUTH,
        oxp: bool = True,
        mcp: bool = True,
        ready: Callable[[], bool] | None = None,
        challenges: Challenges | None = None,
        limits: BodyLimits | None = None,
        allowed_hosts: Collection[str] = (),
        allowed_origins: Collection[str] = (),
        drain_timeout: float = DRAIN_TIMEOUT,
        repeat_list_as_tools: bool = False,
    ) -> None:
        if ledger is not None and executor is not None:
            raise UsageError("pass ledger= or executor=, not both")
        require_type(executor, ToolExecutor | None, "a ToolExecutor as executor=")
        require_type(auth, Auth, "Auth(...) as auth=")
        require_type(limits, BodyLimits | None, "BodyLimits(...) as limits=")
        require_type(allowed_hosts, list | tuple | Set, "a list of names as allowed_hosts=")
        require_type(allowed_origins, list | tuple | Set, "a list of origins as allowed_origins=")
        self.tools = Tools.of(tools)
        self.executor = executor or ToolExecutor(ledger)
        self.executor.check_tools(self.tools)
        self.auth = auth
        self.limits = limits or BodyLimits()
        self._ready = ready
        self._allowed_hosts = AllowedHosts(allowed_hosts)
        self._allowed_origins = allowed_origins
        self._drain_timeout = drain_timeout
        self._mcp = mcp
        self.failure: Exception | None = None
        """Why the server could not be opened."""
        self._state: State = "new"
        self._opening = asyncio.Lock()
        self._mounts: list[tuple[str, App]] = []
        self._contexts: list[ContextFactory] = []
        self._closing = asyncio.Event()
        self._lifetime: asyncio.Task[None] | None = None
        self._oxp = OxpHandler(
            self.tools,
            self.executor,
            auth=auth,
            cors=CorsPolicy(allowed_origins),
            limits=self.limits,
            challenges=challenges,
            repeat_list_as_tools=repeat_list_as_tools,
        )
        self._routes: dict[str, dict[str, Handler]] = {}
        self._route("/health", _READ, self._health)
        self._route("/metrics", _READ, self._metrics)
        if oxp:
            self._route("/tools", _READ, self._oxp.list_tools)
            self._route("/tools/call", _WRITE, self._call_tool)
            self._route("/call", _WRITE, self._call_tool)

    def _route(self, path: str, methods: tuple[str, ...], handler: Handler) -> None:
        """Add a route. A trailing slash is accepted: not every client repeats its body after a
        redirect."""
        self._routes[path] = self._routes[f"{path}/"] = dict.fromkeys(methods, handler)

    # --- open and close ---------------------------------------------------------------------------

    def mount(self, prefix: str, app: App, *, context: ContextFactory | None = None) -> None:
        """Serve another application under a prefix, behind the same hosts and authentication.

        It gets the whole path, and the caller as `scope["state"]["principal"]`. `context` is
        entered when the server opens and left when it closes.

        Raises:
            UsageError: The prefix does not start with a slash, or ends with one.
        """
        if not prefix.startswith("/") or prefix.endswith("/"):
            raise UsageError(f"expected a prefix like /mcp, got {prefix!r}")
        self._mounts.append((prefix, app))
        if context is not None:
            self._contexts.append(context)

    async def open(self) -> None:
        """Open the ledger and the mounted applications. A second call does nothing."""
        async with self._opening:
            if self._state in ("open", "draining"):
                return
            self._closing = asyncio.Event()
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._lifetime = asyncio.create_task(self._live(ready, self._closing))
            try:
                await ready
            except Exception as error:
                self.failure = error
                raise
            self._state = "open"

    async def _live(self, ready: asyncio.Future[None], closing: asyncio.Event) -> None:
        """Hold the ledger and the mounted applications open until `closing` is set.

        This is a separate task: the task that enters the SDK of MCP must leave it, and the server
        may be opened by a request.
        """
        try:
            async with AsyncExitStack() as stack:
                await self.executor.open()
                stack.push_async_callback(self.executor.close)
                if self._mcp:
                    self._mount_mcp()
                for context in self._contexts:
                    await stack.enter_async_context(context())
                ready.set_result(None)
                await closing.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def _mount_mcp(self) -> None:
        """Mount the MCP application. Imports the SDK, which takes long, only now."""
        try:
            factory: type[McpApp] = import_module("toolwire.mcp.server").McpApp
        except ModuleNotFoundError as error:
            raise UsageError(
                f"MCP needs {error.name}: pip install 'toolwire[server]', or pass mcp=False"
            ) from error
        app = factory(
            self.tools,
            executor=self.executor,
            limits=self.limits,
            allowed_origins=self._allowed_origins,
        )
        self._mcp = False
        self.mount("/mcp", app, context=app.running)

    def drain(self) -> None:
        """Report on `/health` that the server is shutting down. It accepts calls until `close`."""
        if self._state == "open":
            self._state = "draining"

    async def close(self) -> None:
        """Reject new calls, wait for the calls in progress, and close the ledger."""
        self._state = "closed"
        await self.executor.drain(self._drain_timeout)
        if self._lifetime is not None:
            self._closing.set()
            await self._lifetime

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def running(self) -> int:
        """The number of OXP calls whose clients are waiting."""
        return self._oxp.running

    # --- ASGI -------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            if self._state == "new":
                await self._open_on_first_request()
            await self._respond(request_of(scope, receive), send)
        elif kind == "lifespan":
            await lifespan(receive, send, self.open, self.close)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _open_on_first_request(self) -> None:
        try:
            await self.open()
        except Exception:
            _log.exception("the server could not be opened")

    async def _respond(self, request: Request, send: Send) -> None:
        response: OxpResponse | None
        try:
            response = await self._dispatch(request, send)
        except Exception:
            _log.exception("an error while handling %s %r", request.method, request.path)
            response = oxp.reject("internal-error")
        if response is None:  # a mounted application responded, or the client disconnected
            return
        if isinstance(response, EncodedResponse):
            await answer(send, response.status, response.content, response.headers)
        else:
            headers = (*JSON_HEADERS, *response.headers)
            await answer(send, response.status, dump(response.body), headers)

    async def _dispatch(self, request: Request, send: Send) -> OxpResponse | None:
        if not self._allowed_hosts.accepts(request):
            return oxp.reject("unknown-host")
        route = self._routes.get(request.path)
        if route is not None:
            handler = route.get(request.method)
            return await handler(request) if handler is not None else _method_not_allowed(route)
        app = self._find_mount(request.path)
        if app is not None:
            return await self._forward(app, request, send)
        return oxp.reject("unknown-path")

    def _find_mount(self, path: str) -> App | None:
        for prefix, app in self._mounts:
            if path == prefix or path.startswith(f"{prefix}/"):
                return app
        return None

    async def _forward(self, app: App, request: Request, send: Send) -> OxpResponse | None:
        principal = self.auth.principal(request.headers)
        if principal is None:
            return reject_unauthorized()
        state: dict[str, object] = {"principal": principal}
        outer = request.scope.get("state")
        if isinstance(outer, dict):
            state = {**outer, **state}
        await app({**request.scope, "state": state}, request.receive, send)
        return None

    # --- routes -----------------------------------------------------------------------------------

    async def _health(self, request: Request) -> OxpResponse | None:
        """Respond without authentication, and without reading a body."""
        if self._state == "open" and (self._ready is None or self._ready()):
            return OxpResponse(200, {"status": "ok", "tool_count": len(self.tools)})
        body: Object = {"status": "unavailable", "message": _MESSAGES[self._state]}
        return OxpResponse(503, body, ((b"retry-after", b"1"),))

    async def _metrics(self, request: Request) -> OxpResponse | None:
        if self.auth.principal(request.headers) is None:
            return reject_unauthorized()
        text = self.executor.metrics.render().encode()
        headers = ((b"content-type", CONTENT_TYPE.encode()), VERSION_HEADER)
        return EncodedResponse(200, {}, headers, text)

    async def _call_tool(self, request: Request) -> OxpResponse | None:
        if self._state in ("new", "closed"):
            return oxp.reject("unavailable", _MESSAGES[self._state])
        return await self._oxp.call_tool(request)


def _method_not_allowed(route: Collection[str]) -> OxpRejection:
    return oxp.reject("method-not-allowed", headers=((b"allow", ", ".join(route).encode()),))
