"""Stage 4: send the request to the model's server, and check the status of its response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

from msgspec.structs import replace

from toolwire.conversation.json import dump
from toolwire.errors import DecodeError
from toolwire.gateway.client_apis.api import Operation
from toolwire.gateway.config.mistakes import table_name
from toolwire.gateway.config.model_table import ModelTarget
from toolwire.gateway.errors import RequestRejected, UpstreamFailed, header_value, report_headers
from toolwire.gateway.redaction import redactor
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.threads import MIN_BYTES
from toolwire.gateway.token_count import TOKEN_COUNT_ENDPOINTS
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.lint.explain import Explanation, explain
from toolwire.lint.refused_reasoning import refuses_reasoning, repair_refused
from toolwire.providers.api_errors import read_error_message
from toolwire.providers.http.errors import ConnectError, ProtocolError
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
"""Status codes below 500 after which another model is tried."""
SEND_AGAIN = "send the request again"
_MAX_EXPLANATIONS = 5
_EXPLAINED_STATUS = frozenset({400, 413, 422})
"""Status codes of a request that the provider understood and refused."""
FORWARDED_RESPONSE_HEADERS = frozenset(
    {"retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"}
)


async def forward(request: GatewayRequest) -> None:
    """Send `request.upstream_request` and set `request.response`.

    Raises:
        UpstreamFailed: the server cannot be reached, or refuses the request.
    """
    send = _SEND.get(request.operation)
    if send is None or (request.operation == "compact" and not request.translator.same_wire):
        request.response, request.upstream_request = await _ask(request, request.upstream_request)
        return
    request.response = await send(request)
    if request.response.status >= 300:
        raise await _failure(request, request.response, request.upstream_request)


@asynccontextmanager
async def forward_turn(
    request: GatewayRequest, upstream_request: UpstreamRequest
) -> AsyncIterator[Response]:
    """Send the next turn of a tool loop. Raises UpstreamFailed."""
    response, _ = await _ask(request, upstream_request)
    try:
        yield response
    finally:
        response.close()


async def _ask(
    request: GatewayRequest, upstream_request: UpstreamRequest
) -> tuple[Response, UpstreamRequest]:
    """Send a request; send it again without its reasoning if the server cannot read the reasoning.

    Returns the response and the request that it answers.

    Raises:
        UpstreamFailed: the server refuses the request.
    """
    response = await _post(request, _body(request, upstream_request))
    if response.status < 300:
        return response, upstream_request
    failure = await _failure(request, response, upstream_request)
    again = _without_refused_reasoning(request, upstream_request, failure)
    if again is None:
        raise failure
    response = await _post(request, _body(request, again))
    if response.status >= 300:
        raise await _failure(request, response, again)
    return response, again


def _without_refused_reasoning(
    request: GatewayRequest, upstream_request: UpstreamRequest, failure: UpstreamFailed
) -> UpstreamRequest | None:
    """The request without the reasoning of another account or region, if that caused the
    failure."""
    if failure.status not in _EXPLAINED_STATUS or not refuses_reasoning(failure.message):
        return None
    if request.strict:
        return None
    target = request.translator.target
    try:
        repaired = repair_refused(upstream_request.body, target, failure.message)
    except DecodeError:  # its bytes may be nested deeper than the values of a repair
        return None
    if not repaired.changes or not isinstance(repaired.body, dict):
        return None
    changes = (*upstream_request.changes, *repaired.changes)
    request.record.changes = tuple(dict.fromkeys([change.name for change in changes]))
    return replace(
        upstream_request,
        body=repaired.body,
        raw=None,
        changes=changes,
        ids=upstream_request.ids.after_repair(repaired.ids),
    )


def _body(request: GatewayRequest, upstream_request: UpstreamRequest) -> bytes:
    data = upstream_request.complete_data()
    if data is not None:
        return data
    endpoint, stream = request.target.endpoint, request.record.stream
    return dump(endpoint.body(upstream_request.body, stream=stream))


async def _send_token_count(request: GatewayRequest) -> Response:
    endpoint = request.target.endpoint
    count = TOKEN_COUNT_ENDPOINTS.get(request.translator.wire)
    if count is None:
        raise RequestRejected(f"{endpoint.provider.name} has no endpoint that counts tokens.", 404)
    path = count.path(endpoint.provider.path).replace("{model}", quote(endpoint.model, safe=""))
    body = count.body(request.upstream_request.body, endpoint.model)
    return await _post(request, dump(body), url=endpoint.base_url.rstrip("/") + path)


async def _send_embeddings(request: GatewayRequest) -> Response:
    endpoint = request.target.endpoint
    path = endpoint.provider.embeddings_path
    if not path:
        name = endpoint.provider.name
        raise RequestRejected(
            f"{name} has no embeddings in the form of OpenAI; name a model of another provider.",
            404,
        )
    return await _send_to_path(request, path)


def _send_compaction(request: GatewayRequest) -> Awaitable[Response]:
    return _send_to_path(request, f"{request.target.endpoint.provider.path}/compact")


async def _send_to_path(request: GatewayRequest, path: str) -> Response:
    """Send a request for something other than a message."""
    endpoint = request.target.endpoint
    path = path.replace("{model}", quote(endpoint.model, safe=""))
    upstream_request = request.upstream_request
    data = upstream_request.complete_data() or dump(upstream_request.body)
    return await _post(request, data, url=endpoint.base_url.rstrip("/") + path)


_SEND: Mapping[Operation, Callable[[GatewayRequest], Awaitable[Response]]] = {
    "count_tokens": _send_token_count,
    "embed": _send_embeddings,
    "compact": _send_compaction,
}
"""The operations that ask the model for something other than a message."""


async def _post(request: GatewayRequest, data: bytes, url: str | None = None) -> Response:
    record, target = request.record, request.target
    record.capture_upstream_request(data)
    try:
        return await request.state.upstream.post(
            target.endpoint,
            data,
            stream=record.stream,
            headers=_headers_to_forward(request),
            url=url,
            timeouts=target.timeouts,
        )
    except ConnectError as error:
        message = (
            f"{record.upstream} could not be reached: {error.reason}; {_remedy(target, error)}"
        )
        raise UpstreamFailed(message, _status(error)) from None
    except CONNECTION_ERRORS as error:
        failure = connection_failure(error, f"{record.upstream} did not answer")
        raise UpstreamFailed(f"{failure.message}; {SEND_AGAIN}", failure.status) from None
    except ValueError as error:  # the address or a header is invalid; the message shows neither
        message = f"the request to {record.upstream} could not be sent: {error}"
        raise UpstreamFailed(message, 502) from None


def _headers_to_forward(request: GatewayRequest) -> dict[str, str]:
    headers, names = request.record.trace_headers, request.target.forwarded_headers
    if request.translator.same_wire and request.api.forwarded_headers:
        names = (*names, *request.api.forwarded_headers)
    if not names:
        return headers
    found = [(name, request.headers[key]) for key, name in names if key in request.headers]
    if not found:
        return headers
    return {**headers, **{name: value.decode("latin-1") for name, value in found}}


def connection_failure(error: BaseException, what: str) -> UpstreamFailed:
    """The failure of a lost connection. An error of another package is named by its type only: its
    text may hold secrets."""
    own = isinstance(error, ProtocolError | TimeoutError)
    reason = (str(error) if own else "") or type(error).__name__
    return UpstreamFailed(f"{what}: {reason}", _status(error))


def _status(error: BaseException) -> int:
    return 504 if isinstance(error, TimeoutError) else 502


def _remedy(target: ModelTarget, error: ConnectError) -> str:
    """Advice for a server that cannot be reached. It does not name the address, which is only for
    the operators of the gateway."""
    if error.is_proxy:
        return "correct http_proxy, https_proxy or all_proxy in its environment"
    endpoint, steps = target.endpoint, list[str]()
    if error.refused:
        command = endpoint.provider.start_command.replace("MODEL", endpoint.model)
        steps.append(f"start its server with `{command}`" if command else "start its server")
    if target.config.base_url is not None:
        steps.append(f"correct base_url in [{table_name('models', target.table)}]")
    return ", or ".join(steps) or "check the network of the gateway"


async def _failure(
    request: GatewayRequest, response: Response, upstream_request: UpstreamRequest
) -> UpstreamFailed:
    """The error response of an upstream as the client gets it."""
    endpoint, status = request.target.endpoint, response.status
    provider = endpoint.provider.name
    try:
        data = await response.read_all()
    except (*CONNECTION_ERRORS, ValueError):
        data = b""
    finally:
        response.close()
    headers = headers_for_client(response) | report_headers(upstream_request)
    if status < 400:
        message = f"{provider} answered with a redirect ({status}), which is not followed"
        return UpstreamFailed(message, 502, retryable=False, headers=headers)
    if status in (401, 403):
        variables = " or ".join(endpoint.provider.key_envs) or "its key"
        message = f"{provider} rejected the gateway's API key ({status}); check {variables}"
        return UpstreamFailed(message, 502, headers=headers)
    redact = redactor(endpoint.secrets())
    text = redact(read_error_message(data)) or f"{provider} answered {status} without a message"
    start = data.lstrip()[:1]
    if start == b"<":
        advice = SEND_AGAIN if status >= 500 else "check the base_url of the model"
        text = f"{provider} answered {status} with HTML; {advice}"
    if status >= 600:
        return UpstreamFailed(f"{provider} answered with status {status}: {text}", 502)
    if status in _EXPLAINED_STATUS:
        explanations = await _explain(request, text, upstream_request)
        if explanations:
            headers["x-toolwire-explain"] = header_value("; ".join(map(str, explanations)))
            text = f"{text} ({explanations[0].message})"
    raw: bytes | None = None
    if upstream_request.passthrough and start == b"{":
        body = data.decode("utf-8", "replace")
        raw = data if redact(body) == body else None
    retryable = status in RETRYABLE_STATUS or status >= 500
    return UpstreamFailed(text, status, retryable=retryable, headers=headers, raw=raw)


async def _explain(
    request: GatewayRequest, text: str, upstream_request: UpstreamRequest
) -> list[Explanation]:
    """The likely causes of a refusal, the first few; in a thread if the request is large."""
    history = None if request.operation == "embed" else upstream_request.body

    def find_causes() -> list[Explanation]:
        try:
            found = explain(text, history, request.translator.target)
        except DecodeError:  # its bytes may be nested deeper than the values of an explanation
            found = explain(text)
        return [explanation for explanation in found if explanation.likely][:_MAX_EXPLANATIONS]

    if len(request.raw) < MIN_BYTES:
        return find_causes()
    try:
        return await request.state.threads.run(find_causes)
    except RequestRejected:  # it takes too long; the client gets the error of the provider
        return []


def headers_for_client(response: Response) -> dict[str, str]:
    """Headers of an upstream that the client gets: about retries, and the id of the request."""
    headers = response.headers
    if FORWARDED_RESPONSE_HEADERS.isdisjoint(headers):
        return {}
    return {name: value for name, value in headers.items() if name in FORWARDED_RESPONSE_HEADERS}
