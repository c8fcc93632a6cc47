"""A pool of connections to servers: opened on demand, kept, and reused.

With a general HTTP client, that client is most of the cost of a request through a gateway
(docs/decisions/2026-11-17-http-client.md). This one does what requests to models and tools need.
aiohappyeyeballs finds the fastest of several addresses.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from socket import SHUT_RDWR, SOCK_STREAM, socket

from aiohappyeyeballs import start_connection
from aiohappyeyeballs.types import AddrInfoType

from toolwire.providers.http.connection import Connection
from toolwire.providers.http.errors import ConnectError, StaleConnection, connect_error
from toolwire.providers.http.policy import TIMEOUTS, Timeouts
from toolwire.providers.http.proxy import Route, TunnelHandshake
from toolwire.providers.http.response import Response
from toolwire.providers.http.url import Url

KEEP_ALIVE = 60.0
"""Seconds that an idle connection is kept."""
DNS_TTL = 60.0
"""Seconds that the addresses of a name are remembered."""
_NEXT_ADDRESS = 0.25
"""Seconds before the next address of a name is tried beside the first."""

Key = tuple[str, int, bool, str]


@cache
def tls_context() -> ssl.SSLContext:
    """The TLS settings of every connection: certificates are verified."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class ConnectionPool:
    """The connections of one process, by route. Belongs to the event loop that made it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._idle: dict[Key, list[Connection]] = {}
        self._all: set[Connection] = set()
        self._opening: set[asyncio.Timeout] = set()
        self._addresses: dict[tuple[str, int], tuple[float, list[AddrInfoType]]] = {}
        self._closed = False
        self._timer = self.loop.call_later(KEEP_ALIVE / 2, self._expire)

    async def send(
        self, route: Route, head: bytes, body: bytes, *, timeouts: Timeouts = TIMEOUTS
    ) -> Response:
        """Send a request and return its response once status and headers are there.

        A request on a reused connection that turns out to be closed is sent once more: the server
        has most likely not read it.

        Raises:
            ConnectError: There is no connection. Nothing was sent.
            OSError: The connection broke, or the server was silent for too long.
        """
        connection = self._take_idle(route.key)
        if connection is not None:
            response = connection.send(head, body, timeouts.idle)
            try:
                await response.wait_for_head()
                return response
            except StaleConnection:
                pass
        try:
            async with asyncio.timeout(timeouts.connect) as limit:
                self._opening.add(limit)
                try:
                    connection = await self._open(route)
                finally:
                    self._opening.discard(limit)
        except (OSError, RuntimeError) as error:
            # uvloop raises RuntimeError for an address that cannot be used
            # Inside a tunnel, TLS is spoken with the server itself
            reached = route.tunnel and isinstance(error, ssl.SSLError)
            server = route.url if reached else route.server
            is_proxy = server is route.proxy
            raise connect_error(error, server.origin, is_proxy=is_proxy) from error
        response = connection.send(head, body, timeouts.idle)
        await response.wait_for_head()
        return response

    def close(self) -> None:
        """Close all connections. Requests in progress fail."""
        self._closed = True
        self._timer.cancel()
        for limit in self._opening:
            if not limit.expired():
                limit.reschedule(self.loop.time())
        self._idle.clear()
        for connection in list(self._all):
            connection.close()

    # --- called by connections ---

    def add(self, connection: Connection) -> None:
        self._all.add(connection)

    def keep(self, connection: Connection) -> None:
        connection.idle_since = self.loop.time()
        self._idle.setdefault(connection.key, []).append(connection)

    def discard(self, connection: Connection) -> None:
        self._all.discard(connection)
        idle = self._idle.get(connection.key)
        if idle is not None and connection in idle:
            idle.remove(connection)

    # --- idle connections ---

    def _take_idle(self, key: Key) -> Connection | None:
        idle = self._idle.get(key)
        while idle:
            connection = idle.pop()
            if connection.is_usable() and not connection.has_unread_data():
                return connection
            connection.close()
        return None

    def _expire(self) -> None:
        """Close connections that were idle for too long, and forget old addresses."""
        self._timer = self.loop.call_later(KEEP_ALIVE / 2, self._expire)
        now = self.loop.time()
        self._addresses = {name: entry for name, entry in self._addresses.items() if entry[0] > now}
        for key, idle in list(self._idle.items()):
            kept = [connection for connection in idle if connection.idle_since > now - KEEP_ALIVE]
            for connection in idle:
                if connection.idle_since <= now - KEEP_ALIVE:
                    connection.close()
            if kept:
                self._idle[key] = kept
            else:
                del self._idle[key]

    # --- new connections ---

    async def _open(self, route: Route) -> Connection:
        if self._closed:
            raise ConnectError("the pool is closed")
        connection = Connection(self, route.key)
        server = route.server
        try:
            found = await start_connection(
                await self._resolve(server.host, server.port),
                happy_eyeballs_delay=_NEXT_ADDRESS,
                interleave=1,
                loop=self.loop,
            )
            try:
                if route.tunnel:
                    await self._open_tunnel(route, found, connection)
                else:
                    await self._start(lambda: connection, found, server)
            except BaseException:
                connection.close()
                self.discard(connection)  # the loop may not report its end any more
                with suppress(OSError):
                    found.shutdown(SHUT_RDWR)  # the transport may still own it, and closes it
                raise
        except BaseException:
            self._addresses.pop((server.host, server.port), None)  # the server may have moved
            raise
        if not connection.is_usable():
            raise ConnectError(f"{server.origin} closed the connection at once")
        return connection

    async def _open_tunnel(self, route: Route, found: socket, connection: Connection) -> None:
        """Let a proxy open a tunnel, and start TLS with the server inside it."""
        handshake = TunnelHandshake(route, self.loop)
        transport = await self._start(lambda: handshake, found, route.server)
        try:
            await handshake.wait_until_open()
            secure = await self.loop.start_tls(
                transport, connection, tls_context(), server_hostname=route.url.host.rstrip(".")
            )
        except BaseException:
            transport.abort()
            raise
        if secure is None:
            raise ConnectError(f"{route.url.origin} closed the connection at once")
        connection.connection_made(secure)

    async def _start(
        self, factory: Callable[[], asyncio.Protocol], found: socket, server: Url
    ) -> asyncio.Transport:
        if server.tls:
            transport, _ = await self.loop.create_connection(
                factory, sock=found, ssl=tls_context(), server_hostname=server.host.rstrip(".")
            )
        else:
            transport, _ = await self.loop.create_connection(factory, sock=found)
        return transport

    async def _resolve(self, host: str, port: int) -> list[AddrInfoType]:
        now = self.loop.time()
        known = self._addresses.get((host, port))
        if known is None or known[0] < now:
            found = await self.loop.getaddrinfo(host, port, type=SOCK_STREAM)
            known = self._addresses[host, port] = now + DNS_TTL, [*found]
        return known[1]
