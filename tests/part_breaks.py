"""Ways to break what a call, a result or an item contains: ids, names, arguments, shapes. The breaks
that move whole parts are in `breaks`.

Importing this module registers them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from copy import deepcopy

from breaks import HistoryEditor, register_break, set_id

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Result
from toolwire.profiles.table import PROFILES, Profile

_WRAPPED = ("toolUse", "toolResult", "functionCall", "functionResponse")
_PAYLOAD = "CiQBAbCdEf0123456789" * 4


def _no_profile(profile: Profile) -> bool:
    return False


def _id_rule(profile: Profile) -> IdRule:
    return profile.accepted_ids or profile.id_rule


def _fields(history: HistoryEditor, part: Call | Result) -> Object:
    """The object with the fields of a call or a result, inside any wrapper."""
    block = history.block(part)
    for key in _WRAPPED:
        inner = block.get(key)
        if isinstance(inner, dict):
            return inner
    inner = block.get("function")
    return inner if isinstance(inner, dict) else block


def _set_ids(history: HistoryEditor, n: int, new: JSON) -> bool:
    """Set another id for a call and its result."""
    call, result = history.pairs[n]
    return set_id(history, call, new) and set_id(history, result, new)


# --- ids ------------------------------------------------------------------------------------------


@register_break(lambda profile: profile.requires_ids, "id-missing", hides_identity=True)
def neither_has_an_id(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, None)


@register_break(
    lambda profile: profile.requires_ids, "id-missing", "ambiguous-same-name", hides_identity=True
)
def no_call_and_no_result_has_an_id(history: HistoryEditor, n: int) -> bool:
    removed = [_set_ids(history, k, None) for k in range(len(history.pairs))]
    return all(removed)


@register_break(lambda profile: profile.requires_ids, "id-empty", hides_identity=True)
def the_id_is_empty(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, "")


@register_break(lambda profile: profile.requires_ids, "id-not-string", "id-wrong-length")
def the_id_is_a_number(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, 193629320 + n)


@register_break(lambda profile: _id_rule(profile).longest > 0, "id-too-long", "id-wrong-length")
def the_id_is_too_long(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, f"call_{'a' * 80}{n}")


@register_break(lambda profile: _id_rule(profile).exact, "id-wrong-length")
def the_id_is_too_short(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, f"q{n}")


@register_break(
    lambda profile: not _id_rule(profile).fits("functions.read:9"),
    "id-bad-charset",
    "id-wrong-length",
)
def the_id_has_invalid_characters(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, f"functions.read:9{n}")


@register_break(
    lambda profile: not _id_rule(profile).fits("call 1|x"),
    "id-bad-charset",
    "id-composite",
    "id-wrong-length",
)
def the_id_is_composite(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, f"call_A{n}|fc_B{n}")


@register_break(
    lambda profile: _id_rule(profile).longest > 0,
    "id-carries-payload",
    "id-too-long",
    "id-wrong-length",
)
def the_id_carries_a_signature(history: HistoryEditor, n: int) -> bool:
    return _set_ids(history, n, f"call_9f{n}__thought__{_PAYLOAD}")


@register_break(
    lambda profile: (
        profile.rejects_orphan_results
        and profile.has_id_field
        and not profile.results_follow_call_order
    ),
    "id-concatenated",
)
def the_id_is_repeated(history: HistoryEditor, n: int) -> bool:
    call = history.pairs[n][0]
    return set_id(history, call, call.id * 3)


@register_break(_no_profile, "id-is-tool-name", hides_identity=True)
def the_id_is_the_name_of_the_tool(history: HistoryEditor, n: int) -> bool:
    return all(
        _set_ids(history, k, call.name)
        for k, (call, _) in enumerate(history.pairs)
        if call.name == history.pairs[n][0].name
    )


@register_break(
    lambda profile: (
        profile.rejects_orphan_results
        and profile.has_id_field
        and not profile.results_follow_call_order
    ),
    "id-is-result-content",
)
def the_id_is_the_output(history: HistoryEditor, n: int) -> bool:
    return set_id(history, history.pairs[n][1], history.pairs[n][1].text)


@register_break(lambda profile: bool(profile.own_id_pattern), "native-id-mangled")
def the_id_lost_its_punctuation(history: HistoryEditor, n: int) -> bool:
    return history.wire == "openai-chat" and _set_ids(
        history, n, f"functions{history.pairs[n][0].name}{n}"
    )


@register_break(
    lambda profile: not _id_rule(profile).fits("a.b:1"),
    "id-rewrite-collision",
    "id-bad-charset",
    "id-wrong-length",
)
def two_ids_become_equal_when_fitted(history: HistoryEditor, n: int) -> bool:
    """Not if another call has one of the ids: two calls would share it, which is another break."""
    changed = {call.path for call, _ in history.pairs[n : n + 2]}
    others = {call.id for call in history.calls if call.path not in changed}
    return (
        len(history.pairs) > n + 1
        and others.isdisjoint(("a.b:1", "a_b_1"))
        and _set_ids(history, n, "a.b:1")
        and _set_ids(history, n + 1, "a_b_1")
    )


@register_break(
    lambda profile: profile.ids_unique_in_request, "id-dup-in-turn", hides_identity=True
)
def two_calls_of_a_turn_share_an_id(history: HistoryEditor, n: int) -> bool:
    call = history.pairs[n][0]
    others = [
        k
        for k, (c, _) in enumerate(history.pairs)
        if history.message_index(c) == history.message_index(call)
        and c is not call
        and c.id != call.id
    ]
    return (
        bool(others) and not history.shape.calls_are_items and _set_ids(history, others[0], call.id)
    )


@register_break(
    lambda profile: profile.ids_unique_in_request, "id-reused-across-turns", "id-dup-in-turn"
)
def an_id_is_reused_in_a_later_turn(history: HistoryEditor, n: int) -> bool:
    call = history.pairs[n][0]
    later = [
        k
        for k, (c, _) in enumerate(history.pairs)
        if history.message_index(c) > history.message_index(history.pairs[n][1])
    ]
    return (
        bool(later)
        and call.id not in {history.pairs[k][0].id for k in later}
        and _set_ids(history, later[-1], call.id)
    )


@register_break(
    lambda profile: profile.ids_unique_in_request, "id-dup-call", "duplicate-item", "id-dup-in-turn"
)
def the_call_is_there_twice(history: HistoryEditor, n: int) -> bool:
    call = history.pairs[n][0]
    blocks = history.value_at(call.path[:-1])
    assert isinstance(blocks, list) and isinstance(call.path[-1], int)
    blocks.insert(call.path[-1], deepcopy(blocks[call.path[-1]]))
    return call.origin == "wire"


@register_break(
    lambda profile: profile.id_sometimes_refused or not profile.has_id_field, "id-field-unsupported"
)
def ids_are_present_where_the_target_has_none(history: HistoryEditor, n: int) -> bool:
    if history.wire != "gemini" or any(call.origin == "wire" for call in history.calls):
        return False
    for k, pair in enumerate(history.pairs):
        for part in pair:
            _fields(history, part)["id"] = f"call_{k}"
    return True


# --- names ----------------------------------------------------------------------------------------


def _set_names(history: HistoryEditor, n: int, new: str | None) -> bool:
    for part in history.pairs[n]:
        fields = _fields(history, part)
        if "name" not in fields:
            continue
        if new is None:
            del fields["name"]
        else:
            fields["name"] = new
    return history.pairs[n][0].origin == "wire"


@register_break(_no_profile, "name-empty", hides_identity=True)
def the_name_is_empty(history: HistoryEditor, n: int) -> bool:
    return _set_names(history, n, "")


@register_break(_no_profile, "name-missing", hides_identity=True)
def the_name_is_missing(history: HistoryEditor, n: int) -> bool:
    return _set_names(history, n, None)


@register_break(
    lambda profile: not (profile.accepted_names or profile.name_rule).fits("files/read@1"),
    "name-bad-charset",
)
def the_name_has_invalid_characters(history: HistoryEditor, n: int) -> bool:
    return _set_names(history, n, "files/read@1")


@register_break(
    lambda profile: (profile.accepted_names or profile.name_rule).longest > 0, "name-too-long"
)
def the_name_is_too_long(history: HistoryEditor, n: int) -> bool:
    return _set_names(history, n, "read_" + "x" * 150)


def _tool_definitions(history: HistoryEditor) -> list[JSON]:
    """The list of defined tools."""
    tools = history.body.get("tools")
    if isinstance(history.body.get("toolConfig"), dict):
        tools = history.body["toolConfig"]["tools"]  # type: ignore[index,call-overload]
    if (
        isinstance(tools, list)
        and tools
        and isinstance(tools[0], dict)
        and "functionDeclarations" in tools[0]
    ):
        tools = tools[0]["functionDeclarations"]
    return tools if isinstance(tools, list) else []


@register_break(lambda profile: profile.rejects_duplicate_tool_names, "name-collision")
def a_tool_is_defined_twice(history: HistoryEditor, n: int) -> bool:
    tools = _tool_definitions(history)
    tools += deepcopy(tools[:1])
    return bool(tools)


@register_break(lambda profile: profile.rejects_duplicate_tool_names, "name-collision")
def two_tools_have_one_name(history: HistoryEditor, n: int) -> bool:
    tools = [_definition(tool) for tool in _tool_definitions(history)]
    tools = [tool for tool in tools if "name" in tool]
    if len(tools) < 2:
        return False
    tools[1]["name"] = tools[0]["name"]
    return True


def _definition(tool: JSON) -> Object:
    """The object of a tool that has its name."""
    assert isinstance(tool, dict)
    inner = tool.get("function", tool.get("toolSpec", tool))
    assert isinstance(inner, dict)
    return inner


@register_break(lambda profile: profile.calls_need_tool_definitions, "tools-undefined")
def no_tool_is_defined(history: HistoryEditor, n: int) -> bool:
    return (history.body.pop("tools", None) or history.body.pop("toolConfig", None)) is not None


@register_break(lambda profile: profile.tool_choice_needs_tools, "name-unknown")
def a_tool_choice_stays_without_tools(history: HistoryEditor, n: int) -> bool:
    if history.wire != "openai-chat":
        return False
    history.body.pop("tools", None)
    history.body["tool_choice"] = "auto"
    return True


@register_break(lambda profile: profile.tool_choice_must_exist, "name-unknown")
def the_required_tool_is_not_defined(history: HistoryEditor, n: int) -> bool:
    if history.wire not in ("openai-responses", "anthropic"):
        return False
    history.body["tool_choice"] = {
        "type": "tool" if history.wire == "anthropic" else "function",
        "name": "undefined_tool",
    }
    return bool(_tool_definitions(history))


# --- arguments ------------------------------------------------------------------------------------


def _set_arguments(history: HistoryEditor, n: int, text: JSON, value: JSON) -> bool:
    """Set other arguments: as text where the wire has text, otherwise as a value."""
    fields = _fields(history, history.pairs[n][0])
    if "arguments" in fields:
        fields["arguments"] = text
    else:
        fields["args" if "args" in fields else "input"] = value
    return True


@register_break(
    lambda profile: profile.arguments_format == "json" or (profile.arguments_format == "object"),
    "args-invalid-json",
    hides_identity=True,
)
def the_arguments_are_cut_off(history: HistoryEditor, n: int) -> bool:
    return _set_arguments(history, n, '{"x": "/et', '{"x": "/et')


@register_break(
    lambda profile: profile.arguments_format == "json",
    "args-empty-string",
    "args-wrong-type",
    hides_identity=True,
)
def the_arguments_are_empty(history: HistoryEditor, n: int) -> bool:
    return _set_arguments(history, n, "", "")


@register_break(_no_profile, "args-double-encoded", "args-wrong-type")
def the_arguments_are_json_in_json(history: HistoryEditor, n: int) -> bool:
    number = _number(history.pairs[n][0])
    return number is not None and _set_arguments(
        history, n, f'"{{\\"x\\": {number}}}"', f'{{"x": {number}}}'
    )


@register_break(
    lambda profile: bool(profile.arguments_format), "args-wrong-type", "args-double-encoded"
)
def the_arguments_have_the_other_type(history: HistoryEditor, n: int) -> bool:
    number = _number(history.pairs[n][0])
    return number is not None and _set_arguments(history, n, {"x": number}, f'{{"x": {number}}}')


@register_break(_no_profile, "args-merged", "args-invalid-json", hides_identity=True)
def the_arguments_of_two_calls_are_joined(history: HistoryEditor, n: int) -> bool:
    return "arguments" in _fields(history, history.pairs[n][0]) and _set_arguments(
        history, n, '{"x": 1}{"x": 2}', None
    )


def _number(call: Call) -> int | None:
    arguments = call.input
    number = arguments.get("x") if isinstance(arguments, dict) else None
    return number if isinstance(number, int) else None


# --- shapes ---------------------------------------------------------------------------------------


@register_break(lambda profile: profile.rejects_empty_tool_calls, "empty-tool-calls")
def a_list_of_calls_is_empty(history: HistoryEditor, n: int) -> bool:
    for message in history.messages:
        assistant = message if history.wire == "openai-chat" and isinstance(message, dict) else {}
        if assistant.get("role") == "assistant" and not assistant.get("tool_calls"):
            assistant["tool_calls"] = []
            return True
    return False


@register_break(lambda profile: profile.assistant_content == "text", "content-shape")
def the_content_is_a_list(history: HistoryEditor, n: int) -> bool:
    message = history.value_at(history.pairs[n][0].path[:2])
    if history.wire != "openai-chat" or not isinstance(message, dict):
        return False
    message["content"] = [{"type": "text", "text": "so"}]
    return True


@register_break(lambda profile: profile.assistant_content == "some", "content-shape")
def the_content_is_null(history: HistoryEditor, n: int) -> bool:
    message = history.value_at(history.pairs[n][0].path[:2])
    if history.wire != "openai-chat" or not isinstance(message, dict):
        return False
    message["content"] = None
    return True


@register_break(lambda profile: profile.rejects_blank_text, "content-shape")
def a_text_is_blank(history: HistoryEditor, n: int) -> bool:
    blocks = history.value_at(history.pairs[n][0].path[:-1])
    if history.wire not in ("anthropic", "bedrock") or not isinstance(blocks, list):
        return False
    blocks.insert(0, {"type": "text", "text": ""} if history.wire == "anthropic" else {"text": ""})
    return True


@register_break(
    lambda profile: not profile.accepts_function_call, "legacy-function-call", hides_identity=True
)
def the_call_is_a_legacy_function_call(history: HistoryEditor, n: int) -> bool:
    call, result = history.pairs[n]
    message = history.value_at(call.path[:2])
    if (
        history.wire != "openai-chat"
        or not isinstance(message, dict)
        or len(message.get("tool_calls") or ()) != 1  # type: ignore[arg-type]
    ):
        return False
    del message["tool_calls"]
    message["function_call"] = {"name": call.name, "arguments": call.arguments}
    block = history.block(result)
    block.pop("tool_call_id", None)
    block.update({"role": "function", "name": call.name})
    return True


@register_break(_no_profile, "server-tool-unpaired")
def a_server_tool_call_has_no_result(history: HistoryEditor, n: int) -> bool:
    blocks = history.value_at(history.pairs[n][0].path[:-1])
    if history.wire != "anthropic" or not isinstance(blocks, list):
        return False
    blocks.insert(
        0,
        {
            "type": "server_tool_use",
            "id": f"srvtoolu_0{n}",
            "name": "web_search",
            "input": {"query": "q"},
        },
    )
    return True


# --- items ----------------------------------------------------------------------------------------


@register_break(lambda profile: profile.rejects_orphan_results, "item-id-as-call-id")
def the_output_names_the_item(history: HistoryEditor, n: int) -> bool:
    call, result = history.pairs[n]
    if not history.shape.has_item_ids:
        return False
    history.block(call)["id"] = f"fc_9{n}"
    return set_id(history, result, f"fc_9{n}")


@register_break(
    lambda profile: bool(profile.item_id_prefixes), "item-id-prefix", "item-id-as-call-id"
)
def the_item_id_has_a_wrong_prefix(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    history.block(history.pairs[n][0])["id"] = history.pairs[n][0].id
    return True


@register_break(lambda profile: bool(profile.item_id_prefixes), "duplicate-item", "id-dup-call")
def an_item_is_there_twice(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    block = history.block(history.pairs[n][0])
    block["id"] = f"fc_8{n}"
    history.insert(history.message_index(history.pairs[n][0]), deepcopy(block))
    return True


@register_break(_no_profile, "item-id-stale")
def a_reasoning_item_was_never_stored(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    history.body["store"] = False
    history.insert(
        history.message_index(history.pairs[n][0]),
        {"type": "reasoning", "id": f"rs_7{n}", "summary": []},
    )
    return True


@register_break(
    lambda profile: profile.reasoning_to_return == "reasoning" and bool(profile.item_id_prefixes),
    "reasoning-missing",
)
def the_reasoning_before_the_calls_is_lost(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids or not any(
        "id" in history.block(call) for call in history.calls
    ):
        return False
    history.body["reasoning"] = {"effort": "medium"}
    history.messages[:] = [
        item
        for item in history.messages
        if not (isinstance(item, dict) and item.get("type") == "reasoning")
    ]
    return True


@register_break(
    lambda profile: profile.reasoning_to_return == "reasoning" and bool(profile.item_id_prefixes),
    "reasoning-dangling",
)
def a_reasoning_item_is_last(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    history.messages.append(
        {"type": "reasoning", "id": "rs_99", "summary": [], "encrypted_content": "c2VhbA=="}
    )
    return True


@register_break(
    lambda profile: profile.wire == "openai-chat" or bool(profile.item_id_prefixes),
    "wrong-vocabulary",
)
def the_result_has_the_form_of_another_wire(history: HistoryEditor, n: int) -> bool:
    result = history.pairs[n][1]
    if history.shape.has_item_ids:
        new: Object = {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    elif history.wire == "openai-chat":
        new = {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
    else:
        return False
    if len(result.path) != 2 or result.origin != "wire":
        return False
    history.messages[history.message_index(result)] = new
    return True


@register_break(_no_profile, "output-not-string")
def the_output_has_a_wrong_type(history: HistoryEditor, n: int) -> bool:
    block = _fields(history, history.pairs[n][1])
    key = next((key for key in ("output", "content", "response") if key in block), "")
    if not key or not (history.shape.block_field or history.shape.has_item_ids):
        return False  # an object there makes it no body of a chat wire
    block[key] = (
        history.pairs[n][1].text
        if history.wire in ("gemini", "bedrock")
        else {"is": history.pairs[n][1].text}
    )
    return True


# --- what has to come back ------------------------------------------------------------------------


@register_break(_no_profile, "thinking-missing")
def thinking_is_enabled_and_thinking_blocks_are_missing(history: HistoryEditor, n: int) -> bool:
    if history.wire != "anthropic":
        return False
    history.body["thinking"] = {"type": "enabled", "budget_tokens": 50}
    for message in history.messages:
        blocks = message.get("content") if isinstance(message, dict) else None
        if isinstance(blocks, list):
            blocks[:] = [
                block
                for block in blocks
                if not (isinstance(block, dict) and block.get("type") == "thinking")
            ]
    return True


@register_break(_no_profile, "signature-missing")
def the_signature_is_missing(history: HistoryEditor, n: int) -> bool:
    if history.wire != "gemini":
        return False
    history.body["model"] = "gemini-3-pro-preview"
    for call in history.calls:
        history.block(call).pop("thoughtSignature", None)
    return True


@register_break(_no_profile, "signature-foreign")
def the_signature_is_foreign(history: HistoryEditor, n: int) -> bool:
    blocks = history.value_at(history.pairs[n][0].path[:-1])
    if history.wire != "anthropic" or not isinstance(blocks, list):
        return False
    blocks.insert(
        0,
        {
            "type": "thinking",
            "thinking": "hm",
            "signature": '{"id":"rs_1","encrypted_content":"gAAAAABo"}',
        },
    )
    return True


@register_break(lambda profile: bool(profile.signing_models), "signature-of-other-model")
def the_signature_is_of_another_model(history: HistoryEditor, n: int) -> bool:
    blocks = history.value_at(history.pairs[n][0].path[:-1])
    if history.wire != "anthropic" or not isinstance(blocks, list):
        return False
    header = b"\x08\x0f\x18\x02\x32\x0fclaude-opus-4-8\x38\x00"
    container = b"\x0a" + bytes([len(header)]) + header + b"\x12\x02ok"
    signature = b64encode(b"\x12" + bytes([len(container)]) + container).decode()
    history.body["model"] = "claude-fable-5"
    blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": signature})
    return True


@register_break(
    lambda profile: (
        profile.reasoning_to_return == "reasoning_content"
        and profile.reasoning_needed_in_every_turn
    ),
    "reasoning-content-missing",
)
def a_reasoning_model_gets_no_reasoning(history: HistoryEditor, n: int) -> bool:
    if history.wire != "openai-chat":
        return False
    history.body["model"] = "deepseek-reasoner or kimi-k2-thinking"
    return True


# --- models and servers with limits ---------------------------------------------------------------


@register_break(lambda profile: bool(profile.text_result_models), "media-in-result")
def a_result_holds_an_image_for_a_model_of_text(history: HistoryEditor, n: int) -> bool:
    fields = _fields(history, history.pairs[n][1])
    if "tool_call_id" in fields:
        image: JSON = {"url": "data:image/png;base64,QUJD"}
        fields["content"] = [{"type": "image_url", "image_url": image}]
        return True
    if "response" not in fields:
        return False
    fields["parts"] = [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]
    history.body["model"] = "gemini-2.5-flash"
    return True


@register_break(lambda profile: profile.system_comes_first, "late-system-message")
def a_system_message_comes_late(history: HistoryEditor, n: int) -> bool:
    if history.shape.block_field or history.shape.calls_are_items:
        return False
    late = history.shape.text_message("system", "Be brief.")
    history.messages.insert(history.message_index(history.pairs[n][0]), late)
    return True


@register_break(lambda profile: profile.rejects_same_role_twice, "same-role-twice")
def the_user_writes_twice(history: HistoryEditor, n: int) -> bool:
    if history.shape.calls_are_items:
        return False
    history.insert(0, history.shape.text_message("user", "Are you there?"))
    return True


@register_break(lambda profile: profile.rejects_lone_surrogates, "lone-surrogate")
def a_text_is_cut_inside_a_character(history: HistoryEditor, n: int) -> bool:
    half = history.shape.text_message("user", "It is CUT")
    history.insert(0, json.loads(json.dumps(half).replace("CUT", "\\ud83d")))
    return True


@register_break(lambda profile: bool(profile.accepted_message_fields), "field-refused")
def a_message_has_a_field_of_the_program(history: HistoryEditor, n: int) -> bool:
    if not PROFILES[history.wire].accepted_message_fields:
        return False
    message = history.messages[history.message_index(history.pairs[n][1])]
    assert isinstance(message, dict)
    message["timestamp"] = "2026-01-01T12:00:00Z"
    return True


@register_break(lambda profile: bool(profile.refused_message_fields), "field-refused")
def a_reply_has_a_field_of_another_server(history: HistoryEditor, n: int) -> bool:
    if history.shape.block_field or history.shape.calls_are_items:
        return False
    message = history.messages[history.message_index(history.pairs[n][0])]
    assert isinstance(message, dict)
    message["reasoning_content"] = "hm"
    return True


@register_break(lambda profile: bool(profile.item_id_prefixes), "item-shape")
def a_text_of_the_user_has_the_type_of_an_output(history: HistoryEditor, n: int) -> bool:
    if not history.shape.has_item_ids:
        return False
    block: JSON = {"type": "output_text", "text": "Are you there?"}
    history.insert(0, {"type": "message", "role": "user", "content": [block]})
    return True


@register_break(lambda profile: profile.wire == "anthropic", "too-many-cache-breakpoints")
def every_new_message_is_marked_for_the_cache(history: HistoryEditor, n: int) -> bool:
    if history.wire != "anthropic":
        return False
    mark: JSON = {"type": "ephemeral"}
    blocks: list[JSON] = [
        {"type": "text", "text": f"part {number}", "cache_control": mark} for number in range(5)
    ]
    history.insert(0, {"role": "user", "content": blocks})
    return True
