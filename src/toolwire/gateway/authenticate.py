"""Stage 1: identify the client, and check that it may use this server."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from toolwire.gateway.errors import RequestRejected
from toolwire.gateway.keys import KeyHolder, Keys
from toolwire.gateway.request import GatewayRequest, GatewayState
from toolwire.server.asgi import Request, is_json
from toolwire.server.auth import Auth

_SIGNATURE_SCHEME = b"AWS4-HMAC-SHA256"
_SIGNATURE_HELP = (
    "An AWS signature contains no key of this gateway; set AWS_BEARER_TOKEN_BEDROCK to the key."
)
FOREIGN_ORIGIN = "The origin of this page is not in [server] cors_origins."
_KEY_HEADERS = (b"x-api-key", b"x-goog-api-key", b"api-key")


def authenticate(request: GatewayRequest) -> None:
    """Check the Host header, the media type, the origin and the key; set `request.key`.

    Raises:
        RequestRejected: 421, 415, 403, 401 or 429.
    """
    state, headers = request.state, request.headers
    _check_host(request.http, state)
    if b"origin" in headers or b"sec-fetch-site" in headers:  # a browser
        # A page of another site can send everything but JSON without a preflight request.
        if request.http.method == "POST" and not is_json(headers):
            raise RequestRejected("The content type must be application/json.", 415)
        if state.cors.refuses(request.http):
            raise RequestRejected(FOREIGN_ORIGIN, 403)
    if not state.auth.on:
        return
    name, holder = _find_client(state.auth, headers, request.query)
    request.record.key = name
    if holder is not None:
        _take_slot(request, holder)


def authenticate_operator(http: Request, state: GatewayState) -> None:
    """Check the Host header and the key of a request for metrics; it uses none of the key's limits.

    Raises:
        RequestRejected: 421 or 401.
    """
    _check_host(http, state)
    if state.auth.on:
        _find_client(state.auth, http.headers, b"")


def _check_host(http: Request, state: GatewayState) -> None:
    if not state.allowed_hosts.accepts(http):
        host = http.headers.get(b"host", b"").decode("latin-1")[:200]
        raise RequestRejected(f"The host {host} is not in [server] allowed_hosts.", 421)


def _find_client(
    auth: Auth, headers: Mapping[bytes, bytes], query: bytes
) -> tuple[str, KeyHolder | None]:
    """The name of the client and, if it has limits, its key. Raises RequestRejected, 401."""
    with_key = _with_authorization(headers, query)
    holder = auth.find(with_key) if isinstance(auth, Keys) else None
    name = auth.principal(with_key) if holder is None else holder.name
    if name is None:
        message = "The API key is missing or invalid."
        if headers.get(b"authorization", b"").startswith(_SIGNATURE_SCHEME):
            message += f" {_SIGNATURE_HELP}"
        raise RequestRejected(message, 401, headers={"www-authenticate": "Bearer"})
    return name, holder


def _take_slot(request: GatewayRequest, holder: KeyHolder) -> None:
    reached = holder.acquire()
    if reached is not None:
        raise RequestRejected(
            f"This key has reached {reached.reason}. Try again later.",
            429,
            headers={"retry-after": str(ceil(reached.seconds))},
        )
    request.key = holder


def _with_authorization(headers: Mapping[bytes, bytes], query: bytes) -> Mapping[bytes, bytes]:
    """The headers with the key in Authorization: each API's clients send it elsewhere."""
    if b"authorization" in headers:
        return headers
    for name in _KEY_HEADERS:
        if name in headers:
            return {**headers, b"authorization": b"Bearer " + headers[name]}
    for parameter in query.split(b"&"):
        if parameter.startswith(b"key="):
            return {**headers, b"authorization": b"Bearer " + parameter[4:]}
    return headers
