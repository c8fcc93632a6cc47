"""The context of one request, which all stages share, and the state of the whole gateway."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Mapping

from msgspec import Struct

from toolwire.gateway.balance import Balancer
from toolwire.gateway.cancel_on_disconnect import DisconnectTimer
from toolwire.gateway.client_apis.api import ClientApi, Operation
from toolwire.gateway.client_apis.routes import RouteMatch
from toolwire.gateway.config.model_table import ModelTable, ModelTarget
from toolwire.gateway.keep_alive import KeepAliveTimer
from toolwire.gateway.keys import KeyHolder
from toolwire.gateway.observe.request_record import RequestRecord
from toolwire.gateway.responses_state.store import ResponseStore
from toolwire.gateway.threads import TranslationThreads
from toolwire.gateway.tools.gateway_tools import GatewayTools
from toolwire.gateway.tools.tool_loop import ToolLoop
from toolwire.gateway.translation.response_stream import JsonArray
from toolwire.gateway.translation.translator import Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import Upstream
from toolwire.server.asgi import AllowedHosts, BodyReader, Request, Send
from toolwire.server.auth import Auth
from toolwire.server.cors import CorsPolicy

_MAX_TRANSLATORS = 64
"""Clients choose the names of models, so the number of translators is limited."""


class Translators:
    """The translators that were used last."""

    def __init__(self) -> None:
        self._translators: dict[tuple[str, tuple[str, ...]], Translator] = {}

    def find(self, api: ClientApi, target: ModelTarget) -> Translator:
        """The translator between an API and a model."""
        key = (api.wire, target.translation_key)
        translator = self._translators.get(key)
        if translator is None:
            if len(self._translators) >= _MAX_TRANSLATORS:
                self._translators.clear()
            provider = target.endpoint.provider
            translator = self._translators[key] = Translator(
                api,
                provider.profile,
                model=target.endpoint.model,
                settings=target.settings,
                cache_breakpoints=target.config.cache_breakpoints,
                sampling_fields=provider.sampling_fields,
            )
        return translator


class ConcurrencyLimits:
    """The limits of concurrent requests of models, by their name or
    pattern in the configuration."""

    def __init__(self) -> None:
        self._semaphores: dict[tuple[str, int], Semaphore] = {}

    def find(self, target: ModelTarget) -> Semaphore | None:
        """The slots of a model; None if it has no limit."""
        limit = target.config.concurrency
        if limit is None:
            return None
        return self._semaphores.setdefault((target.table, limit), Semaphore(limit))


class GatewayState(Struct):
    """The state that all requests of a gateway share. A request keeps the configuration it started
    with."""

    models: ModelTable
    auth: Auth
    strict: bool | None
    """Overrides `[server] strict`, if given."""
    tools: GatewayTools | None
    upstream: Upstream
    translators: Translators
    limits: ConcurrencyLimits
    threads: TranslationThreads
    allowed_hosts: AllowedHosts
    cors: CorsPolicy
    body_reader: BodyReader
    disconnect_timer: DisconnectTimer
    keep_alive: KeepAliveTimer
    responses: ResponseStore | None
    """Responses that clients may continue, if they are kept."""
    balancer: Balancer


class GatewayRequest:
    """A request of a client. Each stage fills in what the next ones need."""

    http: Request
    headers: Mapping[bytes, bytes]
    """The headers of the client, by name in lower case."""
    send: Send
    route: RouteMatch
    api: ClientApi
    """The API that the client speaks."""
    operation: Operation
    """The operation that the client requests."""
    record: RequestRecord
    state: GatewayState
    models: ModelTable
    tools: GatewayTools | None

    key: KeyHolder | None = None
    """Set by `authenticate`: the virtual key, if keys are used."""

    raw: bytes = b""
    """Set by `route`: the body."""
    targets: list[ModelTarget]
    """Set by `route`: the models that may answer, in the order to try them."""

    target: ModelTarget
    """The model of this attempt."""
    translator: Translator
    """Set by `translate`, like the following fields."""
    upstream_request: UpstreamRequest
    tool_loop: ToolLoop | None = None
    """The turns of a request whose model may call tools of the gateway."""

    stores_response: bool = False
    """True if the response is stored on its way to the client."""

    response: Response | None = None
    """Set by `forward`: the response of the model, of which only the head has arrived."""

    def __init__(
        self,
        http: Request,
        send: Send,
        route: RouteMatch,
        record: RequestRecord,
        state: GatewayState,
    ) -> None:
        self.http = http
        self.headers = http.headers
        self.send = send
        self.route = route
        self.api = route.api
        self.operation = route.operation
        self.record = record
        self.state = state
        self.models = state.models
        self.tools = state.tools

    @property
    def strict(self) -> bool:
        """True if a history that needs a repair is rejected."""
        strict = self.state.strict
        return self.models.config.server.strict if strict is None else strict

    @property
    def query(self) -> bytes:
        """The query string."""
        query = self.http.scope.get("query_string", b"")
        return query if isinstance(query, bytes) else b""

    def json_array(self) -> JsonArray | None:
        """The encoder of a stream as one JSON array, if the client reads it so."""
        parameter = self.api.sse_query
        wants_array = parameter and self.operation == "stream" and parameter not in self.query
        return JsonArray() if wants_array else None

    def start_attempt(self, target: ModelTarget) -> None:
        """Try a model."""
        self.target = target
        self.tool_loop = None
        self.response = None
        self.record.attempts += 1
        self.record.upstream = target.endpoint.provider.name
        self.record.upstream_model = target.endpoint.model

    def close_response(self) -> None:
        """Close the response of the model. Its connection is reused if it was read to its end."""
        if self.response is not None:
            self.response.close()
            self.response = None
