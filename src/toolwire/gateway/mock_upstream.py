"""The offline model beside a gateway: any provider's wire, on a port of this machine that is opened
when it is first needed.

    http://127.0.0.1:PORT/anthropic/v1/messages

Strict as the real servers are. Listens on loopback only.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from toolwire.mock.server import MockProvider
from toolwire.providers.table import BY_NAME
from toolwire.server.asgi import Receive, Scope, Send, answer, lifespan
from toolwire.server.run import ConnectionLimits, config


class MockUpstream:
    """The offline models of one process."""

    def __init__(self) -> None:
        self._listener: socket.socket | None = None
        self._server: _BackgroundServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mocks: dict[str, MockProvider] = {}

    def url(self) -> str:
        """Where it is served; from now on it is."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            if self._loop is not None:
                self._start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def open(self) -> None:
        """Serve it, if anybody needs it."""
        self._loop = asyncio.get_running_loop()
        if self._listener is not None:
            self._start()

    def _start(self) -> None:
        assert self._loop is not None and self._listener is not None
        self._server = _BackgroundServer(config(self._app, ConnectionLimits(grace=1)))
        self._task = self._loop.create_task(self._server.serve(sockets=[self._listener]))

    async def close(self) -> None:
        """Stop."""
        self._loop = None
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
        if self._listener is not None:
            self._listener.close()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _nothing, _nothing)
            return
        name, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        row = BY_NAME.get(name)
        if row is None:
            await answer(send, 404, b"{}", ((b"content-type", b"application/json"),))
            return
        mock = self._mocks.setdefault(name, MockProvider(row.profile))
        await mock({**scope, "path": f"/{rest}"}, receive, send)


class _BackgroundServer(uvicorn.Server):
    """A server beside another one, which handles the signals."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await self._serve(sockets)


async def _nothing() -> None:
    pass
