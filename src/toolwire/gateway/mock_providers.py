"""The strict mocks of all providers as one server, each below the name of its provider."""

from __future__ import annotations

import socket

import uvicorn

from toolwire.mock.server import MockProvider
from toolwire.providers.table import BY_NAME
from toolwire.server.asgi import Receive, Scope, Send, answer, lifespan
from toolwire.server.run import ConnectionLimits, config


class MockProviders:
    """An ASGI application: `/anthropic/v1/messages` is the mock of Anthropic."""

    def __init__(self) -> None:
        self._mocks: dict[str, MockProvider] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _do_nothing, _do_nothing)
            return
        name, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        provider = BY_NAME.get(name)
        if provider is None:
            await answer(send, 404, b"{}", ((b"content-type", b"application/json"),))
            return
        mock = self._mocks.setdefault(name, MockProvider(provider.profile))
        await mock({**scope, "path": f"/{rest}"}, receive, send)


class BackgroundServer(uvicorn.Server):
    """A server beside another one, which handles the signals."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit` is set."""
        await self._serve(sockets)


def mock_server() -> BackgroundServer:
    """A server of the mocks of all providers."""
    return BackgroundServer(config(MockProviders(), ConnectionLimits(grace=1)))


async def _do_nothing() -> None:
    pass
