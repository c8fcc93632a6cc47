"""HTTP proxies: which one the environment names for a URL, and the tunnel through it.

A request to an http URL goes to the proxy with the whole URL in its request line. For https, the
proxy opens a tunnel (CONNECT), and TLS runs inside it, so that the proxy reads nothing.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from toolwire.providers.http.errors import ConnectError, ProtocolError
from toolwire.providers.http.url import Url, is_loopback, parse_url, request_head

_LONGEST_HEAD = 64 * 1024
"""Bytes of a proxy's answer to CONNECT."""


class Route(Struct, frozen=True, dict=True):
    """How requests get to a URL: directly or through a proxy."""

    url: Url
    proxy: Url | None = None

    @property
    def tunnel(self) -> bool:
        """True if the proxy only passes bytes on."""
        return self.proxy is not None and self.url.tls

    @property
    def server(self) -> Url:
        """Where the socket is connected to."""
        return self.proxy or self.url

    @cached_property
    def key(self) -> tuple[str, int, bool, str]:
        """The key that connections for this route share."""
        server = self.server
        through = self.url.origin if self.tunnel else ""
        return server.host, server.port, server.tls, through

    def request_head(self, fields: dict[str, str], length: int, *, method: str = "POST") -> bytes:
        """Return the head of a request. Raises ValueError as `request_head` does."""
        proxy = self.proxy
        if proxy is None or self.tunnel:
            return request_head(self.url, fields, length, method=method)
        if (login := proxy.basic_auth) is not None:
            fields = {**fields, "proxy-authorization": login}
        target = f"{self.url.origin}{self.url.path}"
        return request_head(self.url, fields, length, method=method, target=target)


def find_route(url: str) -> Route:
    """Return the route to a URL by `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.

    A server on this machine is reached directly, whatever `no_proxy` says.

    Raises:
        ValueError: The URL is not an http or https URL.
        ConnectError: The proxy that the environment names cannot be used.
    """
    parsed = parse_url(url)
    scheme = "https" if parsed.tls else "http"
    direct = is_loopback(parsed.host) or proxy_bypass(parsed.host_header)
    proxies = {} if direct else getproxies()
    name = scheme if proxies.get(scheme) else "all"
    proxy = proxies.get(name)
    if not proxy:
        return Route(parsed)
    try:
        return Route(parsed, parse_url(proxy if "://" in proxy else f"http://{proxy}"))
    except ValueError:
        raise ConnectError(
            f"the environment variable {name}_proxy is not the http or https URL of a proxy",
            permanent=True,
        ) from None


class TunnelHandshake(asyncio.Protocol):
    """Asks a proxy for a tunnel and waits for its answer."""

    def __init__(self, route: Route, loop: asyncio.AbstractEventLoop) -> None:
        assert route.proxy is not None
        self._route = route
        self._head = b""
        self._opened: asyncio.Future[None] = loop.create_future()

    async def wait_until_open(self) -> None:
        """Wait until the tunnel is open. Raises ProtocolError if the proxy refuses it."""
        await self._opened

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        assert self._route.proxy is not None
        url = self._route.url
        name = f"[{url.host}]" if ":" in url.host else url.host
        target = f"{name}:{url.port}"
        fields = {"host": target}
        if (login := self._route.proxy.basic_auth) is not None:
            fields["proxy-authorization"] = login
        head = request_head(url, fields, 0, method="CONNECT", target=target)
        transport.write(head.replace(b"content-length: 0\r\n", b""))

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" not in self._head:
            if len(self._head) > _LONGEST_HEAD:
                self._fail("the response of the proxy has no end")
            return
        head, _, rest = self._head.partition(b"\r\n\r\n")
        status = head.split(b"\r\n", 1)[0].split(b" ")
        if not status[0].startswith(b"HTTP/1.") or len(status) < 2:
            self._fail("the proxy does not speak HTTP")
        elif not status[1].startswith(b"2"):
            self._fail(f"the proxy refuses a tunnel: status {status[1].decode('latin-1')[:3]}")
        elif rest:
            self._fail("the proxy sent data before the tunnel was used")
        elif not self._opened.done():
            self._opened.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the proxy closed the connection")

    def _fail(self, why: str) -> None:
        if not self._opened.done():
            self._opened.set_exception(ProtocolError(why))
            self._opened.exception()  # the caller may have stopped waiting
