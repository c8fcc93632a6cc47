"""Stage 3: the request as the model gets it."""

from __future__ import annotations

from toolwire.errors import InputError
from toolwire.gateway.errors import RequestRejected, report_headers
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.threads import MIN_BYTES
from toolwire.gateway.tools.tool_loop import ToolLoop
from toolwire.gateway.translation.upstream_request import UpstreamRequest

_MAX_LISTED_CHANGES = 5


async def translate(request: GatewayRequest) -> None:
    """Translate and repair the body for the target; set `request.upstream_request`, and
    `request.tool_loop` if the model may call tools of the gateway.

    Raises:
        RequestRejected: the body is invalid, needs a repair in strict mode, or takes too long.
    """
    translator = request.state.translators.find(request.api, request.target)
    request.translator = translator
    request.record.upstream_wire = translator.wire
    with_tools = request.tools is not None and request.operation != "count_tokens"
    try:
        if len(request.raw) >= MIN_BYTES:
            run = _start_tool_loop if with_tools else _translate_body
            await request.state.threads.run(lambda: run(request))
        elif with_tools:
            _start_tool_loop(request)
        else:
            request.upstream_request = translator.request(request.raw)
    except InputError as error:
        place = f"{error.pointer}: " if error.pointer else ""
        raise RequestRejected(f"{place}{error.why}") from None
    _note_changes(request, request.upstream_request)


def _translate_body(request: GatewayRequest) -> None:
    request.upstream_request = request.translator.request(request.raw)


def _start_tool_loop(request: GatewayRequest) -> None:
    assert request.tools is not None
    request.tool_loop = ToolLoop(
        request.tools,
        request.translator,
        request.raw,
        request.record,
        stream=request.record.stream,
        array=request.json_array(),
        idempotency_key=request.headers.get(b"idempotency-key", b"").decode("latin-1"),
    )
    request.upstream_request = request.tool_loop.first_request


def _note_changes(request: GatewayRequest, upstream_request: UpstreamRequest) -> None:
    record, changes = request.record, upstream_request.changes
    record.changes = tuple(dict.fromkeys([change.name for change in changes])) if changes else ()
    losses = upstream_request.losses
    record.losses = tuple(map(str, losses)) if losses else ()
    if request.strict and changes:
        listed = "; ".join(map(str, changes[:_MAX_LISTED_CHANGES]))
        raise RequestRejected(
            f"This history needs a repair, and the gateway is strict: {listed}",
            headers=report_headers(upstream_request),
        )
