"""Cross-origin requests: pages of named origins may use a server, all others may not.

A browser asks first (a preflight request) before a page of another origin may send JSON. It shows
the response to the page only if the response names the origin of the page. No cookies are involved:
a page authenticates like every other client.

A server on loopback does not rely on the browser: it refuses what a page of another site sends.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from toolwire.server.asgi import Headers, Message, RawHeaders, Request, Send, is_on_loopback

PREFLIGHT_SECONDS = b"600"
"""How long a browser may remember the answer to a preflight request."""
_METHODS = b"GET, POST, DELETE, OPTIONS"
_EXPOSED = (
    b"retry-after, x-request-id, x-toolwire-explain, x-toolwire-losses,"
    b" x-toolwire-paired-by-order, x-toolwire-repairs, x-toolwire-restored"
)
_NO_ORIGIN = "is not an origin; write it as https://app.example or http://localhost:3000"
_LOCAL_FILES = "file://"
"""The origin of desktop applications whose pages are files. Websites cannot have it, nor the
schemes of applications, such as tauri://localhost."""
_MAX_HEADER = 4096
_VARY = (b"vary", b"origin")
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN_PAGE = (b"same-origin", b"none")
"""Values of `Sec-Fetch-Site` for requests in which no other site is involved. Pages cannot set
it."""


def check_origin(origin: str) -> str | None:
    """The problem with an origin in a configuration; None if it is valid."""
    try:
        parts = urlsplit(origin)
    except ValueError:  # an invalid IPv6 address in brackets
        return _NO_ORIGIN
    if not parts.scheme or not (parts.netloc or origin == _LOCAL_FILES):
        return _NO_ORIGIN
    if origin != f"{parts.scheme}://{parts.netloc}".lower():
        return f"is not an origin; write {parts.scheme}://{parts.netloc.lower()}"
    return None


def is_own_page(headers: Headers) -> bool:
    """True if no page of another origin sends a request.

    Behind a proxy, the Host header may differ from the host of the page. Browsers report in
    `Sec-Fetch-Site` whether the origins are the same, if the address is https or local.
    """
    origin = headers.get(b"origin")
    if origin is None or headers.get(b"sec-fetch-site") in _OWN_PAGE:
        return True
    return origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


class CorsPolicy:
    """The origins whose pages may use a server."""

    def __init__(self, origins: Collection[str] = ()) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)

    def allows(self, request: Request) -> bool:
        """True if a request comes from a page of a named origin."""
        return request.headers.get(b"origin") in self._origins

    def refuses(self, request: Request) -> bool:
        """True if a page of another site sends a request with an effect to this machine."""
        if b"origin" not in request.headers or request.method in _SAFE_METHODS:
            return False
        return not (
            self.allows(request)
            or is_own_page(request.headers)
            or not is_on_loopback(request.scope)
        )

    def preflight(self, request: Request) -> RawHeaders | None:
        """The headers of the response to a preflight request; None for another request, or if the
        origin is not allowed."""
        headers = request.headers
        if request.method != "OPTIONS" or b"access-control-request-method" not in headers:
            return None
        if not self.allows(request):
            return None
        wanted = headers.get(b"access-control-request-headers", b"")
        allowed = [
            (b"access-control-allow-origin", headers[b"origin"]),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", wanted[:_MAX_HEADER]),
            (b"access-control-max-age", PREFLIGHT_SECONDS),
            _VARY,
        ]
        if b"access-control-request-private-network" in headers:
            allowed.append((b"access-control-allow-private-network", b"true"))
        return allowed

    def share(self, request: Request, send: Send) -> Send:
        """A `send` that lets the page of a request read the response."""
        more: RawHeaders = (
            (b"access-control-allow-origin", request.headers[b"origin"]),
            (b"access-control-expose-headers", _EXPOSED),
            _VARY,
        )

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                assert isinstance(headers, list | tuple)
                message = {**message, "headers": [*headers, *more]}
            await send(message)

        return send_shared
