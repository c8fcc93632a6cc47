"""Laws 3, 10 and 11 on drawn histories: broken in every way, alone and together, at any place, for
every profile of the wires.

What is broken is named; repair mends it or names what is left, for good; no pair is half removed,
no valid id changes, what is invented is marked, nothing is joined that did not belong together, and
another process gives the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import breaks_inside  # noqa: F401  # puts its breaks on the list
import pytest
import repair_child
from breaks import BLIND, BREAKS, NAMES, SHAPES, broken
from cases import DEEP, WIRES, child_environment, leaves
from histories import Asked, Round, Story, body_of, stories
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import complaints
from msgspec.structs import replace

from toolwire import decode, translate
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Reasoning, Result, Text
from toolwire.lint import Repaired, check, every, repair
from toolwire.lint.transforms import MARK
from toolwire.profiles.table import PROFILES, profile

TARGETS = [
    (row.wire, name)
    for name, row in sorted(PROFILES.items())
    if row.wire in SHAPES and row.wire in WIRES
]
PLAIN = [wire for wire in SHAPES if wire in WIRES]
SPEAKERS = {
    wire: st.sampled_from([wire, *(name for one, name in TARGETS if one == wire != name)])
    for wire in PLAIN
}
"""The profiles of a wire, its own first."""
ALL = sorted(BREAKS)
_TOLD = re.compile(r"r(\d+)")


def read(body: JSON, wire: str) -> Conversation:
    return decode(body, wire)


def errors(body: JSON, wire: str, target: str) -> list[str]:
    return [str(one) for one in check(body, wire, target=target) if one.severity == "error"]


# --- what must hold of a repair -------------------------------------------------------------------


def strangers(conversation: Conversation) -> list[str]:
    """Pairs of a call and a result that says another number."""
    out: list[str] = []
    for pair in conversation.pairs():
        told = _TOLD.fullmatch(pair.result.text) if pair.result else None
        asked = pair.call.input if pair.call else None
        if (
            told
            and isinstance(asked, dict)
            and isinstance(asked.get("x"), int)
            and asked["x"] != int(told[1])
        ):
            out.append(f"{asked['x']} got {told[1]}")
    return out


def half(conversation: Conversation) -> tuple[int, int]:
    """How many calls have no result, and results no call."""
    pairs = [
        pair
        for pair in conversation.pairs()
        if (pair.call or pair.result).executor == "client"  # type: ignore[union-attr]
    ]
    return sum(pair.result is None for pair in pairs), sum(pair.call is None for pair in pairs)


def texts(conversation: Conversation) -> Counter[str]:
    """Every text that somebody said, thought or told."""
    said: list[str] = []
    for part in conversation.parts():
        if isinstance(part, Text | Reasoning | Result):
            said += part.text.split("\n\n")
    return Counter(filter(None, said))


def invented(before: Conversation, after: Conversation) -> list[str]:
    """Texts that were not there before and bear no mark; what was JSON may be text now."""
    known = "\n".join(str(value) for _, value in leaves(before.source.body))
    return [
        text for text in texts(after) if MARK not in text and text[0] != "{" and text not in known
    ]


def steady(conversation: Conversation, story: Story) -> list[str]:
    """Ids that are as they were made, stand at one call and one result after it, and so are in
    order."""
    made = {one.id for one in story.calls}
    asked = Counter(call.id for call in conversation.calls())
    told = Counter(result.call_id for result in conversation.results())
    pairs = [
        p.call
        for p in conversation.pairs()
        if p.call and p.result and p.how == "id" and p.call.origin == "wire"
    ]
    return [
        call.id
        for call in pairs
        if call.id in made and asked[call.id] == 1 and told[call.id] == 1 and call.name
    ]


def holds(
    body: JSON, wire: str, target: str, story: Story, *, blind: bool
) -> tuple[Repaired, Repaired]:
    """The law for one body: the two repairs that were made."""
    before = read(body, wire)
    known = {one.name for one in every()}
    out: list[Repaired] = []
    for unsafe in (False, True):
        mended = repair(body, wire, unsafe=unsafe, target=target)
        out.append(mended)
        again = repair(mended.body, wire, unsafe=unsafe, target=target)
        assert (again.body, again.changes) == (mended.body, []), "a second repair changes something"
        assert bool(mended.changes) == (dump(mended.body) != dump(body)), (
            "what is changed is told, and nothing else"
        )
        assert all(one.name in known and one.message for one in mended.changes)
        assert mended.findings == check(mended.body, wire, target=target)
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        assert [str(one) for one in mended.findings if one.fix in fixable] == [], (
            "what can be mended is left"
        )
        after = read(mended.body, wire)
        assert [x for x in zip(half(before), half(after), strict=True) if x[0] < x[1]] == [], (
            "half a pair is gone"
        )
        assert invented(before, after) == [], "what was invented bears no mark"
        there = {call.id for call in after.calls()}
        numbers = {str(call.input) for call in after.calls()}
        lost = [one for one in steady(before, story) if one not in there]
        renamed = [
            c
            for c in before.calls()
            if c.id in lost and str(c.input) in numbers and not profile(target).own_id_pattern
        ]
        assert renamed == [] or not profile(target).has_id_field, "a valid id was changed"
        chosen = any(
            one.name == "dup-result" for one in mended.changes
        )  # which of two stays is a rule, not knowledge
        if not blind and not chosen:
            assert strangers(after) == [], "a result went to another call"
        home = mended.ids.ids
        assert set(home.values()) <= {call.id for call in before.calls()}, "an id leads to nowhere"
        assert set(home) <= there
        if wire == target and not [one for one in mended.findings if one.severity == "error"]:
            assert complaints(wire, mended.body) == ""
    return out[0], out[1]


# --- histories that are fine ----------------------------------------------------------------------


@pytest.mark.parametrize("wire", PLAIN)
@given(data=st.data())
def test_a_drawn_history_is_clean_and_stays_as_it_is(wire: str, data: st.DataObject) -> None:
    target = data.draw(SPEAKERS[wire])
    story = data.draw(stories(wire, target))
    body = body_of(story, wire)
    conversation = read(body, wire)
    assert [
        str(one) for one in check(body, wire, target=target) if one.fix or one.severity == "error"
    ] == []
    assert repair(body, wire, target=target, unsafe=True).body == body
    assert complaints(wire, body) == ""
    found = [(p.call.input, p.result.text) for p in conversation.pairs() if p.call and p.result]
    assert found == [({"x": one.number}, one.told) for one in story.calls]


# --- and broken -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", PLAIN)
@given(data=st.data())
def test_what_is_broken_in_one_way_is_named_and_mended(wire: str, data: st.DataObject) -> None:
    target = data.draw(SPEAKERS[wire])
    story = data.draw(stories(wire, target))
    body = body_of(story, wire)
    n = data.draw(st.integers(0, len(story.calls) - 1))
    for name in data.draw(st.lists(st.sampled_from(ALL), min_size=8, max_size=8, unique=True)):
        bad = broken(name, body, wire, n)
        if bad is None or bad == body:
            continue
        named = {one.name for one in check(bad, wire, target=target)}
        if BREAKS[name][1](profile(target)):
            assert named.intersection(NAMES[name]) if NAMES[name] else named, name
        holds(bad, wire, target, story, blind=name in BLIND or not story.telling)


@pytest.mark.parametrize("wire", PLAIN)
@given(data=st.data())
def test_what_is_broken_in_several_ways_is_mended(wire: str, data: st.DataObject) -> None:
    target = data.draw(SPEAKERS[wire])
    story = data.draw(stories(wire, target))
    bad = body_of(story, wire)
    done: list[str] = []
    for name in data.draw(st.lists(st.sampled_from(ALL), min_size=2, max_size=4)):
        worse = broken(name, bad, wire, data.draw(st.integers(0, len(story.calls) - 1)))
        if worse is not None:
            bad = worse
            done.append(name)
    holds(bad, wire, target, story, blind=not story.telling or not BLIND.isdisjoint(done))


@pytest.mark.parametrize("wire", PLAIN)
@given(data=st.data())
def test_results_that_came_in_another_order_find_their_calls_on_every_wire(
    wire: str, data: st.DataObject
) -> None:
    """Law 3, on the way to any other wire and after a repair there."""
    story = data.draw(stories(wire))
    body = body_of(story, wire)
    wanted = sorted((one.number, one.told) for one in story.calls)
    for other in PLAIN:
        sent = translate(body, wire, other)
        mended = repair(sent.body, other)
        for after in (sent.body, mended.body):
            pairs = [pair for pair in read(after, other).pairs() if pair.call and pair.result]
            found = sorted((pair.call.input["x"], pair.result.text) for pair in pairs)  # type: ignore[union-attr,index,call-overload]
            assert found == wanted, other


REPAIRABLE = sorted(rule.name for rule in every() if rule.mend is not None)


def test_every_rule_that_mends_has_a_break_that_it_names() -> None:
    assert [
        name
        for name in REPAIRABLE
        if not any(name in named for named in NAMES.values()) and name not in BY_PLACE
    ] == []


BY_PLACE = frozenset(
    "dup-result orphan-result missing-result partial-batch history-starts-with-result"
    " history-starts-with-call result-before-call result-separated results-split calls-split"
    " result-not-first result-with-extra results-out-of-order result-name-mismatch count-mismatch"
    " server-tool-as-client call-dropped-keep-result user-after-tool trailing-assistant".split()
)
"""What the breaks that move things are named as: which of them depends on where they hit."""


STRICT = "kimi deepseek minimax xai groq cerebras mistral-legacy bedrock-mistral vertex-gemini-v1".split()


def test_every_rule_is_reached_by_a_break() -> None:
    """Stories with everything in them, broken in each way, for those who mind something that others
    do not."""
    calls = tuple(
        Asked(n, ("search", "read", "search")[n % 3], f"functions.x:{n}") for n in range(5)
    )
    reached: set[str] = set()
    for wire, target in [one for one in TARGETS if one[1] in (*PLAIN, *STRICT)]:
        rule = profile(target).accepted_ids or profile(target).id_rule
        fit = tuple(
            replace(one, id=one.id if rule.fits(one.id) else f"abcdefgh{one.number}")
            for one in calls
        )
        told = (
            Round("", "hm", fit[:1], (0,)),
            Round("so", "", fit[1:4], (2, 0, 1)),
            Round("", "hm", fit[4:], (0,)),
        )
        for opened in (True, False):
            body = body_of(
                Story(((told[0],), told[1:]), opened, opened and target != "vertex-gemini-v1"), wire
            )
            for name in ALL:
                bad = broken(name, body, wire, 0 if opened else 2)
                if bad is not None:
                    reached |= {one.name for one in check(bad, wire, target=target)}
    assert sorted(set(REPAIRABLE) - reached) == []


# --- another process ------------------------------------------------------------------------------


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[str, str, JSON]]:
    out: list[tuple[str, str, JSON]] = []
    for wire, target in TARGETS if DEEP else TARGETS[draw(st.integers(0, 2)) :: 3]:
        story = draw(stories(wire, target))
        bad = body_of(story, wire)
        for name in draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=4)):
            bad = broken(name, bad, wire, draw(st.integers(0, len(story.calls) - 1))) or bad
        out.append((wire, target, bad))
    return out


@settings(max_examples=20 if DEEP else 2)
@given(batch=batches())
def test_another_process_with_another_hash_seed_repairs_to_the_same_bytes(
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
        timeout=120,
        check=True,
    )
    assert run.stdout.split() == [repair_child.fingerprint(*one) for one in batch]
