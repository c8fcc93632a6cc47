"""A streamed call never gets an id, or its later pieces bear a blank one.

Servers have been seen to send null, an empty text or the word "null" as the id of a call, of the
first one or of all but the first; and to send an empty id and name with every piece. Readers that
open a new call whenever the field is there then see one call for each piece, and results have
nothing to point to.

The fault is the server's, not the history's, so it is told and not mended. `fold` keeps the pieces
together by their index, and reading the folded body gives the call an id that is the same in every
process.
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
    opened: set[tuple[str, int]] = set()
    shown: set[tuple[str, int]] = set()
    for one in facts.pieces:
        if one.key is None:
            continue
        if one.key in opened and one.key not in shown and isinstance(one.id, str) and not one.known:
            shown.add(one.key)
            yield (
                one.path,
                (
                    f"a later piece of call {one.key[1]} bears the id {one.id!r}: readers may take"
                    " it for a new call"
                ),
                None,
            )
        opened.add(one.key)
    if facts.profile.requires_ids:
        for told in facts.told:
            if (
                told.call.origin == "minted"
                and told.alias is None
                and told.call.family != "function-legacy"
            ):
                yield told.path, f"the call of {told.call.name} never gets an id", None


RULE = Rule(
    "TW067",
    "stream-id-null",
    title="a streamed call has no id, or a blank one",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        streamed(chunk(piece("", index=0, id=None, name="f")), chunk(piece("{}", index=0)), OVER),
        streamed(
            chunk(
                piece("{}", index=0, id="c1", name="f"), piece("{}", index=1, id="null", name="f")
            ),
            OVER,
        ),
        streamed(
            chunk(piece("", index=0, id="c1", name="f")),
            chunk(piece("{}", index=0, id="", name="")),
            OVER,
        ),
    ),
    good=(
        streamed(
            chunk(piece("", index=0, id="c1", name="f")), chunk(piece("{}", index=0, id=None)), OVER
        ),
        streamed(chunk(piece("{}", index=0, id=None, name="f")), OVER, target="vllm"),
    ),
)
