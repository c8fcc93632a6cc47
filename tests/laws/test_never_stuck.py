"""Law 14, No session stays stuck: whatever broke a history, `translate` and `repair` leave no history that
its target refuses, with their default options."""

from __future__ import annotations

import part_breaks  # noqa: F401  # registers its breaks
import pytest
import shape_breaks  # noqa: F401  # registers its breaks
from breaks import BREAKS, SHAPES, break_history
from cases import DEEP, MODELS
from hand_made_histories import HISTORIES, history_body
from histories import body_of, history_strategy
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from toolwire import decode, translate
from toolwire.conversation.json import JSON
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES, profile

SOURCES = [wire for wire in SHAPES if wire in MODELS]
TARGETS = [name for name, row in sorted(PROFILES.items()) if row.wire in MODELS]


def errors_left_for(body: JSON, wire: str, target: str) -> list[str]:
    """The rules of the errors that are left in a history on its way to a target: after a repair if
    the target speaks its wire, else after a translation."""
    sent = profile(target).wire
    if sent == wire:
        done = repair(body, wire, target=target).body
    else:
        done = translate(body, wire, target).body
    found = check(done, sent, target=target)
    return sorted({finding.name for finding in found if finding.severity == "error"})


ROWS = [
    (wire, name, story, target)
    for wire in SOURCES
    for name in sorted(BREAKS)
    for story in (HISTORIES if DEEP else ("turns",))
    if break_history(name, history_body(story, wire), wire) is not None
    for target in (TARGETS if DEEP else MODELS)
]


@rows(
    "wire, name, story, target",
    ROWS,
    group=lambda wire, name, story, target: f"{wire}-to-{target}",
    share=2,
)
def test_a_broken_history_is_accepted_by_its_target(
    wire: str, name: str, story: str, target: str
) -> None:
    broken = break_history(name, history_body(story, wire), wire)
    assert broken is not None
    assert errors_left_for(broken, wire, target) == []


@pytest.mark.parametrize("wire", SOURCES)
def test_a_result_with_its_output_as_id_keeps_its_call_where_ids_are_refused(wire: str) -> None:
    whole = history_body("one-call", wire)
    broken = break_history("the-id-is-the-output", whole, wire)
    assert broken is not None
    target = "vertex-gemini-v1"
    assert errors_left_for(broken, wire, target) == []
    sent = translate(broken, wire, target).body
    assert translate(whole, wire, target).body == sent


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("wire", SOURCES)
def test_each_call_has_one_result_on_every_wire_although_one_had_two(
    wire: str, target: str
) -> None:
    whole = history_body("turns", wire)
    broken = break_history("the-result-is-there-twice", whole, wire)
    assert broken is not None
    texts = [pair.result and pair.result.text for pair in decode(whole, wire).pairs()]
    encoded = translate(broken, wire, target)
    pairs = decode(encoded.body, target).pairs()
    assert all(pair.call and pair.result for pair in pairs)
    assert [pair.result and pair.result.text for pair in pairs] == texts
    assert {change.name for change in encoded.changes} >= {"dup-result"}


@pytest.mark.parametrize("wire", SOURCES)
@given(data=st.data())
def test_a_drawn_history_that_is_broken_is_accepted_by_its_target(
    wire: str, data: st.DataObject
) -> None:
    story = data.draw(history_strategy(wire))
    broken = body_of(story, wire)
    for name in data.draw(st.lists(st.sampled_from(sorted(BREAKS)), min_size=1, max_size=3)):
        pair = data.draw(st.integers(0, len(story.calls) - 1))
        broken = break_history(name, broken, wire, pair) or broken
    assert errors_left_for(broken, wire, data.draw(st.sampled_from(TARGETS))) == []
