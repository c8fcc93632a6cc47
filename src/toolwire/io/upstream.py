"""Requests to the servers of models, as the gateway sends them: pooled, signed, streamed, never redirected.

Where a request goes is decided by configuration alone. Keys go nowhere but into the header they belong in. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.request import getproxies, proxy_bypass

import aiohttp
from msgspec import Struct
from yarl import URL

from toolwire.agent.endpoints import Address
from toolwire.io.sigv4 import signed

LARGEST = 64 * 1024 * 1024
"""Bytes of an answer that is read as a whole."""
LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)
"""What is raised when a server cannot be reached, or goes away."""
_STALE = (aiohttp.ServerDisconnectedError, ConnectionResetError)
"""What becomes of a request on a connection that its server had just given up."""
_BASE = {"content-type": "application/json", "user-agent": "toolwire", "accept-encoding": "identity"}
_LINE = 1024 * 1024
"""Bytes of a header field of an answer. Some providers send long ones."""


class Waits(Struct, frozen=True):
    """How long an answer is waited for, in seconds."""

    connect: float = 10.0
    silence: float = 300.0
    """Without a byte."""


WAITS = Waits()


class Upstream:
    """The connections of one process to all servers of models. Belongs to the event loop that opened it."""

    def __init__(self, *, connections: int = 0) -> None:
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._ways: dict[str, tuple[URL, str | None]] = {}
        """Addresses that were used, and the way out for each."""

    async def open(self) -> None:
        """Make ready to send."""
        held = aiohttp.TCPConnector(limit=self._connections, limit_per_host=0, keepalive_timeout=60, ttl_dns_cache=60)
        # not trust_env: it also reads passwords from a file
        self._session = aiohttp.ClientSession(
            connector=held, cookie_jar=aiohttp.DummyCookieJar(), raise_for_status=False, max_field_size=_LINE,
            read_bufsize=256 * 1024,
        )  # fmt: skip

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(
        self, address: Address, data: bytes, *, stream: bool, more: Mapping[str, str] | None = None, url: str | None = None,
        waits: Waits = WAITS,
    ) -> aiohttp.ClientResponse:  # fmt: skip
        """The beginning of the answer; its content is still to be read, or to be closed.

        A request on a connection that turns out to be closed is sent once more. Raises one of LOST if there is no answer.
        """
        assert self._session is not None, "it is not open"
        where = url or address.url(stream=stream)
        headers = allowed(address, where, {**_BASE, **dict(address.row.headers), **(more or {})}, data)
        timeout = _timeout(waits)
        at, proxy = self._way(where)
        if "authorization" in headers and at.user is not None:
            at = at.with_user(None)
        try:
            return await self._session.post(at, data=data, headers=headers, allow_redirects=False, timeout=timeout, proxy=proxy)
        except _STALE:
            return await self._session.post(at, data=data, headers=headers, allow_redirects=False, timeout=timeout, proxy=proxy)

    def _way(self, where: str) -> tuple[URL, str | None]:
        """An address as it is sent to the letter, for that is what is signed; and the way out that the environment names."""
        known = self._ways.get(where)
        if known is None:
            at = URL(where, encoded=True)
            known = at, None if proxy_bypass(at.host or "") else getproxies().get(at.scheme)
            if len(self._ways) > 1000:  # models may be named by clients
                self._ways.clear()
            self._ways[where] = known
        return known


@lru_cache(maxsize=256)
def _timeout(waits: Waits) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=waits.connect, sock_read=waits.silence)


def allowed(address: Address, url: str, headers: Mapping[str, str], data: bytes) -> dict[str, str]:
    """The header fields of a request with what proves who asks."""
    auth, key = address.row.auth, address.key
    if auth == "sigv4" and key is None:
        return signed("POST", url, headers, data, env=address.env, service="bedrock")
    if key is None or auth == "none":
        return dict(headers)
    name = "authorization" if auth in ("bearer", "sigv4") else auth
    return {**headers, name: f"Bearer {key}" if name == "authorization" else key}


async def whole(response: aiohttp.ClientResponse, *, largest: int = LARGEST) -> bytes:
    """All of an answer. Raises ValueError if it is larger than any answer is."""
    pieces: list[bytes] = []
    size = 0
    async for data in response.content.iter_any():
        pieces.append(data)
        size += len(data)
        if size > largest:
            response.close()
            raise ValueError(f"an answer of more than {largest} bytes")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
