"""A model over HTTP, whatever wire it speaks: asked, listened to, asked again where that helps.

Sent again are only requests that the server was too busy for or that got lost, never one that it
understood and refused: that is reported with what it means. An answer that broke off after
something of it was used is given as far as it came. Keys appear in no error and no log.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time
from types import TracebackType
from typing import Self
from urllib.request import getproxies, proxy_bypass

import aiohttp
from msgspec import Struct
from yarl import URL

from toolwire.agent.events import ModelError, ModelReply, Retry
from toolwire.agent.tool_results import named
from toolwire.codec import Encoded, decode, resolve
from toolwire.conversation.json import Object, dump
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part
from toolwire.errors import InputError
from toolwire.execution.redaction import Redactor
from toolwire.lint import check
from toolwire.lint.explain import explain
from toolwire.providers.api_errors import said
from toolwire.providers.table import ModelEndpoint, address
from toolwire.providers.upstream import allowed
from toolwire.streaming.accumulate import Accumulator, conversation_events
from toolwire.streaming.events import (
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.stream_input import EventInput, resolve_stream

BUSY = frozenset({408, 429})
"""What a server says, beside 500 and above, when it may work later. 408 is its word for a
connection that was too slow."""
NEVER = frozenset({501, 505})
"""Above 500, and yet it will not work later."""
REFUSED = frozenset({400, 413, 422})
"""What a server says when it understood the request and will not have it."""
_AGENT = "toolwire"
_LAST = 0.25
"""Seconds for a server to close a stream that is over, so that the connection can be used again."""
_LARGEST = 64 << 20
"""Bytes of an answer that came whole, at most."""
_PASSING = (
    "overloaded",
    "rate_limit",
    "rate limit",
    "throttl",
    "timeout",
    "unavailable",
    "internal",
    "server_error",
)
_SECRET = 12
"""So long a header field that the user gave counts as a secret."""
_LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)


class RetryPolicy(Struct, frozen=True):
    """How long a model is waited for, and how often it is asked."""

    tries: int = 5
    first: float = 0.5
    """Seconds before the second try; doubled each time."""
    longest: float = 30.0
    """Seconds between two tries, at most."""
    obey: float = 120.0
    """A server that wants to be left alone for longer is not waited for."""
    connect: float = 15.0
    silence: float = 300.0
    """Seconds without a byte after which a connection counts as lost."""


PATIENCE = RetryPolicy()


class HttpModel:
    """A model of some provider. `text` names it, as in `anthropic:some-model`; keys come from the
    environment."""

    def __init__(
        self,
        text: str | ModelEndpoint,
        *,
        base: str | None = None,
        key: str | None = None,
        env: Mapping[str, str] | None = None,
        stream: bool = True,
        native: bool | None = None,
        patience: RetryPolicy = PATIENCE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        found = (
            address(text, os.environ if env is None else env, base=base, key=key)
            if isinstance(text, str)
            else text
        )
        self.address = found
        self.stream = stream
        self.native = found.row.native if native is None else native
        self.patience = patience
        self._more = dict(headers or {})
        self._wire = resolve(found.row.profile)[0].name
        self._hide = Redactor(
            [*found.secrets(), *(value for value in self._more.values() if len(value) >= _SECRET)]
        )
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[str, str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def name(self) -> str:
        """As it is called in the request."""
        return self.address.model

    @property
    def target(self) -> str:
        """The profile it speaks."""
        return self.address.row.profile

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None and self._loop is asyncio.get_running_loop():
            await self._session.close()
        self._session = None

    def _connected(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._loop is not loop:
            wait = aiohttp.ClientTimeout(
                total=None, sock_connect=self.patience.connect, sock_read=self.patience.silence
            )
            self._session = aiohttp.ClientSession(
                timeout=wait
            )  # not trust_env: it reads passwords from a file
            self._loop = loop
        return self._session

    # --- one answer -------------------------------------------------------------------------------

    async def ask(self, body: Encoded) -> AsyncIterator[Event | Retry | ModelReply]:
        """The answer as it comes; the last one is the reply. Raises ModelError."""
        if not isinstance(body.body, dict):
            raise ModelError("a request is a JSON object")
        request = self.address.body(body.body, stream=self.stream)
        for n in range(1, self.patience.tries + 1):
            try:
                async with aclosing(self._once(request)) as answer:
                    async for event in answer:
                        yield event
                return
            except ModelError as error:
                if (
                    not error.again
                    or n == self.patience.tries
                    or (error.after or 0.0) > self.patience.obey
                ):
                    raise
                wait = self._wait(n, error.after)
                yield Retry(error.message, wait)
                await asyncio.sleep(wait)

    def _wait(self, n: int, after: float | None) -> float:
        if after is not None:
            return after
        return min(self.patience.first * 2.0 ** (n - 1), self.patience.longest) * random.uniform(
            0.75, 1.25
        )

    async def _once(self, request: Object) -> AsyncGenerator[Event | ModelReply]:
        try:
            async with self._post(request) as response:
                if response.status >= 300:
                    raise self._refused(response, await _read(response), request)
                if self.stream and "application/json" not in response.headers.get(
                    "content-type", ""
                ):
                    async with aclosing(self._streamed(response)) as events:
                        async for event in events:
                            yield event
                    return
                for event in self._whole(await _read(response)):
                    yield event
        except _LOST as error:
            raise ModelError(
                f"{self.address.row.name}: {self._words(error)}", again=_may_pass(error)
            ) from None

    def _post(self, request: Object) -> aiohttp.client._RequestContextManager:
        url, data = self.address.url(stream=self.stream), dump(request)
        headers = {
            "content-type": "application/json",
            "user-agent": _AGENT,
            **dict(self.address.row.headers),
            **self._more,
        }
        signed = allowed(self.address, url, headers, data)
        at = URL(
            url,
            encoded=True,
            # the path is sent as it is signed: another spelling of it has another signature
        )
        at = at.with_user(None) if "authorization" in signed else at
        return self._connected().post(
            at, data=data, headers=signed, allow_redirects=False, proxy=self._proxy(at)
        )

    def _proxy(self, url: URL) -> str | None:
        """The way out that the environment names, if it names one for this address."""
        if self._proxies is None:
            self._proxies = {} if proxy_bypass(url.host or "") else getproxies()
        return self._proxies.get(url.scheme)

    def _words(self, error: BaseException) -> str:
        text = self._hide(str(error))
        return f"{type(error).__name__}: {text}" if text else type(error).__name__

    # --- what comes back --------------------------------------------------------------------------

    def _whole(self, data: bytes) -> list[Event | ModelReply]:
        name = self.address.row.name
        try:
            read = decode(data, self._wire, "response")
        except InputError as error:  # some servers report errors with the status of success
            text = self._hide(said(data))
            raise ModelError(
                f"{name}: not an answer: {self._hide(str(error))}: {text}", again=_passes(text)
            ) from None
        if not read.messages:
            text = self._hide(said(data))
            raise ModelError(f"{name}: an answer without a message: {text}", again=_passes(text))
        usage = read.settings.get("usage")
        return [
            *conversation_events(read),
            ModelReply(read.messages[0], usage if isinstance(usage, Usage) else None),
        ]

    async def _streamed(
        self, response: aiohttp.ClientResponse
    ) -> AsyncGenerator[Event | ModelReply]:
        heard = ReplyReader(self._wire)
        broken: str | None = None
        try:
            async for data in response.content.iter_any():
                for event in heard.take(data):
                    yield self._told(event)
                if heard.over:
                    await _closed(response)
                    break
        except _LOST as error:
            broken = self._words(error)
        for event in heard.end():
            yield self._told(event)
        name, fault = self.address.row.name, heard.fault
        if not heard.calls and fault is not None:
            again = fault.cut or _passes(f"{fault.code or ''} {fault.message}")
            raise ModelError(f"{name}: {broken or self._hide(fault.message)}", again=again)
        if not heard.calls and broken is not None and not heard.stop:
            raise ModelError(f"{name}: {broken}", again=True)
        yield heard.reply()

    def _told(self, event: Event) -> Event:
        return (
            StreamError(self._hide(event.message), event.code, event.cut)
            if isinstance(event, StreamError)
            else event
        )

    def _refused(
        self, response: aiohttp.ClientResponse, data: bytes, request: Object
    ) -> ModelError:
        """What a status that is none of success means."""
        text = self._hide(said(data))
        status, name = response.status, self.address.row.name
        message = f"{name} said {status}: {text}"
        if status < 400:
            return ModelError(
                f"{name} said {status}: it is elsewhere, and nobody is followed there with a key",
                status=status,
            )
        if status in (401, 403):
            keys = " or ".join(self.address.row.keys) or "the key"
            return ModelError(f"{message} (see {keys})", status=status)
        again = status in BUSY or (status >= 500 and status not in NEVER)
        told = explain(text, request, self.target) if status in REFUSED else []
        wrong = status in REFUSED and (
            bool(told) or any(one.severity == "error" for one in check(request, self.target))
        )
        return ModelError(
            message,
            status=status,
            defect=wrong,
            again=again,
            after=_after(response.headers),
            meaning=tuple(map(str, told)),
        )


class ReplyReader:
    """A stream being listened to: its neutral events, and the message that they come to."""

    def __init__(self, wire: str) -> None:
        spoken, how = resolve_stream(wire)
        self._wire = spoken.name
        self._events = EventInput(spoken.name, how)
        self._reader = how.reader(keep=True)
        self._open = Accumulator()
        self._parts: list[Part] = []
        self._cut = False
        self.calls = 0
        """Calls that are complete."""
        self.fault: StreamError | None = None
        self.stop: str | None = None
        """Why the model stopped, if it said so."""

    @property
    def over(self) -> bool:
        """Whether nothing more is to come."""
        return self._events.done or self._reader.over or self.fault is not None

    def take(self, data: bytes) -> list[Event]:
        """What some bytes say."""
        try:
            found = self._events.read(data)
        except InputError as error:
            found = [StreamError(str(error))]
        out: list[Event] = []
        for event in found:
            if isinstance(event, StreamError):
                out.append(event)
            else:
                out += self._reader.read(event)
                self._reader.count += 1
        return self._seen(out)

    def end(self) -> list[Event]:
        """What is left to say."""
        rest: list[Event] = []
        for event in self._events.end():
            rest += [event] if isinstance(event, StreamError) else self._reader.read(event)
        self._reader.done = self._events.done
        return self._seen([*rest, *(self._reader.end() if self.fault is None else [])])

    def _seen(self, events: list[Event]) -> list[Event]:
        for event in events:
            part: Part | None = None
            match event:
                case PartStart(choice=0):
                    self._open.start(event)
                case PartEnd(slot=slot, cut=cut) if slot in self._open:
                    whole = named(self._open.end(event), event)
                    self._cut = self._cut or cut
                    part = None if cut and isinstance(whole, Call) else whole
                case PartComplete(part=part, choice=0):
                    pass
                case StreamError():
                    self.fault = self.fault or event
                case Finish(stop=stop, choice=0):
                    self.stop = stop
                case PartDelta(slot=slot) if slot in self._open:
                    self._open.delta(event)
            if part is not None:
                self._parts.append(part)
                self.calls += isinstance(part, Call) and part.executor == "client"
        return events

    def reply(self) -> ModelReply:
        """The message; if the stream broke off, what is complete of it."""
        usage: Usage | None = None
        try:
            read = decode(self._reader.body(), self._wire, "response")
            found = read.settings.get("usage")
            usage = found if isinstance(found, Usage) else None
        except InputError:
            read = None
        if self._cut or self.fault is not None or read is None or not read.messages:
            return ModelReply(
                Message("assistant", tuple(self._parts), self.stop or "error"), usage, cut=True
            )
        return ModelReply(read.messages[0], usage)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer. Raises ClientPayloadError if there is no end of it."""
    out = bytearray()
    async for data in response.content.iter_any():
        out += data
        if len(out) > _LARGEST:
            raise aiohttp.ClientPayloadError(f"more than {_LARGEST} bytes")
    return bytes(out)


async def _closed(response: aiohttp.ClientResponse) -> None:
    """Let a stream that is over come to its end: its connection can be used again then."""
    with suppress(*_LOST):
        async with asyncio.timeout(_LAST):
            while await response.content.readany():
                pass


def _may_pass(error: Exception) -> bool:
    """Whether a connection may come about later: not if the address or the certificate is wrong."""
    return not isinstance(error, aiohttp.InvalidURL | aiohttp.ClientSSLError)


def _passes(text: str) -> bool:
    """Whether an error is one that may be gone the next time, by its words."""
    low = text.lower()
    return any(word in low for word in _PASSING)


def _after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server wants to be left alone."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * factor
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time()
            except (ValueError, OverflowError):
                continue
        if isfinite(seconds):
            return max(0.0, seconds)
    return None
