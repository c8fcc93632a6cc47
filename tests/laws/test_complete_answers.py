"""What translate and restream make of an answer has every field that the target's answers have."""

from __future__ import annotations

import pytest
from answer_validators import VALIDATORS, complaints
from cases import ALL, Case, StreamCase, load_streams, streaming
from msgspec import UnsetType
from rows import rows

from toolwire import Conversation, Message, Text, decode, encode, translate
from toolwire.conversation.json import JSON, get
from toolwire.streaming.restream import restream
from toolwire.types import RequestInfo

INFO = RequestInfo({"model": "m"}, created=1_760_000_000)
ANSWERS = [case for case in ALL if case.kind == "response"]
STREAMS = [stream for name in streaming() for stream in load_streams(name)]


@rows(
    "case, target",
    [(case, target) for case in ANSWERS for target in VALIDATORS if target != case.wire],
    share=2,
    group=lambda case, target: f"{case.wire}-to-{target}",
)
def test_a_translated_answer_has_every_field(case: Case, target: str) -> None:
    body = translate(case.body, case.wire, target, "response", request=INFO).body
    assert complaints(target, body) == []


@rows(
    "case, target",
    [(case, target) for case in STREAMS for target in VALIDATORS if target != case.wire],
    share=2,
    group=lambda case, target: f"{case.wire}-to-{target}",
)
def test_every_event_of_a_translated_stream_has_every_field(case: StreamCase, target: str) -> None:
    events = restream(case.stream, case.wire, target, framed=False, request=INFO)
    assert [wrong for event in events for wrong in complaints(target, event)] == []


REQUIRED = {
    "openai-chat": "created",
    "openai-responses": "truncation",
    "anthropic": "stop_details",
    "gemini": "responseId",
    "gemini-interactions": "updated",
    "bedrock": "metrics",
    "mistral": "usage",
    "cohere": "id",
    "ollama": "eval_duration",
}
"""A field of the answers of each wire whose absence a validator must report."""


@pytest.mark.parametrize("wire", VALIDATORS)
def test_a_validator_reports_a_missing_field(wire: str) -> None:
    source = next(case for case in ANSWERS if case.wire != wire)
    body = translate(source.body, source.wire, wire, "response", request=INFO).body
    assert isinstance(body, dict) and complaints(wire, body) == []
    del body[REQUIRED[wire]]
    assert complaints(wire, body) != []


def test_an_answer_whose_source_says_nothing_has_an_id_a_model_and_a_time() -> None:
    body: JSON = {"id": "", "model": "", "choices": [{"message": {"content": "Hi"}}]}
    for wire in VALIDATORS:
        if wire != "openai-chat":
            made = translate(body, "openai-chat", wire, "response", request=INFO).body
            assert complaints(wire, made) == []


def test_answers_of_different_content_have_different_ids() -> None:
    def answer_id(text: str) -> JSON | UnsetType:
        message: JSON = {"role": "assistant", "content": [{"text": text}]}
        body: JSON = {"output": {"message": message}, "stopReason": "end_turn"}
        return get(translate(body, "bedrock", "openai-chat", "response").body, ("id",))

    assert answer_id("a") == answer_id("a") != answer_id("b")
    assert str(answer_id("a")).startswith("chatcmpl-tw-")


@pytest.mark.parametrize("over", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_a_minted_id_and_other_filled_in_fields_say_nothing_on_the_way_back(over: str) -> None:
    message: JSON = {"role": "assistant", "content": [{"text": "Hi"}]}
    body: JSON = {"output": {"message": message}, "stopReason": "end_turn"}
    there = translate(body, "bedrock", over, "response").body
    back = translate(there, over, "bedrock", "response")
    assert get(back.body, ("output", "message")) == message
    assert [str(loss) for loss in back.losses if loss.severity == "loss"] == []
    assert "id" not in decode(there, over, "response").settings


@pytest.mark.parametrize(
    "source, target, before, after",
    [
        ("openai-chat", "openai-responses", "chatcmpl-1", "resp_1"),
        ("openai-responses", "anthropic", "resp_1", "msg_1"),
        ("anthropic", "gemini", "msg_1", "msg_1"),
        ("mistral", "openai-chat", "1", "chatcmpl-1"),
        ("openai-chat", "gemini-interactions", "chatcmpl-1", "v1_1"),
    ],
)
def test_the_id_of_an_answer_has_the_prefix_of_its_wire(
    source: str, target: str, before: str, after: str
) -> None:
    answer = Conversation((Message("assistant", (Text("Hi"),)),), settings={"id": before})
    body = encode(answer, source, "response").body
    made = translate(body, source, target, "response")
    assert after in made.json().decode()
    assert before in translate(made.body, target, source, "response").json().decode()
