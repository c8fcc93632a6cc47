"""Two streamed calls have the same index.

The index separates the fragments of parallel calls. Bridges that count per tool name, or not at
all, give the same index to several calls; the official clients then concatenate the names, the ids
and the arguments of both into a call that the model never made.

This is a defect of the server and not of the history, so it is reported and not fixed. `fold`
starts a new call when a fragment with the same index has another id.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.streams import OVER, call_fragment, chunk, stream_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    ids: dict[tuple[str, int], str] = {}
    for fragment in facts.fragments:
        key, call_id = fragment.key, fragment.call_id
        if key is None or not call_id:
            continue
        previous = ids.setdefault(key, call_id)
        if previous != call_id:
            ids[key] = call_id
            message = f"the call {call_id} has the index {key[1]}, as the call {previous} before it"
            yield fragment.path, message, None


RULE = Rule(
    "TW068",
    "stream-index-dup",
    title="two streamed calls have the same index",
    cost="refuse",
    check=_check,
    severity="info",
    scope="stream",
    bad=(
        stream_example(
            chunk(
                call_fragment("{}", index=0, id="c1", name="f"),
                call_fragment("{}", index=0, id="c2", name="f"),
            ),
            OVER,
        ),
        stream_example(
            chunk(call_fragment("{}", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0, id="c2", name="g")),
            OVER,
        ),
    ),
    good=(
        stream_example(
            chunk(call_fragment("", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0, id="c1", name="f")),
            OVER,
        ),
        stream_example(
            chunk(
                call_fragment("{}", index=0, id="c1", name="f"),
                call_fragment("{}", index=1, id="c2", name="f"),
            ),
            OVER,
        ),
    ),
)
