"""OpenAI Responses as a client API. A continuation token is an encrypted reasoning item."""

from __future__ import annotations

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, ResponseState
from toolwire.streaming.events import Chunk

_RESPONSE_PATH = r"(?:/v1|/openai/v1)?/responses/(?P<response>[^/]+)"
_LAST_EVENTS = ("response.completed", "response.incomplete")
_STORED_BY_PROVIDER = {
    "previous_response_id": (
        "a response that is stored with the provider; send the whole conversation as `input`, or"
        " set [responses] store in the configuration of the gateway"
    ),
    "conversation": "a conversation that is stored with the provider; send it as `input`",
    "prompt": "a prompt that is stored with the provider; send it as `instructions` and `input`",
    "background": "a response that is stored with the provider; ask without `background`",
}
"""Fields that refer to state which only the provider's own server has."""


def _token_item(token: str) -> Object:
    return {
        "type": "reasoning",
        "id": f"rs_{digest(token)}",
        "summary": [],
        "encrypted_content": token,
    }


def _add_token(body: Object, token: str) -> None:
    output = body.get("output")
    body["output"] = [*(output if isinstance(output, list) else []), _token_item(token)]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    """Add the token as one more item, also in the whole response that ends the stream."""
    index = next((n for n, chunk in enumerate(last) if chunk.get("type") in _LAST_EVENTS), None)
    if index is None:
        return last
    end = dict(last[index])
    whole = end.get("response")
    response: Object = dict(whole) if isinstance(whole, dict) else {}
    output = response.get("output")
    position = len(output) if isinstance(output, list) else blocks
    _add_token(response, token)
    number = end.get("sequence_number")
    sequence = number if isinstance(number, int) else 0
    chunks: list[Chunk] = [
        {
            "type": event_type,
            "output_index": position,
            "item": _token_item(token),
            "sequence_number": sequence + n,
        }
        for n, event_type in enumerate(("response.output_item.added", "response.output_item.done"))
    ]
    end |= {"response": response, "sequence_number": sequence + 2}
    return [*last[:index], *chunks, end, *last[index + 1 :]]


def _provider_only(body: Object) -> str | None:
    field = next((key for key in _STORED_BY_PROVIDER if body.get(key)), None)
    return None if field is None else f"`{field}` needs {_STORED_BY_PROVIDER[field]}"


def input_items(value: JSON) -> list[JSON]:
    """The input of a request as a list of items."""
    if isinstance(value, list):
        return value
    return [{"role": "user", "content": value}] if isinstance(value, str) else []


STATE = ResponseState(
    previous_field="previous_response_id",
    output_field="output",
    input_items=input_items,
    response_field="response",
    final_events=_LAST_EVENTS,
    deleted=lambda response_id: {"id": response_id, "object": "response", "deleted": True},
)


def _find_response(body: Object) -> JsonPath | None:
    if isinstance(body.get("response"), dict):
        return ("response",)
    return () if body.get("object") == "response" else None


API = ClientApi(
    wire="openai-responses",
    identity=ResponseIdentity(id_prefix="resp_", time="created_at", find=_find_response),
    websocket=True,
    state=STATE,
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    provider_only=_provider_only,
    token_count=lambda count: {"object": "response.input_tokens", "input_tokens": count},
    paths=(
        ApiPath("POST", r"(?:/v1|/openai/v1)?/responses", "generate"),
        ApiPath("POST", r"(?:/v1|/openai/v1)?/responses/input_tokens", "count_tokens"),
        ApiPath("POST", r"(?:/v1|/openai/v1)?/responses/compact", "compact"),
        ApiPath("GET", _RESPONSE_PATH, "get_response"),
        ApiPath("DELETE", _RESPONSE_PATH, "delete_response"),
        ApiPath("GET", rf"{_RESPONSE_PATH}/input_items", "list_input_items"),
    ),
)
