"""Bodies in a shorter form: bare lists of messages, and single elements instead of lists."""

from __future__ import annotations

import json

import pytest
from cases import CASES, Case
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Tool,
    UsageError,
    abandon,
    check,
    cut,
    decode,
    detect,
    encode,
    explain,
    pending,
    repair,
    resume,
    translate,
)
from toolwire.conversation.json import JSON, get
from toolwire.errors import pointer
from toolwire.wires import names, wire

LISTS = [name for name in names() if wire(name).messages_field]
CALL: JSON = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLING: list[JSON] = [
    {"role": "user", "content": "Look it up."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
]
STUCK: list[JSON] = [*CALLING, {"role": "user", "content": "Well?"}]
REFUSAL = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: c1"
)


def messages_of(case: Case) -> list[JSON]:
    value = case.body.get(wire(case.wire).messages_field) if isinstance(case.body, dict) else None
    return value if isinstance(value, list) else []


WITH_LISTS = [
    case for case in CASES if case.wire in LISTS and case.kind == "request" and messages_of(case)
]


@rows("case", WITH_LISTS)
def test_a_list_of_messages_is_read_and_comes_back_as_a_list(case: Case) -> None:
    messages = messages_of(case)
    raw = json.dumps(messages).encode()
    encoded = encode(decode(raw, case.wire), case.wire)
    assert (encoded.body, encoded.json()) == (messages, raw)
    assert decode(messages, case.wire).calls() == [
        call for call in decode(case.body, case.wire).calls() if call.path[:1] != ("system",)
    ]


@rows("case", WITH_LISTS)
def test_paths_of_parts_start_at_the_list(case: Case) -> None:
    messages = messages_of(case)
    conversation = decode(messages, case.wire)
    for part in conversation.parts():
        assert not part.path or isinstance(part.path[0], int)
        if not isinstance(part.raw, UnsetType):
            assert get(messages, part.path) is not UNSET
    calls = [call for call in conversation.calls() if call.family == "function" and call.path]
    for call in calls[:1]:
        edited = conversation.change_arguments(call, {"edited": True})
        full = decode({wire(case.wire).messages_field: messages}, case.wire)
        same = next(one for one in full.calls() if one.path[1:] == call.path)
        expected = encode(full.change_arguments(same, {"edited": True}), case.wire).body
        assert encode(edited, case.wire).body == messages_in(expected, case.wire)


def messages_in(body: JSON, name: str) -> JSON:
    assert isinstance(body, dict)
    return body[wire(name).messages_field]


@rows("case", WITH_LISTS)
def test_paths_of_findings_lead_into_the_list(case: Case) -> None:
    messages = messages_of(case)
    field = wire(case.wire).messages_field
    whole = check({field: messages}, case.wire)
    expected = {pointer(finding.path[1:]) for finding in whole if finding.path[:1] == (field,)}
    assert {finding.pointer for finding in check(messages, case.wire)} <= expected | {
        finding.pointer for finding in whole if finding.path[:1] != (field,)
    }


def test_a_stuck_list_is_repaired_as_a_list() -> None:
    repaired = repair(STUCK, "openai-chat")
    assert isinstance(repaired.body, list)
    assert [change.pointer for change in repaired.changes] == ["/1/tool_calls/0"]
    assert check(repaired.body, "openai-chat") == []
    assert translate(STUCK, "openai-chat", "openai-chat").body == repaired.body


def test_a_list_becomes_a_full_body_on_another_wire() -> None:
    encoded = translate(STUCK, "openai-chat", "anthropic")
    assert isinstance(encoded.body, dict)
    assert [change.pointer for change in encoded.changes] == ["/1/tool_calls/0"]


def test_a_list_that_was_given_tools_becomes_a_full_body() -> None:
    conversation = decode(CALLING, "openai-chat")
    body = encode(replace(conversation, tools=(Tool("look"),)), "openai-chat").body
    assert isinstance(body, dict)
    assert (body["messages"], len(body["tools"])) == (CALLING, 1)  # type: ignore[arg-type]


def test_the_verbs_of_histories_take_lists() -> None:
    assert [call.id for call in pending(CALLING, "openai-chat")] == ["c1"]
    result: JSON = {"role": "tool", "tool_call_id": "c1", "content": "7"}
    assert resume(CALLING, "openai-chat", {"c1": "7"}).body == [*CALLING, result]
    assert isinstance(abandon(CALLING, "openai-chat").body, list)
    assert cut([*CALLING, result, STUCK[2]], "openai-chat", messages=1).body == [STUCK[2]]
    assert explain(REFUSAL, STUCK)[0].pointer == "/1/tool_calls/0"


def test_a_list_without_tool_definitions_is_no_violation_because_they_are_elsewhere() -> None:
    use: JSON = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}
    answer: JSON = {"toolResult": {"toolUseId": "c1", "content": [{"text": "7"}]}}
    messages: list[JSON] = [
        {"role": "user", "content": [{"text": "Look."}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
    ]
    assert check(messages, "bedrock") == []
    assert [f.name for f in check({"messages": messages}, "bedrock")] == ["tools-undefined"]


# --- detection ------------------------------------------------------------------------------------


def test_the_wire_of_a_list_is_detected_by_its_messages() -> None:
    assert detect(STUCK) == "openai-chat"
    use: JSON = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    assert detect([{"role": "assistant", "content": [use]}]) == "anthropic"
    assert detect([{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]) == "gemini"
    item: JSON = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert detect([item]) == "openai-responses"
    step: JSON = {"type": "function_call", "id": "c", "name": "f", "arguments": {}}
    assert detect([step]) == "gemini-interactions"


def test_a_field_that_only_another_wire_has_does_not_outweigh_the_rest() -> None:
    call: JSON = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer: JSON = {"role": "tool", "tool_call_id": "c", "tool_name": "f", "content": "7"}
    question: JSON = {"role": "user", "content": "hi"}
    calls: JSON = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert detect([question, calls, answer]) == "openai-chat"
    use: JSON = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    block: JSON = {"type": "tool_result", "tool_use_id": "t", "content": "7"}
    results: list[JSON] = [
        {"role": "tool", "content": [block]},
        {"role": "tool", "tool_use_id": "t", "content": "7"},
    ]
    for result in results:
        assert detect([question, {"role": "assistant", "content": [use]}, result]) == "anthropic"


TELEMETRY: list[JSON] = [
    {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f"}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "7"}]},
]


CALL_STEP: JSON = {"type": "function_call", "id": "x", "name": "look", "arguments": {}}
RESULT_STEP: JSON = {"type": "function_result", "call_id": "x", "result": "7"}
FOREIGN: dict[str, JSON] = {
    "interaction with texts": {
        "input": [{"role": "user", "content": "hi"}, CALL_STEP, RESULT_STEP, "bye"]
    },
    "telemetry": TELEMETRY,
    "telemetry as messages": {"messages": TELEMETRY},
    "telemetry after a system prompt": [{"role": "system", "content": "Be brief."}, TELEMETRY[0]],
    "messages under a key": {"messages": [{"type": "human", "payload": {"content": "hi"}}]},
    "messages with an unknown type instead of a role": [
        {"type": "question", "content": "hi"},
        {"type": "reply", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": {}}]},
        {"type": "outcome", "content": "7", "tool_call_id": "c"},
    ],
    "calls of another format": {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "f"}]},
            {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "7"}]},
        ]
    },
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_body_of_which_much_is_unknown_is_not_detected(name: str) -> None:
    with pytest.raises(UsageError, match=r"name the wire|any known wire"):
        detect(FOREIGN[name])


def test_the_refusal_names_the_candidates_and_what_is_unknown() -> None:
    with pytest.raises(UsageError) as error:
        detect(FOREIGN["calls of another format"])
    assert "openai-chat" in error.value.why
    assert "2 of its 3 blocks are unknown there (toolCall, toolResult)" in error.value.why


def test_messages_as_frameworks_store_them_are_those_of_a_chat() -> None:
    stored: list[JSON] = [
        {"type": "human", "data": {"type": "human", "content": "hi", "example": False}},
        {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": {}}]},
        {"lc": 1, "id": ["m", "ToolMessage"], "kwargs": {"content": "7", "tool_call_id": "c"}},
    ]
    assert detect(stored) == detect({"messages": stored}) == "openai-chat"
    assert get(translate(stored, "openai-chat", "anthropic").body, ("messages",)) == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "7"}]},
    ]
    repaired = repair(stored, "openai-chat").body
    roles = [get(repaired, (n, "role")) for n in range(3)]
    assert roles == ["user", "assistant", "tool"]


def test_a_new_item_in_a_long_history_does_not_hide_its_wire() -> None:
    question: JSON = {"role": "user", "content": "hi"}
    new: JSON = {"type": "hologram", "id": "h_1"}
    assert detect({"input": [question, new, question, question]}) == "openai-responses"


# --- single elements ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_a_single_element_is_a_list_of_one_on_gemini(key: str) -> None:
    body: JSON = {
        "contents": {"role": "user", "parts": {"text": "hi"}},
        "tools": {key: {"name": "look"}},
        "systemInstruction": {"parts": {"text": "Be brief."}},
    }
    conversation = decode(body, "gemini")
    assert [tool.name for tool in conversation.tools] == ["look"]
    assert [message.role for message in conversation.messages] == ["system", "user"]
    assert encode(conversation, "gemini").body == body
    assert decode(translate(body, "gemini", "openai-chat").body, "openai-chat").tools


def test_a_single_text_in_the_settings_is_a_list_of_one_on_gemini() -> None:
    body: JSON = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "look"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": "look"}},
        "generationConfig": {"stopSequences": "END"},
    }
    encoded = translate(body, "gemini", "openai-chat")
    choice: JSON = {"type": "function", "function": {"name": "look"}}
    assert get(encoded.body, ("tool_choice",)) == choice
    assert get(encoded.body, ("stop",)) == ["END"]
    assert encoded.losses == []


def test_a_bare_list_is_a_body_of_every_wire_with_messages() -> None:
    messages: JSON = [{"role": "user", "content": "hi"}]
    for name in ("openai-chat", "anthropic", "ollama", "cohere", "mistral", "text"):
        assert encode(decode(messages, name), name).body == messages
