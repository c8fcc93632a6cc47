"""Gemini Interactions: what only this wire does."""

from __future__ import annotations

import pytest
from cases import Case, StreamCase, load, load_streams
from google.genai._gaos.types.interactions import InteractionSSEStreamEvent
from msgspec.structs import replace
from validators import complaints
from wires.gemini_interactions_validator import check_known_fields

from toolwire import (
    Message,
    Reasoning,
    Text,
    check,
    decode,
    detect,
    encode,
    fold,
    repair,
    restream,
    translate,
    wires,
)
from toolwire.codec.known_wires import score_wires
from toolwire.conversation.json import JSON, Object, get
from toolwire.errors import UsageError

WIRE = "gemini-interactions"
CHAT: JSON = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Paris and Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "w", "arguments": '{"c":1}'}},
                {"id": "b", "type": "function", "function": {"name": "w", "arguments": "[2]"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "4 C"},
        {"role": "tool", "tool_call_id": "a", "content": "18 C"},
    ],
}


def steps(history: JSON) -> list[Object]:
    """The steps that a chat history becomes."""
    found = get(translate(history, "openai-chat", WIRE).body, ("input",))
    assert isinstance(found, list)
    return [step for step in found if isinstance(step, dict)]


_REFUSED = ("unknown-", "missing-", "stream-unknown-")


@pytest.mark.parametrize("case", load(WIRE), ids=str)
def test_the_official_types_accept_the_cases(case: Case) -> None:
    refused = complaints(WIRE, case.body, case.kind) != ""
    assert refused == case.name.startswith(_REFUSED)


def test_results_name_their_calls_and_arguments_are_objects() -> None:
    first, second, third, fourth = steps(CHAT)[1:]
    assert first == {"type": "function_call", "id": "a", "name": "w", "arguments": {"c": 1}}
    assert second["arguments"] == {"_raw": "[2]"}
    assert (third["call_id"], fourth["call_id"]) == ("b", "a")


@pytest.mark.parametrize("case", load(WIRE), ids=str)
def test_every_body_is_recognized_as_this_wire(case: Case) -> None:
    assert detect(case.body) == WIRE


@pytest.mark.parametrize("wire", ["openai-responses", "azure-foundry"])
def test_responses_bodies_are_not_taken_for_interactions(wire: str) -> None:
    for case in load(wire):
        scores = score_wires(case.body)
        assert scores[WIRE] < max(scores.values()), case.name


def test_a_body_that_two_wires_share_is_recognized_as_neither() -> None:
    with pytest.raises(UsageError, match="gemini-interactions or openai-responses"):
        detect({"model": "m", "input": "Hello"})


@pytest.mark.parametrize("name", ["input-as-text", "input-as-one-block", "input-in-every-form"])
def test_a_short_input_becomes_steps_when_a_message_is_added(name: str) -> None:
    (case,) = (case for case in load(WIRE) if case.name == name)
    conversation = decode(case.body, WIRE)
    more = (*conversation.messages, Message("user", (Text("One more thing."),)))
    written = encode(replace(conversation, messages=more), WIRE)
    history = get(written.body, ("input",))
    assert isinstance(history, list)
    assert [get(step, ("type",)) for step in history] == ["user_input", "user_input"]
    assert complaints(WIRE, written.body) == ""


def test_content_among_steps_is_a_message_of_the_user() -> None:
    history: list[JSON] = [
        {"type": "function_result", "call_id": "a", "result": "18 C"},
        {"type": "text", "text": "And tomorrow?"},
    ]
    conversation = decode({"model": "m", "input": history}, WIRE)
    assert [message.role for message in conversation.messages] == ["tool", "user"]
    shorter = replace(conversation, messages=conversation.messages[1:])
    assert get(encode(shorter, WIRE).body, ("input",)) == history[1:]


def test_results_of_calls_that_the_server_has_are_no_violation() -> None:
    (case,) = (case for case in load(WIRE) if case.name == "calls-are-elsewhere")
    assert check(case.body, WIRE) == []


def test_an_edited_text_stays_the_input() -> None:
    conversation = decode({"model": "m", "input": "Hello"}, WIRE)
    (text,) = conversation.parts()
    edited = conversation.replace(text, Text("Goodbye"))
    assert encode(edited, WIRE).body == {"model": "m", "input": "Goodbye"}


def test_system_messages_are_one_instruction() -> None:
    messages: JSON = [{"role": "system", "content": text} for text in ("Be brief.", "Be kind.")]
    body = translate({"model": "m", "messages": messages}, "openai-chat", WIRE).body
    assert get(body, ("system_instruction",)) == "Be brief.\n\nBe kind."


def test_a_result_that_is_no_text_and_no_object_is_text() -> None:
    history = decode(CHAT, "openai-chat")
    result = history.results()[0]
    numbers = history.replace(result, replace(result, output=[1, 2]))
    encoded = encode(numbers, WIRE)
    assert get(encoded.body, ("input", 3, "result")) == "[1,2]"
    assert complaints(WIRE, encoded.body) == ""


def test_thoughts_of_a_stream_are_one_text_with_its_signature() -> None:
    (stream,) = (s for s in load_streams(WIRE) if s.name == "stream-thoughts-and-signatures")
    (thought, _) = decode(fold(stream.events, WIRE), WIRE, "response").parts()
    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.signature) == (
        "**Comparing**\n\nParis is warmer.",
        "c2lnbmF0dXJl",
    )


def test_a_question_that_a_stream_repeats_is_not_part_of_the_answer() -> None:
    def step(index: int, kind: str, *texts: str) -> list[JSON]:
        deltas: list[JSON] = [{"type": "text", "text": text} for text in texts]
        return [
            {"event_type": "step.start", "index": index, "step": {"type": kind}},
            *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
            {"event_type": "step.stop", "index": index},
        ]

    events = [*step(0, "user_input", "Where ", "is it?"), *step(1, "model_output", "In Oslo.")]
    question: JSON = {"type": "user_input", "content": [{"type": "text", "text": "Where is it?"}]}
    assert get(fold(events, WIRE), ("steps", 0)) == question
    stream = restream(events, WIRE, "openai-chat")
    written = fold(b"".join(stream), "openai-chat")
    assert get(written, ("choices", 0, "message", "content")) == "In Oslo."
    assert [loss.reason for loss in stream.losses if "Where is it?" in loss.reason]


def test_a_thought_keeps_its_texts_beside_an_image_in_its_summary() -> None:
    image: JSON = {"type": "image", "data": "AA==", "mime_type": "image/png"}
    summary: JSON = [{"type": "text", "text": "Hm."}, image]
    step: JSON = {"type": "thought", "signature": "s", "summary": summary}
    body: JSON = {"status": "completed", "steps": [step]}
    conversation = decode(body, WIRE, "response")
    (thought,) = conversation.parts()
    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.signature) == ("Hm.", "s")
    assert ("steps", 0, "summary") in [
        loss.path for loss in translate(body, WIRE, "openai-chat", "response").losses
    ]
    edited = encode(conversation.replace(thought, replace(thought, text="No.")), WIRE, "response")
    assert get(edited.body, ("steps", 0, "signature")) == "s"


def test_null_fields_of_thoughts_in_a_stream_do_not_count() -> None:
    def summary(text: JSON) -> JSON:
        content: JSON = {"type": "text", "text": text, "annotations": None}
        delta: JSON = {"type": "thought_summary", "content": content}
        return {"event_type": "step.delta", "index": 0, "delta": delta}

    events = [summary("Paris is "), summary(None), summary("warmer.")]
    written = fold(b"".join(restream(events, WIRE, "openai-chat")), "openai-chat")
    for body, wire in ((fold(events, WIRE), WIRE), (written, "openai-chat")):
        (thought,) = decode(body, wire, "response").parts()
        assert isinstance(thought, Reasoning) and thought.text == "Paris is warmer."


@pytest.mark.parametrize(
    "stream", [stream for wire in wires() for stream in load_streams(wire)], ids=str
)
def test_the_official_types_accept_every_event(stream: StreamCase) -> None:
    if stream.wire == WIRE and "unknown" in stream.name:
        return
    for event in restream(stream.events, stream.wire, WIRE, framed=False):
        read = InteractionSSEStreamEvent.model_validate({"data": event}).data
        check_known_fields(read, event)


TURNS: JSON = {
    "model": "gemini-3-pro",
    "input": [
        {"role": "user", "content": "Oslo?"},
        {
            "role": "model",
            "content": [
                {"type": "thought", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "function_call", "id": "a", "name": "w", "arguments": {"c": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "function_result", "call_id": "a", "result": "4"}]},
    ],
}


def test_turns_with_roles_are_read_with_their_calls_and_results() -> None:
    conversation = decode(TURNS, WIRE)
    assert [message.role for message in conversation.messages] == ["user", "assistant", "user"]
    (pair,) = conversation.pairs()
    assert (pair.call and pair.call.name, pair.result and pair.result.text) == ("w", "4")
    assert encode(conversation, WIRE).body == TURNS


def test_turns_with_roles_become_steps() -> None:
    assert {finding.name for finding in check(TURNS, WIRE)} == {"wrong-vocabulary"}
    assert repair(TURNS, WIRE).body == {
        "model": "gemini-3-pro",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Oslo?"}]},
            {"type": "thought", "signature": "c2ln"},
            {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
            {"type": "function_call", "id": "a", "name": "w", "arguments": {"c": 1}},
            {"type": "function_result", "call_id": "a", "result": "4"},
        ],
    }


@pytest.mark.parametrize("history", ["chat", "contents", "blocks"])
def test_messages_of_another_wire_become_steps(history: str) -> None:
    messages: dict[str, list[JSON]] = {
        "chat": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "w", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "4"},
        ],
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "w", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "w", "response": {"output": "4"}}}],
            },
        ],
        "blocks": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": "4"}],
            },
        ],
    }
    start: JSON = {"type": "user_input", "content": "Oslo?"}
    repaired = repair({"model": "m", "input": [start, *messages[history]]}, WIRE).body
    steps = get(repaired, ("input",))
    assert isinstance(steps, list)
    types = [step["type"] for step in steps if isinstance(step, dict)]
    assert types == ["user_input", "function_call", "function_result"]
    (pair,) = decode(repaired, WIRE).pairs()
    assert pair.call and pair.call.name == "w"
    assert pair.result and "4" in pair.result.text
