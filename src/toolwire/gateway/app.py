"""The gateway as an ASGI app: every front wire to every model.

Finds out whose path it is, who asks and which model is meant; the rest is an exchange. Keeps
nothing between requests: any replica can serve any of them. Knows no wire by name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from math import ceil
from typing import Protocol

from toolwire.conversation.json import Object, dump
from toolwire.errors import DecodeError
from toolwire.gateway.cancel_on_disconnect import DisconnectTimes, DisconnectWatch
from toolwire.gateway.client_apis import RouteMatch, RouteTable
from toolwire.gateway.config import Config, ModelRow, ModelTable, ModelTarget
from toolwire.gateway.errors import RequestRejected, UpstreamFailed, pairs
from toolwire.gateway.forward import GatewayRequest, Translators, exchanged
from toolwire.gateway.keys import KeyHolder, Keys
from toolwire.gateway.model_list import listed, one_model, shown
from toolwire.gateway.observer import Observer, RequestRecord
from toolwire.gateway.tools import GatewayTools
from toolwire.gateway.translator import parsed
from toolwire.providers.api_errors import ApiError, write_error
from toolwire.providers.http.upstream import Upstream
from toolwire.server.asgi import (
    MIB,
    AllowedHosts,
    BodyLimits,
    BodyReader,
    Pairs,
    Receive,
    Request,
    Scope,
    Send,
    Trouble,
    answer,
    is_json,
    lifespan,
    request_of,
)
from toolwire.server.auth import NOBODY, Auth

_log = logging.getLogger("toolwire.gateway")
_JSON: Pairs = ((b"content-type", b"application/json"),)
_METRICS: Pairs = ((b"content-type", b"text/plain; version=0.0.4; charset=utf-8"),)
_TROUBLE: dict[Trouble, tuple[str, int]] = {
    "large": ("The request is too large.", 413),
    "slow": ("The request came too slowly.", 408),
    "busy": ("Too many requests are arriving at once.", 503),
}


class Services(Protocol):
    """What is opened and closed with a gateway."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...


class Gateway:
    """An ASGI app that serves models to clients of every front wire."""

    def __init__(
        self,
        models: ModelTable,
        *,
        auth: Auth = NOBODY,
        strict: bool | None = None,
        watch: Observer | None = None,
        own: GatewayTools | None = None,
        beside: Sequence[Services] = (),
    ) -> None:
        """`own` are tools that are run here; `beside` is opened and closed with it."""
        self.auth = auth
        self.own = own
        self._beside = tuple(beside)
        self.failure: Exception | None = None
        self.watch = watch or Observer()
        self._models = models
        self._strict = strict
        self._routes = RouteTable()
        self._relays = Translators()
        self._upstream = Upstream()
        self._names = AllowedHosts(models.config.server.names)
        self._intake = BodyReader(
            BodyLimits(body=int(models.config.server.body_mb * MIB), buffered=1024 * MIB)
        )
        self._busy: dict[int, tuple[ModelRow, asyncio.Semaphore]] = {}
        self._moments = DisconnectTimes()
        """Of the event loop that opened it."""
        self._draining = False

    @property
    def config(self) -> Config:
        """The configuration that counts now."""
        return self._models.config

    def use(self, models: ModelTable) -> None:
        """Go on with another configuration; what is under way keeps the one it began with."""
        self._models = models
        self._busy = {}

    async def _open(self) -> None:
        self._opened = AsyncExitStack()
        self._moments = DisconnectTimes()
        try:
            self._opened.push_async_callback(self._upstream.close)
            for one in self._beside:
                await one.open()
                self._opened.push_async_callback(one.close)
            if self.own is not None:
                await self.own.open()
        except Exception as error:
            self.failure = error
            await self._opened.aclose()
            raise

    async def _close(self) -> None:
        if self.own is not None:
            await self.own.close()
        await self._opened.aclose()

    def drain(self) -> None:
        """Say on `/health` that it is over."""
        self._draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self._open, self._close)
            return
        request = request_of(scope, receive)
        routed = self._routes.find(request.method, request.path)
        if routed is None:
            await self._aside(request, send)
            return
        seen = self.watch.begin(routed.front.wire, request.headers)
        try:
            await self._routed(request, routed, send, seen)
        except Exception as error:
            _log.exception("a request was not answered as it should be")
            seen.error = f"{type(error).__name__} in the gateway"
            if (
                seen.first is not None
            ):  # the answer has begun: all that can be done is to break it off
                raise
            seen.status = 500
            body, media = write_error(
                routed.front.wire, ApiError("The gateway made a mistake; its log says which.", 500)
            )
            await answer(send, 500, body, pairs({"content-type": media}))
        finally:
            self.watch.over(seen)

    async def _aside(self, request: Request, send: Send) -> None:
        """What is no path of a front wire."""
        if request.path in ("/health", "/healthz"):
            status = 503 if self._draining else 200
            await answer(
                send, status, dump({"status": "draining" if self._draining else "ok"}), _JSON
            )
            return
        if request.path == "/metrics" and request.method == "GET":
            await answer(send, 200, self.watch.render().encode(), _METRICS)
            return
        methods = self._routes.methods(request.path)
        status = 405 if methods else 404
        headers = [*_JSON, *([(b"allow", ", ".join(methods).encode())] if methods else [])]
        told = f"{request.method} {request.path[:200]} is not served here"
        await answer(
            send,
            status,
            dump({"error": {"message": told, "type": "invalid_request_error"}}),
            headers,
        )

    async def _routed(
        self, request: Request, routed: RouteMatch, send: Send, seen: RequestRecord
    ) -> None:
        holder: KeyHolder | None = None
        try:
            holder = self._allowed(request, seen)
            if routed.does in ("models", "model"):
                await self._list(request, routed, send, seen)
                return
            raw = await self._intake.read(request)
            if isinstance(raw, bytes):
                seen.took(raw)
                with DisconnectWatch(request.receive, self._moments) as leaving:
                    await self._asked(request, routed, raw, send, seen, holder)
                seen.gone = leaving.gone
            elif raw == "gone":
                seen.gone = True
            else:
                raise RequestRejected(*_TROUBLE[raw])
        except RequestRejected as no:
            seen.status, seen.error = no.status, no.message
            body, media = write_error(routed.front.wire, ApiError(no.message, no.status, no.code))
            seen.said(body)
            await answer(send, no.status, body, pairs({"content-type": media, **no.headers}))
        finally:
            if holder is not None:
                holder.give()

    def _allowed(self, request: Request, seen: RequestRecord) -> KeyHolder | None:
        """The key that is used, if keys are kept here. Raises Refused."""
        if not self._names.take(request):
            raise RequestRejected("This server does not answer to that name.", 421)
        # A page of another site can send anything but JSON without asking first
        if not is_json(request.headers) and (
            b"origin" in request.headers or b"sec-fetch-site" in request.headers
        ):
            raise RequestRejected("A request is sent as application/json.", 415)
        if not self.auth.on:
            return None
        headers = _keyed(request)
        held = self.auth.holder(headers) if isinstance(self.auth, Keys) else None
        name = self.auth.principal(headers) if held is None else held.name
        if name is None:
            raise RequestRejected(
                "The key is missing or not known here.", 401, headers={"www-authenticate": "Bearer"}
            )
        seen.key = name
        if held is not None and (wait := held.take()) is not None:
            told = "This key has reached its limit of requests. Please try again later."
            raise RequestRejected(told, 429, headers={"retry-after": str(ceil(wait))})
        return held

    async def _list(
        self, request: Request, routed: RouteMatch, send: Send, seen: RequestRecord
    ) -> None:
        wire = "anthropic" if b"anthropic-version" in request.headers else routed.front.wire
        if routed.does == "models":
            body = listed(wire, self._models.names())
        else:
            name = (routed.model or "").removeprefix("models/")
            if not self._models.find(name):
                raise _unknown(name)
            body = one_model(wire, name)
        seen.status = 200
        await answer(send, 200, dump(body), _JSON)

    async def _asked(
        self,
        request: Request,
        routed: RouteMatch,
        raw: bytes,
        send: Send,
        seen: RequestRecord,
        holder: KeyHolder | None,
    ) -> None:
        try:
            value = parsed(raw, routed.front.wire)
        except DecodeError as error:
            raise RequestRejected(error.why) from None
        targets = self._targets(routed, value, seen, holder)
        if routed.does == "show":
            seen.status = 200
            await answer(send, 200, dump(shown(seen.model)), _JSON)
            return
        seen.stream = routed.does == "stream" or (
            routed.does == "answer" and routed.front.streams(value)
        )
        strict = self.config.server.strict if self._strict is None else self._strict
        asked = GatewayRequest(
            request, routed, raw, send, seen, strict=strict, own=self.own, relays=self._relays
        )
        failed: UpstreamFailed | None = None
        for target in targets:
            seen.tries += 1
            seen.upstream = target.address.provider.name
            try:
                if target.row.concurrency is None:
                    await exchanged(asked, target, self._upstream)
                else:
                    await self._in_turn(asked, target, target.row.concurrency)
                return
            except UpstreamFailed as error:
                failed = error
                if not error.again:
                    break
        assert failed is not None
        if failed.raw is None:
            raise RequestRejected(failed.message, failed.status, headers=failed.headers)
        seen.status, seen.error = failed.status, failed.message
        seen.said(failed.raw)
        await answer(
            send,
            failed.status,
            failed.raw,
            pairs({"content-type": "application/json", **failed.headers}),
        )

    def _targets(
        self, routed: RouteMatch, value: Object, seen: RequestRecord, holder: KeyHolder | None
    ) -> list[ModelTarget]:
        """The models that may answer, the first one first. Raises Refused."""
        given = routed.model or value.get("model")
        name = given.removeprefix("models/") if isinstance(given, str) else None
        if not name and self.config.server.default is None:
            raise RequestRejected(
                "The request does not say which model it is for.", code="missing_model"
            )
        targets = self._models.find(name)
        if not targets:
            raise _unknown(name or "")
        seen.model = name or targets[0].name
        if holder is not None and not holder.may(seen.model):
            raise RequestRejected(f"This key may not use the model `{seen.model[:200]}`.", 403)
        return targets

    async def _in_turn(self, asked: GatewayRequest, target: ModelTarget, most: int) -> None:
        # by the row, for a client may name any number of models that fit it
        _, limit = self._busy.setdefault(id(target.row), (target.row, asyncio.Semaphore(most)))
        async with limit:
            await exchanged(asked, target, self._upstream)


def _unknown(name: str) -> RequestRejected:
    return RequestRejected(
        f"The model `{name[:200]}` does not exist here.", 404, code="model_not_found"
    )


def _keyed(request: Request) -> Mapping[bytes, bytes]:
    """The header fields with the key where it is looked for: each wire's clients send it in a field
    of their own."""
    headers = dict(request.headers)
    for name in (b"x-api-key", b"x-goog-api-key", b"api-key"):
        if name in headers:
            headers.setdefault(b"authorization", b"Bearer " + headers[name])
    query = request.scope.get("query_string", b"")
    if isinstance(query, bytes) and b"authorization" not in headers:
        for pair in query.split(b"&"):
            if pair.startswith(b"key="):
                headers[b"authorization"] = b"Bearer " + pair[4:]
    return headers
