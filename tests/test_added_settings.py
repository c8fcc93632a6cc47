"""Settings that a wire requires and the source did not have are not restored with the id map."""

from __future__ import annotations

import pytest
from cases import MODELS, load

from toolwire import Conversation, Message, decode, encode, translate
from toolwire.codec import resolve
from toolwire.codec.plain_answer import plain_answer
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Setting
from toolwire.wires.engine.encode_context import NO_REQUEST

PAIRS = [(source, target) for source in MODELS for target in MODELS if source != target]
OWN_DEFAULTS: dict[str, dict[str, Setting]] = {"ollama": {"stream": False}}
"""Settings that a wire gets whenever it is written: Ollama streams unless a request says no."""


@pytest.mark.parametrize(("wire", "other"), PAIRS)
def test_a_plain_request_is_restored_unchanged(wire: str, other: str) -> None:
    made = Conversation((Message("user", "Hello"),), (), {"model": "m"}, "", "request")
    body = encode(made, wire).body
    there = translate(body, wire, other)
    back = translate(there.body, other, wire, ids=there.ids.to_dict())
    assert back.body == body and not back.losses


@pytest.mark.parametrize(("wire", "other"), PAIRS)
def test_no_case_is_restored_with_a_setting_that_it_did_not_have(wire: str, other: str) -> None:
    for case in load(wire):
        if case.kind == "request":
            there = translate(case.body, wire, other)
            back = translate(there.body, other, wire, ids=there.ids)
            known = {**OWN_DEFAULTS.get(wire, {}), **decode(case.body, wire).settings}
            assert decode(back.body, wire).settings.keys() <= known.keys(), case


def test_a_value_that_was_changed_on_the_way_stays() -> None:
    body: JSON = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    there = translate(body, "openai-chat", "anthropic")
    assert there.ids.defaults == {"max_tokens": 4096}
    assert isinstance(there.body, dict)
    edited: Object = {**there.body, "max_tokens": 100}
    back = translate(edited, "anthropic", "openai-chat", ids=there.ids)
    assert back.body == {**body, "max_completion_tokens": 100}  # type: ignore[dict-item]


def test_a_value_of_the_source_is_not_taken_for_an_added_one() -> None:
    body: JSON = {
        "model": "m",
        "max_completion_tokens": 4096,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    there = translate(body, "openai-chat", "anthropic")
    assert translate(there.body, "anthropic", "openai-chat", ids=there.ids).body == body


def test_an_answer_takes_the_short_way_although_its_request_got_a_default() -> None:
    request: JSON = {"messages": [{"role": "user", "content": "hi"}]}
    ids = translate(request, "openai-chat", "anthropic").ids
    assert ids.defaults
    answer = decode(ANSWER, "anthropic", "response")
    wire, profile = resolve("openai-chat")
    encoded = plain_answer(answer, wire, profile, reverse_map=ids, request=NO_REQUEST)
    assert encoded is not None


ANSWER: JSON = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
