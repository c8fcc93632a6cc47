"""Gemini Interactions as a client API. A continuation token is the signature of a thought."""

from __future__ import annotations

from base64 import b64encode

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, ResponseState
from toolwire.streaming.events import Chunk

_PATH = r"(?:/gemini)?/v1(?:beta|alpha)?\d?/interactions"
_LAST_EVENT = "interaction.completed"
_STORED_BY_PROVIDER = {
    "previous_interaction_id": (
        "an interaction that is stored with the provider; send the whole conversation as `input`,"
        " or set [responses] store in the configuration of the gateway"
    ),
    "continuation_token": "an interaction that is stored with the provider",
    "agent": "an agent of the provider; name a `model`",
    "background": "an interaction that is stored with the provider; ask without `background`",
}
"""Fields that refer to state which only the provider's own server has."""


def _signature(token: str) -> str:
    return b64encode(token.encode()).decode()


def _add_token(body: Object, token: str) -> None:
    """Put the token before all other steps, as a thought: clients use the last step as the
    answer."""
    steps = body.get("steps")
    step: Object = {"type": "thought", "signature": _signature(token)}
    body["steps"] = [step, *(steps if isinstance(steps, list) else [])]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    """Add the token as one more step before the end of the interaction."""
    index = next(
        (n for n, chunk in enumerate(last) if chunk.get("event_type") == _LAST_EVENT), len(last)
    )
    delta: Object = {"type": "thought_signature", "signature": _signature(token)}
    chunks: list[Chunk] = [
        {"index": blocks, "step": {"type": "thought"}, "event_type": "step.start"},
        {"index": blocks, "delta": delta, "event_type": "step.delta"},
        {"index": blocks, "event_type": "step.stop"},
    ]
    return [*last[:index], *chunks, *last[index:]]


def _shift_block(chunk: Chunk, count: int) -> Chunk:
    index = chunk.get("index")
    return {**chunk, "index": index + count} if isinstance(index, int) else chunk


def _provider_only(body: Object) -> str | None:
    field = next((key for key in _STORED_BY_PROVIDER if body.get(key)), None)
    return None if field is None else f"`{field}` needs {_STORED_BY_PROVIDER[field]}"


def _input_items(value: JSON) -> list[JSON]:
    """The input of a request as steps; a text or a content is a step of the user."""
    if isinstance(value, str):
        value = {"type": "text", "text": value}
    content: list[JSON] = value if isinstance(value, list) else [value]
    if content and all(map(_is_content, content)):
        return [{"type": "user_input", "content": content}]
    return value if isinstance(value, list) else []


def _is_content(block: JSON) -> bool:
    return isinstance(block, dict) and block.get("type") in _CONTENT


_CONTENT = ("text", "image", "audio", "video", "document")
STATE = ResponseState(
    previous_field="previous_interaction_id",
    output_field="steps",
    input_items=_input_items,
    response_field="interaction",
    final_events=(_LAST_EVENT,),
    event_field="event_type",
    repeats_output=False,
    noun="Interaction",
    not_found_code="not_found",
)


def _find_interaction(body: Object) -> JsonPath | None:
    if isinstance(body.get("interaction"), dict):
        return ("interaction",)
    return () if "steps" in body else None


API = ClientApi(
    wire="gemini-interactions",
    identity=ResponseIdentity(
        id_prefix="v1_", time="created", time_is_text=True, find=_find_interaction
    ),
    state=STATE,
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    shift_block=_shift_block,
    type_field="event_type",
    counted_chunk="step.start",
    provider_only=_provider_only,
    paths=(
        ApiPath("POST", _PATH, "generate"),
        ApiPath("GET", rf"{_PATH}/(?P<response>[^/]+)", "get_response"),
        ApiPath("DELETE", rf"{_PATH}/(?P<response>[^/]+)", "delete_response"),
    ),
)
