"""The strict mocks of all providers behind one local address.

    async with DemoServer() as server:
        model = HttpModel("anthropic:demo", base_url=server.base_url("anthropic"), api_key="demo")

The first step of the path names the provider: `http://127.0.0.1:PORT/anthropic/v1/messages`. It
listens on the loopback interface only.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Self

import uvicorn

from toolwire.errors import UsageError, suggest
from toolwire.mock.server import MockProvider
from toolwire.providers.table import BY_NAME, PROVIDERS, Provider
from toolwire.server.asgi import Receive, Scope, Send, answer, lifespan
from toolwire.server.run import ConnectionLimits, config

_JSON = ((b"content-type", b"application/json"),)


class MockProviders:
    """The mocks of all providers as one ASGI application, each below the name of its provider.

    Args:
        strict: True to refuse the histories that the provider would refuse.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._mocks: dict[str, MockProvider] = {}

    def mock(self, provider: str) -> MockProvider:
        """Return the mock of a provider; its `requests` are recorded."""
        found = _find_provider(provider)
        if found.name not in self._mocks:
            self._mocks[found.name] = MockProvider(found.profile, strict=self._strict)
        return self._mocks[found.name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _nothing, _nothing)
            return
        name, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        if name not in BY_NAME:
            await answer(send, 404, b"{}", _JSON)
            return
        await self.mock(name)({**scope, "path": f"/{rest}"}, receive, send)


class BackgroundServer(uvicorn.Server):
    """A server inside a program that handles its own signals."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit` is set."""
        await self._serve(sockets)


def mock_server(app: MockProviders | None = None) -> BackgroundServer:
    """Return a server of the mocks of all providers, which is not started."""
    settings = config(app or MockProviders(), ConnectionLimits(grace=1))
    # The mocks have nothing to open, and uvicorn would log a cancelled lifespan as an error if a
    # program ends without closing its model.
    settings.lifespan = "off"
    return BackgroundServer(settings)


class DemoServer:
    """Serves the mocks of all providers on a port of this machine while it is open.

    Args:
        strict: True to refuse the histories that the provider would refuse.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self._app = MockProviders(strict=strict)
        self._listener: socket.socket | None = None
        self._server: BackgroundServer | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def base_url(self, provider: str) -> str:
        """Return the base URL of a provider's mock.

        Raises:
            UsageError: There is no such provider.
        """
        found = _find_provider(provider)
        below_v1 = found.base_url.endswith("/v1") or found.path == "/chat/completions"
        return f"{self.url}/{found.name}{'/v1' if below_v1 else ''}"

    def mock(self, provider: str) -> MockProvider:
        """Return the mock of a provider; its `requests` are recorded."""
        return self._app.mock(provider)

    async def open(self) -> None:
        """Start the server."""
        assert self.url and self._listener is not None
        self._server = mock_server(self._app)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Stop the server."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
        if self._listener is not None:
            self._listener.close()
        self._server = self._task = self._listener = None


def _find_provider(name: str) -> Provider:
    for provider in PROVIDERS:
        if name in (provider.name, provider.profile):
            return provider
    raise UsageError(f"there is no demo of {name}{suggest(name, BY_NAME)}")


async def _nothing() -> None:
    pass
