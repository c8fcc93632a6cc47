"""Law 5, There and back: A→B→A with the id map restores ids, names, kinds, arguments and results of
the client's calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest
from cases import ALL, MODELS, Case, broken_by
from rows import rows

from toolwire import Call, Conversation, Media, Result, decode, encode, translate
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import describe
from toolwire.profiles.table import profile

PLAIN = {
    "function-legacy": "a form without ids that nobody makes any more",
    "mcp-approval": "it names its server, which no other wire knows",
    "computer-use": (
        "where a picture stands apart from its result there is nothing left that it could hold"
    ),
}
"""Kinds of calls that may come home as a function's, and why."""


def kind(part: Call | Result) -> str:
    return "function" if part.family in PLAIN else part.family


def arguments(call: Call) -> str:
    """What a call says, whatever the spelling of its JSON. What is no object may come home under
    `_raw`, as it was reported."""
    given = call.input
    if isinstance(given, dict) and list(given) == ["_raw"]:
        return str(given["_raw"])
    broken = call.family == "custom" or call.args.broken
    return call.arguments if broken else text_of(_sorted(given or {}))


def _sorted(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def words(result: Result, but: frozenset[str]) -> list[str]:
    """A result's text without the lines that stand for media: wires differ in where those go."""
    output = result.output
    text = result.text if isinstance(output, str | tuple) else text_of(_sorted(output))
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


def calls(conversation: Conversation, home: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    return [
        (home.get(c.id, c.id), c.name, kind(c), arguments(c))
        for c in conversation.calls()
        if c.executor == "client"
    ]


def results(
    conversation: Conversation, home: Mapping[str, str], but: frozenset[str]
) -> list[tuple[str, str, list[str], bool]]:
    """Id, kind, words and error flag of each result; those of one turn in the order of
    their ids.
    """
    every = conversation.results()
    found = [
        (home.get(r.call_id, r.call_id), kind(r), words(r, but), r.error)
        for r in every
        if r.executor == "client"
    ]
    return sorted(found, key=lambda item: item[0])


def trip(case: Case, over: str) -> tuple[Conversation, Conversation, Mapping[str, str]]:
    """The conversation as it is, as it is after it went over another wire and home, and the ids
    that could not stay.

    Those are ids nobody ever sent, which depend on what else is in the body, and ids that come
    twice where each may come once: the map of the way home tells what they were.
    """
    start = decode(case.body, case.wire, case.kind)
    there = encode(start, over, case.kind)
    back = encode(
        decode(there.json(), over, case.kind), case.wire, case.kind, ids=there.ids.to_dict()
    )
    used = [call.id for call in start.calls()]
    twice = profile(case.wire).ids_unique_in_request and len(set(used)) < len(used)
    came = {
        new: there.ids.ids.get(old, old) for new, old in back.ids.ids.items() if new not in used
    }
    moved = {new: old for new, old in came.items() if twice or is_minted(new) or is_minted(old)}
    return start, decode(back.json(), case.wire, case.kind), moved


@pytest.mark.parametrize("wire", MODELS)
@rows("over", MODELS)
def test_ids_names_arguments_and_results_come_home(wire: str, over: str) -> None:
    if wire != over:
        assert (
            broken_by((case for case in ALL if case.wire == wire), partial(home_again, over=over))
            == {}
        )


def home_again(case: Case, over: str) -> None:
    start, home, moved = trip(case, over)
    before, after = calls(start, {}), calls(home, moved)
    if case.kind == "response":  # some wires have one candidate only
        ids = {call[0] for call in after}
        first = start.messages[0].parts if start.messages else ()
        assert {
            part.id for part in first if isinstance(part, Call) and part.executor == "client"
        } <= ids
        before = [call for call in before if call[0] in ids]
    assert after == before
    but = labels(start) | labels(home)
    known = {
        pair.result.call_id
        for pair in start.pairs()
        if pair.result and (pair.call or pair.result.origin != "minted")
    }
    # A result that has neither an id nor a call cannot be told from another's where order decides:
    # that is reported.
    assert [r for r in results(home, moved, but) if r[0] in known] == [
        r for r in results(start, {}, but) if r[0] in known
    ]


def test_what_is_kept_of_a_result_is_found_under_an_id_that_had_to_change() -> None:
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
