"""Ollama's own chat: ids that may be missing, images beside the text, one stop reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import Case, load, load_recorded
from msgspec.structs import replace
from validators import ollama as validate

from toolwire import (
    Call,
    Conversation,
    Media,
    Message,
    Reasoning,
    Text,
    catalogue,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Format, Kind, Usage

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """An example of the catalogue in a whole body."""
    if form == "response-stream":
        return None
    call: JSON = {"function": {"name": "get_weather", "arguments": {}}}
    if discriminator.get("role") == "tool":
        return {
            "model": "any",
            "messages": [{"role": "assistant", "tool_calls": [call]}, example],
        }, "request"
    message: JSON = {"role": "assistant", "content": "", "tool_calls": [example]}
    if form == "request":
        return {"model": "any", "messages": [message]}, "request"
    return {
        "model": "any",
        "created_at": "2025-07-07T20:22:19Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
    }, "response"


def case_of(name: str) -> Case:
    return next(case for case in load("ollama") if case.name == name)


def decode_case(name: str) -> Conversation:
    case = case_of(name)
    return decode(case.body, "ollama", case.kind)


def test_the_catalogue_entries_of_this_wire_are_read_as_they_are_described() -> None:
    entries = json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else []
    known = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    for entry in (entry for entry in entries if entry["wire"] == "ollama" and entry["core_wire"]):
        assert ("ollama", entry["direction"], entry["family"], entry["origin_class"]) in known
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        assert wrapped is not None
        conversation = decode(wrapped[0], "ollama", wrapped[1])
        found = conversation.calls() if entry["direction"] == "call" else conversation.results()
        assert [(part.family, part.executor) for part in found] == [
            (entry["family"], entry["executor"])
        ]
        assert encode(conversation, "ollama", wrapped[1]).body == wrapped[0]


@pytest.mark.parametrize("case", load("ollama") + load_recorded("ollama"), ids=str)
def test_the_official_types_accept_all_cases_that_are_not_broken_on_purpose(case: Case) -> None:
    broken = {"odd-arguments", "unknown-roles-and-fields", "results-in-every-form"}
    if case.name not in broken:
        validate(case.body, case.kind)


def test_a_minted_id_is_never_written_and_a_real_one_always_is() -> None:
    case = case_of("parallel-calls-by-order")
    conversation = decode(case.body, "ollama")
    assert all(is_minted(call.id) and call.origin == "minted" for call in conversation.calls())
    over = translate(case.body, "ollama", "openai-chat")
    assert b"tw-" in over.json()
    restored = translate(over.body, "openai-chat", "ollama", ids=over.ids)
    assert b"tw-" not in restored.json()
    assert [call.id for call in decode(restored.body, "ollama").calls()] == [
        call.id for call in conversation.calls()
    ]
    real = translate(case_of("parallel-calls-by-id").body, "ollama", "anthropic")
    assert b'"id":"call_2k7ryu9k"' in translate(real.body, "anthropic", "ollama").json()


def test_two_answers_of_one_model_never_share_a_minted_id() -> None:
    body = case_of("answer-without-ids").body
    assert isinstance(body, dict)
    later = {**body, "created_at": "2026-08-07T06:08:12Z"}
    ids = [
        call.id
        for request in (body, later)
        for call in decode(request, "ollama", "response").calls()
    ]
    assert len(set(ids)) == 4
    assert [call.id for call in decode(later, "ollama", "response").calls()] == ids[2:]


def test_every_result_has_its_tool_name_and_the_order_of_the_calls() -> None:
    first, call = Call("c1", "look", LazyJson("{}")), Call("c2", "time", LazyJson("{}"))
    answers = Message("tool", (replace(call.result("12:00"), name=None), first.result("18 C")))
    body = encode(Conversation((Message("assistant", (first, call)), answers)), "ollama").body
    assert body["messages"][1:] == [  # type: ignore[index,call-overload]
        {"role": "tool", "content": "18 C", "tool_name": "look", "tool_call_id": "c1"},
        {"role": "tool", "content": "12:00", "tool_name": "time", "tool_call_id": "c2"},
    ]


def test_calls_in_two_messages_of_one_turn_keep_their_results_in_order() -> None:
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
    translated = translate({"contents": contents}, "gemini", "ollama")
    assert b"tw-" not in translated.json()
    pairs = decode(translated.json(), "ollama").pairs()
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
        "ollama",
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(translated.json(), "ollama").pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert translated.losses == []


def test_one_result_for_two_equal_calls_is_not_paired() -> None:
    assert [pair.how for pair in decode_case("missing-ids-and-one-open-call").pairs()] == [
        None,
        None,
        None,
    ]


def test_a_response_with_calls_stops_for_tools_although_the_wire_says_stop() -> None:
    assert [message.stop for message in decode_case("answer-with-calls").messages] == ["tool"]
    assert [message.stop for message in decode_case("answer-in-words").messages] == ["stop"]
    conversation = Conversation(
        (Message("assistant", (Call("c1", "look", LazyJson("{}")),), "tool"),), kind="response"
    )
    encoded = encode(conversation, "ollama", "response")
    assert (encoded.body["done_reason"], encoded.losses) == ("stop", [])  # type: ignore[index,call-overload]


def test_images_are_bare_base64_and_their_type_is_read_from_the_first_bytes() -> None:
    first = decode_case("images-beside-text").messages[0].parts
    assert [(part.kind, part.mime) for part in first if isinstance(part, Media)] == [
        ("image", "image/png"),
        ("image", "image/gif"),
    ]
    assert isinstance(first[0], Text)


def test_an_image_url_is_named_in_text_and_reported() -> None:
    user = Message("user", (Text("What?"), Media("image", url="https://example.com/cat.jpg")))
    encoded = encode(Conversation((user,)), "ollama")
    assert encoded.body["messages"] == [  # type: ignore[call-overload, index]
        {"role": "user", "content": "What?\n[image https://example.com/cat.jpg]"}
    ]
    assert len(encoded.losses) == 1


def test_base64_of_urls_is_sent_in_the_standard_alphabet() -> None:
    encoded = encode(
        Conversation((Message("user", (Media("image", "image/jpeg", "_9j_4A=="),)),)), "ollama"
    )
    assert encoded.body["messages"][0]["images"] == ["/9j/4A=="]  # type: ignore[index,call-overload]


def test_a_result_may_hold_an_image() -> None:
    call = Call("c1", "draw", LazyJson("{}"))
    result = call.result((Text("Here."), Media("image", "image/png", "iVBORw0KGgo=")))
    encoded = encode(
        Conversation((Message("assistant", (call,)), Message("tool", (result,)))), "ollama"
    )
    assert encoded.losses == []
    assert decode(encoded.body, "ollama").results()[0].output == result.output


def test_thinking_is_reasoning_in_a_history_too() -> None:
    conversation = decode_case("thinking")
    assert conversation.messages[1].parts == (Reasoning("He wants more."), Text("Say more."))
    body = encode(
        Conversation(
            tuple(
                replace(m, wire="", source=replace(m.source, raw=None))
                for m in conversation.messages
            )
        ),
        "ollama",
    ).body
    assert body["messages"][1] == {  # type: ignore[call-overload, index]
        "role": "assistant",
        "content": "Say more.",
        "thinking": "He wants more.",
    }


def test_a_request_of_another_wire_disables_streaming_explicitly() -> None:
    body = translate(
        {"messages": [{"role": "user", "content": "Hi"}]}, "openai-chat", "ollama"
    ).body
    assert body == {"stream": False, "messages": [{"role": "user", "content": "Hi"}]}


def test_usage_is_two_fields_and_the_time_is_iso_8601() -> None:
    settings = decode_case("answer-with-calls").settings
    assert settings["usage"] == Usage(310, 145)
    assert settings["created"] == 1786082891
    conversation = Conversation(
        (Message("assistant", (Text("a"),), "stop"),),
        (),
        {"created": 1786082891, "usage": Usage(3, 4)},
        kind="response",
    )
    body = encode(conversation, "ollama", "response").body
    assert isinstance(body, dict)
    assert (body["created_at"], body["prompt_eval_count"], body["eval_count"]) == (
        "2026-08-07T06:08:11Z",
        3,
        4,
    )


def test_the_format_is_json_or_a_schema() -> None:
    assert decode_case("format-object").settings["format"] == Format()
    assert decode_case("format-schema").settings["format"] == Format(
        {"type": "object", "properties": {"a": {"type": "integer"}}}
    )


@pytest.mark.parametrize("case", load("ollama"), ids=str)
def test_detect_finds_this_wire_by_its_own_fields(case: Case) -> None:
    if case.name != "format-object":  # a plain chat but for one field
        assert detect(case.body) == "ollama"


@pytest.mark.parametrize("value", [0, False, ""], ids=repr)
def test_an_unknown_field_is_reported_although_its_value_is_false(value: JSON) -> None:
    inner: JSON = {"name": "f", "arguments": {}, "odd": value}
    message: JSON = {"role": "assistant", "tool_calls": [{"function": inner}], "odd": value}
    translated = translate({"messages": [message], "odd": value}, "ollama", "anthropic")
    assert {loss.pointer for loss in translated.losses} >= {
        "/odd",
        "/messages/0/odd",
        "/messages/0/tool_calls/0/function/odd",
    }


def test_an_edited_list_of_tools_keeps_the_others_as_they_were() -> None:
    tools: list[JSON] = [{"type": "web", "k": 1}, {"type": "function", "function": {"name": "f"}}]
    read = decode({"messages": [], "tools": tools}, "ollama")
    encoded = encode(replace(read, tools=read.tools[:1]), "ollama")
    assert (encoded.body["tools"], encoded.losses) == (tools[:1], [])  # type: ignore[index,call-overload]


def test_an_edit_reports_only_what_it_changes() -> None:
    function: JSON = {"name": "f", "arguments": "not an object"}
    message: JSON = {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}
    conversation = decode({"messages": [message]}, "ollama")
    encoded = encode(conversation.rename_call(conversation.calls()[0], "g"), "ollama")
    assert encoded.losses == []
    path = ("messages", 0, "tool_calls", 0, "function")
    assert get(encoded.body, path) == {"name": "g", "arguments": "not an object"}


def test_the_id_map_holds_the_ids_that_are_minted_after_a_call_was_deleted() -> None:
    calls: JSON = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g")]
    body: JSON = {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "done": True,
        "message": {"role": "assistant", "content": "", "tool_calls": calls},
    }
    conversation = decode(body, "ollama", "response")
    edited = conversation.delete_pair(conversation.calls()[0])
    encoded = encode(edited, "ollama", "response")
    [call] = decode(encoded.body, "ollama", "response").calls()
    assert encoded.ids.ids == {call.id: edited.calls()[0].id}


@pytest.mark.parametrize("call_id", ["gone", None])
def test_a_result_without_a_certain_call_takes_the_place_of_no_other(call_id: str | None) -> None:
    """Servers number results by their order, so such a result is told in words."""
    calls: list[JSON] = [
        {"$type": "functionCall", "callId": name, "name": name, "arguments": {}} for name in "fg"
    ]
    result: JSON = {"$type": "functionResult", "callId": call_id, "result": "42"}
    body: JSON = {
        "messages": [
            {"role": "user", "contents": [{"$type": "text", "text": "hi"}]},
            {"role": "assistant", "contents": calls},
            {"role": "tool", "contents": [result]},
        ]
    }
    translated = translate(body, "meai", "ollama")
    results = decode(translated.body, "ollama").results()
    assert not any("42" in result.text for result in results)
    assert b"[toolwire] a result" in translated.json() and b"42" in translated.json()
    assert translated.changes
