"""Requests to one server over HTTP: new credentials for each request, retries with the same bytes.

Redirects are followed only within the origin of the server: arguments and credentials are meant for
that server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urljoin

import jwt
from msgspec import Struct

from toolwire.errors import UsageError
from toolwire.oxp.dialects import RawResponse, should_retry
from toolwire.oxp.errors import InvalidResponse, ServerUnavailable
from toolwire.providers.http.client import HttpClient
from toolwire.providers.http.errors import ConnectError
from toolwire.providers.http.policy import RetryPolicy, Timeouts, retry_after
from toolwire.providers.http.url import Url, parse_url

LEAST = 32
"""The minimum number of bytes of a shared secret; a shorter one could be guessed."""
TIMEOUTS = Timeouts(idle=60.0, total=60.0)
RETRY_POLICY = RetryPolicy(attempts=3, max_backoff=8.0, max_retry_after=30.0)
_MAX_REDIRECTS = 5


class Credentials(Protocol):
    """The credentials of a client, as headers of one request."""

    def headers(self) -> Mapping[str, str]: ...


class ApiKey(Struct, frozen=True):
    """A static key."""

    key: str

    def headers(self) -> Mapping[str, str]:
        return {"OXP-API-Key": self.key}

    def __repr__(self) -> str:
        return "ApiKey(…)"

    __str__ = __repr__


class Bearer(Struct, frozen=True):
    """A token that another program has issued."""

    token: str

    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def __repr__(self) -> str:
        return "Bearer(…)"

    __str__ = __repr__


class Jwt(Struct, frozen=True):
    """A secret shared with the server: every request gets a token of its own, valid for `lifetime`
    seconds."""

    secret: str | bytes
    audience: str | None = None
    subject: str | None = None
    lifetime: float = 300.0

    def __post_init__(self) -> None:
        secret = self.secret.encode() if isinstance(self.secret, str) else self.secret
        if len(secret) < LEAST:
            problem = f"a shared secret needs at least {LEAST} bytes, got {len(secret)}"
            raise UsageError(problem, wire="oxp")

    def headers(self) -> Mapping[str, str]:
        now = int(time.time())
        claims: dict[str, str | int] = {"iat": now, "exp": now + int(self.lifetime)}
        if self.audience is not None:
            claims["aud"] = self.audience
        if self.subject is not None:
            claims["sub"] = self.subject
        return {"Authorization": f"Bearer {jwt.encode(claims, self.secret, algorithm='HS256')}"}

    def __repr__(self) -> str:
        return "Jwt(…)"

    __str__ = __repr__


class OxpTransport:
    """One server, and the connections to it."""

    def __init__(
        self,
        base_url: str,
        auth: Credentials | None,
        *,
        timeouts: Timeouts,
        retry: RetryPolicy,
        largest: int,
    ) -> None:
        self.base_url = base_url.split("?")[0].split("#")[0].rstrip("/")
        self._auth, self._timeouts, self._retry, self._largest = auth, timeouts, retry, largest
        self._client = HttpClient()
        try:
            url = parse_url(base_url)
        except ValueError:
            raise UsageError(
                "expected an http or https address, such as https://tools.example/v1", wire="oxp"
            ) from None
        if url.login is not None:
            raise UsageError(
                "credentials do not belong in the address; pass them as auth=", wire="oxp"
            )
        self._origin = url.origin

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> RawResponse:
        """Send a request and return its response; retry after transient failures, with the same
        bytes.

        Raises:
            ServerUnavailable: There was no response. A response that asks for yet another retry is
                returned.
        """
        attempt, sent = 1, False
        while True:
            response: RawResponse | None = None
            error: OSError | None = None
            try:
                response = await self._follow(method, f"{self.base_url}{path}", body, headers or {})
            except ConnectError as failure:
                error = failure
            except OSError as failure:
                error, sent = failure, True
            else:
                sent = True
                if not should_retry(response):
                    return response
            requested_delay = None if response is None else retry_after(response.headers)
            delay = self._retry.delay(attempt, requested_delay)
            if delay is None and response is not None:
                return response
            if delay is None:
                assert error is not None
                raise self._unavailable(error, sent=sent) from error
            await asyncio.sleep(delay)
            attempt += 1

    def _unavailable(self, error: OSError, *, sent: bool) -> ServerUnavailable:
        message = f"{self._origin} gave no response"
        if isinstance(error, ConnectError):
            message = str(error)
            if error.refused:
                message += "; start the tool server (`toolwire serve`), or correct the address"
        developer = f"{type(error).__name__}: {error}"
        return ServerUnavailable(message, sent=sent, developer_message=developer)

    async def _follow(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> RawResponse:
        """Send a request; follow redirects within the origin of the server."""
        for _ in range(_MAX_REDIRECTS):
            credentials = {} if self._auth is None else self._auth.headers()
            response = await self._exchange(method, url, body, {**headers, **credentials})
            if response.status not in (301, 302, 303, 307, 308):
                return response
            target = urljoin(url, response.headers.get("location", ""))
            keeps_body = method == "GET" or response.status in (307, 308)
            if not keeps_body or _parse(target).origin != self._origin:
                raise InvalidResponse(
                    "the server redirects the request to another origin, or without its body",
                    status=response.status,
                )
            url = target
        raise InvalidResponse("too many redirects")

    async def get(self, url: str) -> RawResponse:
        """Return the response of a URL that the server named. Only the server's own origin gets
        the credentials.

        Raises:
            ServerUnavailable: There was no response.
            InvalidResponse: The text is not a URL.
        """
        target = _parse(url)
        if target.login is not None:
            raise InvalidResponse("the server sent a URL with credentials")
        headers: Mapping[str, str] = {}
        if self._auth is not None and target.origin == self._origin:
            headers = self._auth.headers()
        try:
            return await self._exchange("GET", url, b"", headers)
        except OSError as error:
            raise self._unavailable(error, sent=True) from error

    async def _exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> RawResponse:
        try:
            response, data = await self._client.fetch(
                method,
                url,
                headers=headers,
                body=body,
                timeouts=self._timeouts,
                largest=self._largest,
            )
        except ValueError as error:
            raise InvalidResponse(str(error)) from None
        return RawResponse(response.status, response.headers, data)


def _parse(url: str) -> Url:
    try:
        return parse_url(url)
    except ValueError:
        raise InvalidResponse("the server sent text that is not a URL") from None
