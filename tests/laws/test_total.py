"""Law 1, Total, and law 12: decode raises RemoteError and nothing else; encode, LocalError and
nothing else.

Garbage is made from the cases by changing a node or two: random trees find less.
"""

from __future__ import annotations

from copy import deepcopy

import pytest
from cases import CASES, KINDS, NOISE, WIRES, Case, changed, nodes, same
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rows import rows

from toolwire import Conversation, LocalError, RemoteError, decode, encode
from toolwire.conversation.json import JSON, get
from toolwire.conversation.model import Kind


@st.composite
def mutations(draw: st.DrawFn, body: JSON) -> JSON:
    """The body with one node, sometimes two, changed: for noise, or for another node of the same
    body."""
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        paths = list(nodes(body))
        at = draw(st.sampled_from(paths))
        if draw(st.integers(0, 5)):
            body = changed(body, at, draw(st.sampled_from(NOISE)))
        else:
            other = get(body, draw(st.sampled_from(paths)))
            body = changed(body, at, other)  # type: ignore[arg-type]
    return body


def tried(body: JSON, wire: str, kind: Kind) -> Conversation | None:
    """What a body decodes to; None if it is refused, which must be by a RemoteError that says
    where."""
    before = deepcopy(body)
    try:
        found = decode(body, wire, kind)
    except RemoteError as error:
        assert error.why
        assert str(error).startswith(wire)
        found = None
    except LocalError:
        assert not isinstance(body, dict | list), (
            "a body that is no JSON container is the caller's mistake"
        )
        found = None
    assert same(body, before), "decode changed its input"
    return found


def home_again(body: JSON, conversation: Conversation, wire: str, kind: Kind) -> None:
    """The conversation goes back to its own wire to the letter, also when the writer has to write
    it anew."""
    assert same(encode(conversation, wire, kind).body, body)
    rebuilt = replace(
        conversation, messages=(*conversation.messages,), settings=dict(conversation.settings)
    )
    assert same(encode(rebuilt, wire, kind).body, body)


@rows("case", CASES)
@given(data=st.data())
def test_whatever_is_broken_decode_raises_only_remote_error_and_encode_only_local_error(
    case: Case, data: st.DataObject
) -> None:
    body = data.draw(mutations(case.body))
    target = data.draw(st.sampled_from(WIRES))
    conversation = tried(body, case.wire, case.kind)
    if conversation is None:
        return
    before = deepcopy(body)
    conversation.pairs()
    try:
        encode(conversation, target, case.kind).json()
    except LocalError as error:
        assert error.why
    assert same(body, before), "encode changed its input"


@rows("case", CASES)
@given(data=st.data())
def test_what_is_broken_and_yet_read_goes_back_to_its_own_wire_to_the_letter(
    case: Case, data: st.DataObject
) -> None:
    body = data.draw(mutations(case.body))
    conversation = tried(body, case.wire, case.kind)
    if conversation is not None:
        home_again(body, conversation, case.wire, case.kind)


@pytest.mark.parametrize("wire", WIRES)
def test_a_body_of_another_wire_or_kind_raises_remote_error_or_is_read(wire: str) -> None:
    for case in CASES:
        for kind in KINDS:
            tried(case.body, wire, kind)


@rows("case", CASES)
def test_every_case_goes_to_every_wire_or_is_refused_by_local_error(case: Case) -> None:
    to_every_wire(case, case.kind)


@rows("case", CASES)
def test_a_request_asked_for_as_a_response_and_the_reverse_is_written_or_refused_by_local_error(
    case: Case,
) -> None:
    to_every_wire(case, "request" if case.kind == "response" else "response")


def to_every_wire(case: Case, kind: Kind) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    before = deepcopy(case.body)
    for wire in WIRES:
        try:
            encode(conversation, wire, kind).json()
        except LocalError as error:
            assert error.why
    assert same(case.body, before)
