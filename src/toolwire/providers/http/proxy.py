"""Requests to the servers of models through a proxy that the environment names: aiohttp does what
that takes. Knows no wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from time import monotonic
from types import SimpleNamespace

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from toolwire.providers.http.client import HEAD, ProtocolError, secure
from toolwire.providers.http.connection import AT_ONCE
from toolwire.providers.http.response import ROOM, Decompressor, ResponseHead, unpacking

CLOSING = 1.0
"""Seconds that connections have to end."""

_LOST = (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError)
"""What becomes of a request that gets no answer. ValueError: a proxy whose address aiohttp cannot
use."""
_STALE = (aiohttp.ClientOSError, ConnectionResetError, BrokenPipeError)
"""What becomes of a request on a connection that its server had just given up."""


def _stale(error: Exception) -> bool:
    """Whether a connection ended before anything of an answer came on it."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return isinstance(error.message, str)  # otherwise it is what came of a head
    return isinstance(error, _STALE)


def _lost(error: Exception) -> OSError:
    """By its kind only: the words may hold the login of the proxy."""
    kind = type(error).__name__
    return TimeoutError(kind) if isinstance(error, TimeoutError) else ProtocolError(kind)


class ProxyResponse:
    """One answer that came through a proxy."""

    __slots__ = ("_last", "_response", "_unpacking", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = {}
        self._unpacking: Decompressor | None = None
        self._last: asyncio.Task[None] | None = None
        """What reads the rest of it when nobody else does."""

    def opened(self) -> ProxyResponse:
        """With its head, and with its body unpacked: aiohttp would take one that was cut for a
        whole one. Raises OSError."""
        try:
            fields = ResponseHead()
            for name, value in self._response.raw_headers:
                fields.put(name, value)
            self.headers = fields.taken()
            self._unpacking = unpacking(self.headers.get("content-encoding", ""))
        except ProtocolError:
            self.close()
            raise
        return self

    @property
    def ended(self) -> bool:
        """Whether all of it has come."""
        return self._response.content.is_eof()

    def piece(self) -> Coroutine[None, None, bytes]:
        """What has come since the last piece; nothing if all of it was read. Raises OSError or
        TimeoutError."""
        return self._read() if self._unpacking is None else self._unpacking.piece(self._read)

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Give each piece to `take` as soon as it comes, until the end or until `take` wants to
        wait."""
        while data := await self.piece():
            if not take(data):
                return

    async def _read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except _LOST as error:
            raise _lost(error) from None

    def leave(self, seconds: float) -> None:
        """Let go of it, but read it to its end for so long: nobody waits for that."""
        self._last = asyncio.get_running_loop().create_task(self._rest(seconds))

    async def _rest(self, seconds: float) -> None:
        try:
            with suppress(OSError):
                async with asyncio.timeout(seconds):
                    while await self._read():
                        pass
        finally:
            self._response.release()

    def close(self) -> None:
        """Let go of it."""
        if self._last is None:
            self._response.release()  # it is closed if anything is still to come


class ProxyClient:
    """The connections of one process through one proxy. Belongs to the event loop that first used
    it."""

    def __init__(self, proxy: str) -> None:
        self.proxy = proxy
        self._proxy = proxy if "://" in proxy else f"http://{proxy}"
        held = aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=60, ssl=secure())
        watch = aiohttp.TraceConfig()
        watch.on_connection_reuseconn.append(_reused)
        # not trust_env: it also reads passwords from a file
        self._session = aiohttp.ClientSession(
            connector=held,
            cookie_jar=aiohttp.DummyCookieJar(),
            raise_for_status=False,
            max_field_size=HEAD,
            read_bufsize=ROOM,
            auto_decompress=False,
            trace_configs=[watch],
        )

    async def close(self) -> None:
        """Close all connections. One whose peer reads nothing is not waited for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._session.close(), CLOSING)

    async def post(
        self, url: str, data: bytes, headers: Mapping[str, str], connect: float, silence: float
    ) -> ProxyResponse:
        """The beginning of an answer. Raises OSError or TimeoutError."""
        seen = SimpleNamespace(reused=False)
        begun = monotonic()
        try:
            answer = await self._once(url, data, headers, connect, silence, seen)
        except _LOST as error:
            if not _stale(error) or not seen.reused or monotonic() - begun > AT_ONCE:
                raise _lost(error) from None
            try:  # so it was most likely never asked
                answer = await self._once(url, data, headers, connect, silence, seen)
            except _LOST as again:
                raise _lost(again) from None
        return ProxyResponse(answer).opened()

    async def _once(
        self,
        url: str,
        data: bytes,
        headers: Mapping[str, str],
        connect: float,
        silence: float,
        seen: SimpleNamespace,
    ) -> aiohttp.ClientResponse:
        at = URL(url, encoded=True)  # to the letter, for that is what may be signed
        return await self._session.post(
            at.with_user(None) if at.user is not None or at.password is not None else at,
            data=data,
            headers={name: _text(value) for name, value in headers.items()},
            timeout=aiohttp.ClientTimeout(
                total=None, connect=connect, sock_connect=connect, sock_read=silence
            ),
            proxy=self._proxy,
            allow_redirects=False,
            trace_request_ctx=seen,
        )


def _text(value: str) -> str:
    """A field that aiohttp sends as the bytes it came as: it takes every text for UTF-8."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


async def _reused(
    session: aiohttp.ClientSession,
    trace: SimpleNamespace,
    told: aiohttp.TraceConnectionReuseconnParams,
) -> None:
    """A request goes out on a connection that rested: only then may it have been closed while it
    was asked."""
    trace.trace_request_ctx.reused = True
