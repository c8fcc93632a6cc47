"""HTTP/1.1 to the servers of models, as lean as can be: pooled connections, and answers in pieces
as they come.

With a client for everything, that client is most of what a request through a gateway costs. This
one does what such a request needs and nothing else: it posts, and follows nobody. Finding the
fastest of several addresses is aiohappyeyeballs'. Knows no wire and no proxy.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from socket import SHUT_RDWR, SOCK_STREAM
from urllib.parse import unquote_to_bytes, urlsplit

from aiohappyeyeballs import start_connection
from aiohappyeyeballs.types import AddrInfoType
from msgspec import Struct

from toolwire.providers.http.connection import HEAD, Connection
from toolwire.providers.http.response import ProtocolError, Response, StaleConnection

__all__ = [
    "HEAD",
    "ConnectionPool",
    "Origin",
    "ProtocolError",
    "Response",
    "StaleConnection",
    "head",
    "place",
    "secure",
]

KEEP = 60.0
"""Seconds that a connection rests before it is closed."""
KNOWN = 60.0
"""Seconds that the addresses of a name are remembered."""
_RACE = 0.25
"""Seconds that an address has before the next one is tried beside it."""
_NEVER = re.compile(r"[\0-\x20\x7f]")
"""What would end a request line, or a part of it."""
_OURS = frozenset(("content-length", "transfer-encoding"))
"""What says where a request ends. Said twice, it is read in two ways."""


class Origin(Struct, frozen=True):
    """A server, and what is asked of it there."""

    host: str
    port: int
    tls: bool
    path: str
    """As it is sent, to the letter."""
    name: str
    """What it is called in the request."""
    login: bytes | None = None
    """A name and a password, if the address has them."""

    @property
    def door(self) -> tuple[str, int, bool]:
        """What connections are told apart by."""
        return self.host, self.port, self.tls

    def __repr__(self) -> str:
        """Without the login, and without what is asked there: keys may stand in it, and this ends
        up in logs."""
        return f"Place({'https' if self.tls else 'http'}://{self.name})"


@cache
def secure() -> ssl.SSLContext:
    """How servers are proved to be who they are."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def place(url: str) -> Origin:
    """The place of an address. Raises ValueError if it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its words may hold a password
        raise ValueError("this is no address of a server") from None
    if parts.scheme not in ("http", "https") or not host or _NEVER.search(url):
        raise ValueError("this is no address of a server")
    if ":" in host:
        bare = f"[{host.partition('%')[0]}]"  # which interface is nobody else's business
    else:
        bare = host = host.encode("idna").decode()
    tls = parts.scheme == "https"
    usual = 443 if tls else 80
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    user = parts.netloc.rpartition("@")[0]
    login = unquote_to_bytes(user if ":" in user else f"{user}:") if user else None
    name = bare if port is None or port == usual else f"{bare}:{port}"
    return Origin(host, usual if port is None else port, tls, path, name, login)


def head(where: Origin, fields: Mapping[str, str], length: int) -> bytes:
    """The head of a request. Raises ValueError if a field could be read as two, or says where the
    request ends."""
    names = {name.lower() for name in fields}
    if not _OURS.isdisjoint(names):
        raise ValueError("a header field that says where the request ends")
    lines = [f"{name}: {value}" for name, value in fields.items()]
    if "host" not in names:  # who signs a request says it there
        lines.append(f"host: {where.name}")
    text = "\n".join(lines)
    if text.count("\n") >= len(lines) or "\r" in text or "\0" in text:
        raise ValueError("a line break in a header field")
    try:
        told = "\r\n".join(lines).encode("latin-1")  # as the fields of a client came
    except UnicodeEncodeError:
        told = b"\r\n".join(map(_encoded, lines))
    return b"POST %b HTTP/1.1\r\n%b\r\ncontent-length: %d\r\n\r\n" % (
        where.path.encode(),
        told,
        length,
    )


def _encoded(line: str) -> bytes:
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()


class ConnectionPool:
    """The connections of one process, by where they go. Belongs to the event loop that made it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._idle: dict[tuple[str, int, bool], list[Connection]] = {}
        self._all: set[Connection] = set()
        self._opening: set[asyncio.Timeout] = set()
        self._known: dict[tuple[str, int], tuple[float, list[AddrInfoType]]] = {}
        self._closed = False
        self._timer = self.loop.call_later(KEEP / 2, self._tidy)

    async def post(
        self, where: Origin, data: bytes, body: bytes, *, connect: float, silence: float
    ) -> Response:
        """The beginning of an answer. `data` is the head of the request. Raises OSError or
        TimeoutError."""
        line = self._free(where.door)
        if line is not None:
            try:
                return await _asked(line, data, body, silence)
            except StaleConnection:  # so it was most likely never asked
                pass
        async with asyncio.timeout(connect) as limit:
            self._opening.add(limit)
            try:
                line = await self._opened(where)
            finally:
                self._opening.discard(limit)
        return await _asked(line, data, body, silence)

    def close(self) -> None:
        """Close all connections. Whatever is under way fails."""
        self._closed = True
        self._timer.cancel()
        for limit in self._opening:
            if not limit.expired():
                limit.reschedule(self.loop.time())
        self._idle.clear()
        for line in list(self._all):
            line.close()

    # --- what a connection says ---

    def made(self, line: Connection) -> None:
        self._all.add(line)

    def keep(self, line: Connection) -> None:
        line.since = self.loop.time()
        self._idle.setdefault(line.door, []).append(line)

    def forget(self, line: Connection) -> None:
        self._all.discard(line)
        resting = self._idle.get(line.door)
        if resting is not None and line in resting:
            resting.remove(line)

    def _free(self, door: tuple[str, int, bool]) -> Connection | None:
        resting = self._idle.get(door)
        while resting:
            line = resting.pop()
            if line.alive and line.quiet:
                return line
            line.close()
        return None

    def _tidy(self) -> None:
        """Close what has rested too long, and forget what may have changed."""
        self._timer = self.loop.call_later(KEEP / 2, self._tidy)
        now = self.loop.time()
        self._known = {name: known for name, known in self._known.items() if known[0] > now}
        for door, resting in list(self._idle.items()):
            kept = [line for line in resting if line.since > now - KEEP]
            for line in resting:
                if line.since <= now - KEEP:
                    line.close()
            if kept:
                self._idle[door] = kept
            else:
                del self._idle[door]

    async def _opened(self, where: Origin) -> Connection:
        if self._closed:
            raise ProtocolError("it was closed")
        line = Connection(self, where.door)
        tls = {"ssl": secure(), "server_hostname": where.host.rstrip(".")} if where.tls else {}
        try:
            addresses = await self._addresses(where.host, where.port)
            found = await start_connection(
                addresses, happy_eyeballs_delay=_RACE, interleave=1, loop=self.loop
            )
            try:
                await self.loop.create_connection(lambda: line, sock=found, **tls)  # type: ignore[call-overload]
            except BaseException:
                line.close()
                self.forget(line)  # the loop may not tell it any more
                with suppress(OSError):
                    found.shutdown(
                        SHUT_RDWR
                    )  # closing it is for the transport, which may have it still
                raise
        except BaseException as error:
            self._known.pop((where.host, where.port), None)  # it may have moved
            if isinstance(error, RuntimeError):  # uvloop's word for an address that cannot be used
                raise ProtocolError("no connection to this address") from error
            raise
        if not line.alive:
            raise ProtocolError("the connection is gone")
        return line

    async def _addresses(self, host: str, port: int) -> list[AddrInfoType]:
        now = self.loop.time()
        known = self._known.get((host, port))
        if known is None or known[0] < now:
            found = await self.loop.getaddrinfo(host, port, type=SOCK_STREAM)
            known = self._known[host, port] = now + KNOWN, [*found]
        return known[1]


async def _asked(line: Connection, data: bytes, body: bytes, silence: float) -> Response:
    reply = line.ask(data, body, silence)
    try:
        await reply.head()
    except BaseException:
        reply.close()
        raise
    return reply
