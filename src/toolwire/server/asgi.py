"""Shared code of the ASGI applications: limited bodies, host and media type checks, lifespan.

This is plain ASGI without a framework: a request costs a few dictionary lookups. An invalid body is
a value (`BodyError`); each application reports it in its own format.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.errors import require_count, require_seconds
from toolwire.execution.eager_await import finish_await
from toolwire.providers.http.url import is_loopback

Scope: TypeAlias = MutableMapping[str, object]
Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = Mapping[bytes, bytes]
"""Values by name; names are in lower case."""
RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
BodyError: TypeAlias = Literal["large", "slow", "gone", "busy"]
"""A body is too large or too slow, its client has disconnected, or all bodies together are too
large."""

MIB = 1024 * 1024


class BodyLimits(Struct, frozen=True, kw_only=True):
    """Limits on what the clients of one application may send."""

    body: int = 4 * MIB
    """Bytes of one body."""
    seconds: float = 30.0
    """Seconds from the headers of a request to the end of its body."""
    buffered: int = 256 * MIB
    """Bytes of all incomplete bodies together."""
    calls: int = 4096
    """The maximum number of concurrent calls; further ones are refused until one ends."""

    def __post_init__(self) -> None:
        require_count(self.body, "body=", least=0)
        require_seconds(self.seconds, "seconds=")
        require_count(self.buffered, "buffered=", least=0)
        require_count(self.calls, "calls=", least=1)


class Request(Struct, frozen=True):
    """One HTTP request."""

    method: str
    path: str
    headers: Headers
    scope: Scope
    receive: Receive


def request_of(scope: Scope, receive: Receive) -> Request:
    """Return the request of a scope. If a header is repeated, the last value counts.

    Its path is below the path at which the application is mounted (`root_path`).
    """
    method, path, headers = scope["method"], scope["path"], scope["headers"]
    assert isinstance(method, str) and isinstance(path, str) and isinstance(headers, list)
    if root := scope.get("root_path"):
        path = path.removeprefix(str(root))
    return Request(method, path, dict(headers), scope, receive)


async def answer(send: Send, status: int, body: bytes, headers: RawHeaders) -> None:
    """Send a whole response."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


# --- bodies ---------------------------------------------------------------------------------------


class BodyReader:
    """Reads bodies, with limits on the size and the time of each, and on the size of all."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._buffered = 0

    @property
    def buffered(self) -> int:
        """Bytes of incomplete bodies."""
        return self._buffered

    async def read(self, request: Request) -> bytes | BodyError:
        """Return the whole body, or the reason why it is rejected."""
        limits = self._limits
        declared = request.headers.get(b"content-length", b"0")
        if not declared.isdigit() or len(declared) > 18 or int(declared) > limits.body:
            return "large"
        # Most bodies have arrived already. Only the others need a timeout, which costs more than
        # all the rest.
        steps = request.receive().__await__()
        try:
            future = next(steps)
        except StopIteration as finished:
            message: Message = finished.value
            if message["type"] == "http.request" and not message.get("more_body"):
                body = message.get("body", b"")
                assert isinstance(body, bytes)
                return body if len(body) <= limits.body else "large"
            return await self._read_in_time(request, message)
        return await self._read_in_time(request, None, finish_await(steps, future))

    async def _read_in_time(
        self, request: Request, message: Message | None, first: Awaitable[Message] | None = None
    ) -> bytes | BodyError:
        try:
            async with asyncio.timeout(self._limits.seconds):
                if message is None:
                    assert first is not None
                    message = await first
                return await self._read_chunks(request, message)
        except TimeoutError:
            return "slow"

    async def _read_chunks(self, request: Request, message: Message) -> bytes | BodyError:
        chunks: list[bytes] = []
        size = 0
        try:
            while message["type"] == "http.request":
                chunk = message.get("body", b"")
                assert isinstance(chunk, bytes)
                chunks.append(chunk)
                size += len(chunk)
                self._buffered += len(chunk)
                if size > self._limits.body:
                    return "large"
                if self._buffered > self._limits.buffered:
                    return "busy"
                if not message.get("more_body"):
                    return b"".join(chunks)
                message = await request.receive()
            return "gone"
        finally:
            self._buffered -= size


# --- hosts and media types ------------------------------------------------------------------------

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_CACHED_HOSTS = 64
"""The maximum number of host names that are cached: a client may send any number of them."""


def is_on_loopback(scope: Scope) -> bool:
    """True if a request was sent to an address that only this machine can reach."""
    address = _server_address(scope)
    return isinstance(address, str) and is_loopback(address)


def _server_address(scope: Scope) -> object:
    """The address to which a request was sent, as the ASGI server reports it."""
    server = scope.get("server")
    return server[0] if isinstance(server, tuple | list) and server else None


class AllowedHosts:
    """The accepted values of the Host header.

    A web page can make its own host name point to this machine and then send requests to a server
    on loopback (DNS rebinding). So a request on loopback must name a local host. `more` are further
    accepted names; `*` accepts any.
    """

    def __init__(self, more: Collection[str] = ()) -> None:
        self._any = "*" in more
        self._accepted = LOCAL_NAMES | {name.lower() for name in more}
        self._restricted = bool(more)
        self._cache: dict[tuple[object, bytes | None], bool] = {}

    def accepts(self, request: Request) -> bool:
        """True if the host of a request is accepted."""
        if self._any:
            return True
        key = (_server_address(request.scope), request.headers.get(b"host"))
        accepted = self._cache.get(key)
        if accepted is None:
            accepted = self._accepts(*key)
            if len(self._cache) < MAX_CACHED_HOSTS:
                self._cache[key] = accepted
        return accepted

    def _accepts(self, address: object, host: bytes | None) -> bool:
        if not self._restricted and not (isinstance(address, str) and is_loopback(address)):
            return True
        # HTTP/1.0 needs no Host header; a browser always sends one.
        return host is None or _strip_port(host) in self._accepted


def _strip_port(host: bytes) -> str:
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


def is_json(headers: Headers) -> bool:
    """True if a body is declared as JSON.

    A web page of another site may send other types without a preflight request. So a body without a
    type must not come from a browser.
    """
    kind = headers.get(b"content-type")
    if kind == b"application/json":
        return True
    if kind is None:
        return b"origin" not in headers and b"sec-fetch-site" not in headers
    name = kind.partition(b";")[0].strip().lower()
    return name == b"application/json" or (
        name.startswith(b"application/") and name.endswith(b"+json")
    )


# --- lifespan -------------------------------------------------------------------------------------


async def lifespan(
    receive: Receive,
    send: Send,
    start: Callable[[], Awaitable[None]],
    stop: Callable[[], Awaitable[None]],
) -> None:
    """Call `start` and `stop` with the server, in one task.

    The server exits if `start` fails.
    """
    await receive()
    try:
        await start()
    except Exception as error:
        await send(
            {"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"}
        )
        return
    await send({"type": "lifespan.startup.complete"})
    await receive()
    try:
        await stop()
    except Exception as error:
        await send(
            {"type": "lifespan.shutdown.failed", "message": f"{type(error).__name__}: {error}"}
        )
        return
    await send({"type": "lifespan.shutdown.complete"})
