"""Law 10, Repair converges: a break is found and repaired once and for all, no pair is half removed,
and a clean history is not changed.

Here with histories made by hand and the cases; `test_repair_hypothesis` draws both histories and
breaks.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from operator import le

import part_breaks  # noqa: F401  # registers its breaks
import pytest
import shape_breaks  # noqa: F401  # registers its breaks
from breaks import BREAKS, MOVES, SHAPES, HistoryEditor, break_history
from cases import ALL, CASES, COMPLETE, DEEP, RECORDED, WIRES, Case, needs_recordings
from hand_made_histories import HISTORIES, history_body
from rows import rows

from toolwire import Conversation, decode
from toolwire.conversation.json import JSON, dump
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES, profile

TARGETS = [
    (row.wire, name)
    for name, row in sorted(PROFILES.items())
    if row.wire in SHAPES and row.wire in WIRES
]
PLAIN = [(wire, wire) for wire in SHAPES if wire in WIRES]
ACCEPTED_BY = {
    "openai-responses recorded-50": "deepseek-responses",
    "openai-responses recorded-52": "deepseek-responses",
}
"""Recorded requests that another provider accepted than the one the wire is named after."""
PROVIDERS = {
    ("openai-chat", "azure"): "azure-openai",
    ("openai-chat", "google"): "gemini-openai",
    ("gemini", "vertex"): "vertex-gemini",
    ("openai-responses", "deepseek"): "deepseek-responses",
}
"""The profile of the provider that answered a recorded request, where the name differs."""


# --- broken histories -----------------------------------------------------------------------------


@cache
def clean(wire: str) -> tuple[Case, ...]:
    """The cases that a provider of the wire accepts and that have pairs to break."""
    return tuple(
        case
        for case in CASES
        if case.wire == wire
        and case.kind == "request"
        and not errors(case.body, wire, wire)
        and HistoryEditor(case.body, wire).pairs
    )


def errors(body: JSON, wire: str, target: str) -> list[str]:
    """The findings that a provider refuses a history for."""
    found = check(body, wire, target=target)
    return [str(finding) for finding in found if finding.severity == "error"]


def pairs_by_content(conversation: Conversation) -> Counter[tuple[str, str, str]]:
    """Every pair of a call of the client and its result, without their ids."""
    return Counter(
        (pair.call.name, pair.call.args.canonical, pair.result.text)
        for pair in conversation.pairs()
        if pair.call and pair.result and pair.call.executor == "client"
    )


def count_unpaired(conversation: Conversation) -> tuple[int, int]:
    """The number of calls without a result, and of results without a call."""
    pairs = conversation.pairs()
    return sum(pair.result is None for pair in pairs), sum(pair.call is None for pair in pairs)


def assert_repaired(body: JSON, wire: str, target: str, name: str) -> None:
    """Assert the law for one body. Of two results of one call one is removed, and it may be the one
    that was paired."""
    twice = any(finding.name == "dup-result" for finding in check(body, wire, target=target))
    for unsafe in (False, True):
        repaired = repair(body, wire, unsafe=unsafe, target=target)
        assert bool(repaired.changes) == (dump(repaired.body) != dump(body))
        again = repair(repaired.body, wire, unsafe=unsafe, target=target)
        assert (again.body, again.changes) == (repaired.body, [])
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        assert [str(left) for left in repaired.findings if left.fix in fixable] == []
        assert repaired.findings == check(repaired.body, wire, target=target)
        before, after = decode(body, wire), decode(repaired.body, wire)
        assert all(map(le, count_unpaired(after), count_unpaired(before))), (
            "half a pair was removed"
        )
        if name in MOVES and not twice:  # others cost a call its name or its arguments
            assert pairs_by_content(before) - pairs_by_content(after) == Counter()


@rows(
    "wire, target, name, story",
    [
        (wire, target, name, story)
        for wire, target in (TARGETS if DEEP else PLAIN)
        for name in sorted(BREAKS)
        for story in (HISTORIES if DEEP else ("parallel",))
    ],
    group=lambda wire, target, name, story: target,
)
def test_a_break_is_found_and_repaired(wire: str, target: str, name: str, story: str) -> None:
    body = history_body(story, wire)
    for n in range(3 if DEEP else 1):
        broken = break_history(name, body, wire, n)
        if broken is None or broken == body:
            continue
        if BREAKS[name][1](profile(target)) and not errors(body, wire, target):
            assert check(broken, wire, target=target)
        assert_repaired(broken, wire, target, name)


@rows(
    "case, name",
    [(case, name) for wire, _ in PLAIN for case in clean(wire) for name in sorted(BREAKS)],
    share=3,
)
def test_a_case_that_is_broken_is_repaired(case: Case, name: str) -> None:
    broken = break_history(name, case.body, case.wire)
    if broken is not None:
        assert_repaired(broken, case.wire, case.wire, name)


def test_there_are_cases_to_break() -> None:
    assert [wire for wire, _ in PLAIN if not clean(wire)] == []


# --- clean histories ------------------------------------------------------------------------------


@rows("case", ALL)
def test_a_clean_body_is_returned_byte_for_byte(case: Case) -> None:
    if not any(finding.fix for finding in check(case.body, case.wire, case.kind)):
        sent = dump(case.body)
        repaired = repair(sent, case.wire, case.kind, unsafe=True)
        assert (repaired.json(), repaired.changes) == (sent, [])


@pytest.mark.parametrize(("wire", "target"), PLAIN, ids=str)
@pytest.mark.parametrize("story", HISTORIES)
def test_a_history_made_for_a_wire_has_no_error_there(wire: str, target: str, story: str) -> None:
    assert errors(history_body(story, wire), wire, target) == []


@needs_recordings
@rows("case", [case for case in ALL if case.recorded and case.kind == "request"])
def test_a_request_that_a_provider_accepted_has_no_error(case: Case) -> None:
    key = f"{case.wire} {case.name}"
    assert errors(case.body, case.wire, ACCEPTED_BY.get(key, case.wire)) == []


@needs_recordings
@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_a_provider_accepted_has_no_error_by_its_own_profile(wire: str) -> None:
    file = RECORDED / f"{wire}.request.jsonl"
    found: dict[str, list[str]] = {}
    for n, line in enumerate(file.read_text().splitlines() if file.is_file() else ()):
        row = json.loads(line)
        target = PROVIDERS.get((wire, row["provider"]), row["provider"])
        if target not in PROFILES or PROFILES[target].wire != wire:
            target = ACCEPTED_BY.get(f"{wire} recorded-{n}", wire)
        if refused := errors(row["body"], wire, target):
            found[f"{n} {target}"] = refused
    assert found == {}


@needs_recordings
@pytest.mark.parametrize("name", ACCEPTED_BY)
def test_a_request_that_another_provider_accepted_has_an_error_by_the_wires_own_profile(
    name: str,
) -> None:
    found = [
        case
        for case in ALL
        if case.recorded and case.kind == "request" and f"{case.wire} {case.name}" == name
    ]
    assert not COMPLETE or found
    assert all(errors(case.body, case.wire, case.wire) for case in found)
