"""Ways to break what stands in a call, a result or an item: ids, names, arguments, shapes. `breaks`
has those that move them.

Each says which rules may name it, and who minds it; importing this module puts them on the list.
"""

from __future__ import annotations

from copy import deepcopy

from breaks import Broken, breaks, set_id

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Result
from toolwire.profiles.table import Profile

_WRAPPED = ("toolUse", "toolResult", "functionCall", "functionResponse")
_PAYLOAD = "CiQBAbCdEf0123456789" * 4


def _never(profile: Profile) -> bool:
    return False


def _rule(profile: Profile) -> IdRule:
    return profile.accepted_ids or profile.id_rule


def _inside(one: Broken, part: Call | Result) -> Object:
    """What a call or a result is, whatever it is wrapped in."""
    block = one.block(part)
    for key in _WRAPPED:
        held = block.get(key)
        if isinstance(held, dict):
            return held
    held = block.get("function")
    return held if isinstance(held, dict) else block


def _both(one: Broken, n: int, new: JSON) -> bool:
    """Another id for a call and its result."""
    call, result = one.pairs[n]
    return set_id(one, call, new) and set_id(one, result, new)


# --- ids ------------------------------------------------------------------------------------------


@breaks(lambda profile: profile.requires_ids, "id-missing", blind=True)
def neither_has_an_id(one: Broken, n: int) -> bool:
    return _both(one, n, None)


@breaks(lambda profile: profile.requires_ids, "id-empty", blind=True)
def the_id_is_empty(one: Broken, n: int) -> bool:
    return _both(one, n, "")


@breaks(lambda profile: profile.requires_ids, "id-not-string", "id-wrong-length")
def the_id_is_a_number(one: Broken, n: int) -> bool:
    return _both(one, n, 193629320 + n)


@breaks(lambda profile: _rule(profile).longest > 0, "id-too-long", "id-wrong-length")
def the_id_is_too_long(one: Broken, n: int) -> bool:
    return _both(one, n, f"call_{'a' * 80}{n}")


@breaks(lambda profile: _rule(profile).exact, "id-wrong-length")
def the_id_is_too_short(one: Broken, n: int) -> bool:
    return _both(one, n, f"q{n}")


@breaks(
    lambda profile: not _rule(profile).fits("functions.read:9"), "id-bad-charset", "id-wrong-length"
)
def the_id_has_odd_characters(one: Broken, n: int) -> bool:
    return _both(one, n, f"functions.read:9{n}")


@breaks(
    lambda profile: not _rule(profile).fits("call 1|x"),
    "id-bad-charset",
    "id-composite",
    "id-wrong-length",
)
def the_id_is_two(one: Broken, n: int) -> bool:
    return _both(one, n, f"call_A{n}|fc_B{n}")


@breaks(
    lambda profile: _rule(profile).longest > 0,
    "id-carries-payload",
    "id-too-long",
    "id-wrong-length",
)
def the_id_carries_a_signature(one: Broken, n: int) -> bool:
    return _both(one, n, f"call_9f{n}__thought__{_PAYLOAD}")


@breaks(
    lambda profile: (
        profile.rejects_orphan_results
        and profile.has_id_field
        and not profile.results_follow_call_order
    ),
    "id-concatenated",
)
def the_id_was_added_up(one: Broken, n: int) -> bool:
    call = one.pairs[n][0]
    return set_id(one, call, call.id * 3)


@breaks(_never, "id-is-tool-name", blind=True)
def the_id_is_the_name_of_the_tool(one: Broken, n: int) -> bool:
    return all(
        _both(one, k, call.name)
        for k, (call, _) in enumerate(one.pairs)
        if call.name == one.pairs[n][0].name
    )


@breaks(
    lambda profile: (
        profile.rejects_orphan_results
        and profile.has_id_field
        and not profile.results_follow_call_order
    ),
    "id-is-result-content",
)
def the_id_is_what_the_result_says(one: Broken, n: int) -> bool:
    return set_id(one, one.pairs[n][1], one.pairs[n][1].text)


@breaks(lambda profile: bool(profile.own_id_pattern), "native-id-mangled")
def the_id_was_cleaned(one: Broken, n: int) -> bool:
    return one.wire == "openai-chat" and _both(one, n, f"functions{one.pairs[n][0].name}{n}")


@breaks(
    lambda profile: not _rule(profile).fits("a.b:1"),
    "id-rewrite-collision",
    "id-bad-charset",
    "id-wrong-length",
)
def two_ids_would_be_one(one: Broken, n: int) -> bool:
    return len(one.pairs) > n + 1 and _both(one, n, "a.b:1") and _both(one, n + 1, "a_b_1")


@breaks(lambda profile: profile.ids_unique_in_request, "id-dup-in-turn", blind=True)
def two_calls_of_a_turn_share_an_id(one: Broken, n: int) -> bool:
    call = one.pairs[n][0]
    others = [
        k
        for k, (c, _) in enumerate(one.pairs)
        if one.place(c) == one.place(call) and c is not call and c.id != call.id
    ]
    return bool(others) and not one.shape.item and _both(one, others[0], call.id)


@breaks(lambda profile: profile.ids_unique_in_request, "id-reused-across-turns", "id-dup-in-turn")
def an_id_comes_again_later(one: Broken, n: int) -> bool:
    call = one.pairs[n][0]
    later = [k for k, (c, _) in enumerate(one.pairs) if one.place(c) > one.place(one.pairs[n][1])]
    return (
        bool(later)
        and call.id not in {one.pairs[k][0].id for k in later}
        and _both(one, later[-1], call.id)
    )


@breaks(
    lambda profile: profile.ids_unique_in_request, "id-dup-call", "duplicate-item", "id-dup-in-turn"
)
def the_call_is_there_twice(one: Broken, n: int) -> bool:
    call = one.pairs[n][0]
    held = one.at(call.path[:-1])
    assert isinstance(held, list) and isinstance(call.path[-1], int)
    held.insert(call.path[-1], deepcopy(held[call.path[-1]]))
    return call.origin == "wire"


@breaks(
    lambda profile: profile.id_sometimes_refused or not profile.has_id_field, "id-field-unsupported"
)
def they_have_ids_where_none_belong(one: Broken, n: int) -> bool:
    if one.wire != "gemini" or any(call.origin == "wire" for call in one.calls):
        return False
    for k, pair in enumerate(one.pairs):
        for part in pair:
            _inside(one, part)["id"] = f"call_{k}"
    return True


# --- names ----------------------------------------------------------------------------------------


def _named(one: Broken, n: int, new: str | None) -> bool:
    for part in one.pairs[n]:
        held = _inside(one, part)
        if "name" not in held:
            continue
        if new is None:
            del held["name"]
        else:
            held["name"] = new
    return one.pairs[n][0].origin == "wire"


@breaks(_never, "name-empty", blind=True)
def the_name_is_empty(one: Broken, n: int) -> bool:
    return _named(one, n, "")


@breaks(_never, "name-missing", blind=True)
def the_name_is_missing(one: Broken, n: int) -> bool:
    return _named(one, n, None)


@breaks(
    lambda profile: not (profile.accepted_names or profile.name_rule).fits("files/read@1"),
    "name-bad-charset",
)
def the_name_has_odd_characters(one: Broken, n: int) -> bool:
    return _named(one, n, "files/read@1")


@breaks(lambda profile: (profile.accepted_names or profile.name_rule).longest > 0, "name-too-long")
def the_name_is_too_long(one: Broken, n: int) -> bool:
    return _named(one, n, "read_" + "x" * 150)


def _offers(one: Broken) -> list[JSON]:
    """The list of tools on offer."""
    held = one.body.get("tools")
    if isinstance(one.body.get("toolConfig"), dict):
        held = one.body["toolConfig"]["tools"]  # type: ignore[index,call-overload]
    if (
        isinstance(held, list)
        and held
        and isinstance(held[0], dict)
        and "functionDeclarations" in held[0]
    ):
        held = held[0]["functionDeclarations"]
    return held if isinstance(held, list) else []


@breaks(lambda profile: profile.rejects_duplicate_tool_names, "name-collision")
def a_tool_is_offered_twice(one: Broken, n: int) -> bool:
    offers = _offers(one)
    offers += deepcopy(offers[:1])
    return bool(offers)


@breaks(lambda profile: profile.rejects_duplicate_tool_names, "name-collision")
def two_tools_have_one_name(one: Broken, n: int) -> bool:
    second = _offers(one)[1:2]
    for offer in second:
        assert isinstance(offer, dict)
        for held in (offer, offer.get("function"), offer.get("toolSpec")):
            if isinstance(held, dict) and "name" in held:
                held["name"] = "search"
    return bool(second)


@breaks(lambda profile: profile.calls_need_tool_definitions, "tools-undefined")
def no_tool_is_on_offer(one: Broken, n: int) -> bool:
    return (one.body.pop("tools", None) or one.body.pop("toolConfig", None)) is not None


@breaks(lambda profile: profile.tool_choice_must_exist, "name-unknown")
def a_stranger_must_be_used(one: Broken, n: int) -> bool:
    if one.wire not in ("openai-responses", "anthropic"):
        return False
    one.body["tool_choice"] = {
        "type": "tool" if one.wire == "anthropic" else "function",
        "name": "nobody",
    }
    return bool(_offers(one))


# --- arguments ------------------------------------------------------------------------------------


def _arguments(one: Broken, n: int, text: JSON, value: JSON) -> bool:
    """Other arguments: as text where the wire has text, else as a value."""
    held = _inside(one, one.pairs[n][0])
    if "arguments" in held:
        held["arguments"] = text
    else:
        held["args" if "args" in held else "input"] = value
    return True


@breaks(
    lambda profile: profile.arguments_format == "json" or (profile.arguments_format == "object"),
    "args-invalid-json",
    blind=True,
)
def the_arguments_were_cut_off(one: Broken, n: int) -> bool:
    return _arguments(one, n, '{"x": "/et', '{"x": "/et')


@breaks(
    lambda profile: profile.arguments_format == "json",
    "args-empty-string",
    "args-wrong-type",
    blind=True,
)
def the_arguments_are_empty(one: Broken, n: int) -> bool:
    return _arguments(one, n, "", "")


@breaks(_never, "args-double-encoded", "args-wrong-type")
def the_arguments_are_json_in_json(one: Broken, n: int) -> bool:
    number = _number(one.pairs[n][0])
    return number is not None and _arguments(
        one, n, f'"{{\\"x\\": {number}}}"', f'{{"x": {number}}}'
    )


@breaks(lambda profile: bool(profile.arguments_format), "args-wrong-type", "args-double-encoded")
def the_arguments_have_the_other_type(one: Broken, n: int) -> bool:
    number = _number(one.pairs[n][0])
    return number is not None and _arguments(one, n, {"x": number}, f'{{"x": {number}}}')


@breaks(_never, "args-merged", "args-invalid-json", blind=True)
def the_arguments_of_two_are_one(one: Broken, n: int) -> bool:
    return "arguments" in _inside(one, one.pairs[n][0]) and _arguments(
        one, n, '{"x": 1}{"x": 2}', None
    )


def _number(call: Call) -> int | None:
    held = call.input
    number = held.get("x") if isinstance(held, dict) else None
    return number if isinstance(number, int) else None


# --- shapes ---------------------------------------------------------------------------------------


@breaks(lambda profile: profile.rejects_empty_tool_calls, "empty-tool-calls")
def a_list_of_calls_is_empty(one: Broken, n: int) -> bool:
    for message in one.messages:
        said = message if one.wire == "openai-chat" and isinstance(message, dict) else {}
        if said.get("role") == "assistant" and not said.get("tool_calls"):
            said["tool_calls"] = []
            return True
    return False


@breaks(lambda profile: profile.assistant_content == "text", "content-shape")
def the_content_is_a_list(one: Broken, n: int) -> bool:
    message = one.at(one.pairs[n][0].path[:2])
    if one.wire != "openai-chat" or not isinstance(message, dict):
        return False
    message["content"] = [{"type": "text", "text": "so"}]
    return True


@breaks(lambda profile: profile.assistant_content == "some", "content-shape")
def the_content_is_null(one: Broken, n: int) -> bool:
    message = one.at(one.pairs[n][0].path[:2])
    if one.wire != "openai-chat" or not isinstance(message, dict):
        return False
    message["content"] = None
    return True


@breaks(lambda profile: profile.rejects_blank_text, "content-shape")
def a_text_is_blank(one: Broken, n: int) -> bool:
    held = one.at(one.pairs[n][0].path[:-1])
    if one.wire not in ("anthropic", "bedrock") or not isinstance(held, list):
        return False
    held.insert(0, {"type": "text", "text": ""} if one.wire == "anthropic" else {"text": ""})
    return True


@breaks(lambda profile: not profile.accepts_function_call, "legacy-function-call", blind=True)
def the_call_is_in_the_old_style(one: Broken, n: int) -> bool:
    call, result = one.pairs[n]
    message = one.at(call.path[:2])
    if (
        one.wire != "openai-chat"
        or not isinstance(message, dict)
        or len(message.get("tool_calls") or ()) != 1  # type: ignore[arg-type]
    ):
        return False
    del message["tool_calls"]
    message["function_call"] = {"name": call.name, "arguments": call.arguments}
    told = one.block(result)
    told.pop("tool_call_id", None)
    told.update({"role": "function", "name": call.name})
    return True


@breaks(_never, "server-tool-unpaired")
def a_call_of_the_provider_is_alone(one: Broken, n: int) -> bool:
    held = one.at(one.pairs[n][0].path[:-1])
    if one.wire != "anthropic" or not isinstance(held, list):
        return False
    held.insert(
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


@breaks(lambda profile: profile.rejects_orphan_results, "item-id-as-call-id")
def the_output_names_the_item(one: Broken, n: int) -> bool:
    call, result = one.pairs[n]
    if not one.shape.item:
        return False
    one.block(call)["id"] = f"fc_9{n}"
    return set_id(one, result, f"fc_9{n}")


@breaks(lambda profile: bool(profile.item_id_prefixes), "item-id-prefix", "item-id-as-call-id")
def the_item_has_a_strange_id(one: Broken, n: int) -> bool:
    if not one.shape.item:
        return False
    one.block(one.pairs[n][0])["id"] = one.pairs[n][0].id
    return True


@breaks(lambda profile: bool(profile.item_id_prefixes), "duplicate-item", "id-dup-call")
def an_item_is_there_twice(one: Broken, n: int) -> bool:
    if not one.shape.item:
        return False
    block = one.block(one.pairs[n][0])
    block["id"] = f"fc_8{n}"
    one.insert(one.place(one.pairs[n][0]), deepcopy(block))
    return True


@breaks(_never, "item-id-stale")
def an_item_was_never_stored(one: Broken, n: int) -> bool:
    if not one.shape.item:
        return False
    one.body["store"] = False
    one.insert(one.place(one.pairs[n][0]), {"type": "reasoning", "id": f"rs_7{n}", "summary": []})
    return True


@breaks(
    lambda profile: profile.reasoning_to_return == "reasoning" and bool(profile.item_id_prefixes),
    "reasoning-missing",
)
def the_thoughts_before_the_calls_are_lost(one: Broken, n: int) -> bool:
    if not one.shape.item or not any("id" in one.block(call) for call in one.calls):
        return False
    one.body["reasoning"] = {"effort": "medium"}
    one.messages[:] = [
        item
        for item in one.messages
        if not (isinstance(item, dict) and item.get("type") == "reasoning")
    ]
    return True


@breaks(
    lambda profile: profile.reasoning_to_return == "reasoning" and bool(profile.item_id_prefixes),
    "reasoning-dangling",
)
def a_thought_leads_nowhere(one: Broken, n: int) -> bool:
    if not one.shape.item:
        return False
    one.messages.append(
        {"type": "reasoning", "id": "rs_99", "summary": [], "encrypted_content": "c2VhbA=="}
    )
    return True


@breaks(
    lambda profile: profile.wire == "openai-chat" or bool(profile.item_id_prefixes),
    "wrong-vocabulary",
)
def the_result_is_said_as_elsewhere(one: Broken, n: int) -> bool:
    result = one.pairs[n][1]
    if one.wire == "openai-responses":
        new: Object = {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    elif one.wire == "openai-chat":
        new = {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
    else:
        return False
    if len(result.path) != 2 or result.origin != "wire":
        return False
    one.messages[one.place(result)] = new
    return True


@breaks(_never, "output-not-string")
def the_result_is_not_in_its_form(one: Broken, n: int) -> bool:
    block = _inside(one, one.pairs[n][1])
    key = next((key for key in ("output", "content", "response") if key in block), "")
    if not key or one.wire in ("openai-chat", "mistral"):
        return False  # an object there makes it no body of these
    block[key] = (
        one.pairs[n][1].text if one.wire in ("gemini", "bedrock") else {"is": one.pairs[n][1].text}
    )
    return True


# --- what has to come back ------------------------------------------------------------------------


@breaks(_never, "thinking-missing")
def thinking_is_on_and_nobody_thought(one: Broken, n: int) -> bool:
    if one.wire != "anthropic":
        return False
    one.body["thinking"] = {"type": "enabled", "budget_tokens": 50}
    for message in one.messages:
        held = message.get("content") if isinstance(message, dict) else None
        if isinstance(held, list):
            held[:] = [
                block
                for block in held
                if not (isinstance(block, dict) and block.get("type") == "thinking")
            ]
    return True


@breaks(_never, "signature-missing")
def the_signature_is_missing(one: Broken, n: int) -> bool:
    if one.wire != "gemini":
        return False
    one.body["model"] = "gemini-3-pro-preview"
    for call in one.calls:
        one.block(call).pop("thoughtSignature", None)
    return True


@breaks(_never, "signature-foreign")
def the_signature_is_a_strangers(one: Broken, n: int) -> bool:
    held = one.at(one.pairs[n][0].path[:-1])
    if one.wire != "anthropic" or not isinstance(held, list):
        return False
    held.insert(
        0,
        {
            "type": "thinking",
            "thinking": "hm",
            "signature": '{"id":"rs_1","encrypted_content":"gAAAAABo"}',
        },
    )
    return True


@breaks(
    lambda profile: (
        profile.reasoning_to_return == "reasoning_content"
        and profile.reasoning_needed_in_every_turn
    ),
    "reasoning-content-missing",
)
def a_thinking_model_gets_no_thought(one: Broken, n: int) -> bool:
    if one.wire != "openai-chat":
        return False
    one.body["model"] = "deepseek-reasoner or kimi-k2-thinking"
    return True
