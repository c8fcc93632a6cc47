"""Messages of another wire in a history: each is found, repaired, and not lost in a translation."""

from __future__ import annotations

import json

import pytest
from breaks import SHAPES
from hand_made_histories import history_body
from rows import rows
from validators import complaints

from toolwire import Text, check, decode, repair, translate
from toolwire.conversation.json import JSON, get
from toolwire.lint.examples.chat import assistant, tool_call, tool_message

HISTORIES: dict[str, str] = {
    "anthropic": '{"model": "m", "max_tokens": 9, "messages": [%s]}',
    "bedrock": '{"messages": [%s]}',
    "gemini": '{"contents": [%s]}',
    "openai-chat": '{"model": "m", "messages": [%s]}',
    "openai-responses": '{"model": "m", "input": [%s]}',
}
CALLS: dict[str, str] = {
    "anthropic": '{"type": "tool_use", "id": "aaaaaaaa1", "name": "f", "input": {"q": 1}}',
    "bedrock": '{"toolUse": {"toolUseId": "aaaaaaaa1", "name": "f", "input": {"q": 1}}}',
    "gemini": '{"functionCall": {"id": "aaaaaaaa1", "name": "f", "args": {"q": 1}}}',
}
RESULTS: dict[str, str] = {
    "anthropic": '{"type": "tool_result", "tool_use_id": "aaaaaaaa1", "content": "sunny"}',
    "bedrock": '{"toolResult": {"toolUseId": "aaaaaaaa1", "content": [{"text": "sunny"}]}}',
    "gemini": (
        '{"functionResponse": {"id": "aaaaaaaa1", "name": "f", "response": {"result": "sunny"}}}'
    ),
}
MODEL = {"gemini": "model"}


def _message(wire: str, role: str, block: str) -> str:
    field = "parts" if wire == "gemini" else "content"
    return json.dumps({"role": role, field: [json.loads(block)]})


def _text(wire: str, text: str) -> str:
    typed = {"anthropic": {"type": "text"}, "openai-chat": {"type": "text"}}
    typed["openai-responses"] = {"type": "input_text"}
    return json.dumps({**typed.get(wire, {}), "text": text})


def _body(wire: str, *messages: str) -> JSON:
    opening = _message(wire, "user", _text(wire, "hi"))
    body: JSON = json.loads(HISTORIES[wire] % ", ".join([opening, *messages]))
    return body


def _errors(body: JSON, wire: str) -> list[str]:
    return [finding.name for finding in check(body, wire) if finding.severity == "error"]


@pytest.mark.parametrize("role", ["human", "ai", "AI", "bot", "planner", ""])
@pytest.mark.parametrize("wire", HISTORIES)
def test_a_message_of_an_unknown_role_gets_one_that_the_wire_knows(wire: str, role: str) -> None:
    body = _body(wire, _message(wire, role, _text(wire, "sunny")))
    assert "wrong-vocabulary" in _errors(body, wire)
    repaired = repair(body, wire).body
    assert _errors(repaired, wire) == []
    is_model = role in ("ai", "AI", "bot")
    assert decode(repaired, wire).messages[-1].role == ("assistant" if is_model else "user")
    for target in HISTORIES:
        assert "sunny" in json.dumps(translate(body, wire, target).body), target


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere"])
def test_a_chat_message_without_a_role_keeps_its_call_or_result(wire: str) -> None:
    function: JSON = {"name": "f", "arguments": "{}"}
    call: JSON = {"id": "abcdef123", "type": "function", "function": function}
    messages: list[JSON] = [
        {"role": "user", "content": "hi"},
        {"tool_calls": [call]},
        {"tool_call_id": "abcdef123", "content": "sunny"},
    ]
    body: JSON = {"model": "m", "messages": messages}
    repaired = repair(body, wire)
    assert [change.path for change in repaired.changes] == [("messages", 1), ("messages", 2)]
    assert repair(repaired.body, wire).changes == []
    for history in (body, repaired.body, translate(body, wire, "anthropic").body):
        source = "anthropic" if history not in (body, repaired.body) else wire
        (pair,) = decode(history, source).pairs()
        assert pair.call is not None and pair.result is not None
        assert (pair.call.id, pair.result.text) == ("abcdef123", "sunny")


@pytest.mark.parametrize("foreign", CALLS)
@pytest.mark.parametrize("halves", ["calls", "results", "calls and results"])
@pytest.mark.parametrize("wire", CALLS)
def test_calls_and_results_in_blocks_of_another_wire_stay_a_pair(
    wire: str, halves: str, foreign: str
) -> None:
    call = CALLS[foreign if "calls" in halves else wire]
    result = RESULTS[foreign if "results" in halves else wire]
    body = _body(
        wire, _message(wire, MODEL.get(wire, "assistant"), call), _message(wire, "user", result)
    )
    assert ("wrong-vocabulary" in _errors(body, wire)) == (wire != foreign)
    bodies = {wire: repair(body, wire).body}
    bodies |= {target: translate(body, wire, target).body for target in HISTORIES if target != wire}
    for target, made in bodies.items():
        assert _errors(made, target) == [], target
        (pair,) = decode(made, target).pairs()
        assert pair.call is not None and pair.call.input == {"q": 1}, target
        assert pair.result is not None and "sunny" in pair.result.text, target


@pytest.mark.parametrize("wire", ["bedrock", "gemini"])
def test_content_that_is_plain_text_is_converted(wire: str) -> None:
    body = _body(wire, json.dumps({"role": MODEL.get(wire, "assistant"), "content": "sunny"}))
    assert "wrong-vocabulary" in _errors(body, wire)
    repaired = repair(body, wire).body
    assert _errors(repaired, wire) == []
    (part,) = decode(repaired, wire).messages[-1].parts
    assert isinstance(part, Text) and part.text == "sunny"
    assert "sunny" in json.dumps(translate(body, wire, "openai-chat").body)


def test_an_answer_under_the_role_of_the_user_that_names_a_call_is_its_result() -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for role in ("user", "function"):
        body: JSON = {
            "model": "m",
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": role, "tool_call_id": "c1", "content": "sunny"},
            ],
        }
        (pair,) = decode(repair(body, "openai-chat").body, "openai-chat").pairs()
        assert pair.result is not None and pair.result.text == "sunny"


FOREIGN_BLOCKS: dict[str, JSON] = {
    "thinking": {"type": "thinking", "thinking": "sunny", "signature": "c2ln"},
    "thinking without text": {"type": "redacted_thinking", "data": "c2ln"},
    "reasoning of Bedrock": {"reasoningContent": {"reasoningText": {"text": "sunny"}}},
    "reasoning of the AI SDK": {"type": "reasoning", "text": "sunny"},
    "document": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "sunny"},
    },
    "file of the AI SDK": {"type": "file", "mediaType": "image/png", "url": "https://x/sunny.png"},
    "image of Gemini": {"fileData": {"mimeType": "image/png", "fileUri": "https://x/sunny.png"}},
    "cache mark": {"cachePoint": {"type": "default"}},
    "text with annotations": {"type": "output_text", "text": "sunny", "annotations": []},
    "call of a provider": {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "sunny"},
    },
}
OWN_BLOCKS = {
    ("anthropic", name)
    for name in ("thinking", "thinking without text", "document", "call of a provider")
}
OWN_BLOCKS |= {
    ("bedrock", "reasoning of Bedrock"),
    ("bedrock", "cache mark"),
    ("gemini", "image of Gemini"),
    ("openai-responses", "text with annotations"),
}


@pytest.mark.parametrize("name", FOREIGN_BLOCKS)
@pytest.mark.parametrize("wire", HISTORIES)
def test_a_block_that_only_another_wire_knows_is_converted(wire: str, name: str) -> None:
    if (wire, name) in OWN_BLOCKS:
        pytest.skip("the wire knows the block")
    field, role = ("parts", "model") if wire == "gemini" else ("content", "assistant")
    text: JSON = json.loads(_text(wire, "fine").replace("input_text", "output_text"))
    reply: JSON = {"role": role, field: [FOREIGN_BLOCKS[name], text]}
    body = _body(wire, json.dumps(reply), _message(wire, "user", _text(wire, "and?")))
    says_more = "sunny" in json.dumps(body)
    assert "wrong-vocabulary" in _errors(body, wire)
    bodies = {wire: repair(body, wire).body}
    bodies |= {target: translate(body, wire, target).body for target in HISTORIES if target != wire}
    for target, made in bodies.items():
        assert _errors(made, target) == [], target
        assert complaints(target, made) == ""
        assert ("sunny" in json.dumps(made)) == says_more, target


@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "gemini", "openai-responses"])
def test_a_text_in_place_of_a_block_is_converted(wire: str) -> None:
    message = json.loads(_message(wire, "user", _text(wire, "and?")))
    message["parts" if wire == "gemini" else "content"] = ["sunny"]
    body = _body(wire, json.dumps(message))
    assert "wrong-vocabulary" in _errors(body, wire)
    repaired = repair(body, wire).body
    assert _errors(repaired, wire) == []
    assert [part.text for part in decode(repaired, wire).parts() if isinstance(part, Text)] == [
        "hi",
        "sunny",
    ]
    assert "sunny" in json.dumps(translate(body, wire, "openai-chat").body)


@pytest.mark.parametrize("wire", ["bedrock", "gemini"])
def test_a_type_in_a_block_of_a_wire_without_types_is_found(wire: str) -> None:
    block = json.dumps({"type": "text", "text": "sunny", "cache_control": {"type": "ephemeral"}})
    body = _body(wire, _message(wire, "user", block))
    assert "wrong-vocabulary" in _errors(body, wire)
    repaired = repair(body, wire).body
    assert "cache_control" not in json.dumps(repaired)
    assert complaints(wire, repaired) == ""


def test_a_result_in_the_content_of_a_result_is_its_output() -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    inner: JSON = {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [inner]},
        ],
    }
    repaired = repair(body, "openai-chat").body
    assert complaints("openai-chat", repaired) == ""
    (pair,) = decode(repaired, "openai-chat").pairs()
    assert pair.result is not None and pair.result.text == "sunny"


def test_an_object_instead_of_content_becomes_text() -> None:
    body: JSON = {
        "model": "m",
        "messages": [{"role": "user", "content": {"city": {"in": "sunny"}}}],
    }
    assert _errors(body, "openai-chat") == ["wrong-vocabulary"]
    repaired = repair(body, "openai-chat").body
    assert complaints("openai-chat", repaired) == ""
    assert "sunny" in json.dumps(repaired)
    assert "sunny" in json.dumps(translate(body, "openai-chat", "anthropic").body)


def test_the_type_of_a_call_is_not_null_on_a_wire_whose_types_require_it() -> None:
    call: JSON = {"id": "c1", "type": None, "function": {"name": "f", "arguments": "{}"}}
    messages: list[JSON] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    body: JSON = {"model": "m", "messages": messages}
    assert [finding.name for finding in check(body, "cohere")] == ["wrong-vocabulary"]
    fixed = repair(body, "cohere").body
    assert get(fixed, ("messages", 1, "tool_calls", 0, "type")) == "function"
    assert check(fixed, "cohere") == []


@pytest.mark.parametrize("wire", SHAPES)
def test_a_text_block_with_its_text_in_another_field_keeps_it(wire: str) -> None:
    body = json.loads(json.dumps(history_body("one-call", wire)))
    message = body[SHAPES[wire].list_field][0]
    field = "parts" if "parts" in message else "content"
    message[field] = [{"type": "text", "content": "MARK"}]
    assert "MARK" in str(repair(body, wire).body)
    for target in SHAPES:
        assert "MARK" in translate(body, wire, target).json().decode(), target


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_json_without_text_among_the_blocks_of_an_item_is_quoted(role: str) -> None:
    item: JSON = {"type": "message", "role": role, "content": [{"a": 1}]}
    body: JSON = {"input": [item, {"role": "user", "content": "hi"}]}
    (first, *_) = decode(repair(body, "openai-responses").body, "openai-responses").messages
    assert [part.text for part in first.parts if isinstance(part, Text)] == ['[toolwire] {"a":1}']


def test_a_plain_text_beside_a_call_of_the_user_is_converted_and_the_call_stays() -> None:
    call: JSON = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {"x": 1}}
    output: JSON = {"type": "text", "value": "one"}
    result: JSON = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    body: JSON = {
        "messages": [
            {"role": "user", "content": ["hello", call]},
            {"role": "tool", "content": [result]},
        ]
    }
    repaired = repair(body, "ai-sdk").body
    assert get(repaired, ("messages", 0, "content")) == [{"type": "text", "text": "hello"}, call]


FLAT_CALLS: dict[str, JSON] = {
    "a block of another wire": {"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}},
    "without function": {"id": "toolu_01", "type": "function", "name": "f", "arguments": "{}"},
    "without function and type": {"id": "toolu_01", "name": "f", "args": {}},
    "of another type": {
        "id": "toolu_01",
        "type": "tool_call",
        "function": {"name": "f", "arguments": "{}"},
    },
    "with another id field": {"call_id": "toolu_01", "name": "f", "arguments": "{}"},
}


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "groq", "deepseek"])
@pytest.mark.parametrize("call", FLAT_CALLS.values(), ids=FLAT_CALLS)
def test_a_call_in_another_form_keeps_its_name_and_its_result_if_the_id_has_to_change(
    call: JSON, wire: str
) -> None:
    field = "content" if get(call, ("type",)) == "tool_use" else "tool_calls"
    messages: list[JSON] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, field: [call]},
        {"role": "tool", "tool_call_id": "toolu_01", "content": "sunny"},
        {"role": "user", "content": "so?"},
    ]
    repaired = repair({"model": "m", "messages": messages}, wire)
    assert "wrong-vocabulary" in {change.name for change in repaired.changes}
    assert check(repaired.body, wire) == []
    [pair] = decode(repaired.body, wire).pairs()
    assert pair.call is not None and pair.result is not None
    assert (pair.call.name, pair.result.text) == ("f", "sunny")


@pytest.mark.parametrize("form", ["without function", "of another type"])
def test_a_call_of_an_answer_in_another_form_is_a_call(form: str) -> None:
    message: JSON = {"role": "assistant", "tool_calls": [FLAT_CALLS[form]]}
    answer: JSON = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    translated = translate(answer, "openai-chat", "anthropic", "response")
    assert [
        (call.id, call.name) for call in decode(translated.body, "anthropic", "response").calls()
    ] == [("toolu_01", "f")]


CALL_ID = "functions.weather:0"


def _in_all_forms(blocks: dict[str, str], role: str) -> dict[str, JSON]:
    """A message of each wire with a block under `CALL_ID`."""
    return {
        wire: json.loads(_message(wire, role, block.replace("aaaaaaaa1", CALL_ID)))
        for wire, block in blocks.items()
    }


CALLS_IN_ALL_FORMS: dict[str, JSON] = {
    "chat": assistant(tool_call(CALL_ID)),
    "flat": assistant({"id": CALL_ID, "name": "f", "arguments": "{}"}),
    **_in_all_forms(CALLS, "assistant"),
}
RESULTS_IN_ALL_FORMS: dict[str, JSON] = {
    "chat": tool_message(CALL_ID, "sunny"),
    **_in_all_forms(RESULTS, "user"),
}


@rows("result", RESULTS_IN_ALL_FORMS)
@rows("call", CALLS_IN_ALL_FORMS)
@rows("wire", ["openai-chat", "mistral", "anthropic", "bedrock", "cohere"])
def test_halves_in_any_two_forms_stay_a_pair_under_an_id_that_the_wire_accepts(
    wire: str, call: str, result: str
) -> None:
    question = json.loads(_message(wire, "user", _text(wire, "hi")))
    messages: list[JSON] = [
        question,
        CALLS_IN_ALL_FORMS[call],
        RESULTS_IN_ALL_FORMS[result],
        question,
    ]
    body: JSON = {"model": "m", "max_tokens": 9, "messages": messages}
    target = "openai-responses" if wire == "mistral" else "mistral"
    for there, encoded in ((wire, repair(body, wire)), (target, translate(body, wire, target))):
        assert _errors(encoded.body, there) == []
        [pair] = decode(encoded.body, there).pairs()
        assert pair.call is not None and pair.call.name == "f"
        assert pair.result is not None and "sunny" in pair.result.text


def test_a_decision_stays_one_beside_an_item_that_is_converted() -> None:
    items: list[JSON] = [
        {"type": "mcp_approval_request", "id": "a", "name": "f", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"call_id": "c", "output": "1"},
    ]
    repaired = repair({"input": items}, "openai-responses").body
    assert get(repaired, ("input", 1)) == items[1]


def test_a_call_of_another_wire_without_a_name_is_converted_and_gets_one() -> None:
    block: JSON = {"type": "tool_use", "id": "c1", "name": "", "input": {"x": 1}}
    items: list[JSON] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "7"}]},
    ]
    repaired = repair({"input": items}, "openai-responses").body
    [pair] = decode(repaired, "openai-responses").pairs()
    assert pair.call is not None and pair.call.name == "toolwire_unknown_tool"
    assert pair.result is not None and pair.result.text == "7"


@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "gemini", "openai-chat"])
def test_a_genkit_history_among_other_messages_keeps_its_pairs(wire: str) -> None:
    request: JSON = {"toolRequest": {"ref": "c1", "name": "f", "input": {"q": 1}}}
    response: JSON = {"toolResponse": {"ref": "c1", "name": "f", "output": "sunny"}}
    messages = ({"role": "model", "content": [request]}, {"role": "tool", "content": [response]})
    repaired = repair(_body(wire, *map(json.dumps, messages)), wire)
    (pair,) = decode(repaired.body, wire).pairs()
    assert (pair.call and pair.call.name, pair.result and pair.result.text) == ("f", "sunny")


@pytest.mark.parametrize("source", ["anthropic", "bedrock", "openai-chat"])
def test_a_genkit_history_with_messages_of_another_wire_keeps_its_pairs(source: str) -> None:
    if source == "openai-chat":
        calls = [assistant(tool_call("aaaaaaaa1", "f")), tool_message("aaaaaaaa1", "sunny")]
    else:
        calls = [
            json.loads(_message(source, "assistant", CALLS[source])),
            json.loads(_message(source, "user", RESULTS[source])),
        ]
    body: JSON = {"messages": [{"role": "user", "content": [{"text": "hi"}]}, *calls]}
    repaired = repair(body, "genkit")
    (pair,) = decode(repaired.body, "genkit").pairs()
    assert (pair.call and pair.call.id, pair.result and pair.result.text) == ("aaaaaaaa1", "sunny")
    assert [get(repaired.body, ("messages", n, "role")) for n in (1, 2)] == ["model", "tool"]
