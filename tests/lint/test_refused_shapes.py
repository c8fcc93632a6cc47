"""Shapes that a provider refuses and that `check` once called clean: each is found and repaired."""

from __future__ import annotations

import json

import pytest
from msgspec import UnsetType

from toolwire import check, decode, repair, translate
from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.parts import Text

ID = "aaaaaaaa1"


def _chat(content: JSON) -> dict[str, JSON]:
    call: JSON = {"id": ID, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "so", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": ID, "content": content},
        ],
    }


def _roles(body: JSON) -> list[JSON | UnsetType]:
    return [get(body, ("messages", n, "role")) for n in range(3)]


def _errors(body: JSON, wire: str) -> list[str]:
    return [finding.name for finding in check(body, wire) if finding.severity == "error"]


@pytest.mark.parametrize("content", [{"a": 1}, [1, 2], 7, True, None], ids=repr)
@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere"])
def test_the_value_of_a_tool_becomes_the_text_of_its_message(wire: str, content: JSON) -> None:
    body = _chat(content)
    assert _errors(body, wire) == ["output-not-string"]
    repaired = repair(body, wire).body
    assert _errors(repaired, wire) == []
    (result,) = decode(repaired, wire).results()
    assert result.output == ("" if content is None else json.dumps(content, separators=(",", ":")))


@pytest.mark.parametrize("content", [{"a": 1}, [{"type": "text", "text": "one"}], 7], ids=repr)
def test_a_server_that_takes_only_text_gets_text(content: JSON) -> None:
    call: JSON = {"function": {"name": "f", "arguments": {}}}
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_name": "f", "content": content},
        ],
    }
    assert sorted(_errors(body, "ollama")) == ["content-shape", "output-not-string"]
    repaired = repair(body, "ollama").body
    assert get(repaired, ("messages", 0, "content")) == "hi"
    assert isinstance(get(repaired, ("messages", 2, "content")), str)


@pytest.mark.parametrize("fields", [{}, {"content": None}], ids=["missing", "null"])
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("wire", ["openai-chat", "cohere"])
def test_a_message_without_content_gets_an_empty_text(
    wire: str, role: str, fields: dict[str, JSON]
) -> None:
    user: JSON = {"role": "user", "content": "hi"}
    body: JSON = {"model": "m", "messages": [user, {"role": role, **fields}, user]}
    assert _errors(body, wire) == ["content-shape"]
    repaired = repair(body, wire).body
    assert get(repaired, ("messages", 1, "content")) == ""
    assert _errors(repaired, wire) == []


@pytest.mark.parametrize("block", [{}, {"input": None}], ids=["missing", "null"])
@pytest.mark.parametrize("wire", ["anthropic", "bedrock"])
def test_a_call_without_arguments_gets_an_empty_object(wire: str, block: dict[str, JSON]) -> None:
    whole = translate(_chat("one"), "openai-chat", wire).body
    text = json.dumps(whole)
    assert '"input": {}' in text
    broken = json.loads(text.replace('"input": {}', json.dumps(block)[1:-1] or '"x": 1'))
    for message in broken["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            part.get("toolUse", part).pop("x", None)
    assert _errors(broken, wire) == ["args-wrong-type"]
    assert repair(broken, wire).body == whole


@pytest.mark.parametrize("value", [[1], 7, "s", None], ids=repr)
def test_bedrock_json_of_a_result_is_an_object(value: JSON) -> None:
    content: JsonPath = ("messages", 2, "content", 0, "toolResult", "content")
    whole = translate(_chat("one"), "openai-chat", "bedrock").body
    body = put(whole, content, [{"json": value}])
    assert _errors(body, "bedrock") == ["output-not-string"]
    (result,) = decode(repair(body, "bedrock").body, "bedrock").results()
    assert result.text == (value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("target", ["bedrock", "bedrock-mistral"])
def test_a_history_that_the_assistant_starts_gets_a_user_message(target: str) -> None:
    body: JSON = {
        "model": "m",
        "messages": [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "hi"}],
    }
    encoded = translate(body, "openai-chat", target)
    assert _roles(encoded.body) == ["user", "assistant", "user"]
    assert [change.name for change in encoded.changes] == ["history-starts-with-call"]


def test_parallel_calls_in_the_deprecated_format_keep_their_arguments_and_results() -> None:
    names = ["f", "g", "h"]
    calls: list[JSON] = [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": name, "arguments": f'{{"q":"{name}"}}'},
        }
        for name in names
    ]
    results: list[JSON] = [
        {"role": "function", "name": name, "content": f"of {name}"} for name in names
    ]
    user: JSON = {"role": "user", "content": "hi"}
    body: JSON = {"model": "m", "messages": [user, *calls, *results, user]}
    repaired = repair(body, "openai-chat").body
    assert _errors(repaired, "openai-chat") == []
    pairs = decode(repaired, "openai-chat").pairs()
    assert [
        (pair.call and pair.call.args.canonical, pair.result and pair.result.text) for pair in pairs
    ] == [(f'{{"q":"{name}"}}', f"of {name}") for name in names]


@pytest.mark.parametrize("ids", [(None, None), (None, "x"), ("a", None), (3, 3)], ids=repr)
def test_cohere_gets_an_id_on_both_halves(ids: tuple[JSON, JSON]) -> None:
    body = _chat("one")
    broken = put(body, ("messages", 1, "tool_calls", 0, "id"), ids[0])
    broken = put(broken, ("messages", 2, "tool_call_id"), ids[1])
    (pair,) = decode(repair(broken, "cohere").body, "cohere").pairs()
    assert pair.call is not None and pair.result is not None
    assert pair.call.origin == pair.result.origin == "wire"


@pytest.mark.parametrize("call_id", [None, "call_1"])
def test_an_output_item_without_an_id_gets_that_of_its_call(call_id: str | None) -> None:
    call: dict[str, JSON] = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}
    if call_id is not None:
        call["call_id"] = call_id
    body: JSON = {
        "model": "m",
        "input": [
            {"role": "user", "content": "hi"},
            call,
            {"type": "function_call_output", "output": "one"},
            {"role": "user", "content": "thanks"},
        ],
    }
    assert "id-missing" in _errors(body, "openai-responses")
    repaired = repair(body, "openai-responses").body
    assert _errors(repaired, "openai-responses") == []
    assert get(repaired, ("input", 1, "call_id")) == get(repaired, ("input", 2, "call_id"))


def test_a_block_that_a_server_of_text_cannot_take_is_quoted_and_marked() -> None:
    image: JSON = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    body = _chat([{"type": "text", "text": "see"}, image])
    text = get(repair(body, "ollama").body, ("messages", 2, "content"))
    assert isinstance(text, str) and text.startswith("see\n[toolwire] ") and "a.png" in text


def test_an_image_of_another_wire_becomes_one_of_the_own() -> None:
    image: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    repaired = repair(_chat([{"type": "text", "text": "see"}, image]), "ollama").body
    assert get(repaired, ("messages", 2, "content")) == "see"
    assert get(repaired, ("messages", 2, "images")) == ["QUJD"]


@pytest.mark.parametrize(
    "target", ["anthropic", "bedrock", "gemini", "mistral", "ollama", "openai-chat"]
)
def test_a_result_that_names_a_tool_whose_call_is_gone_answers_no_other_call(target: str) -> None:
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "g", "response": {"output": "of g"}}}],
            },
            {"role": "user", "parts": [{"text": "thanks"}]},
        ]
    }
    encoded = translate(body, "gemini", target)
    assert _errors(encoded.body, target) == []
    assert "of g" in json.dumps(encoded.body)
    results = [pair.result for pair in decode(encoded.body, target).pairs() if pair.call]
    assert not any("of g" in result.text for result in results if result is not None)
    assert encoded.changes


def test_a_user_who_writes_twice_writes_one_message_where_roles_alternate() -> None:
    def message(role: str, text: str) -> JSON:
        return {"role": role, "content": [{"text": text}]}

    body: JSON = {
        "messages": [
            message("user", "one"),
            message("user", "two"),
            message("assistant", "three"),
            message("assistant", "four"),
            message("user", "five"),
        ]
    }
    assert _errors(body, "bedrock") == ["same-role-twice", "same-role-twice"]
    repaired = repair(body, "bedrock")
    assert _roles(repaired.body) == ["user", "assistant", "user"]
    assert [change.name for change in repaired.changes] == ["same-role-twice"] * 2
    for text in ("one", "two", "three", "four", "five"):
        assert text in json.dumps(repaired.body)


@pytest.mark.parametrize("source", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_a_reply_to_continue_ends_without_white_space(source: str, target: str) -> None:
    body: JSON = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Write JSON. "},
            {"role": "assistant", "content": "{ "},
        ],
    }
    sent = translate(body, source, target)
    last = decode(sent.body, target).messages[-1]
    assert [part.text for part in last.parts if isinstance(part, Text)] == ["{"]
    assert _errors(sent.body, target) == []
    assert [change.name for change in sent.changes] == ["content-shape"]


@pytest.mark.parametrize("target", ["mistral", "openai-chat", "bedrock", "gemini"])
def test_text_beside_the_first_of_two_results_does_not_part_them_on_another_wire(
    target: str,
) -> None:
    calls: list[JSON] = [
        {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"n": n}} for n in range(2)
    ]
    results: list[JSON] = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"result {n}"} for n in range(2)
    ]
    body: JSON = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [results[0], {"type": "text", "text": "and this"}]},
            {"role": "user", "content": [results[1]]},
        ],
    }
    sent = translate(body, "anthropic", target)
    assert _errors(sent.body, target) == []
    pairs = decode(sent.body, target).pairs()
    assert [pair.result and "result" in pair.result.text for pair in pairs] == [True, True]
    assert "and this" in json.dumps(sent.body)


_EXTRA: dict[str, tuple[JSON, JsonPath]] = {
    "anthropic": (
        {
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
                },
            ],
        },
        ("messages", 1, "content", 0),
    ),
    "bedrock": (
        {
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
            "messages": [
                {"role": "user", "content": [{"text": "hi"}]},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}],
                },
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}],
                },
            ],
        },
        ("messages", 1, "content", 0, "toolUse"),
    ),
    "gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
                },
            ]
        },
        ("contents", 1, "parts", 0, "functionCall"),
    ),
    "openai-chat": (_chat("1"), ("messages", 1, "tool_calls", 0)),
    "mistral": (_chat("1"), ("messages", 1, "tool_calls", 0)),
    "cohere": (_chat("1"), ("messages", 1, "tool_calls", 0)),
    "openai-responses": (
        {
            "input": [
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "1"},
            ]
        },
        ("input", 1),
    ),
}
"""A history of each provider that checks fields, and the path of its call."""


@pytest.mark.parametrize("wire", _EXTRA)
def test_a_field_of_a_call_that_its_type_does_not_have_is_removed(wire: str) -> None:
    body, path = _EXTRA[wire]
    assert _errors(body, wire) == []
    broken = put(body, (*path, "timestamp"), 0)
    assert _errors(broken, wire) == ["field-refused"]
    repaired = repair(broken, wire)
    assert repaired.body == body
    assert [change.path for change in repaired.changes] == [(*path, "timestamp")]


@pytest.mark.parametrize("wire", _EXTRA)
def test_a_field_of_a_call_that_may_be_newer_than_the_types_stays(wire: str) -> None:
    body, path = _EXTRA[wire]
    newer = put(body, (*path, "field_of_2030"), {"a": 1})
    assert _errors(newer, wire) == [] and repair(newer, wire).body == newer


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_a_field_of_a_message_that_its_type_does_not_have_is_removed(wire: str) -> None:
    body, path = _EXTRA[wire]
    broken = put(body, (path[0], 0, "timestamp"), "12:00")
    assert _errors(broken, wire) == ["field-refused"]
    assert repair(broken, wire).body == body


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_details"])
def test_reasoning_in_a_chat_is_no_fault_by_itself(field: str) -> None:
    body = put(_chat("1"), ("messages", 1, field), [] if field.endswith("details") else "hm")
    assert _errors(body, "openai-chat") == []
    assert repair(body, "openai-chat").changes == []


def test_a_cache_breakpoint_on_reasoning_is_removed_and_elsewhere_it_stays() -> None:
    cache: dict[str, JSON] = {"cache_control": {"type": "ephemeral"}}
    thinking: dict[str, JSON] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    text: dict[str, JSON] = {"type": "text", "text": "so"}
    body: JSON = {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{**thinking, **cache}, {**text, **cache}]},
            {"role": "user", "content": "hi"},
        ],
    }
    assert _errors(body, "anthropic") == ["field-refused"]
    repaired = repair(body, "anthropic").body
    assert get(repaired, ("messages", 1, "content")) == [thinking, {**text, **cache}]


def test_the_text_in_a_call_becomes_a_text_before_it() -> None:
    body, path = _EXTRA["anthropic"]
    broken = put(body, (*path, "text"), "I look it up.")
    content = get(repair(broken, "anthropic").body, ("messages", 1, "content"))
    assert content == [{"type": "text", "text": "I look it up."}, get(body, path)]


@pytest.mark.parametrize("wire", ["ollama", "deepseek"])
def test_servers_that_ignore_unknown_fields_get_them(wire: str) -> None:
    body = put(_chat("1"), ("messages", 1, "timestamp"), "12:00")
    if wire == "ollama":
        body = put(body, ("messages", 1, "tool_calls", 0, "function", "arguments"), {})
    assert repair(body, "openai-chat" if wire == "deepseek" else wire, target=wire).changes == []


def test_null_instead_of_calls_is_removed() -> None:
    reply: JSON = {"role": "assistant", "content": "so", "tool_calls": None}
    user: JSON = {"role": "user", "content": "hi"}
    body: JSON = {"model": "m", "messages": [user, reply, user]}
    assert _errors(body, "openai-chat") == ["empty-tool-calls"]
    assert get(repair(body, "openai-chat").body, ("messages", 1)) == {
        "role": "assistant",
        "content": "so",
    }


@pytest.mark.parametrize("lost", [{}, {"type": None}], ids=["missing", "null"])
def test_a_call_without_a_type_gets_it(lost: dict[str, JSON]) -> None:
    body = _chat("1")
    call: JSON = {"id": ID, "function": {"name": "f", "arguments": "{}"}, **lost}
    broken = put(body, ("messages", 1, "tool_calls", 0), call)
    assert _errors(broken, "openai-chat") == ["wrong-vocabulary"]
    assert repair(broken, "openai-chat").body == body


@pytest.mark.parametrize("lost", [{}, {"type": None}], ids=["missing", "null"])
@pytest.mark.parametrize("half", [("messages", 1, "content", 0), ("messages", 2, "content", 0)])
def test_a_block_without_a_type_is_read_by_its_fields(
    half: JsonPath, lost: dict[str, JSON]
) -> None:
    body, _ = _EXTRA["anthropic"]
    block = get(body, half)
    assert isinstance(block, dict)
    broken = put(body, half, {**{key: block[key] for key in block if key != "type"}, **lost})
    assert "wrong-vocabulary" in _errors(broken, "anthropic")
    assert repair(broken, "anthropic").body == body


@pytest.mark.parametrize(
    ("content", "rule", "text"),
    [
        (None, "item-shape", ""),
        ({"a": 1}, "wrong-json-type", '{"a":1}'),
        (7, "wrong-json-type", "7"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_the_content_of_an_item_becomes_text(
    role: str, content: JSON, rule: str, text: str
) -> None:
    item: JSON = {"type": "message", "role": role, "content": content}
    body: JSON = {"input": [item, {"role": "user", "content": "hi"}]}
    assert rule in _errors(body, "openai-responses")
    repaired = repair(body, "openai-responses").body
    (first, *_) = decode(repaired, "openai-responses").messages
    assert first.role == role
    assert "".join(part.text for part in first.parts if isinstance(part, Text)).endswith(text)
    assert _errors(repaired, "openai-responses") == []


@pytest.mark.parametrize("role", ["user", "system"])
def test_null_content_becomes_an_empty_text_for_mistral(role: str) -> None:
    body: JSON = {"messages": [{"role": role, "content": None}, {"role": "user", "content": "x"}]}
    assert _errors(body, "mistral") == ["content-shape"]
    assert get(repair(body, "mistral").body, ("messages", 0, "content")) == ""


_STRIPPED: dict[str, tuple[str, JSON]] = {
    "anthropic": ("messages", {"type": "image", "source": {"type": "base64"}}),
    "openai-chat": ("messages", {"type": "image_url", "image_url": None}),
    "mistral": ("messages", {"type": "image_url"}),
    "bedrock": ("messages", {"image": {"format": "png", "source": {}}}),
}
"""Images without their data, as stores keep them that save space."""


@pytest.mark.parametrize("wire", _STRIPPED)
def test_a_block_without_its_content_is_described(wire: str) -> None:
    field, image = _STRIPPED[wire]
    text: JSON = {"text": "look"} if wire == "bedrock" else {"type": "text", "text": "look"}
    body: JSON = {"max_tokens": 9, field: [{"role": "user", "content": [text, image]}]}
    if wire != "anthropic":
        body = {field: [{"role": "user", "content": [text, image]}]}
    assert _errors(body, wire) == ["wrong-vocabulary"]
    repaired = repair(body, wire)
    assert _errors(repaired.body, wire) == []
    written = json.dumps(repaired.body)
    assert "look" in written and "[toolwire] [image" in written


def test_a_block_of_a_type_that_is_only_new_stays() -> None:
    new: JSON = {"type": "hologram", "depth": 3}
    body: JSON = {"max_tokens": 9, "messages": [{"role": "user", "content": [new]}]}
    assert repair(body, "anthropic").body == body
