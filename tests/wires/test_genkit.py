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
    decode,
    detect,
    encode,
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
JUDGE: TypeAdapter[list[ChatCompletionMessageParam]] = TypeAdapter(list[ChatCompletionMessageParam])


def hold(example: JSON, discriminator: dict[str, str], form: str) -> tuple[JSON, Kind] | None:
    """A request of one message around a minimal example of a part; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "tool" if discriminator["part_field"] == "toolResponse" else "model"
    return {"messages": [message(role, example)]}, "request"


def message(role: str, *parts: JSON, **more: JSON) -> JSON:
    return {"role": role, "content": list(parts), **more}


def ask(name: str = "f", ref: str | None = None, given: JSON = None) -> JSON:
    return {
        "toolRequest": {
            "name": name,
            "input": {} if given is None else given,
            **({} if ref is None else {"ref": ref}),
        }
    }


def tell(output: JSON, name: str = "f", ref: str | None = None) -> JSON:
    return {
        "toolResponse": {"name": name, "output": output, **({} if ref is None else {"ref": ref})}
    }


def history(asked: list[JSON], told: list[JSON]) -> dict[str, JSON]:
    return {
        "messages": [
            message("user", {"text": "Go."}),
            message("model", *asked),
            message("tool", *told),
        ]
    }


def at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


@pytest.mark.parametrize(
    ("example", "field"),
    [
        (ask(), "toolRequest"),
        (tell("x"), "toolResponse"),
        *((e["min_example"], "") for e in ENTRIES),
    ],
)
def test_a_minimal_part_is_read_as_what_it_is_and_stands_in_the_catalogue(
    example: JSON, field: str
) -> None:
    held = hold(example, {"part_field": field}, "both")
    assert held is not None
    body, kind = held
    conversation = decode(body, NAME, kind)
    (part,) = conversation.parts()
    assert isinstance(part, Call if field == "toolRequest" else Result)
    assert (part.family, part.executor) == ("function", "client")
    assert encode(conversation, NAME, kind).body == body
    rows = {(row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME}
    assert rows == {("call", "function", "nullable"), ("output", "function", "nullable")}


# --- the bug of the Go plugin, in every way it was reported ---------------------------------------


def answered(body: JSON) -> list[tuple[str, str, str]]:
    """Id, tool and result of every call in the OpenAI request: each tool message names a call of a
    message before it."""
    made = translate(body, NAME, "openai-chat").body
    messages = at(made, "messages")
    assert isinstance(messages, list)
    JUDGE.validate_python(messages)
    called: dict[str, str] = {}
    found: list[tuple[str, str, str]] = []
    for one in messages:
        assert isinstance(one, dict)
        calls = one.get("tool_calls", [])
        assert isinstance(calls, list)
        called.update((str(at(call, "id")), str(at(call, "function", "name"))) for call in calls)
        if one["role"] == "tool":
            answers = str(one["tool_call_id"])
            assert answers in called, "not found in the tool calls of the message before"
            found.append((answers, called[answers], str(one["content"])))
    assert all(0 < len(one) <= 40 for one in called)
    assert len({one for one, _, _ in found}) == len(found) == len(called), (
        "an id is not one call's own"
    )
    return found


def test_the_text_of_a_result_never_becomes_the_id() -> None:
    told = "Found comprehensive S3 documentation"
    body = history(
        [ask("search_docs", "call_abc123", {"query": "S3"})],
        [tell(told, "search_docs", "call_abc123")],
    )
    assert answered(body) == [("call_abc123", "search_docs", told)]


def test_a_json_result_of_1721_characters_never_becomes_the_id() -> None:
    told: JSON = {"results": "x" * (1721 - len('{"results":""}'))}
    assert len(json.dumps(told, separators=(",", ":"))) == 1721
    ((one, _, content),) = answered(
        history([ask("mcp_search", "call_1")], [tell(told, "mcp_search", "call_1")])
    )
    assert (one, len(content)) == ("call_1", 1721)


def test_a_result_of_45_characters_never_becomes_an_id_over_the_limit_of_40() -> None:
    told = "The sum of all the numbers you gave is: 12345"
    assert len(told) == 45
    assert answered(history([ask("add", "call_2")], [tell(told, "add", "call_2")])) == [
        ("call_2", "add", told)
    ]


def test_a_result_shorter_than_40_characters_is_no_id_that_cannot_be_found() -> None:
    assert answered(history([ask("add", "call_3")], [tell("Sum: 15", "add", "call_3")])) == [
        ("call_3", "add", "Sum: 15")
    ]


def test_the_tools_name_is_no_fallback_when_the_ref_is_missing() -> None:
    ((one, name, content),) = answered(
        history([ask("search_docs")], [tell("found", "search_docs")])
    )
    assert one != "search_docs"
    assert (name, content) == ("search_docs", "found")


def test_two_calls_of_one_tool_without_refs_get_an_id_each() -> None:
    body = history([ask(given={"n": 1}), ask(given={"n": 2})], [tell("one"), tell("two")])
    found = answered(body)
    assert [content for _, _, content in found] == ["one", "two"]
    calls = at(translate(body, NAME, "openai-chat").body, "messages", 1, "tool_calls")
    assert isinstance(calls, list)
    assert [at(one, "id") for one in calls] == [one for one, _, _ in found]
    assert [at(one, "function", "arguments") for one in calls] == ['{"n":1}', '{"n":2}']


def test_an_empty_ref_is_a_missing_one() -> None:
    found = answered(
        history([ask("a", ""), ask("b", "")], [tell("from b", "b", ""), tell("from a", "a", "")])
    )
    assert {name: content for _, name, content in found} == {"a": "from a", "b": "from b"}


def test_results_in_the_order_in_which_tools_finished_find_their_calls() -> None:
    body = history(
        [ask(ref="call_0"), ask(ref="call_1")],
        [tell("second", ref="call_1"), tell("first", ref="call_0")],
    )
    assert answered(body) == [("call_1", "f", "second"), ("call_0", "f", "first")]


def test_a_ref_with_strange_characters_or_too_many_is_fitted_the_same_on_both_sides() -> None:
    ref = "projects/p/locations/l/tools/weather#" + "é" * 20
    ((one, _, _),) = answered(history([ask(ref=ref)], [tell("x", ref=ref)]))
    there = translate(history([ask(ref=ref)], [tell("x", ref=ref)]), NAME, "openai-chat")
    home = decode(translate(there.json(), "openai-chat", NAME, ids=there.ids).json(), NAME)
    assert one != ref
    assert [home.calls()[0].id, home.results()[0].call_id] == [ref, ref]


def test_several_turns_without_refs_keep_their_results_apart() -> None:
    turns = [
        message("model", ask(given={"n": n})) if said else message("tool", tell(str(n)))
        for n in range(3)
        for said in (1, 0)
    ]
    assert [content for _, _, content in answered({"messages": turns})] == ["0", "1", "2"]


def test_calls_in_two_messages_of_one_turn_keep_their_results_in_order() -> None:
    contents: list[JSON] = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 1}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 2}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": said}}}
                for said in ("one", "two")
            ],
        },
    ]
    made = translate({"contents": contents}, "gemini", NAME)
    assert b"tw-" not in made.json()
    pairs = decode(made.json(), NAME).pairs()
    assert [
        (pair.call and pair.call.input, pair.result and pair.result.text) for pair in pairs
    ] == [({"k": 1}, "one"), ({"k": 2}, "two")]


def test_a_minted_id_is_sent_on_both_sides_where_order_would_pair_otherwise() -> None:
    ids = ("tw-0123456789abcdef", "tw-fedcba9876543210")
    calls: list[JSON] = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids
    ]
    asked: JSON = {"role": "assistant", "content": None, "tool_calls": calls}
    made = translate(
        {"messages": [asked, {"role": "tool", "tool_call_id": ids[1], "content": "b"}]},
        "openai-chat",
        NAME,
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(made.json(), NAME).pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert made.losses == []


def test_a_missing_ref_is_missing_again_after_the_way_home() -> None:
    body = history([ask(given={"n": 1}), ask(given={"n": 2})], [tell("one"), tell("two")])
    there = translate(body, NAME, "openai-chat")
    assert translate(there.json(), "openai-chat", NAME, ids=there.ids).body == body


# --- parts ----------------------------------------------------------------------------------------


def test_arguments_and_outputs_may_be_any_json() -> None:
    body = history(
        [ask(ref="a", given="just text"), ask(ref="b", given=[1, 2])],
        [tell(7, ref="a"), tell([None], ref="b")],
    )
    found = decode(body, NAME)
    assert [one.input for one in found.calls()] == ["just text", [1, 2]]
    assert [one.output for one in found.results()] == [7, [None]]
    there = encode(found, "openai-chat")
    home = decode(translate(there.json(), "openai-chat", NAME, ids=there.ids).json(), NAME)
    assert [one.input for one in home.calls()] == ["just text", [1, 2]]


def test_media_of_a_response_stand_beside_its_output() -> None:
    picture: JSON = {"media": {"url": "data:image/png;base64,AAAA", "contentType": "image/png"}}
    part: JSON = {
        "toolResponse": {"ref": "r", "name": "f", "output": {"n": 1}, "content": [picture]}
    }
    (result,) = decode(history([ask(ref="r")], [part]), NAME).results()
    assert isinstance(result.output, tuple)
    assert [type(one) for one in result.output] == [Text, Media]
    made = translate(history([ask(ref="r")], [part]), NAME, "gemini").body
    answer = at(made, "contents", 2, "parts", 0, "functionResponse")
    assert at(answer, "response") == {"n": 1}
    assert at(answer, "parts", 0, "inlineData", "data") == "AAAA"


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
    made = translate(source, "anthropic", NAME)
    assert at(made.body, "messages", 1) == message("tool", tell("[error] broken", ref="t1"))
    assert [loss.pointer for loss in made.losses] == ["/messages/1/content/0"]
    home = decode(translate(made.json(), NAME, "anthropic", ids=made.ids).json(), "anthropic")
    assert home.results()[0].error


def test_parts_that_are_added_to_a_message_of_this_wire_are_lowered_and_reported() -> None:
    found = decode([message("model", {"text": "Hi"})], NAME)
    answer = found.messages[0]
    added = (Media("file", text="doc"), Opaque("hologram", {}), Text("No.", refusal=True))
    edited = replace(found, messages=(replace(answer, parts=(*answer.parts, *added)),))
    made = encode(edited, NAME)
    assert made.body == [message("model", {"text": "Hi"}, {"text": "doc"}, {"text": "No."})]
    assert len(made.losses) == 3


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
    made = translate(answer, "openai-chat", NAME, "response")
    assert at(made.body, "message") == message("model", {"text": "No."})
    assert "/choices/0/message/refusal" in [loss.pointer for loss in made.losses]


def test_a_field_that_is_null_does_not_tell_the_part() -> None:
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
    found = decode(body, NAME)
    assert found.settings == {
        "temperature": 0.5,
        "max_tokens": 9,
        "top_k": 3,
        "top_p": 0.1,
        "stop": (".",),
        "choice": Choice("required"),
        "format": Format({"type": "object"}),
    }
    assert [(tool.name, tool.schema) for tool in found.tools] == [
        ("f", {"type": "object"}),
        ("g", None),
    ]
    assert found.source.unknown_fields == (("config", "apiKey"),)


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
    made = translate(chat, "openai-chat", NAME)
    assert made.body == {
        "model": "m",
        "toolChoice": "none",
        "config": {"temperature": 1},
        "messages": [message("user", {"text": "x"})],
        "tools": [{"name": "f", "inputSchema": {"type": "object"}}],
    }
    assert [loss.pointer for loss in made.losses] == ["/seed"]


def test_thoughts_count_as_output() -> None:
    body: JSON = {
        "message": message("model", {"text": "x"}),
        "usage": {"inputTokens": 5, "outputTokens": 3, "thoughtsTokens": 2},
    }
    found = decode(body, NAME, "response")
    assert found.settings["usage"] == Usage(5, 5, None, None, 2)
    again = translate(body, NAME, "openai-chat", "response")
    assert (
        decode(
            translate(again.json(), "openai-chat", NAME, "response").json(), NAME, "response"
        ).settings
        == found.settings
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("blocked", "filter"),
        ("interrupted", "pause"),
        ("other", "other"),
    ],
)
def test_the_reason_to_stop_is_read(said: str, meant: str) -> None:
    (answer,) = decode(
        {"message": message("model", {"text": "x"}), "finishReason": said}, NAME, "response"
    ).messages
    assert answer.stop == meant


def test_a_response_that_calls_tools_stopped_for_them() -> None:
    (answer,) = decode(
        {"message": message("model", ask()), "finishReason": "stop"}, NAME, "response"
    ).messages
    assert answer.stop == "tool"


def test_a_blocked_response_may_have_no_message() -> None:
    body: JSON = {"finishReason": "blocked", "finishMessage": "no"}
    found = decode(body, NAME, "response")
    assert [(one.stop, one.parts) for one in found.messages] == [("filter", ())]
    assert encode(replace(found, settings={}), NAME, "response").body == body


@pytest.mark.parametrize(
    "body",
    [
        [message("model", {"text": "x"})],
        {"messages": [message("user", {"text": "x"}), message("tool", tell("x"))]},
        {"message": message("model", {"text": "x"})},
        {"candidates": [{"message": message("model", ask())}]},
        {"messages": [message("user", {"text": "x"})], "config": {}},
    ],
)
def test_its_bodies_are_told_from_others(body: JSON) -> None:
    assert detect(body) == NAME
