"""A fragment of a streamed call has no index.

Where calls are streamed in fragments, each fragment has the index of its call. Bridges to wires
that send whole calls leave it out, and send each parallel call in a separate event. A reader that
treats a missing index as 0 merges them all into one call, with the first id and arguments that do
not parse.

This is a defect of the server and not of the history, so it is reported and not fixed. `fold`
separates such calls by their ids.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.lint.examples.streams import OVER, call_fragment, chunk, stream_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts) or not facts.indexed:
        return
    fragments = [fragment for fragment in facts.fragments if fragment.key is None]
    for n, fragment in enumerate(fragments):
        if n == 0 or fragment.call_id or fragment.name:
            message = (
                f"a fragment of {fragment.call_id or fragment.name or 'a call'} has no index: its"
                " call cannot be determined"
            )
            yield fragment.path, message, None


_WHOLE: JSON = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
RULE = Rule(
    "TW068",
    "stream-index-missing",
    title="a fragment of a streamed call has no index",
    cost="refuse",
    check=_check,
    severity="info",
    scope="stream",
    bad=(
        stream_example(
            chunk(call_fragment("{}", id="c1", name="f")),
            chunk(call_fragment("{}", id="c2", name="f")),
            OVER,
        ),
        stream_example(chunk(call_fragment("{}", id="c1", name="f", index=None)), OVER),
    ),
    good=(
        stream_example(
            chunk(call_fragment("{}", id="c1", name="f", index=0)),
            chunk(call_fragment("{}", id="c2", name="f", index=1)),
            OVER,
        ),
        Example("mistral", "mistral", [chunk(_WHOLE), OVER], "stream"),
    ),
)
