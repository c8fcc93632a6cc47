"""Two streamed calls have one index.

The index is what keeps the pieces of parallel calls apart. Bridges that count per tool name, or not
at all, give the same one to several calls; the official clients then join the names, the ids and
the arguments of both, and out comes a call that nobody made.

The fault is the server's, not the history's, so it is told and not mended. `fold` opens a new call
where a piece with the same index bears another id.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.streams import OVER, chunk, piece, streamed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    ids: dict[tuple[str, int], str] = {}
    for one in facts.pieces:
        if one.key is None or not one.known:
            continue
        before = ids.setdefault(one.key, one.known)
        if before != one.known:
            ids[one.key] = one.known
            yield (
                one.path,
                f"{one.known} has the index {one.key[1]}, which is that of {before}",
                None,
            )


RULE = Rule(
    "TW068",
    "stream-index-dup",
    title="two streamed calls have one index",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        streamed(
            chunk(piece("{}", index=0, id="c1", name="f"), piece("{}", index=0, id="c2", name="f")),
            OVER,
        ),
        streamed(
            chunk(piece("{}", index=0, id="c1", name="f")),
            chunk(piece("{}", index=0, id="c2", name="g")),
            OVER,
        ),
    ),
    good=(
        streamed(
            chunk(piece("", index=0, id="c1", name="f")),
            chunk(piece("{}", index=0, id="c1", name="f")),
            OVER,
        ),
        streamed(
            chunk(piece("{}", index=0, id="c1", name="f"), piece("{}", index=1, id="c2", name="f")),
            OVER,
        ),
    ),
)
