"""Requests to the servers of models, as the gateway sends them: pooled, signed, streamed, never
redirected.

Where a request goes is decided by configuration alone. Keys go nowhere but into the header they
belong in. Knows no wire.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from toolwire.providers.http.client import ConnectionPool, Origin, head, place
from toolwire.providers.http.proxy import ProxyClient
from toolwire.providers.sigv4 import signed
from toolwire.providers.table import ModelEndpoint

LARGEST = 64 * 1024 * 1024
"""Bytes of an answer that is read as a whole."""
LOST = (OSError,)
"""What is raised when a server cannot be reached, goes away, or is silent for too long."""
_BASE = {
    "content-type": "application/json",
    "user-agent": "toolwire",
    "accept": "*/*",
    "accept-encoding": "identity",
}


class Timeouts(Struct, frozen=True):
    """How long an answer is waited for, in seconds."""

    connect: float = 10.0
    silence: float = 300.0
    """Without a byte."""


WAITS = Timeouts()


class UpstreamResponse(Protocol):
    """An answer whose head is there. Whoever has it closes it."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]:
        """By name in lower case."""

    @property
    def ended(self) -> bool:
        """Whether all of it has come."""

    def piece(self) -> Coroutine[None, None, bytes]:
        """What has come since the last piece; nothing if all of it was read. Raises one of LOST."""

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Give each piece to `take` as soon as it comes, until the end or until `take` wants to
        wait."""

    def leave(self, seconds: float) -> None:
        """Let go of it, but let it come to its end for so long, so that its connection can be used
        again."""

    def close(self) -> None:
        """Let go of it: the server is told, if anything is still to come."""


class _Route(Struct):
    """How requests get to an address."""

    address: ModelEndpoint
    url: str
    place: Origin
    proxy: str | None
    """The way out that the environment names."""
    head: bytes | None = None
    """The head of a request but for its length, where it is always the same."""

    def headers(self, data: bytes, more: Mapping[str, str]) -> dict[str, str]:
        """The header fields of a request."""
        fields = allowed(
            self.address, self.url, {**_BASE, **dict(self.address.row.headers), **more}, data
        )
        if self.place.login is not None and "authorization" not in fields:
            fields["authorization"] = f"Basic {b64encode(self.place.login).decode()}"
        return fields

    def __repr__(self) -> str:
        """Without the login and the key, which stand in several places here."""
        return f"_Way({self.place!r})"


class Upstream:
    """The connections of one process to all servers of models. Belongs to the event loop that
    opened it."""

    def __init__(self) -> None:
        self._pool: ConnectionPool | None = None
        self._proxied: dict[str, ProxyClient] = {}
        """By the proxy."""
        self._ways: dict[tuple[int, bool, str | None], _Route] = {}
        """Those that were used, by the identity of an address, which is kept."""

    async def open(self) -> None:
        """Make ready to send."""
        self._pool = ConnectionPool()

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        for one in self._proxied.values():
            await one.close()
        self._proxied = {}

    async def post(
        self,
        address: ModelEndpoint,
        data: bytes,
        *,
        stream: bool,
        more: Mapping[str, str] | None = None,
        url: str | None = None,
        waits: Timeouts = WAITS,
    ) -> UpstreamResponse:
        """The beginning of the answer; its content is still to be read, or to be closed.

        A request on a connection that turns out to be closed is sent once more: most likely nobody
        had read it. Raises one of LOST if there is no answer, and ValueError if the address is none
        or a header field cannot be sent.
        """
        assert self._pool is not None, "it is not open"
        way = self._ways.get((id(address), stream, url)) or self._way(address, stream, url)
        if way.head is not None and not more:
            told = b"%bcontent-length: %d\r\n\r\n" % (way.head, len(data))
            return await self._pool.post(
                way.place, told, data, connect=waits.connect, silence=waits.silence
            )
        headers = way.headers(data, more or {})
        if way.proxy is not None:
            return await self._around(way.proxy).post(
                way.url, data, headers, waits.connect, waits.silence
            )
        told = head(way.place, headers, len(data))
        return await self._pool.post(
            way.place, told, data, connect=waits.connect, silence=waits.silence
        )

    def _way(self, address: ModelEndpoint, stream: bool, url: str | None) -> _Route:
        where = url or address.url(stream=stream)
        at = place(where)  # first: others tell a password when they find that an address is none
        parts = urlsplit(where)
        proxies = {} if proxy_bypass(parts.netloc.rpartition("@")[2]) else getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        way = _Route(address, where, at, proxy)
        if proxy is None and not _signs(address):
            way.head = head(way.place, way.headers(b"", {}), 0).removesuffix(
                b"content-length: 0\r\n\r\n"
            )
        if len(self._ways) > 1000:  # models may be named by clients
            self._ways.clear()
        self._ways[id(address), stream, url] = way
        return way

    def _around(self, proxy: str) -> ProxyClient:
        if proxy not in self._proxied:
            self._proxied[proxy] = ProxyClient(proxy)
        return self._proxied[proxy]


def allowed(
    address: ModelEndpoint, url: str, headers: Mapping[str, str], data: bytes
) -> dict[str, str]:
    """The header fields of a request with what proves who asks."""
    auth, key = address.row.auth, address.key
    if _signs(address):
        return signed("POST", url, headers, data, env=address.env, service="bedrock")
    if key is None or auth == "none":
        return dict(headers)
    name = "authorization" if auth in ("bearer", "sigv4") else auth
    return {**headers, name: f"Bearer {key}" if name == "authorization" else key}


def _signs(address: ModelEndpoint) -> bool:
    """Whether every request is signed by itself."""
    return address.row.auth == "sigv4" and address.key is None


async def whole(answer: UpstreamResponse, *, largest: int = LARGEST) -> bytes:
    """All of an answer. Raises ValueError if it is larger than any answer is, and one of LOST."""
    pieces: list[bytes] = []
    size = 0
    while data := await answer.piece():
        pieces.append(data)
        size += len(data)
        if size > largest:
            raise ValueError(f"an answer of more than {largest} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
