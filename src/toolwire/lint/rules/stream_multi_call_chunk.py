"""One event of a stream holds pieces of several calls.

It is legal: the pieces are a list. Most servers send one at a time, and readers have been seen to
take the first of the list and leave the rest; the calls they miss are never run, and the next
request says that a result is missing.

It is worth knowing when a reader loses calls, and nothing is mended. `fold` and `restream` read the
whole list.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.lint.examples.streams import OVER, chunk, piece, streamed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import CallFragment, StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts) or not facts.indexed:
        return
    held: dict[JsonPath, list[CallFragment]] = {}
    for one in facts.pieces:
        held.setdefault(one.path[:-1], []).append(one)
    for at, pieces in held.items():
        calls = {(one.key, one.known) for one in pieces} if len(pieces) > 1 else set()
        if len(calls) > 1:
            yield (
                at,
                (
                    f"one event holds pieces of {len(calls)} calls: a reader that takes the first"
                    " loses the rest"
                ),
                None,
            )


RULE = Rule(
    "TW070",
    "stream-multi-call-chunk",
    title="one event holds pieces of several calls",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        streamed(
            chunk(piece("{}", index=0, id="c1", name="f"), piece("{}", index=1, id="c2", name="f")),
            OVER,
        ),
    ),
    good=(
        streamed(
            chunk(piece("{}", index=0, id="c1", name="f")),
            chunk(piece("{}", index=1, id="c2", name="f")),
            OVER,
        ),
    ),
)
