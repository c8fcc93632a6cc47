"""A streamed call gets its id only after it was opened.

The first piece of a call should bear its id; some servers send it blank or null there and give it
with a later piece. A reader that takes the id from the first piece has none, or makes one up that
the server never heard of, and the result that is sent back under it finds no call. Readers that
look at the index first, and set the id once it comes, are fine.

The fault is the server's, not the history's, so it is told and not mended. `fold` gives the call
its own id; `restream` cannot take back what it has told, and names both.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.streams import OVER, chunk, piece, streamed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import CallFragment, StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    first: dict[tuple[str, int], CallFragment] = {}
    named: set[tuple[str, int]] = set()
    for one in facts.pieces:
        if one.key is None:
            continue
        began = first.setdefault(one.key, one)
        if one.known and one.key not in named:
            named.add(one.key)
            if began is not one:
                yield (
                    one.path,
                    f"the id {one.known} comes after the call was opened, in event {began.path[0]}",
                    None,
                )
    if not facts.pieces:
        for told in facts.told:
            if told.alias is not None:
                yield (
                    told.path,
                    f"the call of {told.call.name} gets its id, {told.alias}, after it was opened",
                    None,
                )


RULE = Rule(
    "TW067",
    "stream-id-late",
    title="a streamed call gets its id after it was opened",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        streamed(
            chunk(piece("", index=0, id=None, name="f")), chunk(piece("{}", index=0, id="c1")), OVER
        ),
    ),
    good=(
        streamed(chunk(piece("", index=0, id="c1", name="f")), chunk(piece("{}", index=0)), OVER),
        streamed(
            chunk(piece("", index=0, id="c1", name="f")),
            chunk(piece("{}", index=0, id=None, name=None)),
            OVER,
        ),
    ),
)
