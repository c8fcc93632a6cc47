"""One event of a stream contains fragments of several calls.

This is valid, because the fragments are a list. Most servers send one at a time, and some readers
use only the first element of the list. The calls that they miss are never run, and the next request
is refused because of a missing result.

The finding is information only: it explains why a reader loses calls. There is no fix. `fold` and
`restream` read the whole list.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.lint.examples.streams import OVER, call_fragment, chunk, stream_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import CallFragment, StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts) or not facts.indexed:
        return
    fragments_by_list: dict[JsonPath, list[CallFragment]] = {}
    for fragment in facts.fragments:
        fragments_by_list.setdefault(fragment.path[:-1], []).append(fragment)
    for path, fragments in fragments_by_list.items():
        calls = {(fragment.key, fragment.call_id) for fragment in fragments}
        if len(calls) > 1:
            message = (
                f"one event contains fragments of {len(calls)} calls: a reader that uses only the"
                " first loses the rest"
            )
            yield path, message, None


RULE = Rule(
    "TW070",
    "stream-multi-call-chunk",
    title="one event contains fragments of several calls",
    cost="refuse",
    check=_check,
    severity="info",
    scope="stream",
    bad=(
        stream_example(
            chunk(
                call_fragment("{}", index=0, id="c1", name="f"),
                call_fragment("{}", index=1, id="c2", name="f"),
            ),
            OVER,
        ),
    ),
    good=(
        stream_example(
            chunk(call_fragment("{}", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=1, id="c2", name="f")),
            OVER,
        ),
    ),
)
