"""An MCP server on the official SDK: over stdio, and over streamable HTTP as an ASGI application.

    await serve_stdio([add], SqliteLedger("calls.db"))    # a program that a host starts
    app = McpApp([add], ledger=SqliteLedger("calls.db"))  # an ASGI application; see also ToolServer

HTTP is stateless: any replica can handle any request. A tool gets its credentials from
`_meta["toolwire/context"]` (the shape of OXP's `context`). For credentials that are not there, the
server can provide `tokens` and `secrets`. Over stdio, these are environment variables, where hosts
put them. Over HTTP there are none by default: every caller would act in the server's name.

A cancelled request gets no response. A call with a call id continues and is recorded: repeating it
returns its result.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
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
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Ledger
from toolwire.execution.telemetry import use_trace_context
from toolwire.mcp import protocol as mcp
from toolwire.mcp.protocol import CallMetadata, McpRejection
from toolwire.server.asgi import BodyLimits, Receive, Scope, Send, answer, lifespan
from toolwire.tools.errors import InvalidInput, UnknownTool
from toolwire.tools.names import tool_names
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.runnable import Runnable

CredentialSource: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Tokens or secrets by id, or a function of the id."""
STDIO_PRINCIPAL = "stdio"
"""The caller over stdio: the user who started the program."""
DRAIN_TIMEOUT = 60.0
_log = logging.getLogger("toolwire.server")


def environment(id: str) -> str | None:
    """The environment variable of this name."""
    return os.environ.get(id)


class _ToolList:
    """The tools by name, and their list entries. Both are made again when tools were added."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._seen: tuple[Runnable, ...] = ()
        self._by_name: dict[str, Runnable] = {}
        self._entries: list[JSON] = []

    def _refresh(self) -> None:
        tools = tuple(self._tools)
        if tools != self._seen:
            self._by_name = tool_names(tools)
            self._entries = [mcp.list_entry(name, tool) for name, tool in self._by_name.items()]
            self._seen = tools

    def entries(self) -> list[JSON]:
        """The entries of `tools/list`, always in the same order."""
        self._refresh()
        return self._entries

    def find(self, name: str) -> Runnable:
        """The tool with this name or id. Raises UnknownTool."""
        self._refresh()
        tool = self._by_name.get(name)
        return tool if tool is not None else self._tools.find(name)


def sdk_server(
    tools: Tools,
    executor: ToolExecutor,
    *,
    name: str = "toolwire",
    tokens: CredentialSource | None = None,
    secrets: CredentialSource | None = None,
) -> Server[dict[str, object]]:
    """A server of the SDK that lists the tools and runs calls with the executor."""
    tool_list = _ToolList(tools)

    async def list_tools(
        ctx: ServerRequestContext[dict[str, object]], params: PaginatedRequestParams
    ) -> Object:
        return {
            "tools": tool_list.entries(),
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
        }

    async def call_tool(
        ctx: ServerRequestContext[dict[str, object]], params: CallToolRequestParams
    ) -> Object:
        request = ctx.request if isinstance(ctx.request, Request) else None
        try:
            tool = tool_list.find(params.name)
        except UnknownTool as error:
            raise MCPError(
                mcp.INVALID_PARAMS, f"Unknown tool: {error}", {"kind": "unknown_tool"}
            ) from None
        try:
            meta = require_json((ctx.params or {}).get("_meta") or {}, "mcp")
            arguments = require_json(params.arguments or {}, "mcp")
            assert isinstance(meta, dict) and isinstance(arguments, dict)
            key = request.headers.get("idempotency-key") if request is not None else None
            metadata = _add_credentials(mcp.read_metadata(meta, key), tool, tokens, secrets)
            with use_trace_context(_trace_context(request, meta)):
                result = await executor.execute(
                    metadata.tool_call(tool, arguments, _principal(request))
                )
            return mcp.write_result(
                result, any_structured_content=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            )
        except McpRejection as error:
            raise MCPError(error.code, error.message, {"kind": error.kind}) from None
        except DecodeError as error:
            raise MCPError(mcp.INVALID_PARAMS, error.why, {"kind": "bad_request"}) from None
        except InvalidInput as error:
            return mcp.invalid_input_result(error)
        except MissingRequirements as error:
            return mcp.missing_requirements_result(error.missing)
        except Exception:  # the SDK would send the text of the exception to older clients
            _log.exception("an error while handling a call of %s", tool.id)
            raise MCPError(INTERNAL_ERROR, "The server failed.") from None

    server: Server[dict[str, object]] = Server(name, version=version("toolwire"))
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    return server


def _principal(request: Request | None) -> str:
    if request is None:
        return STDIO_PRINCIPAL
    state = request.scope.get("state")
    principal = state.get("principal") if isinstance(state, dict) else None
    return principal if isinstance(principal, str) else ""


def _trace_context(request: Request | None, meta: Object) -> dict[str, str]:
    """The trace in the headers. The SDK handles a trace in `_meta`."""
    if request is None or "traceparent" in meta:
        return {}
    return {
        name: request.headers[name]
        for name in ("traceparent", "tracestate")
        if name in request.headers
    }


def _add_credentials(
    metadata: CallMetadata,
    tool: Runnable,
    tokens: CredentialSource | None,
    secrets: CredentialSource | None,
) -> CallMetadata:
    """Add the server's credentials for requirements that the request does not meet."""
    if not tool.needs or (tokens is None and secrets is None):
        return metadata
    token_ids = [one.id for one in tool.needs.authorization]
    return replace(
        metadata,
        tokens=_with_defaults(metadata.tokens, token_ids, tokens),
        secrets=_with_defaults(metadata.secrets, tool.needs.secrets, secrets),
    )


def _with_defaults(
    sent: Mapping[str, str], ids: Collection[str], own: CredentialSource | None
) -> Mapping[str, str]:
    if own is None:
        return sent
    added: dict[str, str] = {}
    for id in ids:
        if not sent.get(id):
            value = own.get(id) if isinstance(own, Mapping) else own(id)
            if value:
                added[id] = value
    return {**sent, **added}


async def serve_stdio(
    tools: ToolSource | Iterable[ToolSource],
    ledger: Ledger | None = None,
    *,
    executor: ToolExecutor | None = None,
    name: str = "toolwire",
    tokens: CredentialSource | None = None,
    secrets: CredentialSource | None = environment,
    drain_timeout: float = DRAIN_TIMEOUT,
) -> None:
    """Serve the client at stdin and stdout until it disconnects; then finish the calls in
    progress."""
    executor = executor or ToolExecutor(ledger)
    server = sdk_server(Tools.of(tools), executor, name=name, tokens=tokens, secrets=secrets)
    await executor.open()
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        await executor.drain(drain_timeout)
    finally:
        await executor.close()


class McpApp:
    """MCP over streamable HTTP, as an ASGI application.

    Args:
        tools: a tool, several tools, modules with tools, or `Tools`.
        ledger: where calls are recorded; by default in memory.
        executor: runs the calls, instead of one made for `ledger`.
        name: the name of the server.
        tokens: tokens for requests that bring none.
        secrets: secrets for requests that bring none.
        limits: limits of request bodies.
        allowed_origins: browser origins that may send requests (`https://example.com`), beside the
            server's own.
    """

    def __init__(
        self,
        tools: ToolSource | Iterable[ToolSource],
        *,
        ledger: Ledger | None = None,
        executor: ToolExecutor | None = None,
        name: str = "toolwire",
        tokens: CredentialSource | None = None,
        secrets: CredentialSource | None = None,
        limits: BodyLimits | None = None,
        allowed_origins: Collection[str] = (),
    ) -> None:
        self._executor = executor or ToolExecutor(ledger)
        self._server = sdk_server(
            Tools.of(tools), self._executor, name=name, tokens=tokens, secrets=secrets
        )
        self._limits = limits or BodyLimits()
        self._allowed_origins = frozenset(allowed_origins)
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Handle requests while this context is entered."""
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
        if scope["type"] == "lifespan":  # if it is not mounted in another application
            stack = AsyncExitStack()
            await lifespan(receive, send, lambda: self._open(stack), stack.aclose)
        elif self._manager is None:
            await answer(send, 503, b"", ((b"retry-after", b"1"),))
        elif not self._allows_origin(scope):
            await answer(send, 403, b"", ())
        else:
            await self._manager.handle_request(scope, receive, send)

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._executor)
        await stack.enter_async_context(self.running())

    def _allows_origin(self, scope: Scope) -> bool:
        """Check the Origin header, as MCP requires."""
        headers = scope["headers"]
        assert isinstance(headers, list | tuple)
        by_name: dict[bytes, bytes] = dict(headers)
        origin = by_name.get(b"origin", b"").decode("latin-1")
        host = by_name.get(b"host", b"").decode("latin-1")
        if not origin or origin in self._allowed_origins:
            return True
        return urlsplit(origin).netloc.lower() == host.lower()
