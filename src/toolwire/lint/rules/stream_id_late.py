"""A streamed call gets its id only after its first fragment.

The first fragment of a call should have its id; some servers send an empty or null id there and the
real id with a later fragment. A reader that takes the id from the first fragment has none, or
generates one that the server does not know, and the result with that id matches no call. Readers
that identify the call by its index, and set the id when it arrives, work.

This is a defect of the server and not of the history, so it is reported and not fixed. `fold` gives
the call its own id. `restream` cannot change the id that it has already sent, and reports both.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.streams import OVER, call_fragment, chunk, stream_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule
from toolwire.lint.stream_facts import CallFragment, StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    first_fragments: dict[tuple[str, int], CallFragment] = {}
    keys_with_id: set[tuple[str, int]] = set()
    for fragment in facts.fragments:
        key = fragment.key
        if key is None:
            continue
        first = first_fragments.setdefault(key, fragment)
        if fragment.call_id and key not in keys_with_id:
            keys_with_id.add(key)
            if first is not fragment:
                message = (
                    f"the id {fragment.call_id} comes after the first fragment of the call, which"
                    f" is in event {first.path[0]}"
                )
                yield fragment.path, message, None
    if facts.fragments:
        return
    for streamed_call in facts.calls_of_stream:
        if streamed_call.alias is not None:
            message = (
                f"the call to {streamed_call.call.name} gets its id, {streamed_call.alias}, after"
                " its first fragment"
            )
            yield streamed_call.path, message, None


RULE = Rule(
    "TW067",
    "stream-id-late",
    title="a streamed call gets its id after its first fragment",
    cost="refuse",
    check=_check,
    severity="info",
    scope="stream",
    bad=(
        stream_example(
            chunk(call_fragment("", index=0, id=None, name="f")),
            chunk(call_fragment("{}", index=0, id="c1")),
            OVER,
        ),
    ),
    good=(
        stream_example(
            chunk(call_fragment("", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0)),
            OVER,
        ),
        stream_example(
            chunk(call_fragment("", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0, id=None, name=None)),
            OVER,
        ),
    ),
)
