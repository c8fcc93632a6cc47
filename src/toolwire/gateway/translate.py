"""Stage 3: the request as the model gets it."""

from __future__ import annotations

from toolwire.conversation.json import dump
from toolwire.errors import InputError
from toolwire.gateway.errors import RequestRejected, report_headers
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.responses_state.compaction import (
    expand_summaries,
    may_contain_summary,
    summary_request,
)
from toolwire.gateway.responses_state.requests import use_stored_responses
from toolwire.gateway.threads import MIN_BYTES
from toolwire.gateway.tools.tool_loop import ToolLoop
from toolwire.gateway.translation.same_wire import rename_request
from toolwire.gateway.translation.upstream_request import UpstreamRequest

_MAX_LISTED_CHANGES = 5


async def translate(request: GatewayRequest) -> None:
    """Translate and repair the body for the target; set `request.upstream_request`, and
    `request.tool_loop` if the model may call tools of the gateway.

    Raises:
        RequestRejected: the body is invalid, needs a repair in strict mode, takes too long, or
            continues a response that is not stored.
    """
    translator = request.state.translators.find(request.api, request.target)
    request.translator = translator
    request.record.upstream_wire = translator.wire
    state, responses = request.api.state, request.state.responses
    if state is not None and may_contain_summary(request.raw):
        request.raw = expand_summaries(request.raw)
    if responses is not None and state is not None and not translator.same_wire:
        await use_stored_responses(request, responses, state)
    try:
        run = _translate_body
        if request.operation in ("embed", "compact"):
            run = _prepare_unusual
        elif request.tools is not None and request.operation != "count_tokens":
            run = _start_tool_loop
        if len(request.raw) >= MIN_BYTES:
            await request.state.threads.run(lambda: run(request))
        else:
            run(request)
    except InputError as error:
        location = f"{error.pointer}: " if error.pointer else ""
        raise RequestRejected(f"{location}{error.why}") from None
    upstream_request = request.upstream_request
    if request.tool_loop is None:
        upstream_request.describe = request.record.info
    _note_changes(request, upstream_request)


def _prepare_unusual(request: GatewayRequest) -> None:
    """Prepare a request that asks for no message: only renamed, or a request for a summary."""
    translator = request.translator
    renamed = rename_request(request.raw, translator.wire, translator.model)
    if request.operation == "embed" or translator.same_wire:
        request.upstream_request = renamed
    else:
        request.upstream_request = translator.request(dump(summary_request(renamed.client_body)))


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
    losses, pairs = upstream_request.losses, upstream_request.paired_by_order
    record.changes = tuple(dict.fromkeys([change.name for change in changes])) if changes else ()
    record.losses = tuple(map(str, losses)) if losses else ()
    record.paired_by_order = upstream_request.describe_pairs_by_order() if pairs else ()
    if changes and request.strict:
        listed = "; ".join(map(str, changes[:_MAX_LISTED_CHANGES]))
        raise RequestRejected(
            f"This history needs a repair, and the gateway is strict: {listed}",
            headers=report_headers(upstream_request),
        )
