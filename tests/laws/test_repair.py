"""Law 10, Repair converges: what is broken is named and mended for good, no pair is half removed,
what is clean stays so."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest
from breaks import BREAKS, MOVES, SHAPES, Broken, broken
from cases import ALL, CASES, DEEP, RECORDED, WIRES, Case, recorded
from rows import rows

from toolwire import decode, translate
from toolwire.conversation.json import JSON, dump
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES, profile

TARGETS = [
    (row.wire, name)
    for name, row in sorted(PROFILES.items())
    if row.wire in SHAPES and row.wire in WIRES
]
PLAIN = [(wire, wire) for wire in SHAPES if wire in WIRES]
SPOKEN = {
    "openai-responses recorded-50": "deepseek-responses",
    "openai-responses recorded-52": "deepseek-responses",
}
"""Recorded requests that another provider than the wire's own accepted: by its rules they have no
fault."""
PROVIDERS = {
    ("openai-chat", "azure"): "azure-openai",
    ("openai-chat", "google"): "gemini-openai",
    ("gemini", "vertex"): "vertex-gemini",
    ("openai-responses", "deepseek"): "deepseek-responses",
}
"""Who answered a recorded request, as a profile, where it is not the name of one."""


# --- what is broken -------------------------------------------------------------------------------


def _call(one: str, name: str, arguments: str = "{}") -> JSON:
    return {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}


def _told(one: str, text: str) -> JSON:
    return {"role": "tool", "tool_call_id": one, "content": text}


def _says(role: str, text: str) -> JSON:
    return {"role": role, "content": text}


TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {}},
        },
    }
    for name in ("f", "g")
]
HAND_MADE: dict[str, list[JSON]] = {
    "one-call": [
        _says("user", "hi"),
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [_call("aaaaaaaa1", "f", '{"x": 1}')],
        },
        _told("aaaaaaaa1", "one"),
        _says("assistant", "it is one"),
        _says("user", "thanks"),
    ],
    "parallel": [
        _says("user", "hi"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                _call("aaaaaaaa1", "f", '{"x": 1}'),
                _call("aaaaaaaa2", "g", '{"x": 2}'),
                _call("aaaaaaaa3", "f", '{"x": 3}'),
            ],
        },
        _told("aaaaaaaa1", "one"),
        _told("aaaaaaaa2", "two"),
        _told("aaaaaaaa3", "three"),
        _says("assistant", "done"),
        _says("user", "and?"),
    ],
    "turns": [
        _says("user", "hi"),
        {"role": "assistant", "content": None, "tool_calls": [_call("aaaaaaaa1", "f", '{"x": 1}')]},
        _told("aaaaaaaa1", "one"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_call("aaaaaaaa2", "g"), _call("aaaaaaaa3", "g", '{"x": 3}')],
        },
        _told("aaaaaaaa2", "two"),
        _told("aaaaaaaa3", "three"),
    ],
}


@cache
def made(name: str, wire: str) -> JSON:
    """A conversation made by hand, as a body of a wire."""
    body: JSON = {"model": "m", "messages": [*HAND_MADE[name]], "tools": [*TOOLS]}
    return body if wire == "openai-chat" else translate(body, "openai-chat", wire).body


@cache
def clean(wire: str) -> tuple[Case, ...]:
    """The hand-made requests of a wire that its provider would take, and that have pairs
    to break.
    """
    return tuple(
        case
        for case in CASES
        if case.wire == wire
        and case.kind == "request"
        and not faults(case.body, wire, wire)
        and Broken(case.body, wire).pairs
    )


def faults(body: JSON, wire: str, target: str) -> list[str]:
    """What is wrong in a history, but for what is only worth knowing."""
    return [str(one) for one in check(body, wire, target=target) if one.severity == "error"]


def joined(body: JSON, wire: str) -> Counter[tuple[str, str, str]]:
    """Every pair of a client's call and its result, by what they say."""
    pairs = decode(body, wire).pairs()
    return Counter(
        (pair.call.name, pair.call.arguments, pair.result.text)
        for pair in pairs
        if pair.call and pair.result and pair.call.executor == "client"
    )


def holds(body: JSON, wire: str, target: str) -> None:
    """The law, for one body. Of two results of one call one goes, and it may be the one that was
    joined."""
    twice = any(one.name == "dup-result" for one in check(body, wire, target=target))
    for unsafe in (False, True):
        mended = repair(body, wire, unsafe=unsafe, target=target)
        assert bool(mended.changes) == (dump(mended.body) != dump(body))
        again = repair(mended.body, wire, unsafe=unsafe, target=target)
        assert (again.body, again.changes) == (mended.body, [])
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        assert [str(one) for one in mended.findings if one.fix in fixable] == []
        assert mended.findings == check(mended.body, wire, target=target)
        if not twice:
            assert joined(body, wire) - joined(mended.body, wire) == Counter()


@pytest.mark.parametrize(("wire", "target"), TARGETS if DEEP else PLAIN, ids=lambda one: str(one))
@rows("name", MOVES)
def test_what_is_broken_in_one_way_is_named_and_mended(wire: str, target: str, name: str) -> None:
    for story in HAND_MADE if DEEP else ("parallel",):
        body = made(story, wire)
        before = faults(body, wire, target)
        for n in range(3 if DEEP else 1):
            bad = broken(name, body, wire, n)
            if bad is None:
                continue
            if BREAKS[name][1](profile(target)) and not before:
                assert check(bad, wire, target=target), (story, n)
            holds(bad, wire, target)


@pytest.mark.parametrize("wire", [wire for wire, _ in PLAIN])
@rows("name", MOVES)
def test_the_cases_broken_in_one_way_are_mended(wire: str, name: str) -> None:
    for case in clean(wire):
        bad = broken(name, case.body, wire)
        if bad is not None:
            holds(bad, wire, wire)


@pytest.mark.parametrize("wire", [wire for wire, _ in PLAIN])
@rows("k, first", enumerate(MOVES))
def test_what_is_broken_in_two_ways_is_mended(wire: str, k: int, first: str) -> None:
    """All pairs of breaks when there is time; drawn ones are in the law beside this one."""
    for n, story in enumerate(HAND_MADE if DEEP else ("parallel",)):
        once = broken(first, made(story, wire), wire, n % 2)
        for second in (MOVES if DEEP else MOVES[k % 5 :: 5]) if once is not None else ():
            twice = broken(second, once, wire, 1)
            if twice is not None:
                holds(twice, wire, wire)


def test_there_are_cases_to_break() -> None:
    assert {wire for wire, _ in PLAIN if len(clean(wire)) > 1} == {wire for wire, _ in PLAIN}


# --- what is clean --------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_clean_comes_back_to_the_byte(wire: str) -> None:
    for case in (one for one in ALL if one.wire == wire):
        if not any(one.fix for one in check(case.body, wire, case.kind)):
            sent = dump(case.body)
            mended = repair(sent, wire, case.kind, unsafe=True)
            assert (mended.json(), mended.changes) == (sent, []), case.name


@pytest.mark.parametrize(("wire", "target"), PLAIN, ids=lambda one: str(one))
@pytest.mark.parametrize("story", HAND_MADE)
def test_what_is_made_for_a_wire_has_no_fault_there(wire: str, target: str, story: str) -> None:
    assert faults(made(story, wire), wire, target) == []


@pytest.mark.parametrize("wire", WIRES)
def test_what_a_provider_accepted_has_no_fault(wire: str) -> None:
    found = {
        f"{wire} {case.name}": told
        for case in recorded(wire)
        if case.kind == "request"
        and (told := faults(case.body, wire, SPOKEN.get(f"{wire} {case.name}", wire)))
    }
    assert found == {}


@pytest.mark.parametrize("wire", WIRES)
def test_what_a_provider_accepted_has_no_fault_by_its_own_profile(wire: str) -> None:
    file = RECORDED / f"{wire}.request.jsonl"
    found: dict[str, list[str]] = {}
    for n, line in enumerate(file.read_text().splitlines() if file.is_file() else ()):
        row = json.loads(line)
        target = PROVIDERS.get((wire, row["provider"]), row["provider"])
        if target not in PROFILES or PROFILES[target].wire != wire:
            target = SPOKEN.get(f"{wire} recorded-{n}", wire)
        if told := faults(row["body"], wire, target):
            found[f"{n} {target}"] = told
    assert found == {}


def test_what_another_provider_accepted_would_be_refused_by_the_wires_own() -> None:
    stale = [
        name
        for name in SPOKEN
        if RECORDED.is_dir()
        and not any(
            name == f"{w} {c.name}" and faults(c.body, w, w) for w in WIRES for c in recorded(w)
        )
    ]
    assert stale == []
