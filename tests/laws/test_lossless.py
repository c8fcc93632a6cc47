"""Law 2, Lossless: encode(decode(x)) equals x as JSON, and an edit of one part changes that part of
the body and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cases import ALL, CASES, Case, differences, leaves, same
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Conversation,
    Encoded,
    LocalError,
    Message,
    Part,
    Result,
    Text,
    decode,
    encode,
)
from toolwire.conversation.json import JsonPath
from toolwire.conversation.lazy_json import LazyJson


def read(case: Case) -> Conversation:
    return decode(case.body, case.wire, case.kind)


@rows("case", ALL)
def test_a_body_comes_back_as_the_same_json(case: Case) -> None:
    assert same(encode(read(case), case.wire, case.kind).body, case.body)


@rows("case", CASES)
def test_bytes_come_back_as_the_same_bytes(case: Case) -> None:
    text = json.dumps(case.body, indent=3).encode()
    assert encode(decode(text, case.wire, case.kind), case.wire, case.kind).json() == text


@rows("case", ALL)
def test_a_conversation_put_together_anew_is_written_as_it_came(case: Case) -> None:
    conversation = read(case)
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
    """What a user may change of a part, one thing at a time."""
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
        case Result(executor="client"):
            yield replace(part, output="Something else.")


EDITS = [
    (case, n)
    for case in CASES
    for n, part in enumerate(read(case).parts())
    if any(True for _ in edits(part))
]


@rows("case, n", EDITS)
def test_editing_one_part_changes_that_part_and_nothing_else(case: Case, n: int) -> None:
    conversation = read(case)
    part = list(conversation.parts())[n]
    for new in edits(part):
        written = encode(conversation.replace(part, new), case.wire, case.kind)
        touched = list(differences(case.body, written.body))
        assert touched
        leaning = leaning_on(part, conversation)
        places = [part.path, *(result.path for result in leaning if _renames(part, new))]
        if case.wire == "text":  # one string holds several parts
            places = [place[:3] for place in places]
        assert [
            at for at in touched if not any(at[: len(place)] == place for place in places)
        ] == [], "another node changed"
        found = decode(written.body, case.wire, case.kind)
        again, before = list(found.parts()), list(conversation.parts())
        assert [type(p) for p in again] == [type(p) for p in before]
        followed = [
            i
            for i, p in enumerate(before)
            if any(p is result for result in (*leaning, *waiting_for(part, conversation)))
        ]
        others = [i for i, p in enumerate(before) if i != n and i not in followed]
        assert [again[i] for i in others] == [before[i] for i in others]
        assert [said(again[i]) for i in followed] == [said(before[i]) for i in followed]
        assert tied(leaning, found, written) == tied(leaning, conversation, written)
        now = again[n]
        if isinstance(new, Call):
            assert isinstance(now, Call)
            assert (now.name, now.input) == (new.name, new.input)
        elif isinstance(new, Result):
            assert isinstance(now, Result)
            assert (now.text, now.error) == (new.text, new.error)
        else:
            assert now == new


def leaning_on(part: Part, conversation: Conversation) -> list[Result]:
    """The results that follow an edited call: they have no call id of their own, or its name."""
    results = [p.result for p in conversation.pairs() if p.call is part and p.result is not None]
    return [
        result
        for result in results
        if isinstance(part, Call)
        and (part.origin == "minted" or result.origin != "wire" or result.name == part.name)
    ]


def waiting_for(part: Part, conversation: Conversation) -> list[Result]:
    """The results of which nobody knew which call of a tool they answer: it is known as soon as one
    bears another name."""
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


def said(part: Part) -> tuple[str, bool]:
    assert isinstance(part, Result)
    return part.text, part.error


def tied(
    results: list[Result], conversation: Conversation, written: Encoded
) -> set[tuple[JsonPath, JsonPath]]:
    """Those results with their calls, but for any of which it is reported that it lost its own."""
    wanted = {result.path for result in results} - {loss.path for loss in written.losses}
    return {
        (p.call.path, p.result.path)
        for p in conversation.pairs()
        if p.call and p.result and p.result.path in wanted
    }


LEANING = [
    (case, n)
    for case in CASES
    for conversation in (read(case),)
    for n, part in enumerate(conversation.parts())
    if isinstance(part, Call) and part.executor == "client" and leaning_on(part, conversation)
]


def test_there_are_results_that_lean_on_their_calls() -> None:
    assert LEANING


@rows("case, n", LEANING)
def test_a_result_that_leans_on_its_call_still_finds_it_when_that_gets_another_id(
    case: Case, n: int
) -> None:
    conversation = read(case)
    part = list(conversation.parts())[n]
    assert isinstance(part, Call)
    written = encode(
        conversation.replace(part, replace(part, id="renamed01")), case.wire, case.kind
    )
    leaning = leaning_on(part, conversation)
    assert tied(leaning, decode(written.body, case.wire, case.kind), written) == tied(
        leaning, conversation, written
    )


@rows("case", [case for case in CASES if case.kind == "request"])
def test_a_message_added_at_the_end_leaves_every_node_as_it_was(case: Case) -> None:
    conversation = read(case)
    more = replace(
        conversation, messages=(*conversation.messages, Message("user", (Text("One more thing."),)))
    )
    try:
        written = encode(more, case.wire, case.kind)
    except LocalError:
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
