"""Law 1, Total, and law 12: decode raises DecodeError and nothing else; encode, UsageError and
nothing else.

Garbage is a case with one or two changed nodes: random trees find less.
"""

from __future__ import annotations

from copy import deepcopy

import pytest
from cases import CASES, KINDS, NOISE, WIRES, Case, nodes, same, set_at
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Conversation,
    DecodeError,
    UsageError,
    check,
    decode,
    detect,
    encode,
    repair,
    wires,
)
from toolwire.conversation.json import JSON, dump, get
from toolwire.conversation.model import Kind


@st.composite
def mutations(draw: st.DrawFn, body: JSON) -> JSON:
    """The body with one or two nodes replaced by noise or by other nodes of the body."""
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        paths = list(nodes(body))
        at = draw(st.sampled_from(paths))
        if draw(st.integers(0, 5)):
            body = set_at(body, at, draw(st.sampled_from(NOISE)))
        else:
            other = get(body, draw(st.sampled_from(paths)))
            body = set_at(body, at, other)  # type: ignore[arg-type]
    return body


def try_decode(body: JSON, wire: str, kind: Kind) -> Conversation | None:
    """Decode a body. Returns None if it is refused, which must be by a DecodeError with a reason."""
    before = deepcopy(body)
    try:
        found = decode(body, wire, kind)
    except DecodeError as error:
        assert error.why
        assert str(error).startswith(wire)
        found = None
    except UsageError:
        assert not isinstance(body, dict | list), (
            "a body that is no JSON container is the caller's mistake"
        )
        found = None
    assert same(body, before), "decode changed its input"
    return found


def assert_lossless(body: JSON, conversation: Conversation, wire: str, kind: Kind) -> None:
    """Assert that a conversation is written back verbatim, also when the writer has to rebuild
    it."""
    assert same(encode(conversation, wire, kind).body, body)
    rebuilt = replace(
        conversation, messages=(*conversation.messages,), settings=dict(conversation.settings)
    )
    assert same(encode(rebuilt, wire, kind).body, body)


@pytest.mark.parametrize("wire", ["adk", "meai"])
def test_a_string_among_the_parts_of_a_later_turn_is_written_back(wire: str) -> None:
    turns = ("run-of-several-turns", "answer-of-several-turns")
    case = next(case for case in CASES if case.wire == wire and case.name in turns)
    at = next(at for at in reversed(list(nodes(case.body))) if at[-1:] == ("text",))
    body = set_at(case.body, at[:-1], "no block")
    assert_lossless(body, decode(body, wire, case.kind), wire, case.kind)


def test_candidates_that_are_null_are_written_back() -> None:
    if "gemini" not in WIRES:
        pytest.skip("not a wire of this run")
    body: JSON = {"candidates": None, "usageMetadata": {"promptTokenCount": 5}}
    assert_lossless(body, decode(body, "gemini", "response"), "gemini", "response")


def test_a_single_candidate_without_content_is_written_back() -> None:
    if "gemini" not in WIRES:
        pytest.skip("not a wire of this run")
    body: JSON = {"candidates": {"finishReason": "STOP"}, "usageMetadata": {"promptTokenCount": 5}}
    assert_lossless(body, decode(body, "gemini", "response"), "gemini", "response")


def test_empty_instructions_are_written_back() -> None:
    if "meai" not in WIRES:
        pytest.skip("not a wire of this run")
    messages: JSON = [{"role": "user", "contents": [{"$type": "text", "text": "Hi"}]}]
    body: JSON = {"messages": messages, "options": {"instructions": ""}}
    assert_lossless(body, decode(body, "meai"), "meai", "request")


def test_an_answer_with_a_call_that_ends_its_turn_is_written_back() -> None:
    if "bedrock" not in WIRES:
        pytest.skip("not a wire of this run")
    call: JSON = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    message: JSON = {"role": "assistant", "content": [call]}
    body: JSON = {"output": {"message": message}, "stopReason": "end_turn"}
    assert_lossless(body, decode(body, "bedrock", "response"), "bedrock", "response")


def test_a_message_that_is_null_is_written_back() -> None:
    if "genkit" not in WIRES:
        pytest.skip("not a wire of this run")
    body: JSON = {"message": None, "finishReason": "blocked", "custom": {}}
    assert_lossless(body, decode(body, "genkit", "response"), "genkit", "response")


def test_steps_that_are_null_and_an_empty_instruction_are_written_back() -> None:
    if "gemini-interactions" not in WIRES:
        pytest.skip("not a wire of this run")
    answer: JSON = {"id": "v1_a", "status": "incomplete", "steps": None}
    read = decode(answer, "gemini-interactions", "response")
    assert_lossless(answer, read, "gemini-interactions", "response")
    body: JSON = {"model": "m", "system_instruction": "", "input": "Hi"}
    assert_lossless(body, decode(body, "gemini-interactions"), "gemini-interactions", "request")


@pytest.mark.parametrize("target", WIRES)
def test_a_cache_point_whose_lifetime_is_an_object_is_written_to_any_wire(target: str) -> None:
    mark: JSON = {"cachePoint": {"type": "default", "ttl": {"hours": 1}}}
    message: JSON = {"role": "user", "content": [{"text": "Go."}, mark]}
    assert encode(decode({"messages": [message]}, "bedrock"), target).json()


def cases_of(wire: str) -> st.SearchStrategy[Case]:
    return st.sampled_from([case for case in CASES if case.wire == wire])


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_for_any_garbage_decode_raises_only_decode_error_and_encode_only_usage_error(
    wire: str, data: st.DataObject
) -> None:
    case = data.draw(cases_of(wire))
    body = data.draw(mutations(case.body))
    target = data.draw(st.sampled_from(WIRES))
    conversation = try_decode(body, case.wire, case.kind)
    if conversation is None:
        return
    before = deepcopy(body)
    conversation.pairs()
    try:
        encode(conversation, target, case.kind).json()
    except UsageError as error:
        assert error.why
    assert same(body, before), "encode changed its input"


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_garbage_that_can_be_read_is_written_back_verbatim(wire: str, data: st.DataObject) -> None:
    case = data.draw(cases_of(wire))
    body = data.draw(mutations(case.body))
    conversation = try_decode(body, case.wire, case.kind)
    if conversation is not None:
        assert_lossless(body, conversation, case.wire, case.kind)


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_for_any_garbage_detect_names_a_wire_or_raises_its_documented_errors(
    wire: str, data: st.DataObject
) -> None:
    body = data.draw(mutations(data.draw(cases_of(wire)).body))
    try:
        assert detect(body) in wires()
    except DecodeError:
        assert isinstance(body, str), "only a text can be no JSON"
    except UsageError as error:
        assert error.why


@pytest.mark.parametrize("wire", WIRES)
def test_an_integer_of_too_many_digits_is_refused_by_a_documented_error(wire: str) -> None:
    digits = "9" * 5000
    for read in (decode, check, repair):
        with pytest.raises(DecodeError, match="digits"):
            read(f'{{"messages": [{digits}]}}', wire)
    with pytest.raises(UsageError, match="digits"):
        dump([10**5000])


@pytest.mark.parametrize("target", WIRES)
def test_half_a_surrogate_pair_in_a_name_of_a_file_is_written_to_any_wire(target: str) -> None:
    document: JSON = {"name": "a\ud800", "format": "pdf", "source": {"bytes": "AAAA"}}
    result: JSON = {"toolUseId": "t1", "content": [{"document": document}]}
    body: JSON = {
        "messages": [
            {"role": "user", "content": [{"text": "Go."}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}],
            },
            {"role": "user", "content": [{"toolResult": result}]},
        ]
    }
    assert encode(decode(body, "bedrock"), target).json()


CASES_AND_WIRES = [(case, wire) for case in CASES for wire in WIRES]


@rows("case, wire", CASES_AND_WIRES, share=3)
def test_a_body_of_another_wire_or_kind_raises_decode_error_or_is_read(
    case: Case, wire: str
) -> None:
    for kind in KINDS:
        try_decode(case.body, wire, kind)


@rows("case, target", CASES_AND_WIRES, share=3)
def test_a_case_is_written_to_any_wire_as_any_kind_or_refused_by_usage_error(
    case: Case, target: str
) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    before = deepcopy(case.body)
    for kind in KINDS:
        try:
            encode(conversation, target, kind).json()
        except UsageError as error:
            assert error.why
    assert same(case.body, before)
