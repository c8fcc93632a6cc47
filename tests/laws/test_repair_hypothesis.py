"""Laws 3, 10 and 11 on drawn histories: broken in every way, alone and together, at any place, for
every profile of the wires that models speak.

A break is found. Repair fixes it or reports what is left, once and for all: a second repair changes
nothing, no pair is half removed, no valid id changes, invented text carries a mark, no result moves
to another call, and another process makes the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import part_breaks  # noqa: F401  # registers its breaks
import pytest
import repair_child
import shape_breaks  # noqa: F401  # registers its breaks
from breaks import BREAKS, EXPECTED_RULES, HIDES_IDENTITY, SHAPES, break_history
from cases import DEEP, WIRES, child_environment, leaves
from histories import DrawnCall, DrawnHistory, Round, body_of, history_strategy
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from validators import complaints

from toolwire import decode, translate
from toolwire.conversation.json import JSON, dump, replace_lone_surrogates, text_of
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import ERROR_PREFIX, MARK, Call, Reasoning, Result, Text
from toolwire.lint import Repaired, all_rules, check, repair
from toolwire.profiles.table import PROFILES, profile
from toolwire.wires import wire as named_wire

TARGETS = [
    (row.wire, name)
    for name, row in sorted(PROFILES.items())
    if row.wire in SHAPES and row.wire in WIRES
]
WIRES_UNDER_TEST = [wire for wire in SHAPES if wire in WIRES]
PROFILES_OF = {
    wire: st.sampled_from([wire, *(name for one, name in TARGETS if one == wire != name)])
    for wire in WIRES_UNDER_TEST
}
"""The profiles of a wire, its own first."""
UNCHECKED = dict.fromkeys(
    ("cohere", "ollama"),
    "no refusal of this provider is documented, so its profile rejects nothing",
)
"""Profiles that accept what the official types of their wire do not."""
ALL_BREAKS = sorted(BREAKS)
_OUTPUT = re.compile(r"r(\d+)")


def read(body: JSON, wire: str) -> Conversation:
    return decode(body, wire)


def errors(body: JSON, wire: str, target: str) -> list[str]:
    return [str(one) for one in check(body, wire, target=target) if one.severity == "error"]


# --- what must hold of a repair -------------------------------------------------------------------


def wrong_pairs(conversation: Conversation) -> list[str]:
    """Pairs of a call and the result of another call."""
    out: list[str] = []
    for pair in conversation.pairs():
        output = _OUTPUT.fullmatch(pair.result.text) if pair.result else None
        arguments = pair.call.input if pair.call else None
        number = arguments.get("x") if isinstance(arguments, dict) else None
        if output and isinstance(number, int) and number != int(output[1]):
            out.append(f"call {number} has result {output[1]}")
    return out


def count_unpaired(conversation: Conversation) -> tuple[int, int]:
    """The number of calls without a result, and of results without a call."""
    pairs = [
        pair
        for pair in conversation.pairs()
        if (pair.call or pair.result).executor == "client"  # type: ignore[union-attr]
    ]
    return sum(pair.result is None for pair in pairs), sum(pair.call is None for pair in pairs)


def texts(conversation: Conversation) -> Counter[str]:
    """Every text, reasoning and output."""
    found: list[str] = []
    for part in conversation.parts():
        if isinstance(part, Text | Reasoning | Result):
            found += part.text.split("\n\n")
    return Counter(filter(None, found))


MARKS = (MARK, "<system>", "From tool call ", "[image ", "[image]")
"""How a text says that it was made: by repair, of a system message, as the label of a medium that
was moved, or in its place; and how `Result.text` describes an image that is there."""


def texts_without_mark(before: Conversation, after: Conversation) -> list[str]:
    """New texts without a mark. JSON may have become text, and a lone surrogate U+FFFD."""
    leaf_texts = "\n".join(str(value) for _, value in leaves(before.source.body))
    known = f"{leaf_texts}\n{replace_lone_surrogates(leaf_texts)}"
    return [
        text
        for text in texts(after)
        if not any(mark in text for mark in MARKS) and text[0] != "{" and text not in known
    ]


def stable_ids(conversation: Conversation, story: DrawnHistory) -> list[str]:
    """Ids of the story that belong to exactly one call and one result: nothing is wrong with
    them."""
    made = {call.id for call in story.calls}
    call_ids = Counter(call.id for call in conversation.calls())
    result_ids = Counter(result.call_id for result in conversation.results())
    pairs = [
        p.call
        for p in conversation.pairs()
        if p.call and p.result and p.how == "id" and p.call.origin == "wire"
    ]
    return [
        call.id
        for call in pairs
        if call.id in made and call_ids[call.id] == result_ids[call.id] == 1 and call.name
    ]


def in_full(body: JSON, wire: str) -> JSON:
    """The body with a list for each single element that its API accepts in place of one: the types
    of the SDK are stricter."""
    expand = named_wire(wire).normalize
    return body if expand is None else expand(body)


def assert_repaired(
    body: JSON, wire: str, target: str, story: DrawnHistory, *, hides_identity: bool
) -> tuple[Repaired, Repaired]:
    """Assert the law for one body. Returns the safe and the unsafe repair."""
    before = read(body, wire)
    known = {one.name for one in all_rules()}
    out: list[Repaired] = []
    for unsafe in (False, True):
        repaired = repair(body, wire, unsafe=unsafe, target=target)
        out.append(repaired)
        again = repair(repaired.body, wire, unsafe=unsafe, target=target)
        assert (again.body, again.changes) == (repaired.body, []), (
            "a second repair changes something"
        )
        assert bool(repaired.changes) == (dump(repaired.body) != dump(body)), (
            "a change is not reported, or a report changed nothing"
        )
        assert all(one.name in known and one.message for one in repaired.changes)
        assert repaired.findings == check(repaired.body, wire, target=target)
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        assert [str(one) for one in repaired.findings if one.fix in fixable] == [], (
            "a fixable finding is left"
        )
        after = read(repaired.body, wire)
        assert [
            x
            for x in zip(count_unpaired(before), count_unpaired(after), strict=True)
            if x[0] < x[1]
        ] == [], "half a pair was removed"
        assert texts_without_mark(before, after) == [], "an invented text carries no mark"
        there = {call.id for call in after.calls()}
        numbers = {str(call.input) for call in after.calls()}
        lost = [one for one in stable_ids(before, story) if one not in there]
        renamed = [
            c
            for c in before.calls()
            if c.id in lost and str(c.input) in numbers and not profile(target).own_id_pattern
        ]
        assert renamed == [] or not profile(target).has_id_field, "a valid id was changed"
        chosen = any(
            one.name == "dup-result" for one in repaired.changes
        )  # which of two results stays is a rule, not knowledge
        if not hides_identity and not chosen:
            assert wrong_pairs(after) == [], "a result went to another call"
        id_map = repaired.ids.ids
        known_ids = {call.id for call in before.calls()}
        body_text = text_of(before.source.body)  # also has calls that only a repair makes visible
        assert all(i in known_ids or i in body_text for i in id_map.values()), (
            "the id map names an id that never was"
        )
        assert set(id_map) <= there
        if wire == target and not [one for one in repaired.findings if one.severity == "error"]:
            assert target in UNCHECKED or complaints(wire, in_full(repaired.body, wire)) == ""
    return out[0], out[1]


# --- valid histories ------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES_UNDER_TEST)
@given(data=st.data())
def test_a_valid_history_has_no_finding_and_is_not_changed(wire: str, data: st.DataObject) -> None:
    target = data.draw(PROFILES_OF[wire])
    story = data.draw(history_strategy(wire, target))
    body = body_of(story, wire)
    conversation = read(body, wire)
    assert [
        str(one) for one in check(body, wire, target=target) if one.fix or one.severity == "error"
    ] == []
    assert repair(body, wire, target=target, unsafe=True).body == body
    assert complaints(wire, body) == ""
    found = [(p.call.input, p.result.text) for p in conversation.pairs() if p.call and p.result]
    assert found == [({"x": one.number}, one.output) for one in story.calls]


# --- broken histories -----------------------------------------------------------------------------


def refuses(target: str, name: str, broken: JSON) -> bool:
    """True if a target refuses a history with this break.

    A lost call whose id the calls just before it use, too, leaves a second result of one of them,
    and nothing in the history tells it from that: a target that accepts a second result accepts it.
    """
    row = profile(target)
    if name == "the-call-is-lost" and not row.rejects_duplicate_results:
        return BREAKS[name][1](row) and not has_second_result(read(broken, row.wire))
    return BREAKS[name][1](row)


def has_second_result(conversation: Conversation) -> bool:
    """True if a result without a call has the id of a call of the assistant's turn before it."""
    unpaired = PartSet(pair.result for pair in conversation.pairs() if pair.call is None)
    call_ids: set[str] = set()
    previous = ""
    for message in conversation.messages:
        if message.role == "assistant" != previous:
            call_ids.clear()
        call_ids.update(part.id for part in message.parts if isinstance(part, Call))
        if any(
            isinstance(p, Result) and p in unpaired and p.call_id in call_ids for p in message.parts
        ):
            return True
        previous = message.role
    return False


@pytest.mark.parametrize("wire", WIRES_UNDER_TEST)
@given(data=st.data())
def test_a_break_is_found_and_repaired(wire: str, data: st.DataObject) -> None:
    target = data.draw(PROFILES_OF[wire])
    story = data.draw(history_strategy(wire, target))
    body = body_of(story, wire)
    n = data.draw(st.integers(0, len(story.calls) - 1))
    for name in data.draw(
        st.lists(st.sampled_from(ALL_BREAKS), min_size=8, max_size=8, unique=True)
    ):
        bad = break_history(name, body, wire, n)
        if bad is None or bad == body:
            continue
        named = {one.name for one in check(bad, wire, target=target)}
        if refuses(target, name, bad):
            assert named.intersection(EXPECTED_RULES[name]) if EXPECTED_RULES[name] else named, name
        assert_repaired(
            bad, wire, target, story, hides_identity=name in HIDES_IDENTITY or not story.unique_ids
        )


def test_a_lost_result_of_one_of_two_calls_with_one_id_is_found() -> None:
    first, second = (DrawnCall(number, "search", "call_0") for number in range(2))
    rounds = (Round("", "", (first,), (0,)), Round("", "", (second,), (0,)))
    body = body_of(DrawnHistory((rounds,), open=False, ids=True), "cohere")
    broken = break_history("the-result-is-lost", body, "cohere", 0)
    assert broken is not None and check(broken, "cohere") != []


@pytest.mark.parametrize(
    "target, text, found",
    [
        ("deepseek-responses", "", set()),
        ("deepseek-responses", "let me see", {"orphan-result"}),
        ("openai-responses", "", {"dup-result"}),
    ],
)
def test_a_lost_call_whose_id_was_used_just_before_leaves_a_second_result(
    target: str, text: str, found: set[str]
) -> None:
    first, second = (DrawnCall(number, "search", "call_0") for number in range(2))
    rounds = (Round("", "", (first,), (0,)), Round(text, "", (second,), (0,)))
    body = body_of(DrawnHistory((rounds,), open=False, ids=True), "openai-responses")
    broken = break_history("the-call-is-lost", body, "openai-responses", 1)
    assert broken is not None
    assert {one.name for one in check(broken, "openai-responses", target=target)} == found
    assert refuses(target, "the-call-is-lost", broken) == bool(found)


@pytest.mark.parametrize("wire", WIRES_UNDER_TEST)
@given(data=st.data())
def test_several_breaks_are_repaired(wire: str, data: st.DataObject) -> None:
    target = data.draw(PROFILES_OF[wire])
    story = data.draw(history_strategy(wire, target))
    bad = body_of(story, wire)
    done: list[str] = []
    for name in data.draw(st.lists(st.sampled_from(ALL_BREAKS), min_size=2, max_size=4)):
        worse = break_history(name, bad, wire, data.draw(st.integers(0, len(story.calls) - 1)))
        if worse is not None:
            bad = worse
            done.append(name)
    assert_repaired(
        bad,
        wire,
        target,
        story,
        hides_identity=not story.unique_ids or not HIDES_IDENTITY.isdisjoint(done),
    )


@pytest.mark.parametrize("wire", WIRES_UNDER_TEST)
@given(data=st.data())
def test_results_in_any_order_find_their_calls_on_every_wire(
    wire: str, data: st.DataObject
) -> None:
    """Law 3, after a translation to any other wire and a repair there."""
    story = data.draw(history_strategy(wire))
    body = body_of(story, wire)
    wanted = sorted((one.number, one.output) for one in story.calls)
    for other in WIRES_UNDER_TEST:
        sent = translate(body, wire, other)
        repaired = repair(sent.body, other)
        for after in (sent.body, repaired.body):
            pairs = [pair for pair in read(after, other).pairs() if pair.call and pair.result]
            found = sorted(
                (pair.call.input["x"], pair.result.text.removeprefix(ERROR_PREFIX))  # type: ignore[union-attr,index,call-overload]
                for pair in pairs
            )
            assert found == wanted, other


def test_ids_that_become_equal_are_not_given_to_calls_beside_one_that_has_them() -> None:
    calls = tuple(DrawnCall(number, "search", f"toolu_{number}") for number in range(3))
    rounds = (Round("", "", calls, (0, 1, 2)),)
    body = body_of(DrawnHistory((rounds,), open=False, ids=True), "anthropic")
    for name in ("two-ids-become-equal-when-fitted", "the-result-is-lost"):
        broken = break_history(name, body, "anthropic", 0)
        assert broken is not None
        body = broken
    assert break_history("two-ids-become-equal-when-fitted", body, "anthropic", 0) is None


REPAIRABLE = sorted(rule.name for rule in all_rules() if rule.fix is not None)


def test_every_rule_with_a_fix_has_a_break() -> None:
    assert [
        name
        for name in REPAIRABLE
        if not any(name in named for named in EXPECTED_RULES.values()) and name not in BY_PLACE
    ] == []


BY_PLACE = frozenset(
    "dup-result orphan-result missing-result partial-batch history-starts-with-result"
    " history-starts-with-call result-before-call result-separated results-split calls-split"
    " result-not-first result-with-extra results-out-of-order result-name-mismatch count-mismatch"
    " server-tool-as-client call-dropped-keep-result user-after-tool trailing-assistant".split()
)
"""Rules that find the breaks of `breaks`; which of them does depends on the place."""


STRICT = "kimi deepseek minimax xai groq cerebras mistral-legacy bedrock-mistral vertex-gemini-v1".split()


def test_every_rule_is_reached_by_a_break() -> None:
    """One story with everything in it, broken in each way, for profiles that refuse what others
    accept."""
    calls = tuple(
        DrawnCall(n, ("search", "read", "search")[n % 3], f"functions.x:{n}") for n in range(5)
    )
    reached: set[str] = set()
    for wire, target in [one for one in TARGETS if one[1] in (*WIRES_UNDER_TEST, *STRICT)]:
        rule = profile(target).accepted_ids or profile(target).id_rule
        fit = tuple(
            replace(one, id=one.id if rule.fits(one.id) else f"abcdefgh{one.number}")
            for one in calls
        )
        rounds = (
            Round("", "hm", fit[:1], (0,)),
            Round("so", "", fit[1:4], (2, 0, 1)),
            Round("", "hm", fit[4:], (0,)),
        )
        for opened in (True, False):
            body = body_of(
                DrawnHistory(
                    ((rounds[0],), rounds[1:]), opened, opened and target != "vertex-gemini-v1"
                ),
                wire,
            )
            for name in ALL_BREAKS:
                bad = break_history(name, body, wire, 0 if opened else 2)
                if bad is not None:
                    reached |= {one.name for one in check(bad, wire, target=target)}
    assert sorted(set(REPAIRABLE) - reached) == []


# --- another process ------------------------------------------------------------------------------


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[str, str, JSON]]:
    out: list[tuple[str, str, JSON]] = []
    for wire, target in TARGETS if DEEP else TARGETS[draw(st.integers(0, 2)) :: 3]:
        story = draw(history_strategy(wire, target))
        bad = body_of(story, wire)
        for name in draw(st.lists(st.sampled_from(ALL_BREAKS), min_size=1, max_size=4)):
            bad = break_history(name, bad, wire, draw(st.integers(0, len(story.calls) - 1))) or bad
        out.append((wire, target, bad))
    return out


@settings(max_examples=20 if DEEP else 2)
@given(batch=batches())
def test_another_process_with_another_hash_seed_makes_the_same_bytes(
    batch: list[tuple[str, str, JSON]],
) -> None:
    lines = "\n".join(json.dumps(one) for one in batch)
    env = child_environment("7")
    run = subprocess.run(
        [sys.executable, repair_child.__file__],
        input=lines,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert run.stdout.split() == [repair_child.fingerprint(*one) for one in batch]
