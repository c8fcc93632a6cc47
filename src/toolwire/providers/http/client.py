"""The HTTP client of the agent, the gateway and the OXP client: routes, heads, one pool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from toolwire.providers.http.policy import TIMEOUTS, Timeouts
from toolwire.providers.http.pool import ConnectionPool
from toolwire.providers.http.proxy import Route, find_route
from toolwire.providers.http.response import LARGEST_BODY, Response

_MAX_ROUTES = 1000
"""The maximum number of routes in the cache: clients may choose models, and so URLs."""


class HttpClient:
    """Sends requests over one pool of connections. Redirects are not followed.

    Uses the proxy that the environment names. Each event loop gets its own pool.
    """

    def __init__(self) -> None:
        self._pool: ConnectionPool | None = None
        self._routes: dict[str, Route] = {}

    def route(self, url: str) -> Route:
        """Return how requests get to a URL.

        Raises:
            ValueError: The URL is not an http or https URL.
            ConnectError: The proxy that the environment names cannot be used.
        """
        route = self._routes.get(url)
        if route is None:
            if len(self._routes) >= _MAX_ROUTES:
                self._routes.clear()
            route = self._routes[url] = find_route(url)
        return route

    def connections(self) -> ConnectionPool:
        """The connections of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool.loop is not loop:
            self._pool = ConnectionPool()
        return self._pool

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeouts: Timeouts = TIMEOUTS,
    ) -> Response:
        """Send a request and return its response. The caller reads the body, or closes the
        response.

        Raises:
            ConnectError: There is no connection. Nothing was sent.
            OSError: The connection broke, or the server was silent for too long.
            ValueError: The URL or a header field cannot be sent.
        """
        route = self.route(url)
        head = route.request_head(dict(headers), len(body), method=method)
        return await self.connections().send(route, head, body, timeouts=timeouts)

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeouts: Timeouts = TIMEOUTS,
        largest: int = LARGEST_BODY,
    ) -> tuple[Response, bytes]:
        """Send a request and return its response and the whole body.

        Raises what `send` raises, TimeoutError after `timeouts.total`, and ValueError if the body
        is larger than `largest` bytes.
        """
        async with asyncio.timeout(timeouts.total):
            response = await self.send(method, url, headers=headers, body=body, timeouts=timeouts)
            try:
                return response, await response.read_all(largest=largest)
            finally:
                response.close()

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.loop is asyncio.get_running_loop():
            pool.close()
            await asyncio.sleep(0)  # let the sockets close
