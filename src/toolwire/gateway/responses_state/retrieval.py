"""Show and delete stored responses, and list the input of one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from urllib.parse import parse_qsl

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, Object, dump, parse_body
from toolwire.gateway.client_apis.api import ResponseState
from toolwire.gateway.errors import RequestRejected, raw_headers
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.responses_state.history import ResponseHistory, output_items
from toolwire.gateway.responses_state.store import StoreUnavailable
from toolwire.server.asgi import answer

_log = logging.getLogger("toolwire.gateway")
_NO_STORE = (
    "This gateway stores no responses: set [responses] store in its configuration. Responses of an"
    " upstream that speaks the same API are stored with that upstream."
)
_NO_STREAM = "A stored response cannot be streamed again: ask without `stream`."
_MAX_ITEMS, _DEFAULT_ITEMS = 100, 20
_ID_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}
"""The prefix of an item id, by the type of the item."""
_JSON = raw_headers({"content-type": "application/json"})


async def respond_with_stored(request: GatewayRequest) -> None:
    """Answer a request about one stored response.

    Raises:
        RequestRejected: nothing is stored (404), the query is invalid (400), or the store cannot be
            read (503).
    """
    store, response_id = request.state.responses, request.route.response_id or ""
    state = request.api.state
    if store is None or state is None:
        raise RequestRejected(_NO_STORE, 404)
    query = dict(parse_qsl(request.query.decode("latin-1")))
    if query.get("stream") == "true":
        raise RequestRejected(_NO_STREAM)
    owner = request.record.key
    try:
        history = await store.find(owner, response_id)
        if history is None or not history.response:
            message = f"{state.noun} with id '{response_id[:200]}' not found."
            raise RequestRejected(message, 404)
        if request.operation == "delete_response":
            await store.remove(owner, response_id)
    except StoreUnavailable as error:
        _log.warning("request %s: the store of responses failed: %s", request.record.id, error)
        raise RequestRejected("Stored responses cannot be read now.", 503) from None
    body = history.response
    if request.operation == "delete_response":
        body = dump(state.deleted(response_id))
    elif request.operation == "list_input_items":
        body = dump(_list_input_items(history, query, state))
    elif query.get("include_input") == "true":
        response = parse_body(history.response)
        assert isinstance(response, dict)
        body = dump({**response, "input": _input_items(history, state)})
    request.record.status = 200
    await answer(request.send, 200, body, _JSON)


def _list_input_items(
    history: ResponseHistory, query: Mapping[str, str], state: ResponseState
) -> Object:
    """A page of the items that a response was generated from, the newest first by default."""
    limit = query.get("limit", str(_DEFAULT_ITEMS))
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit) <= _MAX_ITEMS:
        raise RequestRejected(f"`limit` is a number from 1 to {_MAX_ITEMS}.")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise RequestRejected("`order` is `asc` or `desc`.")
    items = [
        _full_item(item, history.response_id, n)
        for n, item in enumerate(_input_items(history, state))
        if isinstance(item, dict)
    ]
    if order == "desc":
        items.reverse()
    after = query.get("after")
    if after:
        ids = [item["id"] for item in items]
        if after not in ids:
            raise RequestRejected(f"There is no item with the id '{after[:200]}'.")
        items = items[ids.index(after) + 1 :]
    page: list[JSON] = [*items[: int(limit)]]
    return {
        "object": "list",
        "data": page,
        "first_id": items[0]["id"] if page else None,
        "last_id": items[len(page) - 1]["id"] if page else None,
        "has_more": len(items) > len(page),
    }


def _input_items(history: ResponseHistory, state: ResponseState) -> list[JSON]:
    """The items before the output of a response."""
    items, response = parse_body(history.items), parse_body(history.response)
    assert isinstance(items, list) and isinstance(response, dict)
    return items[: len(items) - len(output_items(response, state))]


def _full_item(item: Object, response_id: str, number: int) -> Object:
    """An item of an input with the fields that clients may leave out."""
    kind = item.get("type") or "message"
    prefix = _ID_PREFIXES.get(str(kind), "item")
    full: Object = {"type": kind, "id": f"{prefix}_{digest(response_id, number)}", **item}
    if kind != "reasoning":
        full.setdefault("status", "completed")
    content = item.get("content")
    if kind == "message" and isinstance(content, str):
        is_output = item.get("role") == "assistant"
        block: Object = {"type": "output_text" if is_output else "input_text", "text": content}
        full["content"] = [{**block, "annotations": []} if is_output else block]
    elif isinstance(content, list):
        full["content"] = [_full_block(block) for block in content]
    return full


def _full_block(block: JSON) -> JSON:
    if isinstance(block, dict) and block.get("type") == "input_image":
        return {"detail": "auto", **block}
    return block
