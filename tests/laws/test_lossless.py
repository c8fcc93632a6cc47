"""Law 2, Lossless: encode(decode(x)) equals x as JSON, and an edit of one part changes that part of
the body and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from cases import ALL, CASES, MODELS, Case, differences, facts, leaves, same
from histories import body_of, history_strategy
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Conversation,
    Encoded,
    Message,
    Part,
    Result,
    Text,
    UsageError,
    decode,
    encode,
)
from toolwire.conversation.json import JsonPath
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import APPROVAL


def decode_case(case: Case) -> Conversation:
    return decode(case.body, case.wire, case.kind)


@rows("case", ALL)
def test_a_body_is_written_back_as_the_same_json(case: Case) -> None:
    assert same(encode(decode_case(case), case.wire, case.kind).body, case.body)


@rows("case", CASES)
def test_bytes_are_written_back_unchanged(case: Case) -> None:
    text = json.dumps(case.body, indent=3).encode()
    assert encode(decode(text, case.wire, case.kind), case.wire, case.kind).json() == text


@rows("case", ALL)
def test_a_rebuilt_conversation_is_written_back_as_the_same_json(case: Case) -> None:
    conversation = decode_case(case)
    messages = (*conversation.messages,)  # another tuple
    assert same(
        encode(replace(conversation, messages=messages), case.wire, case.kind).body, case.body
    )
    written = encode(
        replace(conversation, messages=messages, settings=dict(conversation.settings)),
        case.wire,
        case.kind,
    )
    assert list(differences(case.body, written.body)) == []
    assert written.losses == []


def edits(part: Part) -> Iterator[Part]:
    """A part with one edit at a time."""
    match part:
        case Text():
            yield replace(part, text="Something else.")
        case Call(executor="client"):
            yield replace(part, name="another_tool")
            yield replace(
                part,
                args=LazyJson("free text")
                if part.family == "custom"
                else LazyJson('{"changed": true}'),
            )
        case Result(executor="client", family=family):
            text = "Something else."
            is_decision = family == APPROVAL
            yield replace(part, output={"approve": False, "reason": text} if is_decision else text)


EDITS = [
    (case, n)
    for case in CASES
    for n, part in enumerate(decode_case(case).parts())
    if any(edits(part))
]


@rows("case, n", EDITS, share=2)
def test_editing_one_part_changes_that_part_and_nothing_else(case: Case, n: int) -> None:
    assert_edits_are_local(case, n)


@pytest.mark.parametrize("wire", MODELS)
@given(data=st.data())
def test_editing_one_part_of_a_drawn_history_changes_nothing_else(
    wire: str, data: st.DataObject
) -> None:
    case = Case("drawn", wire, "request", body_of(data.draw(history_strategy(wire)), wire))
    editable = [n for n, part in enumerate(decode_case(case).parts()) if any(edits(part))]
    assert_edits_are_local(case, data.draw(st.sampled_from(editable)))


def assert_edits_are_local(case: Case, n: int) -> None:
    """Assert that each edit of the n-th part changes that part and nothing else."""
    conversation = decode_case(case)
    part = list(conversation.parts())[n]
    for new in edits(part):
        written = encode(conversation.replace(part, new), case.wire, case.kind)
        changed_paths = list(differences(case.body, written.body))
        assert changed_paths
        dependents = dependent_results(part, conversation)
        allowed_paths = [part.path, *(result.path for result in dependents if _renames(part, new))]
        if case.wire == "text":  # one string holds several parts
            allowed_paths = [place[:3] for place in allowed_paths]
        assert [
            at
            for at in changed_paths
            if not any(at[: len(place)] == place for place in allowed_paths)
        ] == [], "another node changed"
        found = decode(written.body, case.wire, case.kind)
        after, before = list(found.parts()), list(conversation.parts())
        assert [type(p) for p in after] == [type(p) for p in before]
        dependent_indexes = [
            i
            for i, p in enumerate(before)
            if any(p is result for result in (*dependents, *ambiguous_results(part, conversation)))
        ]
        others = [i for i, p in enumerate(before) if i != n and i not in dependent_indexes]
        assert [after[i] for i in others] == [before[i] for i in others]
        assert [text_and_error(after[i]) for i in dependent_indexes] == [
            text_and_error(before[i]) for i in dependent_indexes
        ]
        assert pair_paths(dependents, found, written) == pair_paths(
            dependents, conversation, written
        )
        new_part = after[n]
        if isinstance(new, Call):
            assert isinstance(new_part, Call)
            assert (new_part.name, new_part.input) == (new.name, new.input)
        elif isinstance(new, Result):
            assert isinstance(new_part, Result)
            assert (new_part.text, new_part.error) == (new.text, new.error)
        else:
            assert new_part == new


def dependent_results(part: Part, conversation: Conversation) -> list[Result]:
    """The results that change with an edited call: they have no call id of their own, or its name."""
    results = [p.result for p in conversation.pairs() if p.call is part and p.result is not None]
    return [
        result
        for result in results
        if isinstance(part, Call)
        and (part.origin == "minted" or result.origin != "wire" or result.name == part.name)
    ]


def ambiguous_results(part: Part, conversation: Conversation) -> list[Result]:
    """The results that may belong to any of several calls of a tool; another name of one call
    decides it."""
    alone = [
        pair.result
        for pair in conversation.pairs()
        if pair.call is None and pair.result is not None
    ]
    return [
        result
        for result in alone
        if isinstance(part, Call) and result.origin == "minted" and result.name == part.name
    ]


def _renames(old: Part, new: Part) -> bool:
    return (
        isinstance(old, Call) and isinstance(new, Call) and (old.id, old.name) != (new.id, new.name)
    )


def text_and_error(part: Part) -> tuple[str, bool]:
    assert isinstance(part, Result)
    return part.text, part.error


def pair_paths(
    results: list[Result], conversation: Conversation, written: Encoded
) -> set[tuple[JsonPath, JsonPath]]:
    """The paths of these results and their calls, without those that are reported as unpaired."""
    wanted = {result.path for result in results} - {loss.path for loss in written.losses}
    return {
        (p.call.path, p.result.path)
        for p in conversation.pairs()
        if p.call and p.result and p.result.path in wanted
    }


WITH_DEPENDENTS = [
    (case, n)
    for case in CASES
    for conversation in (decode_case(case),)
    for n, part in enumerate(conversation.parts())
    if isinstance(part, Call)
    and part.executor == "client"
    and dependent_results(part, conversation)
]


def test_some_results_depend_on_their_calls() -> None:
    assert WITH_DEPENDENTS


@rows("case, n", WITH_DEPENDENTS)
def test_a_dependent_result_still_finds_its_call_under_another_id(case: Case, n: int) -> None:
    conversation = decode_case(case)
    part = list(conversation.parts())[n]
    assert isinstance(part, Call)
    written = encode(
        conversation.replace(part, replace(part, id="renamed01")), case.wire, case.kind
    )
    dependents = dependent_results(part, conversation)
    assert pair_paths(
        dependents, decode(written.body, case.wire, case.kind), written
    ) == pair_paths(dependents, conversation, written)


@rows("case", [case for case in CASES if case.kind == "request"])
def test_a_message_added_at_the_end_changes_no_other_node(case: Case) -> None:
    conversation = decode_case(case)
    short = [message.path for message in conversation.messages[-1:]] == [("input",)]
    if short and facts(case.wire).exempt.short_input:
        return
    more = replace(
        conversation, messages=(*conversation.messages, Message("user", (Text("One more thing."),)))
    )
    try:
        written = encode(more, case.wire, case.kind)
    except UsageError:
        return
    kept = dict(leaves(written.body))
    assert [
        at
        for at, value in leaves(case.body)
        if value not in ({}, []) and not same(kept.get(at), value)
    ] == []
    again = decode(written.body, case.wire, case.kind)
    if not written.losses:
        assert [part.text for part in again.parts() if isinstance(part, Text)][-1].endswith(
            "One more thing."
        )
