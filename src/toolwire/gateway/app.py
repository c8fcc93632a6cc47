"""The gateway as an ASGI application: five stages over one request.

    authenticate    who sends it                                    authenticate.py
    route           its body, and the models that may answer        route.py
    translate       the request as the model gets it                translate.py
    forward         to the model's server                           forward.py
    respond         the response as the client gets it              respond/

The last three are repeated with the next model if an upstream fails before the first byte. No
conversation is kept between requests, except in the store of `[responses]`: any replica can serve
any request.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol, Self

from toolwire.errors import ConfigError, require_type
from toolwire.gateway.authenticate import FOREIGN_ORIGIN, authenticate, authenticate_operator
from toolwire.gateway.balance import Balancer
from toolwire.gateway.cancel_on_disconnect import DisconnectTimer, DisconnectWatch
from toolwire.gateway.client_apis.api import WITHOUT_MODEL
from toolwire.gateway.client_apis.routes import RouteTable
from toolwire.gateway.config.files import ConfigSource
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.schema import Config, is_demo
from toolwire.gateway.errors import RequestRejected, UpstreamFailed, raw_headers
from toolwire.gateway.forward import forward
from toolwire.gateway.keep_alive import KeepAliveTimer
from toolwire.gateway.keys import KeyConfig, Keys
from toolwire.gateway.mock_upstream import MockUpstream
from toolwire.gateway.observe.metrics import GatewayMetrics
from toolwire.gateway.observe.observer import Observer
from toolwire.gateway.observe.request_record import RequestRecord, printable
from toolwire.gateway.request import ConcurrencyLimits, GatewayRequest, GatewayState, Translators
from toolwire.gateway.respond import respond
from toolwire.gateway.responses_state.open_store import build_store
from toolwire.gateway.route import ClientDisconnected, route
from toolwire.gateway.service_pages import ServicePages
from toolwire.gateway.threads import TranslationThreads
from toolwire.gateway.tools.gateway_tools import GatewayTools, from_python_tools
from toolwire.gateway.translate import translate
from toolwire.gateway.usage.limits import KeyUsage
from toolwire.gateway.usage.meter import UsageMeter
from toolwire.gateway.usage.store import UsageStore
from toolwire.gateway.websocket import SocketServer
from toolwire.providers.api_errors import ApiError, write_error
from toolwire.providers.http.policy import retry_after
from toolwire.providers.http.upstream import Upstream
from toolwire.server.asgi import (
    MIB,
    AllowedHosts,
    BodyLimits,
    BodyReader,
    Receive,
    Request,
    Scope,
    Send,
    answer,
    lifespan,
    request_of,
)
from toolwire.server.auth import NO_AUTH, Auth
from toolwire.server.cors import CorsPolicy
from toolwire.tools.registry import ToolSource

_log = logging.getLogger("toolwire.gateway")
_CLOSED_MOCK_URL = "http://127.0.0.1:9"
"""The address of the mock before the gateway is open: nothing listens there."""
_MAX_BUFFERED = 1024 * MIB
"""The maximum size of all request bodies that are arriving."""


class Service(Protocol):
    """An object that is opened and closed with a gateway."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...


class _DemoModels:
    """Sets the address of the mock in the models of a configuration; it is known once the gateway
    is open."""

    def __init__(self, source: ConfigSource) -> None:
        self._source = source
        self.gateway: Gateway | None = None

    async def open(self) -> None:
        gateway = self.gateway
        assert gateway is not None
        if any(is_demo(model.upstream) for model in gateway.config.models.values()):
            gateway.use_models(self._source.load().models)

    async def close(self) -> None:
        """Nothing is open here."""


class Gateway:
    """An ASGI application that serves every model to the clients of every API."""

    def __init__(
        self,
        models: ModelTable,
        *,
        auth: Auth = NO_AUTH,
        strict: bool | None = None,
        tools: GatewayTools | None = None,
        services: Sequence[Service] = (),
        observer: Observer | None = None,
    ) -> None:
        """Prepare a gateway. It opens in the ASGI lifespan, or on the first request.

        Args:
            models: the models, and where they are served.
            auth: which clients are accepted.
            strict: reject histories that need a repair; by default `[server] strict` decides.
            tools: tools that every model can call and the gateway runs.
            services: services that are opened and closed with the gateway.
            observer: counts, logs, traces and records requests.
        """
        require_type(models, ModelTable, "a ModelTable (`Gateway.from_config` reads a file)")
        self.observer = observer or Observer()
        self.failure: Exception | None = None
        """The error that prevented the gateway from opening."""
        self._services = tuple(services)
        self._routes = RouteTable()
        self._sockets = SocketServer(self)
        self._opened: AsyncExitStack | None = None
        self._opening = asyncio.Lock()
        server = models.config.server
        limits = BodyLimits(body=int(server.max_body_mb * MIB), buffered=_MAX_BUFFERED)
        self._state = GatewayState(
            models=models,
            auth=auth,
            strict=strict,
            tools=tools,
            upstream=Upstream(),
            translators=Translators(),
            limits=ConcurrencyLimits(),
            threads=TranslationThreads(),
            allowed_hosts=AllowedHosts(server.allowed_hosts),
            cors=CorsPolicy(server.cors_origins),
            body_reader=BodyReader(limits),
            disconnect_timer=DisconnectTimer(),
            keep_alive=KeepAliveTimer(),
            responses=build_store(models.config.responses),
            balancer=Balancer(),
        )
        self._pages = ServicePages(self._state, self.observer, self._routes)
        store = models.config.usage.store
        self._meter = UsageMeter(None if store is None else UsageStore(store), self._key_usage)

    @classmethod
    def from_config(
        cls,
        file: str | Path,
        *,
        env: Mapping[str, str] | None = None,
        tools: GatewayTools | Collection[ToolSource] = (),
        services: Sequence[Service] = (),
        observer: Observer | None = None,
    ) -> Self:
        """Make a gateway from a configuration file, to serve or to mount in an ASGI application.

        Args:
            file: the TOML file.
            env: where API keys are looked up; by default the environment.
            tools: Python tools that every model can call and the gateway runs.
            services: services that are opened and closed with the gateway.
            observer: counts, logs, traces and records requests.

        Raises:
            ConfigError: the configuration has mistakes; the exception lists them with lines.
        """
        mock = MockUpstream()

        def demo_url() -> str:
            return mock.url() if mock.is_open else _CLOSED_MOCK_URL

        variables = os.environ if env is None else env
        source = ConfigSource(env=variables, demo_url=demo_url, file=Path(file))
        loaded = source.load()
        config = loaded.models.config
        if config.tools.sources and not tools:
            reason = "only the command `toolwire gateway` opens them; pass the tools as tools=[…]"
            raise ConfigError(f"{file}: [tools] sources: {reason}")
        gateway_tools: GatewayTools | None = None
        if isinstance(tools, GatewayTools):
            gateway_tools = tools
        elif tools:
            gateway_tools = from_python_tools(tools, config.tools)
        observer = observer or Observer(json_log=config.server.log == "json")
        observer.hide_secrets(loaded.models.secrets())
        demo = _DemoModels(source)
        gateway = demo.gateway = cls(
            loaded.models,
            auth=NO_AUTH if loaded.keys is None else Keys(loaded.keys),
            tools=gateway_tools,
            services=(mock, demo, *services),
            observer=observer,
        )
        return gateway

    def _key_usage(self) -> Mapping[str, KeyUsage]:
        auth = self._state.auth
        return auth.usage() if isinstance(auth, Keys) else {}

    # --- configuration ---

    @property
    def config(self) -> Config:
        """The configuration in use."""
        return self._state.models.config

    @property
    def max_message_bytes(self) -> int:
        """The largest message of a WebSocket."""
        return int(self.config.server.max_body_mb * MIB)

    @property
    def auth(self) -> Auth:
        """Which clients are accepted."""
        return self._state.auth

    @property
    def tools(self) -> GatewayTools | None:
        """The tools in use."""
        return self._state.tools

    @property
    def metrics(self) -> GatewayMetrics:
        """The metrics of this process."""
        return self.observer.metrics

    def use_models(self, models: ModelTable) -> None:
        """Use another configuration. Requests in progress keep the one they started with."""
        self._state.models = models

    def use_keys(self, keys: Sequence[KeyConfig]) -> None:
        """Accept other keys. Keys that stay keep their used limits."""
        if isinstance(self._state.auth, Keys):
            self._state.auth.use(keys)
        else:
            self._state.auth = Keys(keys)

    def use_tools(self, tools: GatewayTools | None) -> GatewayTools | None:
        """Use other tools, which must be open; return the previous ones."""
        previous, self._state.tools = self._state.tools, tools
        return previous

    # --- life ---

    async def open(self) -> None:
        """Open connections, services and tools."""
        opened = AsyncExitStack()
        self._state.disconnect_timer = DisconnectTimer()
        self._state.keep_alive = KeepAliveTimer()
        try:
            opened.push_async_callback(self._state.upstream.close)
            responses = self._state.responses
            stores = () if responses is None else (responses,)
            for service in (self._meter, *stores, *self._services):
                await service.open()
                opened.push_async_callback(service.close)
            if self._state.tools is not None:
                await self._state.tools.open()
        except Exception as error:
            self.failure = error
            await opened.aclose()
            raise
        self._opened = opened

    async def close(self) -> None:
        """Close everything that was opened."""
        if self._state.tools is not None:
            await self._state.tools.close()
        if self._opened is not None:
            await self._opened.aclose()

    def drain(self) -> None:
        """Report on `/health` that the gateway is stopping."""
        self._pages.draining = True

    # --- requests ---

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await lifespan(receive, send, self.open, self.close)
            else:
                await self._sockets.serve(scope, receive, send, self._check_handshake)
            return
        if self._opened is None:  # most hosts run no lifespan of mounted applications
            async with self._opening:
                if self._opened is None:
                    await self.open()
        http = request_of(scope, receive)
        cors = self._state.cors
        if b"origin" in http.headers and cors.allows(http):
            if (headers := cors.preflight(http)) is not None:
                await answer(send, 204, b"", headers)
                return
            send = cors.share(http, send)
        match = self._routes.find(http.method, http.path)
        if match is None:
            await self._pages.respond(http, send)
            return
        record = self.observer.begin(match.api.wire, http.headers)
        request = GatewayRequest(http, send, match, record, self._state)
        try:
            await self._serve(request)
        except Exception as error:  # a bug: the client gets a response, the log the traceback
            _log.exception("request %s failed", record.id)
            record.error = f"{type(error).__name__} in the gateway"
            if record.first_byte_at is not None:
                raise  # the response has started: the server breaks it off
            await _send_error(request, "Internal error; the log of the gateway has details.", 500)
        finally:
            self.observer.end(record)
            key = None if request.key is None else request.key.usage
            self._meter.add(record, key, request.models.config.prices)

    def _check_handshake(self, http: Request) -> None:
        """Check who opens a WebSocket. Raises RequestRejected.

        A browser lets any page open one, without a preflight request.
        """
        match = self._routes.find("POST", http.path)
        if match is None or match.operation != "generate" or not match.api.websocket:
            raise RequestRejected(f"{http.path[:200]} is not served over WebSocket.", 404)
        if b"origin" in http.headers and not self._state.cors.allows(http):
            raise RequestRejected(FOREIGN_ORIGIN, 403)
        if self._pages.draining:
            raise RequestRejected("The gateway is stopping.", 503)
        authenticate_operator(http, self._state)

    async def _serve(self, request: GatewayRequest) -> None:
        """Run the stages."""
        record = request.record
        try:
            authenticate(request)
            await route(request)
            if request.operation in WITHOUT_MODEL:
                await respond(request)
                return
            with DisconnectWatch(request.http.receive, self._state.disconnect_timer) as watch:
                await self._try_targets(request)
            record.client_disconnected = watch.disconnected
        except ClientDisconnected:
            record.client_disconnected = True
        except RequestRejected as rejection:
            await _send_error(
                request,
                rejection.message,
                rejection.status,
                code=rejection.code,
                headers=rejection.headers,
            )
        finally:
            if request.key is not None:
                request.key.release()

    async def _try_targets(self, request: GatewayRequest) -> None:
        """Translate, forward and respond with one model after the other until one answers."""
        failures: list[tuple[str, UpstreamFailed]] = []
        balancer = self._state.balancer
        for target in balancer.order(request.targets):
            request.start_attempt(target)
            balancer.start(target)
            try:
                await self._ask_model(request)
                return
            except UpstreamFailed as failure:
                failures.append((request.record.upstream, failure))
                if not failure.retryable:
                    break
                balancer.rest(target, retry_after(failure.headers))
            finally:
                balancer.end(target)
            if len(failures) < len(request.targets):
                self._note_fallback(request.record, *failures[-1])
        await _send_failure(request, failures)

    async def _ask_model(self, request: GatewayRequest) -> None:
        """Ask one model, which may limit its concurrent requests, and respond."""
        slots = self._state.limits.find(request.target)
        if slots is not None:
            await slots.acquire()
        try:
            await translate(request)
            await forward(request)
            await respond(request)
        finally:
            request.close_response()
            if slots is not None:
                slots.release()

    def _note_fallback(self, record: RequestRecord, upstream: str, failure: UpstreamFailed) -> None:
        reason = self.observer.redact(f"{upstream}: {failure.message} ({failure.status})")
        record.fallbacks.append(reason)
        self.metrics.add("fallbacks_total", upstream)
        _log.warning("request %s: fallback after %s", record.id, printable(reason))


async def _send_failure(
    request: GatewayRequest, failures: list[tuple[str, UpstreamFailed]]
) -> None:
    """Report that no upstream answered: the last failure, and what was tried before."""
    _, last = failures[-1]
    if len(failures) > 1:
        tried = "; ".join(
            f"{name}: {failure.message} ({failure.status})" for name, failure in failures
        )
        message = f"All {len(failures)} upstreams failed. {tried}"
        await _send_error(request, message, last.status, headers=last.headers)
    elif last.raw is None:
        await _send_error(request, last.message, last.status, headers=last.headers)
    else:
        request.record.status, request.record.error = last.status, last.message
        request.record.capture_response(last.raw)
        headers = raw_headers({"content-type": "application/json", **last.headers})
        await answer(request.send, last.status, last.raw, headers)


async def _send_error(
    request: GatewayRequest,
    message: str,
    status: int,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send an error in the format of the client's API."""
    record = request.record
    record.status = status
    record.error = record.error or message
    body, media_type = write_error(request.api.wire, ApiError(message, status, code))
    record.capture_response(body)
    fields = raw_headers({"content-type": media_type, **(headers or {})})
    await answer(request.send, status, body, fields)
