"""The mock of every provider beside a gateway, on a loopback port that is opened when it is needed.

    http://127.0.0.1:PORT/anthropic/v1/messages

Only a configuration with the upstream `demo` needs it, so the mock and its server are imported when
such a configuration is loaded.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol


class _MockServer(Protocol):
    should_exit: bool

    async def serve(self, sockets: list[socket.socket] | None = None) -> None: ...


def load_mock_server() -> _MockServer:
    """A server with the mocks of all providers. The only place that imports them."""
    from toolwire.mock.demo_server import mock_server

    return mock_server()


class MockUpstream:
    """The mock of one process: a service of its gateway."""

    def __init__(self) -> None:
        self._listener: socket.socket | None = None
        self._server: _MockServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_open(self) -> bool:
        """True while its gateway is open."""
        return self._loop is not None

    def url(self) -> str:
        """The address of the mock. The first call opens its port."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            if self._loop is not None:
                self._start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def open(self) -> None:
        """Serve the mock if it is needed."""
        self._loop = asyncio.get_running_loop()
        if self._listener is not None:
            self._start()

    def _start(self) -> None:
        assert self._loop is not None and self._listener is not None
        self._server = load_mock_server()
        self._task = self._loop.create_task(self._server.serve(sockets=[self._listener]))

    async def close(self) -> None:
        """Stop the mock."""
        self._loop = None
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
        if self._listener is not None:
            self._listener.close()
            self._listener = None
