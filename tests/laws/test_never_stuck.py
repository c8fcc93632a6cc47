"""Law 14, No session stays stuck: whatever broke a history, `translate` and `repair` leave none that
its target refuses, with their default options."""

from __future__ import annotations

import breaks_inside  # noqa: F401  # registers its breaks
import pytest
from breaks import BREAKS, SHAPES, break_history
from cases import DEEP, MODELS
from histories import body_of, stories
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from rows import gap, rows
from stories import STORIES, hand_made

from toolwire import translate
from toolwire.conversation.json import JSON
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES, profile

SOURCES = [wire for wire in SHAPES if wire in MODELS]
TARGETS = [name for name, row in sorted(PROFILES.items()) if row.wire in MODELS]


class Gap(Struct, frozen=True):
    """A rule whose errors are still left, and a row that shows it: a break of the story `turns`."""

    reason: str
    wire: str
    name: str
    target: str


UNSAFE = "only an unsafe fix exists, and the default applies safe fixes"
NO_FIX = "no fix exists"
ORDER = "translate repairs the history before it is written, and writing brings this back"
COMBINED = {
    "content-shape": "a message that holds nothing but blanks can only be replaced, which is unsafe",
    "count-mismatch": "several results without ids for one call: which one stays is not known",
    "dup-result": "two results of one call that differ: which one goes is unsafe",
    "result-name-mismatch": "seen in one drawn combination; the cause is not known yet",
    "results-out-of-order": "seen in one drawn combination; the cause is not known yet",
    "partial-batch": "seen in one drawn combination; the cause is not known yet",
    "id-field-unsupported": "without ids results would go to other calls, so the ids stay",
    "missing-result": "a result without an id may belong to the call, so none is added",
}
"""Rules that only several breaks at once leave unsatisfied, and why."""
GAPS: dict[str, Gap] = {
    "args-invalid-json": Gap(
        UNSAFE, wire="ollama", name="the-arguments-are-cut-off", target="ollama"
    ),
    "args-merged": Gap(
        NO_FIX, wire="ollama", name="the-arguments-of-two-calls-are-joined", target="ollama"
    ),
    "call-dropped-keep-result": Gap(
        UNSAFE, wire="openai-chat", name="the-result-has-another-id", target="openai-chat"
    ),
    "history-starts-with-call": Gap(
        UNSAFE, wire="openai-chat", name="the-history-begins-with-a-call", target="gemini"
    ),
    "history-starts-with-result": Gap(
        UNSAFE, wire="openai-chat", name="the-beginning-is-cut-off", target="openai-chat"
    ),
    "id-carries-payload": Gap(
        ORDER, wire="openai-chat", name="the-id-carries-a-signature", target="gemini"
    ),
    "name-collision": Gap(
        UNSAFE, wire="openai-chat", name="two-tools-have-one-name", target="anthropic"
    ),
    "name-empty": Gap(UNSAFE, wire="openai-chat", name="the-name-is-empty", target="openai-chat"),
    "name-missing": Gap(
        UNSAFE, wire="openai-chat", name="the-name-is-missing", target="openai-chat"
    ),
    "name-unknown": Gap(
        UNSAFE,
        wire="openai-responses",
        name="the-required-tool-is-not-defined",
        target="openai-responses",
    ),
    "orphan-result": Gap(UNSAFE, wire="openai-chat", name="the-call-is-lost", target="openai-chat"),
    "server-tool-as-client": Gap(
        UNSAFE, wire="openai-chat", name="the-call-looks-like-a-server-tool", target="openai-chat"
    ),
    "server-tool-unpaired": Gap(
        UNSAFE, wire="anthropic", name="a-server-tool-call-has-no-result", target="anthropic"
    ),
    "signature-foreign": Gap(
        UNSAFE, wire="anthropic", name="the-signature-is-foreign", target="anthropic"
    ),
    "thinking-missing": Gap(
        UNSAFE,
        wire="anthropic",
        name="thinking-is-enabled-and-thinking-blocks-are-missing",
        target="anthropic",
    ),
    "tools-undefined": Gap(UNSAFE, wire="openai-chat", name="no-tool-is-defined", target="bedrock"),
    "trailing-assistant": Gap(
        UNSAFE, wire="openai-chat", name="an-assistant-message-is-last", target="mistral"
    ),
}
"""Errors that are known to be left, by rule. This table may only get shorter."""


def left(body: JSON, wire: str, target: str) -> list[str]:
    """The rules of the errors that are left in a history on its way to a target: after a repair if
    the target speaks its wire, else after a translation."""
    sent = profile(target).wire
    if sent == wire:
        done = repair(body, wire, target=target).body
    else:
        done = translate(body, wire, target).body
    found = check(done, sent, target=target)
    return sorted({finding.name for finding in found if finding.severity == "error"})


def assert_accepted(body: JSON, wire: str, target: str) -> None:
    rules = left(body, wire, target)
    known = [GAPS[rule].reason for rule in rules if rule in GAPS]
    assert [rule for rule in rules if rule not in GAPS] == []
    with gap(known[0] if known else None):
        assert rules == []


ROWS = [
    (wire, name, story, target)
    for wire in SOURCES
    for name in sorted(BREAKS)
    for story in (STORIES if DEEP else ("turns",))
    if break_history(name, hand_made(story, wire), wire) is not None
    for target in (TARGETS if DEEP else MODELS)
]


@rows(
    "wire, name, story, target", ROWS, group=lambda wire, name, story, target: f"{wire}-to-{target}"
)
def test_a_broken_history_is_accepted_by_its_target(
    wire: str, name: str, story: str, target: str
) -> None:
    broken = break_history(name, hand_made(story, wire), wire)
    assert broken is not None
    assert_accepted(broken, wire, target)


@pytest.mark.parametrize("rule", GAPS)
def test_a_known_gap_is_still_open(rule: str) -> None:
    """A rule whose errors are all repaired leaves the table."""
    row = GAPS[rule]
    if row.wire not in MODELS or profile(row.target).wire not in MODELS:
        pytest.skip("not a wire of this run")
    broken = break_history(row.name, hand_made("turns", row.wire), row.wire)
    assert broken is not None
    assert rule in left(broken, row.wire, row.target)


@pytest.mark.parametrize("wire", SOURCES)
@given(data=st.data())
def test_a_drawn_history_that_is_broken_is_accepted_by_its_target(
    wire: str, data: st.DataObject
) -> None:
    story = data.draw(stories(wire))
    broken = body_of(story, wire)
    for name in data.draw(st.lists(st.sampled_from(sorted(BREAKS)), min_size=1, max_size=3)):
        pair = data.draw(st.integers(0, len(story.calls) - 1))
        broken = break_history(name, broken, wire, pair) or broken
    rules = left(broken, wire, data.draw(st.sampled_from(TARGETS)))
    assert [rule for rule in rules if rule not in GAPS and rule not in COMBINED] == []
