"""What every ASGI app here needs: bounded bodies, exact routes, the check of names and media types,
answers, lifespan.

Plain ASGI without a framework: a request costs a few dictionary lookups. Whatever is wrong with a
request is a word (`Trouble`); each app says it in its own format. Knows no protocol above HTTP.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.execution.eager_await import finish_await

Scope: TypeAlias = MutableMapping[str, object]
Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = Mapping[bytes, bytes]
"""By name in lower case."""
Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]
Trouble: TypeAlias = Literal["large", "slow", "gone", "busy"]
"""Of a body: too large, too slow, its sender is gone, or too much is being read already."""

MIB = 1024 * 1024


class BodyLimits(Struct, frozen=True, kw_only=True):
    """What one app lets its callers use."""

    body: int = 4 * MIB
    """Bytes of one body."""
    seconds: float = 30.0
    """From the head of a request to the end of its body."""
    buffered: int = 256 * MIB
    """Bytes of all bodies that are still arriving."""
    calls: int = 4096
    """Calls at once; the next one is told to come back."""


class Request(Struct, frozen=True):
    """One request of HTTP."""

    method: str
    path: str
    headers: Headers
    scope: Scope
    receive: Receive


def request_of(scope: Scope, receive: Receive) -> Request:
    """The request of a scope. Of a header that is sent twice the last one counts.

    Its path is below the path that the application is mounted at (`root_path`).
    """
    method, path, headers = scope["method"], scope["path"], scope["headers"]
    assert isinstance(method, str) and isinstance(path, str) and isinstance(headers, list)
    if root := scope.get("root_path"):
        path = path.removeprefix(str(root))
    return Request(method, path, dict(headers), scope, receive)


async def answer(send: Send, status: int, body: bytes, headers: Pairs) -> None:
    """Send a whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


# --- bodies ---------------------------------------------------------------------------------------


class BodyReader:
    """Reads bodies: each bounded in bytes and seconds, and all that are under way bounded
    together.
    """

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._held = 0

    @property
    def held(self) -> int:
        """Bytes of bodies that are not complete yet."""
        return self._held

    async def read(self, request: Request) -> bytes | Trouble:
        """The whole body, or what is wrong with it."""
        limits = self._limits
        declared = request.headers.get(b"content-length", b"0")
        if not declared.isdigit() or len(declared) > 18 or int(declared) > limits.body:
            return "large"
        # Most bodies are there already. A clock is only started for one that is not: that costs
        # more than all the rest.
        steps = request.receive().__await__()
        try:
            waits_for = next(steps)
        except StopIteration as there:
            message: Message = there.value
            if message["type"] == "http.request" and not message.get("more_body"):
                body = message.get("body", b"")
                assert isinstance(body, bytes)
                return body if len(body) <= limits.body else "large"
            return await self._in_time(request, message)
        return await self._in_time(request, None, finish_await(steps, waits_for))

    async def _in_time(
        self, request: Request, message: Message | None, waited: Awaitable[Message] | None = None
    ) -> bytes | Trouble:
        try:
            async with asyncio.timeout(self._limits.seconds):
                if message is None:
                    assert waited is not None
                    message = await waited
                return await self._gather(request, message)
        except TimeoutError:
            return "slow"

    async def _gather(self, request: Request, message: Message) -> bytes | Trouble:
        pieces: list[bytes] = []
        size = 0
        try:
            while message["type"] == "http.request":
                piece = message.get("body", b"")
                assert isinstance(piece, bytes)
                pieces.append(piece)
                size += len(piece)
                self._held += len(piece)
                if size > self._limits.body:
                    return "large"
                if self._held > self._limits.buffered:
                    return "busy"
                if not message.get("more_body"):
                    return b"".join(pieces)
                message = await request.receive()
            return "gone"
        finally:
            self._held -= size


# --- who may ask, and how -------------------------------------------------------------------------

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


class AllowedHosts:
    """Under which names a server answers.

    A page in a browser can make its own name point to this machine and then speak to whatever
    listens there, so a connection on loopback must ask for a local name. `more` are further names
    that are taken; `*` takes any.
    """

    def __init__(self, more: Collection[str] = ()) -> None:
        self._any = "*" in more
        self._taken = LOCAL_NAMES | {name.lower() for name in more}
        self._listed = bool(more)
        self._known: dict[tuple[object, bytes | None], bool] = {}

    def take(self, request: Request) -> bool:
        """Whether a request asks for a name of this server."""
        if self._any:
            return True
        server = request.scope.get("server")
        asked = (
            (server[0] if isinstance(server, tuple | list) and server else None),
            request.headers.get(b"host"),
        )
        known = self._known.get(asked)
        if known is None:
            known = self._takes(*asked)
            if len(self._known) < 64:  # a caller may ask for any number of names
                self._known[asked] = known
        return known

    def _takes(self, address: object, host: bytes | None) -> bool:
        if not self._listed and not (isinstance(address, str) and is_loopback(address)):
            return True
        # HTTP/1.0 needs no name; a browser always sends one
        return host is None or _without_port(host) in self._taken


def _without_port(host: bytes) -> str:
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


def is_json(headers: Headers) -> bool:
    """Whether a body is sent as JSON.

    Anything else a page of another site may send without asking first; so what names no type must
    not come from a browser.
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
    """Start when the server starts and stop when it stops, in one task. A failure is told to the
    server, which then gives up."""
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
