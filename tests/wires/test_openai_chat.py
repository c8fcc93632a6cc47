"""What is peculiar to OpenAI Chat Completions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from toolwire import (
    Call,
    Conversation,
    Loss,
    Media,
    Message,
    Reasoning,
    Result,
    Text,
    Tool,
    catalogue,
    decode,
    encode,
    translate,
)
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Kind

NAME = "openai-chat"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == NAME and entry["core_wire"] and entry["form"] != "response-stream"
]


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around a minimal example of a type; None for a streamed one."""
    if form == "response-stream":
        return None
    if "role" in discriminator:
        return {"messages": [example]}, "request"
    place = discriminator["path"]
    field = next(
        name for name in ("tool_calls", "executed_tools", "function_call") if name in place
    )
    message: JSON = {
        "role": "assistant",
        "content": None,
        field: [example] if place.endswith("[]") else example,
    }
    if form == "request":
        return {"messages": [message]}, "request"
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    }, "response"


@pytest.mark.parametrize(
    "entry", ENTRIES, ids=lambda entry: f"{entry['form']}-{entry['type_name']}"
)
def test_every_type_of_the_catalogue_is_read_as_what_it_is(entry: dict[str, str]) -> None:
    wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])  # type: ignore[arg-type]
    assert wrapped is not None
    body, kind = wrapped
    conversation = decode(body, NAME, kind)
    (part,) = (part for part in conversation.parts() if isinstance(part, Call | Result))
    assert isinstance(part, Call if entry["direction"] == "call" else Result)
    assert (part.family, part.executor) == (
        entry["family"],
        {"server": "provider"}.get(entry["executor"], entry["executor"]),
    )
    assert encode(conversation, NAME, kind).body == body
    rows = {(row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME}
    assert (entry["direction"], entry["family"], entry["origin_class"]) in rows


def request_with_calls(*calls: JSON, **message: JSON) -> JSON:
    return {
        "messages": [{"role": "assistant", "content": None, "tool_calls": list(calls), **message}]
    }


def call(call_id: JSON, arguments: JSON, name: str = "f") -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def only_call(body: JSON) -> Call:
    (call,) = decode(body, NAME).calls()
    return call


def losses(body: JSON, source: str, kind: Kind = "request") -> list[Loss]:
    return translate(body, source, NAME, kind).losses


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("", {}),
        ("{}", {}),
        ('{ "a" : 1.50 }', {"a": 1.5}),
        ('{"a', None),
        ("[1]", [1]),
        ("null", None),
        ('"x"', "x"),
    ],
)
def test_arguments_are_kept_verbatim_and_parsed_on_demand(text: str, means: JSON) -> None:
    parsed_call = only_call(request_with_calls(call("a", text)))
    assert (parsed_call.arguments, parsed_call.input) == (text, means)


def test_arguments_that_come_as_an_object_are_read_as_one() -> None:
    assert only_call(request_with_calls(call("a", {"x": 1}))).input == {"x": 1}


@pytest.mark.parametrize("call_id", [None, "", "  ", "null", True, 1.5, [], {}])
def test_a_missing_id_is_minted(call_id: JSON) -> None:
    parsed_call = only_call(request_with_calls(call(call_id, "{}")))
    assert parsed_call.origin == "minted"
    assert parsed_call.id.startswith("tw-")


def test_a_number_as_id_is_its_digits() -> None:
    assert (
        only_call(request_with_calls(call(7, "{}"))).id,
        only_call(request_with_calls(call(7, "{}"))).origin,
    ) == ("7", "wire")


def test_each_result_is_a_message_and_those_of_one_turn_are_consecutive() -> None:
    body: JSON = {
        "max_tokens": 1,
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": x, "name": "f", "input": {}} for x in "ab"],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "b", "content": "b"},
                    {"type": "tool_result", "tool_use_id": "a", "content": "a"},
                    {"type": "text", "text": "go"},
                ],
            },
        ],
    }
    written_body = translate(body, "anthropic", NAME).body
    assert isinstance(written_body, dict)
    assert [(m["role"], m["content"]) for m in written_body["messages"]] == [  # type: ignore[index,union-attr,call-overload]
        ("assistant", None),
        ("tool", "b"),
        ("tool", "a"),
        ("user", "go"),
    ]


def test_media_of_a_result_follow_the_whole_batch_in_a_user_message_and_are_reported() -> None:
    image: JSON = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    body: JSON = {
        "max_tokens": 1,
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": x, "name": "f", "input": {}} for x in "ab"],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [image]},
                    {"type": "tool_result", "tool_use_id": "b", "content": "b"},
                ],
            },
        ],
    }
    conversation = decode(translate(body, "anthropic", NAME).body, NAME)
    assert [message.role for message in conversation.messages] == [
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert [type(part) for part in conversation.messages[-1].parts] == [Text, Media]
    assert ("messages", 1, "content", 0, "content", 0) in [
        loss.path for loss in losses(body, "anthropic")
    ]


def test_a_result_that_is_an_error_says_so_in_its_text_and_the_flag_is_reported_lost() -> None:
    body: JSON = {
        "max_tokens": 1,
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}
                ],
            },
        ],
    }
    assert [loss.path for loss in losses(body, "anthropic")] == [("messages", 1, "content", 0)]
    assert decode(translate(body, "anthropic", NAME).body, NAME).results()[0].text == "[error] no"


def test_reasoning_is_written_in_a_response_and_left_out_of_a_history() -> None:
    answer: JSON = {
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}],
        "role": "assistant",
    }
    body = translate(answer, "anthropic", NAME, "response").body
    assert body["choices"][0]["message"]["reasoning_content"] == "hm"  # type: ignore[index,call-overload]
    history: JSON = {
        "max_tokens": 1,
        "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}],
    }
    assert [loss.path for loss in losses(history, "anthropic")] == [("messages", 0, "content", 0)]


def test_a_custom_call_survives_a_round_trip_over_a_wire_without_custom_calls() -> None:
    body = request_with_calls(
        {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls | wc"}}
    )
    translated = translate(body, NAME, "anthropic")
    restored = translate(translated.body, "anthropic", NAME, ids=translated.ids)
    assert only_call(restored.body).family == "custom"
    assert only_call(restored.body).arguments == "ls | wc"


@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "none",
        "required",
        {"type": "function", "function": {"name": "f"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "required",
                "tools": [
                    {"type": "function", "function": {"name": "f"}},
                    {"type": "function", "function": {"name": "g"}},
                ],
            },
        },
    ],
    ids=str,
)
def test_a_tool_choice_survives_a_round_trip_over_gemini(choice: JSON) -> None:
    tools: list[JSON] = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
    body: JSON = {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": tools,
        "tool_choice": choice,
    }
    translated = translate(body, NAME, "gemini")
    written_body = translate(translated.body, "gemini", NAME, ids=translated.ids).body
    assert isinstance(written_body, dict)
    assert written_body["tool_choice"] == choice


def test_every_candidate_of_an_answer_is_read_with_its_own_stop_reason() -> None:
    reasons = ("stop", "length", "tool_calls", "content_filter", "new")
    body: JSON = {
        "choices": [{"message": {"content": reason}, "finish_reason": reason} for reason in reasons]
    }
    stops = [message.stop for message in decode(body, NAME, "response").messages]
    assert stops == ["stop", "length", "tool", "filter", "new"]


def test_text_after_a_call_moves_before_it_and_that_is_reported() -> None:
    blocks: list[JSON] = [
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "text", "text": "after"},
    ]
    translated = translate(
        {"messages": [{"role": "assistant", "content": blocks}]}, "anthropic", NAME
    )
    assert [loss.pointer for loss in translated.losses] == ["/messages/0/content/1"]


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "gemini", "mistral", "cohere"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_choice_without_tools_is_left_out(wire: str, choice: str) -> None:
    body: JSON = {
        "messages": [{"role": "user", "content": "hi"}],
        "tool_choice": choice,
        "parallel_tool_calls": True,
    }
    translated = translate(body, NAME, wire)
    assert (
        "choice" not in repr(translated.body)
        and "parallel" not in repr(translated.body)
        and choice.upper() not in repr(translated.body)
    )
    assert {loss.path for loss in translated.losses} >= {("tool_choice",), ("parallel_tool_calls",)}


@pytest.mark.parametrize("wire", [NAME, "mistral"])
@pytest.mark.parametrize("value", [0, False, ""], ids=repr)
def test_an_unknown_field_is_reported_although_its_value_is_false(wire: str, value: JSON) -> None:
    inner: JSON = {"name": "f", "arguments": "{}", "odd": value}
    entry: JSON = {"id": "abcdefgh1", "type": "function", "function": inner, "odd": value}
    message: JSON = {"role": "assistant", "content": None, "tool_calls": [entry], "odd": value}
    choice: JSON = {"index": 0, "message": message, "finish_reason": "tool_calls", "odd": value}
    translated = translate({"choices": [choice], "odd": value}, wire, "anthropic", "response")
    assert {loss.pointer for loss in translated.losses} == {
        "/odd",
        "/choices/0/odd",
        "/choices/0/message/odd",
        "/choices/0/message/tool_calls/0/odd",
        "/choices/0/message/tool_calls/0/function/odd",
    }


def test_a_sound_without_a_known_type_is_sent_as_a_file_and_keeps_its_name() -> None:
    user = Message("user", [Media("audio", data="AAAA", name="speech"), Text("Listen.")])
    encoded = encode(Conversation([user]), NAME)
    assert encoded.body["messages"][0]["content"][0]["file"]["filename"] == "speech"  # type: ignore[index,call-overload]
    assert len(encoded.losses) == 1
    message = Message("user", [Media("audio", data="AAAA", name="speech.wav")])
    encoded = encode(Conversation([message]), NAME)
    assert encoded.body["messages"][0]["content"][0]["type"] == "input_audio"  # type: ignore[index,call-overload]
    assert [loss.reason for loss in encoded.losses] == ["the name of this audio is not kept here"]


# --- edits of messages of this wire ---------------------------------------------------------------


def call_without_id(name: str) -> Object:
    """A call without an id, and with fields that only its server knows."""
    return {
        "type": "function",
        "unknown": 1,
        "function": {"name": name, "arguments": "{}", "inner": 2},
    }


@pytest.mark.parametrize("wire", ["openai-chat", "mistral"])
def test_the_other_calls_of_a_response_stay_verbatim_when_one_is_deleted(wire: str) -> None:
    message: Object = {
        "role": "assistant",
        "content": "Let me look.",
        "unknown": 3,
        "tool_calls": [call_without_id("weather"), call_without_id("clock")],
    }
    choice: JSON = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    conversation = decode({"id": "r1", "choices": [choice]}, wire, "response")
    encoded = encode(conversation.delete_pair(conversation.calls()[0]), wire, "response")
    expected = {**message, "tool_calls": [call_without_id("clock")]}
    assert get(encoded.body, ("choices", 0, "message")) == expected
    assert encoded.losses == []


def test_a_tool_that_the_server_ran_stays_when_a_call_is_deleted() -> None:
    executed: JSON = {"index": 0, "type": "search", "arguments": "{}", "output": "found"}
    message: Object = {
        "role": "assistant",
        "content": None,
        "executed_tools": [executed],
        "tool_calls": [call_without_id("clock")],
    }
    conversation = decode({"choices": [{"message": message}]}, "openai-chat", "response")
    edited = conversation.delete_pair(conversation.calls()[1])
    body = encode(edited, "openai-chat", "response").body
    assert get(body, ("choices", 0, "message")) == {
        "role": "assistant",
        "content": "",
        "executed_tools": [executed],
    }


def test_the_other_blocks_of_a_user_message_stay_verbatim_when_one_is_removed() -> None:
    text: JSON = {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}
    image: JSON = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    body: JSON = {"messages": [{"role": "user", "content": [text, image], "name": "Ada"}]}
    conversation = decode(body, "openai-chat")
    message = conversation.messages[0]
    edited = replace(conversation, messages=(replace(message, parts=message.parts[:1]),))
    assert get(encode(edited, "openai-chat").body, ("messages", 0)) == {
        "role": "user",
        "content": [text],
        "name": "Ada",
    }


def test_another_id_of_a_legacy_call_is_reported_lost() -> None:
    body: JSON = {
        "messages": [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
            {"role": "function", "name": "f", "content": "done"},
        ]
    }
    conversation = decode(body, "openai-chat")
    encoded = encode(conversation.change_call_id(conversation.calls()[0], "c1"), "openai-chat")
    assert encoded.body == body
    assert [loss.path for loss in encoded.losses] == [("messages", 0, "function_call")]


def test_an_edit_that_this_wire_cannot_hold_is_reported() -> None:
    image: JSON = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    body: JSON = {"messages": [{"role": "user", "content": [image]}]}
    conversation = decode(body, "openai-chat")
    [part] = conversation.parts()
    edited = conversation.replace(part, Media("video", url="https://example.org/a.mp4"))
    assert [loss.path for loss in encode(edited, "openai-chat").losses] == [part.path]


ADDED = Call("added0001", "f", {})


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere", "ollama"])
def test_a_call_that_is_added_to_a_message_leaves_the_rest_of_it_verbatim(wire: str) -> None:
    message: Object = {"role": "assistant", "content": "Let me look.", "unknown": 1}
    conversation = decode({"messages": [message]}, wire)
    [read] = conversation.messages
    edited = replace(conversation, messages=(replace(read, parts=(*read.parts, ADDED)),))
    encoded = encode(edited, wire)
    assert encoded.losses == []
    assert [call.id for call in decode(encoded.body, wire).calls()] == [ADDED.id]
    expected = {**message, "tool_calls": get(encoded.body, ("messages", 0, "tool_calls"))}
    assert get(encoded.body, ("messages", 0)) == expected


REASONING: dict[str, tuple[str, JSON]] = {
    "openai-chat": ("reasoning_content", "Hm."),
    "mistral": (
        "content",
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": "Yes."},
        ],
    ),
}
"""For each wire, the field that holds reasoning which is added to an answer, and its value."""


@pytest.mark.parametrize("wire", REASONING)
def test_reasoning_that_is_added_to_an_answer_leaves_the_rest_of_it_verbatim(wire: str) -> None:
    message: Object = {"role": "assistant", "content": "Yes.", "unknown": 1}
    conversation = decode({"choices": [{"message": message}]}, wire, "response")
    [read] = conversation.messages
    parts = (Reasoning("Hm."), *read.parts)
    encoded = encode(
        replace(conversation, messages=(replace(read, parts=parts),)), wire, "response"
    )
    field, value = REASONING[wire]
    assert get(encoded.body, ("choices", 0, "message")) == {**message, field: value}


def test_a_part_of_a_response_that_moves_into_a_request_is_written_from_its_content() -> None:
    choice: JSON = {"message": {"role": "assistant", "content": "Yes.", "refusal": "No."}}
    [_, refusal] = decode({"choices": [choice]}, "openai-chat", "response").parts()
    conversation = decode({"messages": [{"role": "assistant", "content": "Oh."}]}, "openai-chat")
    [read] = conversation.messages
    edited = replace(conversation, messages=(replace(read, parts=(*read.parts, refusal)),))
    expected = {"role": "assistant", "content": "Oh.", "refusal": "No."}
    assert get(encode(edited, "openai-chat").body, ("messages", 0)) == expected


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere", "ollama", "text"])
def test_a_tool_of_another_provider_that_is_added_by_hand_is_reported(wire: str) -> None:
    conversation = decode({"messages": [{"role": "user", "content": "Hi"}]}, wire)
    edited = replace(conversation, tools=(Tool("", kind="web_search"),))
    assert [loss.reason for loss in encode(edited, wire).losses] == [
        "a tool that only another provider has: web_search"
    ]


PICTURE = "iVBORw0KGgo="
IMAGES: dict[str, Object] = {
    "openai-chat": {
        "content": [{"type": "input_audio", "input_audio": {"data": "", "format": ""}}]
    },
    "mistral": {"content": [{"type": "input_audio", "input_audio": "AAAA"}]},
    "cohere": {"content": [{"type": "document", "document": {"data": {"text": "Hi"}}}]},
    "text": {"content": [{"type": "image_url", "image_url": {"url": "https://example.org/a"}}]},
    "ollama": {"content": "", "images": [PICTURE]},
}
"""For each wire, a user message with one medium."""


@pytest.mark.parametrize("wire", IMAGES)
def test_media_that_replace_media_are_written_or_reported(wire: str) -> None:
    conversation = decode({"messages": [{"role": "user", **IMAGES[wire]}]}, wire)
    [part] = conversation.parts()
    for medium in (Media("image", "image/png", PICTURE), Media("video", url="https://a.org/b.mp4")):
        encoded = encode(conversation.replace(part, medium), wire)
        [inner] = decode(encoded.body, wire).parts()
        assert encoded.losses or inner == medium
