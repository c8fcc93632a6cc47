"""Stage 5: the response for the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from time import perf_counter

from toolwire.conversation.json import dump, parse_body
from toolwire.gateway.client_apis.api import Operation
from toolwire.gateway.errors import UpstreamFailed, raw_headers, report_headers
from toolwire.gateway.forward import forward_turn, headers_for_client
from toolwire.gateway.model_list import model_body, model_details, model_list, server_version
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.respond.failures import UNREADABLE, unreadable_response, wrong_content
from toolwire.gateway.respond.stream import respond_with_stream
from toolwire.gateway.respond.writer import ResponseWriter
from toolwire.gateway.responses_state.compaction import compacted_response
from toolwire.gateway.responses_state.retrieval import respond_with_stored
from toolwire.gateway.token_count import TOKEN_COUNT_ENDPOINTS, read_token_count
from toolwire.gateway.tools.tool_loop import ToolLoop
from toolwire.gateway.translation.outcome import read_input_tokens
from toolwire.providers.http.response import Response
from toolwire.server.asgi import answer

_JSON_HEADERS = raw_headers({"content-type": "application/json"})


def respond(request: GatewayRequest) -> Awaitable[None]:
    """Translate the response of the model and send it to the client.

    Raises:
        UpstreamFailed: the response cannot be read, and the client has got nothing yet.
        RequestRejected: there is no such stored response.
    """
    operation = request.operation
    if operation in _RESPOND:
        return _RESPOND[operation](request)
    if operation == "compact" and request.translator.same_wire:
        return _respond_unchanged(request)
    response = request.response
    assert response is not None
    if request.tool_loop is not None:
        return _respond_with_tool_loop(request, response, request.tool_loop)
    if request.record.stream:
        return respond_with_stream(request, response)
    return _respond_with_whole(request, response)


def _response(request: GatewayRequest) -> Response:
    assert request.response is not None
    return request.response


async def _respond_with_models(request: GatewayRequest) -> None:
    wire = "anthropic" if b"anthropic-version" in request.headers else request.api.wire
    if request.operation == "list_models":
        names = request.models.names()
        key = request.key
        body = model_list(wire, [name for name in names if key is None or key.may_use(name)])
    elif request.operation == "get_version":
        body = server_version()
    elif request.operation == "get_model":
        body = model_body(wire, request.record.model)
    else:
        body = model_details(request.record.model)
    request.record.status = 200
    await answer(request.send, 200, dump(body), _JSON_HEADERS)


async def _respond_with_whole(request: GatewayRequest, response: Response) -> None:
    record, upstream_request = request.record, request.upstream_request
    try:
        data = await response.read_all()
        record.capture_upstream_response(data)
        if data.lstrip()[:1] != b"{":
            raise wrong_content(data, record.upstream, expected="JSON")
        translated = request.translator.response(data, upstream_request)
    except UNREADABLE as error:
        raise unreadable_response(error, record.upstream) from None
    record.usage, record.finish_reason = translated.usage, translated.finish_reason
    if translated.losses:
        record.losses += tuple(map(str, translated.losses))
    headers = headers_for_client(response) | report_headers(upstream_request, translated.losses)
    fields = [*_JSON_HEADERS, *raw_headers(headers)] if headers else _JSON_HEADERS
    record.status, record.first_byte_at = 200, perf_counter()
    body = translated.body
    if request.operation == "compact":
        body = _compact(body, request)
    record.capture_response(body)
    await answer(request.send, 200, body, fields)


def _compact(response: bytes, request: GatewayRequest) -> bytes:
    """The compacted conversation, from the response with the summary."""
    summary, body = parse_body(response), parse_body(request.raw)
    assert isinstance(summary, dict) and isinstance(body, dict)
    return dump(compacted_response(summary, body))


async def _respond_with_token_count(request: GatewayRequest) -> None:
    record = request.record
    count = TOKEN_COUNT_ENDPOINTS[request.translator.wire]
    try:
        tokens = read_token_count(count, await _response(request).read_all())
    except UNREADABLE as error:
        raise unreadable_response(error, record.upstream) from None
    if tokens is None:
        raise UpstreamFailed(f"{record.upstream} returned no number of tokens", 502)
    record.status = 200
    headers = [*_JSON_HEADERS, *raw_headers(report_headers(request.upstream_request))]
    await answer(request.send, 200, dump(request.api.token_count(tokens)), headers)


async def _respond_unchanged(request: GatewayRequest) -> None:
    record, response = request.record, _response(request)
    try:
        data = await response.read_all()
    except UNREADABLE as error:
        raise unreadable_response(error, record.upstream) from None
    if data.lstrip()[:1] != b"{":
        raise UpstreamFailed(f"{record.upstream} returned no JSON object", 502)
    record.capture_upstream_response(data)
    record.capture_response(data)
    record.usage = read_input_tokens(data)
    record.status, record.first_byte_at = 200, perf_counter()
    headers = [*_JSON_HEADERS, *raw_headers(headers_for_client(response))]
    await answer(request.send, 200, data, headers)


async def _respond_with_tool_loop(
    request: GatewayRequest, response: Response, loop: ToolLoop
) -> None:
    """Run the tools that the model calls, and send one response for all turns."""
    record = request.record
    headers = {
        "content-type": loop.media_type,
        **loop.headers,
        **report_headers(loop.first_request),
    }
    writer = ResponseWriter(request, {**headers, "cache-control": "no-cache"})
    pieces = loop.run(response, lambda turn: forward_turn(request, turn))
    request.state.keep_alive.add(writer)
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                if record.stream:
                    await writer.send(piece)
                else:
                    record.status, record.first_byte_at = 200, perf_counter()
                    record.capture_response(piece)
                    await answer(request.send, 200, piece, raw_headers(headers))
    except (UpstreamFailed, *UNREADABLE) as error:
        if writer.started:  # too late for another model or an error response: break it off
            raise RuntimeError("a response that has started cannot continue") from error
        if isinstance(error, UpstreamFailed):
            raise
        raise unreadable_response(error, record.upstream) from None
    finally:
        request.state.keep_alive.remove(writer)
    record.finish_reason = loop.finish_reason
    if record.stream:
        await writer.end(b"")


_RESPOND: Mapping[Operation, Callable[[GatewayRequest], Awaitable[None]]] = {
    "list_models": _respond_with_models,
    "get_model": _respond_with_models,
    "show_model": _respond_with_models,
    "get_version": _respond_with_models,
    "get_response": respond_with_stored,
    "delete_response": respond_with_stored,
    "list_input_items": respond_with_stored,
    "count_tokens": _respond_with_token_count,
    "embed": _respond_unchanged,
}
"""The operations whose response is no message of a model."""
