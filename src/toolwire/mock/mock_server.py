"""A mock of one provider, served by a background thread."""

from __future__ import annotations

import asyncio
from threading import Event, Thread
from typing import Self

from toolwire.mock.demo_server import DemoServer
from toolwire.mock.server import MockRequest


class MockServer:
    """A mock of one provider on this machine, served by a background thread.

    Args:
        provider: A provider, profile or wire, such as `anthropic`.
        strict: True to refuse the histories that the provider would refuse.

    Attributes:
        provider: The name of the provider.
        base_url: The base URL for the provider's own client.
        api_key: A key that is accepted; any other is too.
        model: The name for `HttpModel`, to be used with `base_url`.

    Raises:
        UsageError: There is no such provider.
    """

    def __init__(self, provider: str = "openai", *, strict: bool = True) -> None:
        self._server = DemoServer(strict=strict)
        self._mock = self._server.mock(provider)
        self._started, self._stop = Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._run, name="toolwire-mock", daemon=True)
        self.provider = provider
        self.base_url = self._server.base_url(provider)
        self.api_key = "demo"
        self.model = f"{provider}:demo"

    @property
    def requests(self) -> list[MockRequest]:
        """The last requests, oldest first: method, path, body, status, and the rule that a refused
        request broke."""
        return list(self._mock.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(10)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._server:
            self._started.set()
            await self._stop.wait()
