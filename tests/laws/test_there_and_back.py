"""Law 5, There and back: A→B→A with the id map restores ids, names, kinds, arguments and results of
the calls of the client."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from cases import ALL, MODELS, Case
from histories import body_of, history_strategy
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from toolwire import Call, Conversation, Media, Result, decode, encode, translate
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import APPROVAL, describe
from toolwire.profiles.table import profile

PLAIN = {
    "function-legacy": "an old form without ids",
    "computer-use": (
        "where a picture stands apart from its result there is nothing left that it could hold"
    ),
}
"""Families of calls that may come back as functions, and why."""


def kind(part: Call | Result) -> str:
    return "function" if part.family in PLAIN else part.family


def arguments(call: Call) -> str:
    """The arguments of a call in a canonical form. What is no object may come back under `_raw`, as
    it was reported."""
    given = call.input
    if isinstance(given, dict) and list(given) == ["_raw"]:
        return str(given["_raw"])
    broken = call.family == "custom" or call.args.broken
    return call.arguments if broken else text_of(_sort_keys(given or {}))


def _sort_keys(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(item) for item in value] if isinstance(value, list) else value


def lines(result: Result, but: frozenset[str]) -> list[str]:
    """The lines of a result without those that stand for media, which wires put at different
    places."""
    output = result.output
    text = result.text if isinstance(output, str | tuple) else text_of(_sort_keys(output))
    return [line for line in text.splitlines() if line and line not in but]


def labels(conversation: Conversation) -> frozenset[str]:
    """The lines that stand for media in a text."""
    every = (
        part
        for result in conversation.results()
        if isinstance(result.output, tuple)
        for part in result.output
    )
    return frozenset(
        describe(part) for part in every if isinstance(part, Media) and part.text is None
    )


def calls(conversation: Conversation, id_map: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    return [
        (id_map.get(c.id, c.id), c.name, kind(c), arguments(c))
        for c in conversation.calls()
        if c.runs_on_client
    ]


def results(
    conversation: Conversation, id_map: Mapping[str, str], but: frozenset[str]
) -> list[tuple[str, str, list[str], bool]]:
    """Id, kind, words and error flag of each result; those of one turn in the order of
    their ids.
    """
    every = conversation.results()
    found = [
        (id_map.get(r.call_id, r.call_id), kind(r), lines(r, but), r.error)
        for r in every
        if r.executor == "client" and r.family != APPROVAL
    ]
    return sorted(found, key=lambda item: item[0])


def round_trip(case: Case, over: str) -> tuple[Conversation, Conversation, Mapping[str, str]]:
    """A conversation, the same after a round trip over another wire, and the ids that had to
    change.

    Those are minted ids, which depend on what else is in the body, and repeated ids where the wire
    wants unique ones. The id map of the way back has their originals.
    """
    start = decode(case.body, case.wire, case.kind)
    there = encode(start, over, case.kind)
    back = encode(
        decode(there.json(), over, case.kind), case.wire, case.kind, ids=there.ids.to_dict()
    )
    used = [call.id for call in start.calls()]
    twice = profile(case.wire).ids_unique_in_request and len(set(used)) < len(used)
    renamed = {
        new: there.ids.ids.get(old, old) for new, old in back.ids.ids.items() if new not in used
    }
    moved = {new: old for new, old in renamed.items() if twice or is_minted(new) or is_minted(old)}
    return start, decode(back.json(), case.wire, case.kind), moved


@rows(
    "case, over",
    [(case, over) for case in ALL if case.wire in MODELS for over in MODELS if over != case.wire],
    share=2,
    group=lambda case, over: f"{case.wire}-over-{over}",
)
def test_ids_names_arguments_and_results_are_restored(case: Case, over: str) -> None:
    assert_restored(case, over)


@pytest.mark.parametrize("wire", MODELS)
@given(data=st.data())
def test_a_drawn_history_is_restored(wire: str, data: st.DataObject) -> None:
    body = body_of(data.draw(history_strategy(wire)), wire)
    over = data.draw(st.sampled_from([name for name in MODELS if name != wire]))
    assert_restored(Case("drawn", wire, "request", body), over)


def assert_restored(case: Case, over: str) -> None:
    """Assert that a round trip over another wire restores the calls and results of the client."""
    start, back, moved = round_trip(case, over)
    before, after = calls(start, {}), calls(back, moved)
    if case.kind == "response":  # some wires have one candidate only
        ids = {call[0] for call in after}
        first = start.messages[0].parts if start.messages else ()
        assert {part.id for part in first if isinstance(part, Call) and part.runs_on_client} <= ids
        before = [call for call in before if call[0] in ids]
    assert after == before
    but = labels(start) | labels(back)
    known = {
        pair.result.call_id
        for pair in start.pairs()
        if pair.result and (pair.call or pair.result.origin != "minted")
    }
    # A result without an id and a call is ambiguous where order decides: that is reported.
    assert [r for r in results(back, moved, but) if r[0] in known] == [
        r for r in results(start, {}, but) if r[0] in known
    ]


def test_the_form_of_a_result_is_restored_under_an_id_that_had_to_change() -> None:
    turns: list[JSON] = []
    for n in (1, 2):  # ids that restart each turn, towards a wire on which each may come once
        turns.append(
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "call_0", "name": "f", "args": {"n": n}}}],
            }
        )
        turns.append(
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "call_0", "name": "f", "response": {"n": n}}}
                ],
            }
        )
    start: JSON = {"role": "user", "parts": [{"text": "Go."}]}
    body: JSON = {"contents": [start, *turns], "generationConfig": {"maxOutputTokens": 9}}
    there = translate(body, "gemini", "anthropic")
    assert translate(there.body, "anthropic", "gemini", ids=there.ids).body == body
