"""The tools of an MCP server as local tools, through the official client.

    async with McpClient(["uvx", "some-server"]) as client:
        tools = Tools(*await client.tools())

The call id is sent in `_meta["toolwire/call_id"]`. A toolwire server records the call under it, so
a call whose response was lost is repeated. Any other server might run the tool twice, so the call
fails with the message that its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Self

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    Implementation,
    Tool,
)

from toolwire.conversation.fitting import fit_names
from toolwire.conversation.json import JSON, Object, require_json
from toolwire.errors import DecodeError, UsageError, require_type
from toolwire.mcp import protocol as mcp
from toolwire.mcp import results
from toolwire.mcp.connect_errors import mcp_connect_error
from toolwire.mcp.protocol import CallMetadata
from toolwire.oxp.dialects import TOOL_NAME_RULE
from toolwire.oxp.transport import Credentials
from toolwire.providers.http.url import is_loopback, parse_url
from toolwire.tools.errors import NoEffect, ToolError
from toolwire.tools.runnable import Runnable, ToolContext, ToolId, Version

TIMEOUT = 60.0
RETRIES = 2
_CONNECTION_ERRORS = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
_NOT_RUN = (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
_MAX_PAGES = 1000
_MAX_ID_LENGTH = 500
_log = logging.getLogger("toolwire.clients")


class McpClient:
    """A client for one MCP server.

    Args:
        server: the command of a program that serves MCP over stdio, or an address.
        toolkit: the toolkit of the tools; by default the name of the server.
        auth: makes the headers of each request.
        env: environment variables for the program, in addition to the few that are safe to
            inherit.
        cwd: the working directory of the program.
        timeout: seconds for one request.
        retries: how often a request is repeated after a lost connection, if that is safe.

    Raises:
        UsageError: The server is neither an address nor a command.
        ConnectionError: On entering: the server cannot be reached, or does not speak MCP.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        toolkit: str | None = None,
        auth: Credentials | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        require_type(server, str | Sequence, "an address, or a command as a list")
        if isinstance(server, str):
            try:
                parse_url(server)
            except ValueError:
                expected = "expected an http or https address, or a command as a list"
                raise UsageError(expected, "mcp") from None
        if not server:
            raise UsageError("expected a command, got an empty list", "mcp")
        self._server, self._toolkit, self._auth = server, toolkit, auth
        self._env, self._cwd = dict(env or {}), cwd
        self._timeout, self._retries = timeout, retries
        self._current: _McpConnection | None = None
        self._connections: set[_McpConnection] = set()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections and stop the program."""
        self._current = None
        for connection in list(self._connections):
            await connection.close()
        self._connections.clear()

    @asynccontextmanager
    async def _open_client(self) -> AsyncIterator[Client]:
        if not isinstance(self._server, str):
            command, *args = self._server
            program = StdioServerParameters(
                command=command, args=args, env=self._env, cwd=self._cwd
            )
            async with Client(program, read_timeout_seconds=self._timeout) as client:
                yield client
            return
        auth = None if self._auth is None else _HeaderAuth(self._auth)
        # A response may stream for long; `read_timeout_seconds` limits each request
        timeouts = httpx2.Timeout(self._timeout, read=None)
        local = is_loopback(parse_url(self._server).host)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=timeouts, trust_env=not local) as http,
            Client(
                streamable_http_client(self._server, http_client=http),
                read_timeout_seconds=self._timeout,
            ) as client,
        ):
            yield client

    async def _connect(self) -> _McpConnection:
        async with self._lock:
            if self._current is None or self._current.stale:
                connection = _McpConnection(self._open_client())
                try:
                    await connection.open()
                except Exception as error:
                    raise mcp_connect_error(error, self._server) from error
                self._current = connection
                self._connections = {
                    connection for connection in self._connections if not connection.ended
                }
                self._connections.add(connection)
            return self._current

    # --- tools ------------------------------------------------------------------------------------

    async def tools(self) -> list[Runnable]:
        """Return the server's tools as local tools.

        A toolwire server gives its tools ids. For other servers, an id is made from the names of
        the server and the tool.
        """
        connection = await self._connect()
        with connection.use() as client:
            try:
                listed = await _list_all(client)
            except MCPError as error:
                raise mcp_connect_error(error, self._server) from error
            info = client.server_info
        names = fit_names([tool.name for tool in listed], TOOL_NAME_RULE, {})
        toolkit = _fit_toolkit(self._toolkit or (info.name if info is not None else "") or "Mcp")
        tools: list[Runnable] = []
        used: set[ToolId] = set()
        for tool in listed:
            id = _toolwire_id(tool)
            if id is None or id in used:
                id = ToolId(toolkit, names.get(tool.name, tool.name), _version(info))
            used.add(id)
            tools.append(self._runnable(id, tool))
        return tools

    def _runnable(self, id: ToolId, tool: Tool) -> Runnable:
        meta = require_json(tool.meta or {}, "mcp")
        assert isinstance(meta, dict)
        has_ledger = mcp.ID in meta
        hints = tool.annotations
        read_only = hints is not None and hints.read_only_hint is True
        idempotent = hints is not None and hints.idempotent_hint is True
        repeatable = has_ledger or read_only or idempotent
        deprecated = meta.get(mcp.DEPRECATED)

        async def body(arguments: Mapping[str, object], context: ToolContext) -> JSON:
            return await self._forward(tool.name, arguments, context, repeatable=repeatable)

        return Runnable(
            id=id,
            description=tool.description or tool.title or "",
            input_schema=tool.input_schema,
            output_schema=tool.output_schema or {},
            body=body,
            decode_arguments=lambda input: input,  # the server validates them
            encode_result=lambda value: require_json(value, "mcp"),
            needs=mcp.read_requirements(meta),
            timeout=None,  # each request has its own
            on_crash="retry" if repeatable else "report",
            read_only=read_only,
            idempotent=idempotent,
            deprecated=deprecated if isinstance(deprecated, str) else None,
            remote=True,
        )

    # --- calls ------------------------------------------------------------------------------------

    async def _forward(
        self, name: str, arguments: Mapping[str, object], context: ToolContext, *, repeatable: bool
    ) -> JSON:
        """Call a tool of the server. With `repeatable`, the request may be sent twice."""
        metadata = CallMetadata(
            context.call_id,
            context.user_id,
            tokens=context.tokens,
            secrets=context.secrets,
            trace_id=context.trace_id,
        )
        input, meta = require_json(arguments, "mcp"), mcp.write_metadata(metadata)
        assert isinstance(input, dict)
        attempt = 0
        while True:
            try:
                result = await self._call_tool(name, input, meta)
                break
            except MCPError as error:
                lost = error.code in _CONNECTION_ERRORS
                if not lost or not repeatable or attempt >= self._retries:
                    raise _tool_error(error, repeatable=repeatable) from error
                attempt += 1
                await asyncio.sleep(0.2 * attempt)
        if result.get("isError") is True:
            raise results.read_failure(result)
        return results.read_value(result)

    async def _call_tool(self, name: str, input: Object, meta: Object) -> Object:
        try:
            connection = await self._connect()
        except Exception as error:
            _log.warning("cannot connect to an MCP server", exc_info=error)
            raise NoEffect(
                "the server cannot be reached",
                developer_message=type(error).__name__,
                kind="server_unavailable",
            ) from error
        with connection.use() as client:
            try:
                response = await client.call_tool(name, input, meta=meta)  # type: ignore[arg-type]
            except MCPError as error:
                if error.code in _CONNECTION_ERRORS:
                    connection.retire()
                raise
            except (RuntimeError, ValueError) as error:  # the SDK validates the result
                _log.warning("invalid result of the MCP tool %s", name, exc_info=error)
                raise ToolError(
                    "the server returned an invalid result",
                    developer_message=type(error).__name__,
                    kind="invalid_response",
                ) from error
        try:
            result = require_json(
                response.model_dump(mode="json", by_alias=True, exclude_none=True), "mcp"
            )
        except DecodeError as error:
            raise ToolError(
                "the server returned an invalid result",
                developer_message=error.why,
                kind="invalid_response",
            ) from error
        assert isinstance(result, dict)
        return result


class _McpConnection:
    """A connection with its own task: the task that enters the SDK's scopes must leave them."""

    def __init__(self, context: AbstractAsyncContextManager[Client]) -> None:
        self._context = context
        self._client: Client | None = None
        self._users = 0
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.stale = False
        """True if new calls must not use this connection."""

    @property
    def ended(self) -> bool:
        return self._task is None or self._task.done()

    async def open(self) -> None:
        """Connect. Raises the errors of the SDK."""
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready))
        try:
            await ready
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._context as client:
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._closing.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            else:
                _log.warning("a connection to an MCP server ended: %s", error)
        finally:
            self.stale = True
            if not ready.done():
                ready.cancel()

    def retire(self) -> None:
        """Accept no new calls, and close when the last one has ended."""
        self.stale = True
        if not self._users:
            self._closing.set()

    async def close(self) -> None:
        """Close at once."""
        self._closing.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    @contextmanager
    def use(self) -> Iterator[Client]:
        """The client, for the duration of a call."""
        assert self._client is not None
        self._users += 1
        try:
            yield self._client
        finally:
            self._users -= 1
            if self.stale:
                self.retire()


class _HeaderAuth(httpx2.Auth):
    def __init__(self, auth: Credentials) -> None:
        self._auth = auth

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers.update(self._auth.headers())
        yield request


async def _list_all(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _toolwire_id(tool: Tool) -> ToolId | None:
    """The id that a toolwire server gives its tool."""
    text = str((tool.meta or {}).get(mcp.ID, ""))
    id = ToolId.read(text) if len(text) <= _MAX_ID_LENGTH else None
    return id if id is not None and id.version is not None else None


def _fit_toolkit(name: str) -> str:
    return fit_names([name], TOOL_NAME_RULE, {}).get(name, name)


def _version(info: Implementation | None) -> Version:
    parts = (info.version if info is not None else "").split(".")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 10]
    return Version(*numbers) if len(numbers) == len(parts) <= 3 else Version(0)


def _tool_error(error: MCPError, *, repeatable: bool) -> ToolError:
    """The exception that a local tool raises for a JSON-RPC error."""
    extra: Object = {"code": error.code}
    if error.code in _CONNECTION_ERRORS:
        if repeatable:
            return NoEffect(
                "the server did not respond",
                developer_message=error.message,
                kind="server_unavailable",
                extra=extra,
            )
        return ToolError(
            "the server did not respond; it is unknown whether the tool ran",
            developer_message=error.message,
            kind="outcome_unknown",
            extra=extra,
        )
    kind = error.data.get("kind") if isinstance(error.data, dict) else None
    error_class = NoEffect if error.code in _NOT_RUN else ToolError
    return error_class(
        error.message, kind=kind if isinstance(kind, str) else "protocol_error", extra=extra
    )
