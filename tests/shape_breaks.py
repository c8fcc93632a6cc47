"""Breaks of JSON types, roles and formats, which a switch of programs leaves behind. Importing this
module registers them."""

from __future__ import annotations

import json

from breaks import HistoryEditor, register_break

from toolwire.conversation.json import JSON, Object
from toolwire.profiles.table import Profile


def _every_profile(profile: Profile) -> bool:
    return True


def _no_profile(profile: Profile) -> bool:
    return False


def _message(history: HistoryEditor, n: int, half: int) -> Object:
    message = history.messages[history.message_index(history.pairs[n][half])]
    assert isinstance(message, dict)
    return message


def _list_field(message: Object) -> str:
    """The field of a message that holds a list of objects; empty if there is none."""
    for field, value in message.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            return field
    return ""


@register_break(_no_profile)
def the_call_has_no_list(history: HistoryEditor, n: int) -> bool:
    """Gemini accepts it."""
    message = _message(history, n, 0)
    field = _list_field(message)
    blocks = message.get(field)
    if not isinstance(blocks, list) or len(blocks) != 1:
        return False
    message[field] = blocks[0]
    return True


@register_break(_every_profile, "wrong-json-type")
def a_list_is_json_text(history: HistoryEditor, n: int) -> bool:
    message = _message(history, n, 0)
    field = _list_field(message)
    if field not in ("tool_calls", "parts"):
        return False  # text is valid content elsewhere
    message[field] = json.dumps(message[field])
    return True


@register_break(_every_profile, "wrong-json-type")
def a_list_is_an_object_of_indexes(history: HistoryEditor, n: int) -> bool:
    message = _message(history, n, 0)
    field = _list_field(message)
    blocks = message.get(field)
    if not isinstance(blocks, list) or field == "summary":
        return False
    message[field] = {str(index): block for index, block in enumerate(blocks)}
    return True


@register_break(_every_profile, "wrong-json-type")
def null_stands_among_the_messages(history: HistoryEditor, n: int) -> bool:
    history.insert(history.message_index(history.pairs[n][1]), None)
    return True


@register_break(_every_profile, "wrong-json-type")
def the_messages_are_nested(history: HistoryEditor, n: int) -> bool:
    inner = list(history.messages)
    history.messages[:] = [inner]
    return n == 0


@register_break(_no_profile)
def the_role_of_the_call_is_missing(history: HistoryEditor, n: int) -> bool:
    return _message(history, n, 0).pop("role", None) is not None


@register_break(_no_profile)
def the_role_of_the_result_is_null(history: HistoryEditor, n: int) -> bool:
    message = _message(history, n, 1)
    if "role" not in message:
        return False
    message["role"] = None
    return True


@register_break(lambda profile: profile.rejects_missing_results)
def the_result_is_text_of_the_user(history: HistoryEditor, n: int) -> bool:
    result = history.pairs[n][1]
    index = history.message_index(result)
    before = len(history.messages)
    history.remove(result)
    index += len(history.messages) - before + 1
    history.insert(index, history.shape.text_message("user", f"Tool result: {result.text}"))
    return True


_FORMS: dict[str, tuple[str, str]] = {
    "blocks": (
        '{"type": "tool_use", "id": "ID", "name": "NAME", "input": {"x": 1}}',
        '{"type": "tool_result", "tool_use_id": "ID", "content": "foreign"}',
    ),
    "converse": (
        '{"toolUse": {"toolUseId": "ID", "name": "NAME", "input": {"x": 1}}}',
        '{"toolResult": {"toolUseId": "ID", "content": [{"text": "foreign"}]}}',
    ),
    "contents": (
        '{"functionCall": {"id": "ID", "name": "NAME", "args": {"x": 1}}}',
        '{"functionResponse": {"id": "ID", "name": "NAME", "response": {"output": "foreign"}}}',
    ),
    "model messages": (
        '{"type": "tool-call", "toolCallId": "ID", "toolName": "NAME", "input": {"x": 1}}',
        '{"type": "tool-result", "toolCallId": "ID", "toolName": "NAME", "output": "foreign"}',
    ),
}
"""A call and a result as blocks of several wires."""


def _insert_foreign_pair(history: HistoryEditor, n: int, form: str) -> bool:
    """Insert a pair of another wire before the n-th pair, as messages of its own."""
    field = history.shape.block_field or "content"
    if history.shape.calls_are_items and not history.shape.has_item_ids:
        return False
    name = history.pairs[n][0].name
    call, result = (
        json.loads(text.replace("ID", "bbbbbbbb1").replace("NAME", name)) for text in _FORMS[form]
    )
    messages: list[JSON] = [
        {"role": history.shape.assistant_role, field: [call]},
        {"role": "user", field: [result]},
    ]
    history.insert(history.message_index(history.pairs[n][0]), *messages)
    return True


@register_break(_no_profile)
def a_pair_of_blocks_precedes(history: HistoryEditor, n: int) -> bool:
    return _insert_foreign_pair(history, n, "blocks")


@register_break(_no_profile)
def a_pair_of_converse_precedes(history: HistoryEditor, n: int) -> bool:
    return _insert_foreign_pair(history, n, "converse")


@register_break(_no_profile)
def a_pair_of_contents_precedes(history: HistoryEditor, n: int) -> bool:
    return _insert_foreign_pair(history, n, "contents")


@register_break(_no_profile)
def a_pair_of_model_messages_precedes(history: HistoryEditor, n: int) -> bool:
    return _insert_foreign_pair(history, n, "model messages")


@register_break(_no_profile)
def the_thinking_has_no_signature(history: HistoryEditor, n: int) -> bool:
    blocks = history.value_at(history.pairs[n][0].path[:-1])
    if not isinstance(blocks, list) or history.shape.calls_are_items:
        return False
    if history.wire == "anthropic":
        blocks.insert(0, {"type": "thinking", "thinking": "hm"})
    elif history.wire == "bedrock":
        blocks.insert(0, {"reasoningContent": {"reasoningText": {"text": "hm"}}})
    elif history.wire == "gemini":
        blocks.insert(0, {"text": "hm", "thought": True})
    else:
        return False
    return True


@register_break(_no_profile)
def an_approval_was_never_answered(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    request: JSON = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "s",
        "name": "f",
        "arguments": "{}",
    }
    history.insert(history.message_index(history.pairs[n][0]), request)
    return True


@register_break(_no_profile)
def a_result_holds_an_image_in_another_format(history: HistoryEditor, n: int) -> bool:
    block = history.block(history.pairs[n][1])
    fields = next((v for v in block.values() if isinstance(v, dict)), block)
    key = next((key for key in ("output", "content") if key in fields), "")
    if not key:
        return False
    image: JSON = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    fields[key] = [{"type": "text", "text": "see"}, {"type": "image", "source": image}]
    return True
