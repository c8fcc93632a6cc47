"""A piece of a streamed call does not say which call it belongs to.

Where a call comes in pieces, each bears the index of its call. Bridges to wires that send calls
whole leave it out, and put each parallel call into an event of its own: a reader that takes a
missing index for 0 pours them all into one call, under the first id and with arguments that do not
parse.

The fault is the server's, not the history's, so it is told and not mended. `fold` tells such calls
apart by their ids.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.lint.examples.streams import OVER, chunk, piece, streamed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts) or not facts.indexed:
        return
    without = [one for one in facts.pieces if one.key is None]
    for n, one in enumerate(without):
        if n == 0 or one.known or one.name:
            yield (
                one.path,
                (
                    f"a piece of {one.known or one.name or 'a call'} has no index: nothing says"
                    " which call it is of"
                ),
                None,
            )


_WHOLE: JSON = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
RULE = Rule(
    "TW068",
    "stream-index-missing",
    title="a piece of a streamed call has no index",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        streamed(
            chunk(piece("{}", id="c1", name="f")), chunk(piece("{}", id="c2", name="f")), OVER
        ),
        streamed(chunk(piece("{}", id="c1", name="f", index=None)), OVER),
    ),
    good=(
        streamed(
            chunk(piece("{}", id="c1", name="f", index=0)),
            chunk(piece("{}", id="c2", name="f", index=1)),
            OVER,
        ),
        Example("mistral", "mistral", [chunk(_WHOLE), OVER], "stream"),
    ),
)
