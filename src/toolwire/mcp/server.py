"""An MCP server on the official SDK, and an ASGI application for MCP over streamable HTTP.

    app = McpApp([add], ledger=SqliteLedger("calls.db"))  # see also ToolServer

Any replica can handle any request. Only clients that support elicitation or sampling have sessions
(see `sessions.py`); a replica that does not know a session handles the request without it.

A tool gets its credentials from `_meta["toolwire/context"]` (the shape of OXP's `context`). For
credentials that are missing there, the server can provide `tokens` and `secrets`. By default it
provides none, because every caller would act in the server's name.

A cancelled request gets no response. A call with a call id continues and is recorded: repeating it
returns its result.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.metadata import version

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    PaginatedRequestParams,
    SetLevelRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.requests import Request

from toolwire.conversation.json import JSON, Object, replace_lone_surrogates, require_json
from toolwire.errors import DecodeError
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Ledger
from toolwire.execution.telemetry import use_trace_context
from toolwire.execution.tool_call import ToolCallResult
from toolwire.mcp import protocol as mcp
from toolwire.mcp import results
from toolwire.mcp.calling_client import LogLevels, McpCallingClient
from toolwire.mcp.content_handlers import Context, add_content_handlers
from toolwire.mcp.credentials import CredentialSource, add_credentials
from toolwire.mcp.protocol import McpRejection
from toolwire.mcp.sessions import McpSessions, needs_session
from toolwire.server.asgi import BodyLimits, Message, Receive, Scope, Send, answer, lifespan
from toolwire.server.cors import is_own_page
from toolwire.tools.errors import InvalidInput, UnknownTool
from toolwire.tools.names import tool_names
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.runnable import Runnable

STDIO_PRINCIPAL = "stdio"
"""The caller over stdio: the user who started the program."""
_SESSION_ID = "mcp-session-id"
_log = logging.getLogger("toolwire.server")


class _ToolList:
    """The tools by name, and their list entries; both are rebuilt after tools were added."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._seen: tuple[Runnable, ...] = ()
        self._by_name: dict[str, Runnable] = {}
        self._entries: list[JSON] = []

    def _refresh(self) -> None:
        tools = tuple(self._tools)
        if tools != self._seen:
            self._by_name = tool_names(tools)
            self._entries = [
                replace_lone_surrogates(mcp.list_entry(name, tool))
                for name, tool in self._by_name.items()
            ]
            self._seen = tools

    def entries(self) -> list[JSON]:
        """The entries of `tools/list`, always in the same order."""
        self._refresh()
        return self._entries

    def find(self, name: str) -> Runnable:
        """The tool with this name or id. Raises UnknownTool."""
        self._refresh()
        tool = self._by_name.get(name)
        if tool is not None:
            return tool
        try:
            return self._tools.find(name)
        except UnknownTool as error:
            if not error.malformed:
                raise
        return self._tools.by_name(name)  # MCP clients use names, so the error must name names


class _Handlers:
    """The handlers of the requests of MCP that a tool server answers."""

    def __init__(
        self,
        tools: Tools,
        executor: ToolExecutor,
        *,
        tokens: CredentialSource | None,
        secrets: CredentialSource | None,
    ) -> None:
        self._tools = _ToolList(tools)
        self._executor = executor
        self._tokens = tokens
        self._secrets = secrets
        self._levels = LogLevels()

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams) -> Object:
        return {
            "tools": self._tools.entries(),
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
        }

    async def set_level(self, ctx: Context, params: SetLevelRequestParams) -> Object:
        session_id = _session_id(_request(ctx))
        if session_id is not None:
            self._levels.set(session_id, params.level)
        return {}

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> Object:
        try:
            tool = self._tools.find(params.name)
        except UnknownTool as error:
            raise MCPError(
                mcp.INVALID_PARAMS, f"Unknown tool: {error}", {"kind": "unknown_tool"}
            ) from None
        try:
            result = await self.execute(ctx, tool, params.arguments or {})
            with _json_rpc_errors(tool):
                written = results.write_result(
                    result,
                    any_structured_content=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS,
                    is_content=_is_content,
                )
        except InvalidInput as error:
            written = results.invalid_input_result(error)
        except MissingRequirements as error:
            written = results.missing_requirements_result(error.missing)
        # A lone surrogate in a result would end the session: the SDK cannot write it.
        sent = replace_lone_surrogates(written)
        assert isinstance(sent, dict)
        return sent

    async def execute(self, ctx: Context, tool: Runnable, arguments: object) -> ToolCallResult:
        """Run a tool for a request. Raises InvalidInput, MissingRequirements or MCPError."""
        with _json_rpc_errors(tool):
            return await self._execute(ctx, tool, arguments)

    async def _execute(self, ctx: Context, tool: Runnable, arguments: object) -> ToolCallResult:
        request = _request(ctx)
        meta = require_json((ctx.params or {}).get("_meta") or {}, "mcp")
        input = require_json(arguments, "mcp")
        assert isinstance(meta, dict) and isinstance(input, dict)
        key = request.headers.get("idempotency-key") if request is not None else None
        in_params = require_json((ctx.params or {}).get(mcp.IDEMPOTENCY_KEY), "mcp")
        metadata = mcp.read_metadata(meta, key, in_params=in_params)
        metadata = add_credentials(metadata, tool, self._tokens, self._secrets)
        call = replace(
            metadata.tool_call(tool, input, _principal(request)),
            client=McpCallingClient(ctx, self._levels, session_id=_session_id(request)),
        )
        with use_trace_context(_trace_context(request, meta)):
            return await self._executor.execute(call)


@contextmanager
def _json_rpc_errors(tool: Runnable) -> Iterator[None]:
    """Turn exceptions into JSON-RPC errors, which reveal no bugs of the server."""
    try:
        yield
    except (InvalidInput, MissingRequirements, MCPError):
        raise
    except McpRejection as error:
        raise MCPError(error.code, error.message, {"kind": error.kind}) from None
    except DecodeError as error:
        raise MCPError(mcp.INVALID_PARAMS, error.why, {"kind": "bad_request"}) from None
    except Exception:  # the SDK would send the text of the exception to older clients
        _log.exception("an error while handling a call to %s", tool.id)
        raise MCPError(INTERNAL_ERROR, "The server failed.") from None


def _is_content(content: Object) -> bool:
    """True if the SDK accepts the content blocks that a tool returned."""
    try:
        CallToolResult.model_validate(content)
    except ValidationError:
        return False
    return True


def sdk_server(
    tools: Tools,
    executor: ToolExecutor,
    *,
    name: str = "toolwire",
    tokens: CredentialSource | None = None,
    secrets: CredentialSource | None = None,
) -> Server[dict[str, object]]:
    """A server of the SDK that lists the tools and runs calls with the executor.

    Prompts and resources that are added later are not served.
    """
    handlers = _Handlers(tools, executor, tokens=tokens, secrets=secrets)
    server: Server[dict[str, object]] = Server(name, version=version("toolwire"))
    server.add_request_handler("tools/list", PaginatedRequestParams, handlers.list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, handlers.call_tool)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, handlers.set_level)
    add_content_handlers(server, tools, handlers.execute)
    return server


def _request(ctx: Context) -> Request | None:
    """The HTTP request; None over stdio."""
    return ctx.request if isinstance(ctx.request, Request) else None


def _session_id(request: Request | None) -> str | None:
    """The id of the session, empty over stdio; None for a client without a session."""
    return "" if request is None else request.headers.get(_SESSION_ID)


def _principal(request: Request | None) -> str:
    if request is None:
        return STDIO_PRINCIPAL
    return _principal_of(request.scope)


def _principal_of(scope: Scope) -> str:
    state = scope.get("state")
    principal = state.get("principal") if isinstance(state, dict) else None
    return principal if isinstance(principal, str) else ""


def _headers(scope: Scope) -> dict[bytes, bytes]:
    headers = scope["headers"]
    assert isinstance(headers, list | tuple)
    return dict(headers)


async def _peek(receive: Receive, limit: int) -> tuple[bytes, Receive] | None:
    """Read the body of a request, up to a limit, and return it with a `receive` that repeats it.

    None if the client left before the end of the body: the SDK would log that as an error.
    """
    messages: list[Message] = []
    parts: list[bytes] = []
    size = 0
    while size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        messages.append(message)
        part = message.get("body", b"")
        assert isinstance(part, bytes)
        parts.append(part)
        size += len(part)
        if not message.get("more_body"):
            break
    waiting = iter(messages)

    async def repeat() -> Message:
        return next(waiting, None) or await receive()

    return b"".join(parts), repeat


def _trace_context(request: Request | None, meta: Object) -> dict[str, str]:
    """The trace in the headers. The SDK handles a trace in `_meta`."""
    if request is None or "traceparent" in meta:
        return {}
    return {
        name: request.headers[name]
        for name in ("traceparent", "tracestate")
        if name in request.headers
    }


class McpApp:
    """MCP over streamable HTTP, as an ASGI application.

    Args:
        tools: a tool, several tools, modules with tools, or `Tools`.
        ledger: where calls are recorded; by default in memory.
        executor: runs the calls, instead of one made for `ledger`.
        name: the name of the server.
        tokens: tokens for requests that have none.
        secrets: secrets for requests that have none.
        limits: limits of request bodies.
        allowed_origins: browser origins that may send requests (`https://example.com`), in addition
            to the server's own.
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
        self._sessions = McpSessions(self._server, max_body=self._limits.body)

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
                await self._sessions.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # if it is not mounted in another application
            stack = AsyncExitStack()
            await lifespan(receive, send, lambda: self._open(stack), stack.aclose)
        elif self._manager is None:
            await answer(send, 503, b"", ((b"retry-after", b"1"),))
        elif not self._allows_origin(scope):
            await answer(send, 403, b"", ())
        else:
            await self._handle(self._manager, scope, receive, send)

    async def _handle(
        self, manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Handle a request, in its session if it has one."""
        headers, is_post = _headers(scope), scope["method"] == "POST"
        body = b""
        if is_post:
            peeked = await _peek(receive, self._limits.body)
            if peeked is None:
                return
            body, receive = peeked
        session_id = headers.get(_SESSION_ID.encode())
        if session_id is not None:
            session = self._sessions.find(session_id.decode("latin-1"), _principal_of(scope))
            if session is not None:
                await session.handle(scope, receive, send)
                return
            if not is_post:
                await answer(send, 404, b"", ())
                return
        elif b"mcp-protocol-version" not in headers and needs_session(body):
            session = await self._sessions.open(_principal_of(scope))
            if session is not None:
                if await session.handle(scope, receive, send) != 200:
                    self._sessions.end(session)
                return
        await manager.handle_request(scope, receive, send)

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self._executor)
        await stack.enter_async_context(self.running())

    def _allows_origin(self, scope: Scope) -> bool:
        """Check the Origin header, as MCP requires."""
        headers = _headers(scope)
        origin = headers.get(b"origin", b"").decode("latin-1")
        return origin in self._allowed_origins or is_own_page(headers)
