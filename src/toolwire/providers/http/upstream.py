"""Requests to models: pooled, authorized, streamed, never redirected.

Only the configuration decides where a request goes. Keys are sent in their header field and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping

from msgspec import Struct

from toolwire.providers.credentials import authorize, signs_requests
from toolwire.providers.endpoints import ModelEndpoint
from toolwire.providers.http.client import HttpClient
from toolwire.providers.http.policy import TIMEOUTS, Timeouts
from toolwire.providers.http.proxy import Route, find_route
from toolwire.providers.http.response import Response

CONNECTION_ERRORS = (OSError,)
"""Raised if a server cannot be reached, closes the connection, or is silent for too long."""
_HEADERS = {
    "content-type": "application/json",
    "user-agent": "toolwire",
    "accept": "*/*",
    "accept-encoding": "identity",
}
_MAX_ENDPOINTS = 1000
_MAX_HEADS, _MAX_HEAD_BYTES = 8, 4096
"""Heads that are kept for one endpoint, and their size. Its clients send the same few header fields
again and again: the version of an API, a beta feature."""
_NO_BODY = b"content-length: 0\r\n\r\n"


class _PreparedRequest(Struct):
    """The data that all requests to one endpoint share."""

    endpoint: ModelEndpoint
    url: str
    route: Route
    signed: bool
    """True if every request is signed individually."""
    heads: dict[tuple[tuple[str, str], ...], bytes] = {}
    """Heads up to the length of the body, by the further header fields."""

    def head(self, body: bytes, extra: Mapping[str, str]) -> bytes:
        """The head of a request. Raises ValueError if a header field cannot be sent."""
        if self.signed:
            return self.route.request_head(self._headers(body, extra), len(body))
        start = self.heads.get(tuple(extra.items())) or self._prepare_head(extra)
        return b"%bcontent-length: %d\r\n\r\n" % (start, len(body))

    def _prepare_head(self, extra: Mapping[str, str]) -> bytes:
        start = self.route.request_head(self._headers(b"", extra), 0).removesuffix(_NO_BODY)
        if len(start) <= _MAX_HEAD_BYTES:
            if len(self.heads) >= _MAX_HEADS:  # a trace has another header field in each request
                self.heads.clear()
            self.heads[tuple(extra.items())] = start
        return start

    def _headers(self, body: bytes, extra: Mapping[str, str]) -> dict[str, str]:
        """The header fields of a request."""
        given = {**_HEADERS, **dict(self.endpoint.provider.headers), **extra}
        fields = authorize(self.endpoint, self.url, given, body)
        login = self.route.url.basic_auth
        if login is not None and "authorization" not in fields:
            fields["authorization"] = login
        return fields

    def __repr__(self) -> str:
        """The request without the login and the key, which are in several fields."""
        return f"_PreparedRequest({self.route.url!r})"


class Upstream:
    """The connections of one process to all models."""

    def __init__(self) -> None:
        self._client = HttpClient()
        self._prepared: dict[tuple[ModelEndpoint, bool, str | None], _PreparedRequest] = {}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def post(
        self,
        endpoint: ModelEndpoint,
        body: bytes,
        *,
        stream: bool,
        headers: Mapping[str, str] | None = None,
        url: str | None = None,
        timeouts: Timeouts = TIMEOUTS,
    ) -> Coroutine[None, None, Response]:
        """Send a request to a model and return its response, whose body is still to be read.

        Args:
            endpoint: The model.
            body: The request, as the provider wants it.
            stream: True to request a stream.
            headers: Further header fields.
            url: Where the request goes instead of the endpoint's own URL.
            timeouts: How long to wait.

        Raises:
            ConnectError: There is no connection. Nothing was sent.
            OSError: The connection broke, or the server was silent for too long.
            ValueError: The URL or a header field cannot be sent.
        """
        prepared = self._prepared.get((endpoint, stream, url)) or self._prepare(
            endpoint, stream, url
        )
        head = prepared.head(body, headers or {})
        return self._client.connections().send(prepared.route, head, body, timeouts=timeouts)

    def _prepare(self, endpoint: ModelEndpoint, stream: bool, url: str | None) -> _PreparedRequest:
        target = url or endpoint.url(stream=stream)
        route, signed = find_route(target), signs_requests(endpoint)
        prepared = _PreparedRequest(endpoint, target, route, signed)
        if len(self._prepared) >= _MAX_ENDPOINTS:  # models may be named by clients
            self._prepared.clear()
        self._prepared[endpoint, stream, url] = prepared
        return prepared
