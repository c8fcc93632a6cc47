"""What is peculiar to Genkit: refs that may be missing, and one bug of its Go plugin that cannot
happen here.

The Go plugin for OpenAI sent a tool's name, or its output, where the id of the call belongs. Each
way in which that was refused is a test below, and ends with the same question: is the
`tool_call_id` the id of the call?
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from toolwire import (
    Call,
    Choice,
    Format,
    Media,
    Opaque,
    Reasoning,
    Result,
    Text,
    Usage,
    catalogue,
    check,
    decode,
    detect,
    encode,
    fold,
    restream,
    translate,
)
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

NAME = "genkit"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == NAME and entry["core_wire"] and entry["form"] != "response-stream"
]
CHAT_MESSAGES: TypeAdapter[list[ChatCompletionMessageParam]] = TypeAdapter(
    list[ChatCompletionMessageParam]
)


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A request of one message around a minimal example of a part; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "tool" if discriminator["part_field"] == "toolResponse" else "model"
    return {"messages": [message(role, example)]}, "request"


def message(role: str, *parts: JSON, **more: JSON) -> JSON:
    return {"role": role, "content": list(parts), **more}


def request_part(name: str = "f", ref: str | None = None, value: JSON = None) -> JSON:
    return {
        "toolRequest": {
            "name": name,
            "input": {} if value is None else value,
            **({} if ref is None else {"ref": ref}),
        }
    }


def response_part(output: JSON, name: str = "f", ref: str | None = None) -> JSON:
    return {
        "toolResponse": {"name": name, "output": output, **({} if ref is None else {"ref": ref})}
    }


def history(calls: list[JSON], results: list[JSON]) -> dict[str, JSON]:
    return {
        "messages": [
            message("user", {"text": "Go."}),
            message("model", *calls),
            message("tool", *results),
        ]
    }


def value_at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


@pytest.mark.parametrize(
    ("example", "field"),
    [
        (request_part(), "toolRequest"),
        (response_part("x"), "toolResponse"),
        *((e["min_example"], "") for e in ENTRIES),
    ],
)
def test_a_minimal_part_is_read_as_its_type_and_is_in_the_catalogue(
    example: JSON, field: str
) -> None:
    wrapped = wrap_example(example, {"part_field": field}, "both")
    assert wrapped is not None
    body, kind = wrapped
    conversation = decode(body, NAME, kind)
    (part,) = conversation.parts()
    assert isinstance(part, Call if field == "toolRequest" else Result)
    assert (part.family, part.executor) == ("function", "client")
    assert encode(conversation, NAME, kind).body == body
    rows = {(row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME}
    assert rows == {("call", "function", "nullable"), ("output", "function", "nullable")}


# --- the bug of the Go plugin, in every way it was reported ---------------------------------------


def results_in_chat(body: JSON) -> list[tuple[str, str, str]]:
    """Id, tool and result of every call in the OpenAI request: each tool message names a call of a
    message before it."""
    written_body = translate(body, NAME, "openai-chat").body
    messages = value_at(written_body, "messages")
    assert isinstance(messages, list)
    CHAT_MESSAGES.validate_python(messages)
    called: dict[str, str] = {}
    found: list[tuple[str, str, str]] = []
    for message in messages:
        assert isinstance(message, dict)
        calls = message.get("tool_calls", [])
        assert isinstance(calls, list)
        called.update(
            (str(value_at(call, "id")), str(value_at(call, "function", "name"))) for call in calls
        )
        if message["role"] == "tool":
            answers = str(message["tool_call_id"])
            assert answers in called, "not found in the tool calls of the message before"
            found.append((answers, called[answers], str(message["content"])))
    assert all(0 < len(call_id) <= 40 for call_id in called)
    assert len({call_id for call_id, _, _ in found}) == len(found) == len(called), (
        "an id is not one call's own"
    )
    return found


def test_the_text_of_a_result_never_becomes_the_id() -> None:
    text = "Found comprehensive S3 documentation"
    body = history(
        [request_part("search_docs", "call_abc123", {"query": "S3"})],
        [response_part(text, "search_docs", "call_abc123")],
    )
    assert results_in_chat(body) == [("call_abc123", "search_docs", text)]


def test_a_json_result_of_1721_characters_never_becomes_the_id() -> None:
    output: JSON = {"results": "x" * (1721 - len('{"results":""}'))}
    assert len(json.dumps(output, separators=(",", ":"))) == 1721
    ((call_id, _, content),) = results_in_chat(
        history(
            [request_part("mcp_search", "call_1")], [response_part(output, "mcp_search", "call_1")]
        )
    )
    assert (call_id, len(content)) == ("call_1", 1721)


def test_a_result_of_45_characters_never_becomes_an_id_over_the_limit_of_40() -> None:
    results = "The sum of all the numbers you gave is: 12345"
    assert len(results) == 45
    assert results_in_chat(
        history([request_part("add", "call_2")], [response_part(results, "add", "call_2")])
    ) == [("call_2", "add", results)]


def test_a_result_shorter_than_40_characters_is_no_id_that_cannot_be_found() -> None:
    assert results_in_chat(
        history([request_part("add", "call_3")], [response_part("Sum: 15", "add", "call_3")])
    ) == [("call_3", "add", "Sum: 15")]


def test_the_tools_name_is_no_fallback_when_the_ref_is_missing() -> None:
    ((call_id, name, content),) = results_in_chat(
        history([request_part("search_docs")], [response_part("found", "search_docs")])
    )
    assert call_id != "search_docs"
    assert (name, content) == ("search_docs", "found")


def test_results_of_two_calls_of_one_tool_without_refs_are_ambiguous() -> None:
    body = history(
        [request_part(value={"n": 1}), request_part(value={"n": 2})],
        [response_part("one"), response_part("two")],
    )
    assert all(pair.call is None or pair.result is None for pair in decode(body, NAME).pairs())
    assert {finding.name for finding in check(body, NAME)} == {"ambiguous-same-name"}
    for target in ("openai-chat", "ollama", "gemini"):
        translated = translate(body, NAME, target)
        assert {change.name for change in translated.changes} >= {"ambiguous-same-name"}
        results = [result.text for result in decode(translated.json(), target).results()]
        assert not {"one", "two"} & set(results), target
        assert b"one" in translated.json() and b"two" in translated.json()


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_with_two_calls_of_one_tool_gets_refs(stream: bool) -> None:
    calls: list[JSON] = [{"functionCall": {"name": "f", "args": {"n": n}}} for n in (1, 2)]
    candidate: JSON = {"content": {"role": "model", "parts": calls}, "finishReason": "STOP"}
    body: JSON = {"candidates": [candidate]}
    if stream:
        answer = decode(fold(restream([body], "gemini", NAME), NAME), NAME, "response")
    else:
        answer = decode(translate(body, "gemini", NAME, "response").json(), NAME, "response")
    assert [call.origin for call in answer.calls()] == ["wire", "wire"]
    assert len({call.id for call in answer.calls()}) == 2


def test_an_empty_ref_is_a_missing_one() -> None:
    found = results_in_chat(
        history(
            [request_part("a", ""), request_part("b", "")],
            [response_part("from b", "b", ""), response_part("from a", "a", "")],
        )
    )
    assert {name: content for _, name, content in found} == {"a": "from a", "b": "from b"}


def test_results_in_the_order_in_which_tools_finished_find_their_calls() -> None:
    body = history(
        [request_part(ref="call_0"), request_part(ref="call_1")],
        [response_part("second", ref="call_1"), response_part("first", ref="call_0")],
    )
    assert results_in_chat(body) == [("call_1", "f", "second"), ("call_0", "f", "first")]


def test_an_invalid_ref_is_fitted_alike_in_call_and_result() -> None:
    ref = "projects/p/locations/l/tools/weather#" + "é" * 20
    ((call_id, _, _),) = results_in_chat(
        history([request_part(ref=ref)], [response_part("x", ref=ref)])
    )
    translated = translate(
        history([request_part(ref=ref)], [response_part("x", ref=ref)]), NAME, "openai-chat"
    )
    restored = decode(
        translate(translated.json(), "openai-chat", NAME, ids=translated.ids).json(), NAME
    )
    assert call_id != ref
    assert [restored.calls()[0].id, restored.results()[0].call_id] == [ref, ref]


def test_several_turns_without_refs_keep_their_results_apart() -> None:
    turns = [
        message("model", request_part(value={"n": n}))
        if text
        else message("tool", response_part(str(n)))
        for n in range(3)
        for text in (1, 0)
    ]
    assert [content for _, _, content in results_in_chat({"messages": turns})] == ["0", "1", "2"]


def test_calls_of_one_tool_in_two_messages_of_one_turn_get_refs_and_keep_their_results() -> None:
    contents: list[JSON] = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 1}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 2}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": text}}}
                for text in ("one", "two")
            ],
        },
    ]
    translated = translate({"contents": contents}, "gemini", NAME)
    pairs = decode(translated.json(), NAME).pairs()
    assert [pair.how for pair in pairs] == ["id", "id"]
    assert [
        (pair.call and pair.call.input, pair.result and pair.result.text) for pair in pairs
    ] == [({"k": 1}, "one"), ({"k": 2}, "two")]


def test_a_minted_id_is_sent_on_both_sides_where_order_would_pair_otherwise() -> None:
    ids = ("tw-0123456789abcdef", "tw-fedcba9876543210")
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call_id in ids
    ]
    call_message: JSON = {"role": "assistant", "content": None, "tool_calls": calls}
    translated = translate(
        {"messages": [call_message, {"role": "tool", "tool_call_id": ids[1], "content": "b"}]},
        "openai-chat",
        NAME,
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(translated.json(), NAME).pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert translated.losses == []


def test_a_missing_ref_is_missing_again_after_a_round_trip() -> None:
    body = history(
        [request_part(value={"n": 1}), request_part(value={"n": 2}, name="g")],
        [response_part("one"), response_part("two", name="g")],
    )
    translated = translate(body, NAME, "openai-chat")
    assert translate(translated.json(), "openai-chat", NAME, ids=translated.ids).body == body


# --- parts ----------------------------------------------------------------------------------------


def test_arguments_and_outputs_may_be_any_json() -> None:
    body = history(
        [request_part(ref="a", value="just text"), request_part(ref="b", value=[1, 2])],
        [response_part(7, ref="a"), response_part([None], ref="b")],
    )
    conversation = decode(body, NAME)
    assert [call.input for call in conversation.calls()] == ["just text", [1, 2]]
    assert [result.output for result in conversation.results()] == [7, [None]]
    encoded = encode(conversation, "openai-chat")
    restored = decode(translate(encoded.json(), "openai-chat", NAME, ids=encoded.ids).json(), NAME)
    assert [call.input for call in restored.calls()] == ["just text", [1, 2]]


def test_media_of_a_result_are_kept_beside_its_output() -> None:
    picture: JSON = {"media": {"url": "data:image/png;base64,AAAA", "contentType": "image/png"}}
    part: JSON = {
        "toolResponse": {"ref": "r", "name": "f", "output": {"n": 1}, "content": [picture]}
    }
    (result,) = decode(history([request_part(ref="r")], [part]), NAME).results()
    assert isinstance(result.output, tuple)
    assert [type(block) for block in result.output] == [Text, Media]
    body = translate(history([request_part(ref="r")], [part]), NAME, "gemini").body
    answer = value_at(body, "contents", 2, "parts", 0, "functionResponse")
    assert value_at(answer, "response") == {"n": 1}
    assert value_at(answer, "parts", 0, "inlineData", "data") == "AAAA"


def test_a_signature_is_kept_in_the_metadata_and_reported_elsewhere() -> None:
    body: JSON = [
        message("model", {"reasoning": "Hm.", "metadata": {"thoughtSignature": "s1", "extra": 1}})
    ]
    (part,) = decode(body, NAME).parts()
    assert isinstance(part, Reasoning)
    assert part.signature == "s1"
    pointers = {loss.pointer for loss in translate(body, NAME, "anthropic").losses}
    assert {"/0/content/0", "/0/content/0/metadata/extra"} <= pointers


def test_a_failed_result_keeps_its_text_and_the_flag_is_reported() -> None:
    source: JSON = {
        "max_tokens": 5,
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "broken",
                        "is_error": True,
                    }
                ],
            },
        ],
    }
    translated = translate(source, "anthropic", NAME)
    assert value_at(translated.body, "messages", 1) == message(
        "tool", response_part("[error] broken", ref="t1")
    )
    assert [loss.pointer for loss in translated.losses] == ["/messages/1/content/0"]
    restored = decode(
        translate(translated.json(), NAME, "anthropic", ids=translated.ids).json(), "anthropic"
    )
    assert restored.results()[0].error


def test_parts_that_are_added_to_a_message_of_this_wire_are_lowered_and_reported() -> None:
    conversation = decode([message("model", {"text": "Hi"})], NAME)
    answer = conversation.messages[0]
    added = (Media("file", text="doc"), Opaque("hologram", {}), Text("No.", refusal=True))
    edited = replace(conversation, messages=(replace(answer, parts=(*answer.parts, *added)),))
    encoded = encode(edited, NAME)
    assert encoded.body == [message("model", {"text": "Hi"}, {"text": "doc"}, {"text": "No."})]
    assert len(encoded.losses) == 3


def test_a_refusal_in_a_plain_answer_is_reported() -> None:
    answer: JSON = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "refusal": "No."},
                "finish_reason": "stop",
            }
        ],
    }
    translated = translate(answer, "openai-chat", NAME, "response")
    assert value_at(translated.body, "message") == message("model", {"text": "No."})
    assert "/choices/0/message/refusal" in [loss.pointer for loss in translated.losses]


def test_a_null_field_does_not_decide_the_type_of_a_part() -> None:
    body: JSON = [
        message(
            "model",
            {
                "text": None,
                "media": None,
                "toolRequest": {"name": "f", "ref": "r"},
                "metadata": None,
            },
        )
    ]
    assert [type(part) for part in decode(body, NAME).parts()] == [Call]


# --- requests and responses -----------------------------------------------------------------------


def test_settings_tools_and_choice_are_read() -> None:
    body: JSON = {
        "messages": [message("user", {"text": "x"})],
        "tools": [{"name": "f", "description": "d", "inputSchema": {"type": "object"}}, "g"],
        "toolChoice": "required",
        "config": {
            "temperature": 0.5,
            "maxOutputTokens": 9,
            "topK": 3,
            "topP": 0.1,
            "stopSequences": ["."],
            "apiKey": "k",
        },
        "output": {"format": "json", "schema": {"type": "object"}, "constrained": True},
    }
    conversation = decode(body, NAME)
    assert conversation.settings == {
        "temperature": 0.5,
        "max_tokens": 9,
        "top_k": 3,
        "top_p": 0.1,
        "stop": (".",),
        "choice": Choice("required"),
        "format": Format({"type": "object"}),
    }
    assert [(tool.name, tool.schema) for tool in conversation.tools] == [
        ("f", {"type": "object"}),
        ("g", None),
    ]
    assert conversation.source.unknown_fields == (("config", "apiKey"),)


def test_tools_and_settings_of_others_are_written() -> None:
    chat: JSON = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        ],
        "tool_choice": "none",
        "temperature": 1,
        "seed": 4,
    }
    translated = translate(chat, "openai-chat", NAME)
    assert translated.body == {
        "model": "m",
        "toolChoice": "none",
        "config": {"temperature": 1},
        "messages": [message("user", {"text": "x"})],
        "tools": [{"name": "f", "inputSchema": {"type": "object"}}],
    }
    assert [loss.pointer for loss in translated.losses] == ["/seed"]


def test_reasoning_tokens_count_as_output() -> None:
    body: JSON = {
        "message": message("model", {"text": "x"}),
        "usage": {"inputTokens": 5, "outputTokens": 3, "thoughtsTokens": 2},
    }
    conversation = decode(body, NAME, "response")
    assert conversation.settings["usage"] == Usage(5, 5, None, None, 2)
    restored = translate(body, NAME, "openai-chat", "response")
    assert (
        decode(
            translate(restored.json(), "openai-chat", NAME, "response").json(), NAME, "response"
        ).settings
        == conversation.settings
    )


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("blocked", "filter"),
        ("interrupted", "pause"),
        ("other", "other"),
    ],
)
def test_the_reason_to_stop_is_read(text: str, neutral: str) -> None:
    (answer,) = decode(
        {"message": message("model", {"text": "x"}), "finishReason": text}, NAME, "response"
    ).messages
    assert answer.stop == neutral


def test_a_response_with_calls_stops_for_tools() -> None:
    (answer,) = decode(
        {"message": message("model", request_part()), "finishReason": "stop"}, NAME, "response"
    ).messages
    assert answer.stop == "tool"


def test_a_blocked_response_may_have_no_message() -> None:
    body: JSON = {"finishReason": "blocked", "finishMessage": "no"}
    conversation = decode(body, NAME, "response")
    assert [(message.stop, message.parts) for message in conversation.messages] == [("filter", ())]
    assert encode(replace(conversation, settings={}), NAME, "response").body == body


@pytest.mark.parametrize(
    "body",
    [
        [message("model", {"text": "x"})],
        {"messages": [message("user", {"text": "x"}), message("tool", response_part("x"))]},
        {"message": message("model", {"text": "x"})},
        {"candidates": [{"message": message("model", request_part())}]},
        {"messages": [message("user", {"text": "x"})], "config": {}},
    ],
)
def test_detect_finds_this_wire_for_its_bodies_only(body: JSON) -> None:
    assert detect(body) == NAME


def test_an_answer_asks_the_client_for_no_call_that_has_a_result() -> None:
    """The messages before the last one are those of the request, in a body as in a stream."""
    parts: JSON = [
        {"functionCall": {"name": "look", "args": {}}},
        {"functionResponse": {"name": "look", "response": {"output": "x"}}},
        {"functionCall": {"name": "open", "args": {}}},
        {"text": "b"},
    ]
    body: JSON = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    answer = translate(body, "gemini", "genkit", "response")
    assert [call.name for call in decode(answer.body, "genkit", "response").calls()] == ["open"]
    written = answer.body
    assert isinstance(written, dict)
    earlier = decode(written["request"], "genkit")
    assert [(pair.call and pair.call.name, pair.how) for pair in earlier.pairs()] == [
        ("look", "id")
    ]
    assert [loss.path[-1] for loss in answer.losses] == [0, 1]
