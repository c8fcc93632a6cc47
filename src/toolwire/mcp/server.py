"""Tools as an MCP server, on the official SDK: over stdio, and over streamable HTTP beside the
other protocols.

    await stdio(Tools(add), Calls(SqliteLedger("calls.db")))                 # a program that a host
    starts McpApp(tools, calls).mount(server)                                       # under /mcp of
    a ToolServer

HTTP is stateless: any replica answers any request, and who asks is the ToolServer's business. What
a tool needs beside its arguments comes from `_meta["toolwire/context"]` (the shape of OXP's
`context`), and what is not there from `tokens` and `secrets` of this server. Over stdio these are
the environment, where hosts put them; over HTTP nothing, unless the server is told: whoever may
call would otherwise act in the server's name.

A request that is cancelled is no longer answered. A call that has a call id goes on and is
recorded: asking again gives its result.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TypeAlias
from urllib.parse import urlsplit

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolRequestParams, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace
from starlette.requests import Request

from toolwire.conversation.json import JSON, Object, require_json
from toolwire.errors import DecodeError
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.telemetry import joined
from toolwire.execution.tool_call import MissingRequirements
from toolwire.mcp import protocol as mcp
from toolwire.mcp.protocol import McpArguments, McpRejection
from toolwire.oxp.server import ToolServer
from toolwire.server.asgi import BodyLimits, Receive, Scope, Send, answer, lifespan
from toolwire.tools.errors import InvalidInput, UnknownTool
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import Runnable

Provider: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Tokens or secrets by the id that tools declare, or who knows them."""
STDIO = "stdio"
"""Who asks over stdio: the user who started the program."""
DRAIN = 60.0
_log = logging.getLogger("toolwire.server")


def environment(id: str) -> str | None:
    """The variable of this name."""
    return os.environ.get(id)


class _ToolHandlers:
    """The tools under their names, and their list; made anew when tools were added."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._known: tuple[Runnable, ...] = ()
        self._named: dict[str, Runnable] = {}
        self._entries: list[JSON] = []

    def _look(self) -> None:
        now = tuple(self._tools)
        if now != self._known:
            self._named = mcp.names(now)
            self._entries = [mcp.entry(name, tool) for name, tool in self._named.items()]
            self._known = now

    def entries(self) -> list[JSON]:
        """Every tool as it is listed, always in the same order."""
        self._look()
        return self._entries

    def find(self, name: str) -> Runnable:
        """The tool of a name; its id is a name too."""
        self._look()
        found = self._named.get(name)
        return found if found is not None else self._tools.resolve(name)


def sdk_server(
    tools: Tools,
    calls: ToolExecutor,
    *,
    name: str = "toolwire",
    tokens: Provider | None = None,
    secrets: Provider | None = None,
) -> Server[dict[str, object]]:
    """A server of the SDK that lists the tools and hands their calls to `calls`."""
    offered = _ToolHandlers(tools)

    async def listed(
        ctx: ServerRequestContext[dict[str, object]], params: PaginatedRequestParams
    ) -> Object:
        return {
            "tools": offered.entries(),
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
        }

    async def called(
        ctx: ServerRequestContext[dict[str, object]], params: CallToolRequestParams
    ) -> Object:
        request = ctx.request if isinstance(ctx.request, Request) else None
        try:
            tool = offered.find(params.name)
        except UnknownTool as unknown:
            raise MCPError(mcp.INVALID_PARAMS, unknown.message, {"kind": "unknown_tool"}) from None
        try:
            meta = require_json((ctx.params or {}).get("_meta") or {}, "mcp")
            arguments = require_json(params.arguments or {}, "mcp")
            assert isinstance(meta, dict) and isinstance(arguments, dict)
            given = mcp.given(
                meta, request.headers.get("idempotency-key") if request is not None else None
            )
            ask = _filled(given, tool, tokens, secrets).ask(tool, arguments, _principal(request))
            with joined(_trace(request, meta)):
                answered = await calls.call(ask)
            return mcp.result(answered, any_value=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS)
        except McpRejection as refused:
            raise MCPError(refused.code, refused.message, {"kind": refused.kind}) from None
        except DecodeError as error:
            raise MCPError(mcp.INVALID_PARAMS, error.why, {"kind": "bad_request"}) from None
        except InvalidInput as wrong:
            return mcp.invalid(wrong)
        except MissingRequirements as lacks:
            return mcp.lacking(lacks.missing)
        except Exception:  # towards older clients the SDK would tell what it says
            _log.exception("a bug while answering a call of %s", tool.id)
            raise MCPError(INTERNAL_ERROR, "The server made a mistake.") from None

    made: Server[dict[str, object]] = Server(name, version=version("toolwire"))
    made.add_request_handler("tools/list", PaginatedRequestParams, listed)
    made.add_request_handler("tools/call", CallToolRequestParams, called)
    return made


def _principal(request: Request | None) -> str:
    if request is None:
        return STDIO
    state = request.scope.get("state")
    found = state.get("principal") if isinstance(state, dict) else None
    return found if isinstance(found, str) else ""


def _trace(request: Request | None, meta: Object) -> dict[str, str]:
    """The trace that the headers name; one that `_meta` names has been joined by the SDK."""
    if request is None or "traceparent" in meta:
        return {}
    return {
        name: request.headers[name]
        for name in ("traceparent", "tracestate")
        if name in request.headers
    }


def _filled(
    given: McpArguments, tool: Runnable, tokens: Provider | None, secrets: Provider | None
) -> McpArguments:
    """What came with a request, and of what the tool declares and did not come, what this server
    has."""
    if not tool.needs or (tokens is None and secrets is None):
        return given
    wanted = [one.id for one in tool.needs.authorization]
    return replace(
        given,
        tokens=_more(given.tokens, wanted, tokens),
        secrets=_more(given.secrets, tool.needs.secrets, secrets),
    )


def _more(
    held: Mapping[str, str], wanted: Collection[str], provider: Provider | None
) -> Mapping[str, str]:
    if provider is None:
        return held
    found = {
        id: provider.get(id) if isinstance(provider, Mapping) else provider(id)
        for id in wanted
        if not held.get(id)
    }
    return {**held, **{id: value for id, value in found.items() if value}}


async def stdio(
    tools: Tools,
    calls: ToolExecutor,
    *,
    name: str = "toolwire",
    tokens: Provider | None = None,
    secrets: Provider | None = environment,
    drain: float = DRAIN,
) -> None:
    """Serve whoever is at the other end of stdin and stdout until they leave; then finish what is
    under way."""
    server = sdk_server(tools, calls, name=name, tokens=tokens, secrets=secrets)
    await calls.open()
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        await calls.drain(drain)
    finally:
        await calls.close()


class McpApp:
    """MCP over streamable HTTP, as an ASGI app.

    `origins` are pages that may ask from within a browser (`https://example.com`); a page of the
    same host always may.
    """

    def __init__(
        self,
        tools: Tools,
        calls: ToolExecutor,
        *,
        name: str = "toolwire",
        tokens: Provider | None = None,
        secrets: Provider | None = None,
        limits: BodyLimits | None = None,
        origins: Collection[str] = (),
    ) -> None:
        self._server = sdk_server(tools, calls, name=name, tokens=tokens, secrets=secrets)
        self._calls = calls
        self._limits = limits or BodyLimits()
        self._origins = frozenset(origins)
        self._manager: StreamableHTTPSessionManager | None = None

    def mount(self, server: ToolServer, prefix: str = "/mcp") -> None:
        """Serve under a prefix of a tool server, behind its authentication."""
        server.mount(prefix, self, context=self.running)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this is entered, requests are answered."""
        manager = StreamableHTTPSessionManager(
            self._server, stateless=True, max_request_body_size=self._limits.body
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # only if it stands alone
            stack = AsyncExitStack()
            await lifespan(receive, send, lambda: self._open(stack), stack.aclose)
        elif self._manager is None:
            await answer(send, 503, b"", ((b"retry-after", b"1"),))
        elif not self._welcome(scope):
            await answer(send, 403, b"", ())
        else:
            await self._manager.handle_request(scope, receive, send)

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._calls)
        await stack.enter_async_context(self.running())

    def _welcome(self, scope: Scope) -> bool:
        """Whether a request comes from no page at all, or from one that may ask: MCP demands the
        check."""
        headers = scope["headers"]
        assert isinstance(headers, list | tuple)
        held: dict[bytes, bytes] = dict(headers)
        origin, host = (
            held.get(b"origin", b"").decode("latin-1"),
            held.get(b"host", b"").decode("latin-1"),
        )
        return (
            not origin or origin in self._origins or urlsplit(origin).netloc.lower() == host.lower()
        )
