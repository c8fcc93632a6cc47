"""Requests to one server over HTTP: credentials fresh for each, tries that keep the bytes, and no
leaving for other hosts.

A redirect is followed within the origin of the server and nowhere else: what a request carries was
meant for that server. Knows nothing of tools.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Protocol

import aiohttp
import jwt
from msgspec import Struct
from yarl import URL

from toolwire.errors import UsageError
from toolwire.oxp.dialects import RawResponse, retry_after_ms, should_retry
from toolwire.oxp.errors import InvalidResponse, ServerUnavailable

LEAST = 32
"""Bytes that a shared secret must have, or it can be guessed."""
_LOST = (aiohttp.ClientError, TimeoutError, OSError)
_REDIRECTS = 5


class Credentials(Protocol):
    """Who is asking, as headers of one request."""

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
    """A token that somebody else made."""

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
        if len(self.secret.encode() if isinstance(self.secret, str) else self.secret) < LEAST:
            raise UsageError(f"a shared secret needs at least {LEAST} bytes", wire="oxp")

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


class OxpRetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to wait, and how often to try."""

    timeout: float = 60.0
    """Seconds for one try."""
    retries: int = 2
    """Further tries of the same bytes."""
    backoff: float = 0.5
    """Seconds before the second try, if the server does not say; doubled for each further one."""
    poll: float = 1.0
    """Seconds between two looks at a challenge that a user has to meet."""
    longest: float = 30.0
    """Seconds of waiting that are accepted; a server that asks for more is not asked again."""

    def delay(self, tried: int, asked_ms: int | None) -> float | None:
        """Seconds before the next try; None to give up."""
        if tried >= self.retries:
            return None
        if asked_ms is not None:
            return asked_ms / 1000 if asked_ms / 1000 <= self.longest else None
        # Apart by chance, so that many who lost the same server do not all come back at once
        return min(self.backoff * (1 << tried), 8.0) * random.uniform(0.75, 1.0)


class OxpTransport:
    """One server, and the connections to it."""

    def __init__(
        self,
        base_url: str,
        auth: Credentials | None,
        patience: OxpRetryPolicy,
        *,
        limit: int,
        session: aiohttp.ClientSession | None,
    ) -> None:
        self.base = URL(base_url)
        if self.base.scheme not in ("http", "https") or not self.base.host:
            raise UsageError("expected an http or https address", wire="oxp")
        if self.base.user or self.base.password:
            raise UsageError(
                "credentials do not belong into the address; give them as auth", wire="oxp"
            )
        self._prefix = base_url.split("?")[0].split("#")[0].rstrip("/")
        self._auth, self._patience, self._limit = auth, patience, limit
        self._session, self._own = session, session is None

    async def close(self) -> None:
        """Close the connections that were opened here."""
        if self._own and self._session is not None:
            await self._session.close()
            self._session = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> RawResponse:
        """The answer, after as many tries as it takes; every try sends the same bytes.

        Raises ServerUnavailable if there was none at all; an answer that asks for yet another try
        is given back as it is.
        """
        tried, sent = 0, False
        while True:
            asked: int | None = None
            raw: RawResponse | None = None
            try:
                raw = await self._once(
                    method, URL(f"{self._prefix}{path}", encoded=True), body, headers
                )
            except aiohttp.ClientConnectorError as error:
                lost: Exception = error
            except _LOST as error:
                lost, sent = error, True
            else:
                sent = True
                if not should_retry(raw):
                    return raw
                asked = retry_after_ms(raw.headers)
            delay = self._patience.delay(tried, asked)
            if delay is None:
                if raw is not None:
                    return raw
                said = f"{type(lost).__name__}: {lost}"
                raise ServerUnavailable(
                    "the server gave no answer", sent=sent, developer_message=said
                ) from lost
            await asyncio.sleep(delay)
            tried += 1

    async def _once(
        self, method: str, url: URL, body: bytes | None, more: Mapping[str, str] | None
    ) -> RawResponse:
        for _ in range(_REDIRECTS):
            headers = {**(more or {}), **(self._auth.headers() if self._auth is not None else {})}
            raw = await self._exchange(method, url, body, headers)
            if raw.status not in (301, 302, 303, 307, 308):
                return raw
            target = url.join(URL(raw.headers.get("Location", "")))
            if target.origin() != self.base.origin() or (
                method != "GET" and raw.status not in (307, 308)
            ):
                raise InvalidResponse(
                    "the server sent us elsewhere; not followed", status=raw.status
                )
            url = target
        raise InvalidResponse("the server sends us in circles")

    async def peek(self, url: str) -> RawResponse:
        """The answer of an address that the server named. It gets our credentials only if it is the
        server's own."""
        target = URL(url)
        if target.scheme not in ("http", "https") or not target.host or target.user:
            raise InvalidResponse("the server named an address that is none")
        own = target.origin() == self.base.origin() and self._auth is not None
        try:
            return await self._exchange(
                "GET", target, None, self._auth.headers() if own and self._auth is not None else {}
            )
        except _LOST as error:
            raise ServerUnavailable("no answer from the address that the server named") from error

    async def _exchange(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str]
    ) -> RawResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        limit = aiohttp.ClientTimeout(total=self._patience.timeout)
        async with self._session.request(
            method, url, data=body, headers=headers, timeout=limit, allow_redirects=False
        ) as response:
            pieces, size = [], 0
            async for piece in response.content.iter_chunked(65536):
                size += len(piece)
                if size > self._limit:
                    raise InvalidResponse("the answer is too large", status=response.status)
                pieces.append(piece)
            return RawResponse(response.status, response.headers, b"".join(pieces))
