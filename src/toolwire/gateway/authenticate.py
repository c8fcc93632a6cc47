"""Stage 1: who sends the request, and whether this server may answer it."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from toolwire.gateway.errors import RequestRejected
from toolwire.gateway.keys import KeyHolder, Keys
from toolwire.gateway.request import GatewayRequest
from toolwire.server.asgi import is_json

_KEY_HEADERS = (b"x-api-key", b"x-goog-api-key", b"api-key")


def authenticate(request: GatewayRequest) -> None:
    """Check the Host header, the media type and the key; set `request.key`.

    Raises:
        RequestRejected: 421, 415, 401 or 429.
    """
    state, headers = request.state, request.headers
    if not state.allowed_hosts.take(request.http):
        host = headers.get(b"host", b"").decode("latin-1")[:200]
        raise RequestRejected(f"The host {host} is not in [server] allowed_hosts.", 421)
    # A page of another site can send everything but JSON without a preflight request.
    from_browser = b"origin" in headers or b"sec-fetch-site" in headers
    if from_browser and not is_json(headers):
        raise RequestRejected("The content type must be application/json.", 415)
    if not state.auth.on:
        return
    with_key = _with_authorization(headers, request.query)
    holder = state.auth.find(with_key) if isinstance(state.auth, Keys) else None
    name = state.auth.principal(with_key) if holder is None else holder.name
    if name is None:
        raise RequestRejected(
            "The API key is missing or invalid.", 401, headers={"www-authenticate": "Bearer"}
        )
    request.record.key = name
    if holder is not None:
        _take_slot(request, holder)


def _take_slot(request: GatewayRequest, holder: KeyHolder) -> None:
    wait = holder.acquire()
    if wait is not None:
        raise RequestRejected(
            "This key has reached its limit of requests. Try again later.",
            429,
            headers={"retry-after": str(ceil(wait))},
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
