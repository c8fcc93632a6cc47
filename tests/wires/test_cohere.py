"""What is peculiar to Cohere Chat v2: the plan, documents as results, one strictness for all tools,
citations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import Case, load, load_recorded
from msgspec.structs import replace
from validators import cohere as validate

from toolwire import (
    Call,
    Conversation,
    Media,
    Message,
    Reasoning,
    Result,
    Text,
    Tool,
    catalogue,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Choice, Kind, Usage

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """An example of the catalogue in a whole body."""
    if form == "response-stream":
        return None
    call: JSON = {
        "id": "get_weather_001",
        "type": "function",
        "function": {"name": "get_weather", "arguments": "{}"},
    }
    if discriminator.get("role") == "tool":
        return {"messages": [{"role": "assistant", "tool_calls": [call]}, example]}, "request"
    if form == "request":
        return {"messages": [{"role": "assistant", "tool_calls": [example]}]}, "request"
    return {
        "id": "1",
        "finish_reason": "TOOL_CALL",
        "message": {"role": "assistant", "tool_calls": [example]},
    }, "response"


def decode_case(name: str) -> Conversation:
    case = next(case for case in load("cohere") if case.name == name)
    return decode(case.body, "cohere", case.kind)


def test_the_catalogue_entries_of_this_wire_are_read_as_they_are_described() -> None:
    entries = json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else []
    known = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    for entry in (entry for entry in entries if entry["wire"] == "cohere" and entry["core_wire"]):
        assert ("cohere", entry["direction"], entry["family"], entry["origin_class"]) in known
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        assert wrapped is not None
        conversation = decode(wrapped[0], "cohere", wrapped[1])
        found = conversation.calls() if entry["direction"] == "call" else conversation.results()
        assert [(part.family, part.executor) for part in found] == [
            (entry["family"], entry["executor"])
        ]
        assert encode(conversation, "cohere", wrapped[1]).body == wrapped[0]


@pytest.mark.parametrize("case", load("cohere") + load_recorded("cohere"), ids=str)
def test_the_official_types_accept_all_cases_that_are_not_broken_on_purpose(case: Case) -> None:
    broken = {"missing-and-empty-ids", "unknown-blocks-and-fields"}
    if case.name not in broken:
        validate(case.body, case.kind)


def test_the_plan_is_read_as_reasoning_before_the_calls_and_written_back_as_the_plan() -> None:
    conversation = decode_case("parallel-calls-with-a-plan")
    plan = conversation.messages[2].parts[0]
    assert plan == Reasoning("I will look up both cities.")
    edited = encode(conversation.replace(plan, replace(plan, text="Both.")), "cohere").body
    assert edited["messages"][2]["tool_plan"] == "Both."  # type: ignore[index,call-overload]


def test_reasoning_of_another_wire_is_a_plan_beside_calls_and_a_thinking_block_without() -> None:
    call = Call("c1", "look", LazyJson("{}"))
    reasoning = Reasoning("Because.")
    conversation = Conversation(
        (Message("assistant", (reasoning, call)), Message("assistant", (reasoning, Text("So."))))
    )
    body = encode(conversation, "cohere").body
    assert isinstance(body, dict)
    assert body["messages"] == [
        {
            "role": "assistant",
            "tool_plan": "Because.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Because."},
                {"type": "text", "text": "So."},
            ],
        },
    ]
    assert decode(body, "cohere") == conversation


def test_a_bare_document_is_a_json_result_and_several_are_documents() -> None:
    outputs = [result.output for result in decode_case("documents-are-results").results()]
    assert outputs[0] == {"celsius": 18, "wind": {"kmh": 12.5}}
    assert outputs[1] == (
        Media("file", "application/json", text='{"title":"Oslo","snippet":"9 C"}'),
        Media("file", "text/plain", text="It rains."),
    )
    assert outputs[5] == (Media("file", "text/plain", text="A text alone."),)


@pytest.mark.parametrize(
    "output", [{"a": 1}, {"text": "x"}, {"text": 1}, [1, 2], "plain", '{"a": 1}', True, 0]
)
def test_every_json_result_survives_a_round_trip_over_this_wire(output: JSON) -> None:
    call = Call("c1", "look", LazyJson("{}"))
    start = encode(
        Conversation((Message("assistant", (call,)), Message("tool", (call.result(output),)))),
        "gemini",
    )
    translated = translate(start.body, "gemini", "cohere")
    validate(translated.body, "request")
    restored = translate(translated.body, "cohere", "gemini", ids=translated.ids)
    assert decode(restored.body, "gemini").results()[0].output == output


def test_a_picture_in_a_result_follows_in_a_user_message_and_is_reported() -> None:
    call = Call("c1", "draw", LazyJson("{}"))
    result = call.result((Text("Here."), Media("image", "image/png", "QUJD")))
    encoded = encode(
        Conversation((Message("assistant", (call,)), Message("tool", (result,)))), "cohere"
    )
    validate(encoded.body, "request")
    picture: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    content: JSON = [{"type": "text", "text": "From tool call c1 (draw):"}, picture]
    assert get(encoded.body, ("messages", -1)) == {"role": "user", "content": content}
    assert len(encoded.losses) == 1


def test_an_error_flag_is_reported_and_is_restored() -> None:
    call = Call("c1", "look", LazyJson("{}"))
    start = encode(
        Conversation(
            (Message("assistant", (call,)), Message("tool", (call.result({"no": 1}, error=True),)))
        ),
        "gemini",
    )
    translated = translate(start.body, "gemini", "cohere")
    assert [loss.reason for loss in translated.losses] == [
        "a result has no error flag here; its text says that it is an error"
    ]
    restored = translate(translated.body, "cohere", "gemini", ids=translated.ids)
    assert decode(restored.body, "gemini").results()[0].error


def test_strict_tools_holds_for_every_tool_and_is_written_only_if_all_agree() -> None:
    conversation = decode_case("settings-and-strict-tools")
    assert [tool.strict for tool in conversation.tools] == [True, True]
    fewer = encode(replace(conversation, tools=conversation.tools[:1]), "cohere").body
    assert fewer["strict_tools"] is True  # type: ignore[index,call-overload]
    first, second = conversation.tools
    mixed = encode(replace(conversation, tools=(first, replace(second, strict=None))), "cohere")
    assert "strict_tools" not in mixed.body  # type: ignore[operator]
    assert [loss.pointer for loss in mixed.losses] == ["/tools/0"]
    none = encode(replace(conversation, tools=()), "cohere").body
    assert "tools" not in none  # type: ignore[operator]
    assert "strict_tools" not in none  # type: ignore[operator]


def test_a_choice_of_one_tool_becomes_any_and_auto_is_left_out() -> None:
    user = Message("user", (Text("Hi"),))
    tools = (Tool("look", None, {"type": "object"}),)
    choice = Choice("required", ("look",))
    encoded = encode(Conversation((user,), tools=tools, settings={"choice": choice}), "cohere")
    assert get(encoded.body, ("tool_choice",)) == "REQUIRED"
    auto = encode(Conversation((user,), tools=tools, settings={"choice": Choice("auto")}), "cohere")
    assert "tool_choice" not in auto.body  # type: ignore[operator]
    assert [len(encoded.losses) for encoded in (encoded, auto)] == [1, 1]


def test_citations_are_a_loss_for_every_other_wire() -> None:
    case = next(case for case in load("cohere") if case.name == "citations-point-at-results")
    for target in ("openai-chat", "anthropic", "gemini"):
        losses = translate(case.body, "cohere", target).losses
        assert "/messages/3/citations" in [loss.pointer for loss in losses]


def test_counts_may_be_written_as_fractions() -> None:
    assert decode_case("answer-with-calls").settings["usage"] == Usage(913, 83, 800)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("COMPLETE", "stop"), ("TOOL_CALL", "tool"), ("ERROR", "ERROR"), ("TIMEOUT", "TIMEOUT")],
)
def test_a_stop_reason_without_a_neutral_form_is_kept(reason: str, stop: str) -> None:
    body: Object = {
        "id": "1",
        "finish_reason": reason,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
    }
    conversation = decode(body, "cohere", "response")
    assert conversation.messages[0].stop == stop
    assert (
        encode(
            replace(conversation, settings=dict(conversation.settings)), "cohere", "response"
        ).body
        == body
    )


@pytest.mark.parametrize("case", load("cohere"), ids=str)
def test_detect_finds_this_wire_or_an_equally_likely_one(case: Case) -> None:
    vague = {
        "missing-and-empty-ids",
        "odd-arguments",
        "open-and-stray",
        "media-in-every-form",
        "thinking-in-the-content",
        "format-object",
        "unknown-blocks-and-fields",
    }
    if case.name not in vague:
        assert detect(case.body) == "cohere"


def test_a_result_added_to_a_history_leaves_the_rest_verbatim() -> None:
    case = next(case for case in load("cohere") if case.name == "open-and-stray")
    conversation = decode(case.body, "cohere")
    answer = Message("tool", (conversation.calls()[0].result("18 C"),))
    body = encode(replace(conversation, messages=(*conversation.messages, answer)), "cohere").body
    assert isinstance(body, dict)
    assert isinstance(case.body, dict)
    assert body["messages"] == [
        *case.body["messages"],
        {"role": "tool", "tool_call_id": "a", "content": "18 C"},
    ]  # type: ignore[misc]
    assert isinstance(decode(body, "cohere").pairs()[0].result, Result)


def test_an_edited_document_is_written_as_a_json_object() -> None:
    block: JSON = {"type": "document", "document": {"id": "d1", "data": {"celsius": 18}}}
    results: JSON = {"role": "tool", "tool_call_id": "a", "content": [block]}
    conversation = decode({"messages": [results]}, "cohere")
    [result] = conversation.results()
    assert isinstance(result.output, tuple)
    [document] = result.output
    assert isinstance(document, Media)
    for text, data, losses in (
        ('{"celsius":20}', {"celsius": 20}, 0),
        ("warm", {"text": "warm"}, 1),
    ):
        output = (replace(document, text=text, source=replace(document.source, original=document)),)
        encoded = encode(conversation.replace(result, replace(result, output=output)), "cohere")
        path = ("messages", 0, "content", 0, "document")
        assert get(encoded.body, path) == {"id": "d1", "data": data}
        assert len(encoded.losses) == losses


def test_a_text_document_in_a_result_loses_its_type() -> None:
    call = Call("a", "f", {})
    page = Media("file", "text/html", text="<p>", name="page")
    messages = [Message("assistant", call), Message("tool", call.result((page,)))]
    encoded = encode(Conversation(messages), "cohere")
    document: JSON = {"data": {"title": "page", "text": "<p>"}}
    assert get(encoded.body, ("messages", 1, "content", 0, "document")) == document
    assert [loss.reason for loss in encoded.losses] == [
        "a document has no MIME type here: text/html"
    ]
