"""Decode, encode, translate, detect: what a caller sees."""

from __future__ import annotations

import json

import pytest
from cases import CASES, WIRES, Case, load
from google.adk.events import Event
from google.genai import types as genai
from mcp_types import CallToolResult, TextContent
from mistralai.client.models import (
    AssistantMessage,
    FunctionCall,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from msgspec import UnsetType
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Choice,
    Conversation,
    Message,
    Text,
    Tool,
    UsageError,
    catalogue,
    decode,
    detect,
    encode,
    profiles,
    translate,
    wires,
)
from toolwire.conversation.json import JSON, get
from toolwire.conversation.model import BodySource, Kind
from toolwire.wires import wire as wire_of

REQUEST: JSON = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call:1",
                    "type": "function",
                    "function": {"name": "get.weather", "arguments": '{"city":"Paris"}'},
                },
                {
                    "id": "call:2",
                    "type": "function",
                    "function": {"name": "get.weather", "arguments": '{"city":"Oslo"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call:2", "content": "3 C"},
        {"role": "tool", "tool_call_id": "call:1", "content": "18 C"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "get.weather", "parameters": {"type": "object"}}}
    ],
    "tool_choice": {"type": "function", "function": {"name": "get.weather"}},
}


def translate_to(target: str, body: JSON = REQUEST, kind: Kind = "request") -> JSON:
    return translate(body, "openai-chat", target, kind).body


def test_a_call_and_its_result_get_the_same_fitted_id_and_the_map_restores_it() -> None:
    translated = translate(REQUEST, "openai-chat", "anthropic")
    read = decode(translated.body, "anthropic")
    assert all(call.id.replace("_", "").replace("-", "").isalnum() for call in read.calls())
    assert [
        (translated.ids.ids[p.call.id], p.result.text) for p in read.pairs() if p.call and p.result
    ] == [("call:1", "18 C"), ("call:2", "3 C")]
    assert set(translated.ids.names.values()) == {"get.weather"}


def test_the_id_map_survives_json() -> None:
    translated = translate(REQUEST, "openai-chat", "anthropic")
    ids = json.loads(json.dumps(translated.ids.to_dict()))
    body = translate(translated.body, "anthropic", "openai-chat", ids=ids).body
    assert isinstance(body, dict)
    assert isinstance(REQUEST, dict)
    assert body["messages"][1] == REQUEST["messages"][1]  # type: ignore[index]
    assert body["tool_choice"] == REQUEST["tool_choice"]
    assert body["tools"] == REQUEST["tools"]


def test_names_are_fitted_alike_in_calls_tools_and_choice() -> None:
    encoded = translate_to("anthropic")
    assert isinstance(encoded, dict)
    name = encoded["tools"][0]["name"]  # type: ignore[index,call-overload]
    assert encoded["tool_choice"] == {"type": "tool", "name": name}
    assert {call.name for call in decode(encoded, "anthropic").calls()} == {name}
    assert name != "get.weather"


def test_an_unedited_conversation_is_written_byte_for_byte() -> None:
    text = json.dumps(REQUEST, indent=7).encode()
    encoded = encode(decode(text, "openai-chat"), "openai-chat")
    assert encoded.json() is text
    assert encoded.losses == []


@rows("case", CASES)
def test_changing_a_setting_changes_nothing_else(case: Case) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    if "model" not in conversation.settings:
        return
    encoded = encode(
        replace(conversation, settings={**conversation.settings, "model": "another"}),
        case.wire,
        case.kind,
    )
    decoded = decode(encoded.body, case.wire, case.kind)
    assert decoded.settings == {**conversation.settings, "model": "another"}
    assert decoded.messages == conversation.messages


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini"])
def test_a_conversation_made_by_hand_is_written(wire: str) -> None:
    start = decode(REQUEST, "openai-chat")
    call = start.calls()[0]
    history = (
        Message("user", (Text("Weather?"),)),
        Message("assistant", (call,)),
        Message("tool", (call.result({"celsius": 18}),)),
    )
    encoded = encode(
        replace(
            start,
            messages=history,
            settings={"choice": Choice("none")},
            wire="",
            source=BodySource(),
        ),
        wire,
    )
    read = decode(encoded.body, wire)
    assert [(pair.how, pair.result.text) for pair in read.pairs() if pair.result] == [
        ("id", '{"celsius":18}')
    ]
    assert read.settings["choice"] == Choice("none")


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini"])
def test_an_error_made_from_a_call_has_the_error_flag_or_a_loss(wire: str) -> None:
    start = decode(REQUEST, "openai-chat")
    call = start.calls()[0]
    history = (
        Message("assistant", (call,)),
        Message("tool", (call.result("offline", error=True),)),
    )
    encoded = encode(replace(start, messages=history), wire)
    (result,) = decode(encoded.body, wire).results()
    assert result.text in ("offline", "[error] offline")
    assert result.error == (result.text == "offline")
    assert result.error or any("error flag" in loss.reason for loss in encoded.losses)


@rows("case", CASES)
def test_detect_names_the_wire_of_a_case_unless_another_wire_scores_higher(case: Case) -> None:
    """Several wires share the chat shape: without typical fields, their bodies are chat bodies."""
    score = wire_of(case.wire).match_score(case.body)
    try:
        detected = detect(case.body)
    except UsageError as error:
        assert case.wire in error.why or score == 0
    else:
        assert detected == case.wire or wire_of(detected).match_score(case.body) > score


@rows("wire", WIRES)
def test_every_wire_has_cases_with_typical_fields(wire: str) -> None:
    assert any(wire_of(wire).match_score(case.body) >= 2 for case in load(wire))


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini"])
def test_detect_finds_most_cases(wire: str) -> None:
    sure = 0
    for case in load(wire):
        try:
            sure += detect(case.body) == wire
        except UsageError:
            continue
    assert sure > len(load(wire)) / 2


def test_there_are_wires_profiles_and_a_catalogue() -> None:
    assert wires() == sorted(wires())
    assert set(wires()) <= set(profiles())
    assert {entry.wire for entry in catalogue()} == set(wires())
    assert all(entry.direction in ("call", "output", "call+output") for entry in catalogue())


def test_an_unknown_option_is_a_usage_error() -> None:
    conversation = decode(REQUEST, "openai-chat")
    with pytest.raises(UsageError, match="server_tools is one of"):
        encode(conversation, "anthropic", server_tools="magic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="kind is request or response"):
        encode(conversation, "anthropic", "stream")
    with pytest.raises(UsageError, match="unknown wire, profile or provider"):
        encode(conversation, "nowhere")


@rows("case", CASES)
@rows("target", [wire for wire in ("openai-chat", "anthropic", "gemini") if wire in WIRES])
def test_every_loss_has_a_reason_and_a_pointer_into_the_source(case: Case, target: str) -> None:
    """Also if a repair moved what is lost; law 9 asks it of every target without a repair."""
    for loss in translate(case.body, case.wire, target, case.kind).losses:
        assert loss.reason
        assert not isinstance(get(case.body, loss.path), UnsetType), str(loss)


def test_objects_of_the_official_packages_are_accepted() -> None:
    """Made by hand, so that what they fill in themselves (a role, a type) counts too."""
    call = ToolCall(id="abcdefghi", function=FunctionCall(name="f", arguments="{}"))
    history: list[object] = [
        UserMessage(content="hi"),
        AssistantMessage(content="", tool_calls=[call]),
        ToolMessage(content="1", tool_call_id="abcdefghi", name="f"),
    ]
    [pair] = decode({"messages": history}, "mistral").pairs()  # type: ignore[dict-item]
    assert (
        pair.call
        and pair.result
        and (pair.call.id, pair.result.text, pair.how) == ("abcdefghi", "1", "id")
    )

    response = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": CallToolResult(content=[TextContent(text="18 C")]),
    }
    [result] = decode(response, "mcp", "response").results()  # type: ignore[arg-type]
    assert result.text == "18 C"

    call_part = genai.Part(function_call=genai.FunctionCall(id="adk-1", name="f", args={}))
    result_part = genai.Part(
        function_response=genai.FunctionResponse(id="adk-1", name="f", response={"output": "1"})
    )
    turns = (("model", call_part), ("user", result_part))
    events = [
        Event(author="agent", content=genai.Content(role=role, parts=[part]))
        for role, part in turns
    ]
    [pair] = decode(events, "adk").pairs()  # type: ignore[arg-type]
    assert (
        pair.call
        and pair.result
        and (pair.call.id, pair.result.text, pair.how) == ("adk-1", "1", "id")
    )


@pytest.mark.parametrize("wire", wires())
@pytest.mark.parametrize(
    "tools", [(), (Tool("search", "looks things up", {"type": "object"}),)], ids=["bare", "tools"]
)
def test_a_conversation_made_by_hand_that_names_its_wire_is_written_like_one_that_names_none(
    wire: str, tools: tuple[Tool, ...]
) -> None:
    call = decode(REQUEST, "openai-chat").calls()[0]
    call_part = Message("assistant", (Call("c1", "search", call.args),))
    messages = (
        Message("user", (Text("Go."),)),
        call_part,
        Message("tool", (call.result("found"),)),
    )
    conversation = Conversation(messages, tools, {}, wire)
    assert encode(conversation, wire).json() == encode(Conversation(messages, tools), wire).json()


@pytest.mark.parametrize("target", ("openai-responses", "azure-foundry", "mistral", "cohere"))
def test_a_result_that_a_repair_adds_is_a_change_and_no_loss(target: str) -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: JSON = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "and?"},
    ]
    encoded = translate({"model": "m", "messages": messages}, "openai-chat", target)
    assert [change.name for change in encoded.changes] == ["missing-result"]
    assert encoded.losses == []
