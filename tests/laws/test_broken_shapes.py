"""Laws 3 and 14 for histories with broken JSON types, roles and formats: every call keeps its
result, on its own wire and on every other one."""

from __future__ import annotations

from collections import Counter

import shape_breaks
from breaks import BREAKS, SHAPES, break_history
from cases import MODELS
from hand_made_histories import HISTORIES, history_body
from rows import rows

from toolwire import Conversation, decode, repair, translate

FOREIGN_PAIRS = {name for name in BREAKS if name.endswith("-precedes")}
"""Breaks that add a pair in the format of another wire; its result is `foreign`."""
KEEP_PAIRS = {
    "a-list-is-an-object-of-indexes",
    "a-list-is-json-text",
    "null-stands-among-the-messages",
    "the-call-has-no-list",
    "the-messages-are-nested",
    "the-role-of-the-call-is-missing",
    "the-role-of-the-result-is-null",
    "the-thinking-has-no-signature",
} | FOREIGN_PAIRS
"""Breaks that neither lose nor hide a call or a result."""
assert shape_breaks.__doc__  # importing it adds its breaks


def pairs_of(conversation: Conversation) -> Counter[tuple[str, str, str]]:
    return Counter(
        (pair.call.name, pair.call.args.canonical or "{}", "".join(pair.result.text.split()))
        for pair in conversation.pairs()
        if pair.call and pair.result
    )


@rows(
    "wire, name, story",
    [(wire, name, story) for wire in SHAPES for name in sorted(KEEP_PAIRS) for story in HISTORIES],
)
def test_every_call_keeps_its_result(wire: str, name: str, story: str) -> None:
    whole = history_body(story, wire)
    expected = pairs_of(decode(whole, wire))
    for n in range(3):
        broken = break_history(name, whole, wire, n)
        if broken is None:
            continue
        for target in MODELS:
            if target == wire:
                body = repair(broken, wire).body
            else:
                body = translate(broken, wire, target).body
            found = pairs_of(decode(body, target))
            added = found - expected
            assert expected - found == Counter(), target
            assert ["foreign" in text for *_, text in added.elements()] == (
                [True] if name in FOREIGN_PAIRS else []
            ), target
