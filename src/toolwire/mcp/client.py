"""An MCP server's tools as local ones, through the official client: a program on stdio, or an
address.

    async with McpClient(["uvx", "some-server"]) as client:
        tools = Tools(*await client.tools())

The call id goes along in `_meta["toolwire/call_id"]`. A server of this library keeps a record by
it, so a call whose answer got lost is asked for again; of any other server nobody knows whether the
tool ran, and that is what the caller is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
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
from toolwire.errors import DecodeError, UsageError
from toolwire.mcp import protocol as mcp
from toolwire.mcp.protocol import McpArguments
from toolwire.oxp.dialects import LEGAL
from toolwire.oxp.transport import Credentials
from toolwire.tools.errors import NoEffect, ToolError
from toolwire.tools.runnable import Runnable, ToolContext, ToolId, Version

TIMEOUT = 60.0
RETRIES = 2
_LOST = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
_NOT_RUN = (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
_MOST_PAGES = 1000
_LONGEST_ID = 500
_log = logging.getLogger("toolwire.clients")


class McpClient:
    """One MCP server: the command of a program, or an address.

    `name` is the toolkit of its tools; without one it is what the server calls itself. `env` is
    what the program gets beside the few variables that are safe to hand on. `auth` makes the
    headers of each request, fresh.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        name: str | None = None,
        auth: Credentials | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        if isinstance(server, str) and not server.startswith(("http://", "https://")):
            raise UsageError(
                "expected an http or https address, or a command as a list", wire="mcp"
            )
        if not server:
            raise UsageError("expected a command, got an empty list", wire="mcp")
        self._server, self._name, self._auth = server, name, auth
        self._env, self._cwd = dict(env or {}), cwd
        self._timeout, self._retries = timeout, retries
        self._link: _McpConnection | None = None
        self._links: set[_McpConnection] = set()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the server; a program is stopped."""
        self._link = None
        for link in list(self._links):
            await link.close()
        self._links.clear()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Client]:
        if not isinstance(self._server, str):
            command, *args = self._server
            program = StdioServerParameters(
                command=command, args=args, env=self._env, cwd=self._cwd
            )
            async with Client(program, read_timeout_seconds=self._timeout) as client:
                yield client
            return
        signed = None if self._auth is None else _AuthorizedTransport(self._auth)
        limits = httpx2.Timeout(
            self._timeout, read=None
        )  # an answer may stream as long as it takes; the request has its own limit
        async with (
            httpx2.AsyncClient(auth=signed, timeout=limits) as http,
            Client(
                streamable_http_client(self._server, http_client=http),
                read_timeout_seconds=self._timeout,
            ) as client,
        ):
            yield client

    async def _connected(self) -> _McpConnection:
        async with self._lock:
            if self._link is None or self._link.stale:
                link = _McpConnection(self._opened())
                await link.open()
                self._link = link
                self._links = {one for one in self._links if not one.ended} | {link}
            return self._link

    # --- tools ------------------------------------------------------------------------------------

    async def tools(self) -> list[Runnable]:
        """The server's tools. Their ids are its own if it says any; otherwise the names, made
        legal, under its name."""
        link = await self._connected()
        with link.used() as client:
            listed = await _all(client)
            about = client.server_info
        legal = fit_names([tool.name for tool in listed], LEGAL, {})
        kit = _kit(self._name or (about.name if about is not None else "") or "Mcp")
        found: list[Runnable] = []
        taken: set[ToolId] = set()
        for tool in listed:
            id = _own(tool)
            if id is None or id in taken:
                id = ToolId(kit, legal.get(tool.name, tool.name), _version(about))
            taken.add(id)
            found.append(self._runnable(id, tool))
        return found

    def _runnable(self, id: ToolId, tool: Tool) -> Runnable:
        meta = require_json(tool.meta or {}, "mcp")
        assert isinstance(meta, dict)
        kept = mcp.ID in meta
        hints = tool.annotations
        read_only = hints is not None and hints.read_only_hint is True
        idempotent = hints is not None and hints.idempotent_hint is True
        deprecated = meta.get(mcp.DEPRECATED)

        async def body(arguments: Mapping[str, object], context: ToolContext) -> JSON:
            return await self._forward(
                tool.name, arguments, context, safe=kept or read_only or idempotent
            )

        return Runnable(
            id=id,
            description=tool.description or tool.title or "",
            input_schema=tool.input_schema,
            output_schema=tool.output_schema or {},
            body=body,
            takes=lambda input: input,  # the server that knows the tool checks them
            gives=lambda value: require_json(value, "mcp"),
            needs=mcp.needs_of(meta),
            timeout=None,  # every request has its own
            on_crash="retry" if kept or read_only or idempotent else "report",
            read_only=read_only,
            idempotent=idempotent,
            deprecated=deprecated if isinstance(deprecated, str) else None,
            remote=True,
        )

    # --- calls ------------------------------------------------------------------------------------

    async def _forward(
        self, name: str, arguments: Mapping[str, object], context: ToolContext, *, safe: bool
    ) -> JSON:
        """What a tool gives. `safe`: asking twice does not run it twice, or does no harm."""
        given = McpArguments(
            context.call_id, context.user_id, context.tokens, context.secrets, context.trace_id
        )
        input, meta = require_json(arguments, "mcp"), mcp.meta_of(given)
        assert isinstance(input, dict)
        tried = 0
        while True:
            try:
                result = await self._asked(name, input, meta)
                break
            except MCPError as error:
                if error.code not in _LOST or not safe or tried >= self._retries:
                    raise _raised(error, safe=safe) from error
                tried += 1
                await asyncio.sleep(0.2 * tried)
        if result.get("isError") is True:
            raise mcp.failure(result)
        return mcp.value(result)

    async def _asked(self, name: str, input: Object, meta: Object) -> Object:
        try:
            link = await self._connected()
        except Exception as error:
            raise NoEffect(
                "the server cannot be reached",
                developer_message=str(error),
                kind="server_unavailable",
            ) from error
        with link.used() as client:
            try:
                answer = await client.call_tool(name, input, meta=meta)  # type: ignore[arg-type]
            except MCPError as error:
                if error.code in _LOST:
                    link.retire()
                raise
            except (
                RuntimeError,
                ValueError,
            ) as error:  # the SDK checks the result against the tool's own schema
                raise ToolError(
                    "the server's answer is broken",
                    developer_message=str(error),
                    kind="broken_answer",
                ) from error
        try:
            result = require_json(
                answer.model_dump(mode="json", by_alias=True, exclude_none=True), "mcp"
            )
        except DecodeError as error:
            raise ToolError(
                "the server's answer is broken", developer_message=error.why, kind="broken_answer"
            ) from error
        assert isinstance(result, dict)
        return result


class _McpConnection:
    """A connection that lives in a task of its own: the SDK's scopes must be left by the task that
    entered them."""

    def __init__(self, opened: AbstractAsyncContextManager[Client]) -> None:
        self._opened = opened
        self._client: Client | None = None
        self._users = 0
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.stale = False

    @property
    def ended(self) -> bool:
        return self._task is None or self._task.done()

    async def open(self) -> None:
        """Raises what the connection raises."""
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            await ready
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def _live(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._opened as client:
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._over.wait()
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
        """No new calls; it is left when the last one has its answer."""
        self.stale = True
        if not self._users:
            self._over.set()

    async def close(self) -> None:
        """Leave at once."""
        self._over.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    def used(self) -> _SessionUse:
        """The client, for as long as a call takes."""
        return _SessionUse(self)


class _SessionUse:
    def __init__(self, link: _McpConnection) -> None:
        self._link = link

    def __enter__(self) -> Client:
        client = self._link._client
        assert client is not None
        self._link._users += 1
        return client

    def __exit__(self, *exc: object) -> None:
        self._link._users -= 1
        if self._link.stale:
            self._link.retire()


class _AuthorizedTransport(httpx2.Auth):
    def __init__(self, auth: Credentials) -> None:
        self._auth = auth

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers.update(self._auth.headers())
        yield request


async def _all(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _own(tool: Tool) -> ToolId | None:
    """The id that a server of this library gives its tool."""
    said = str((tool.meta or {}).get(mcp.ID, ""))
    found = ToolId.read(said) if len(said) <= _LONGEST_ID else None
    return found if found is not None and found.version is not None else None


def _kit(name: str) -> str:
    return fit_names([name], LEGAL, {}).get(name, name)


def _version(about: Implementation | None) -> Version:
    parts = (about.version if about is not None else "").split(".")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 10]
    return Version(*numbers) if len(numbers) == len(parts) <= 3 else Version(0)


def _raised(error: MCPError, *, safe: bool) -> ToolError:
    """What a local tool raises for an error of the protocol."""
    said = error.data.get("kind") if isinstance(error.data, dict) else None
    extra: Object = {"code": error.code}
    if error.code in _LOST:
        if safe:  # the same id may come again: it is the server's record, or a harmless tool
            return NoEffect(
                "the server gave no answer",
                developer_message=error.message,
                kind="server_unavailable",
                extra=extra,
            )
        message = "the server gave no answer; nobody knows whether the tool ran"
        return ToolError(
            message, developer_message=error.message, kind="outcome_unknown", extra=extra
        )
    kind = said if isinstance(said, str) else "protocol_error"
    raised = NoEffect if error.code in _NOT_RUN else ToolError
    return raised(error.message, kind=kind, extra=extra)
