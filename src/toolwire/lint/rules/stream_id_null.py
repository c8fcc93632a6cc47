"""A streamed call never gets an id, or its later fragments have an empty one.

Some servers send null, an empty string or the word "null" as the id of a call, of the first call or
of all but the first; others send an empty id and name with every fragment. Readers that start a new
call whenever the field is present then see one call per fragment, and results have no call to refer
to.

This is a defect of the server and not of the history, so it is reported and not fixed. `fold` joins
the fragments by their index, and decoding the folded body gives the call an id that is the same in
every process.
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
    started: set[tuple[str, int]] = set()
    reported: set[tuple[str, int]] = set()
    for fragment in facts.fragments:
        key = fragment.key
        if key is None:
            continue
        has_blank_id = isinstance(fragment.id, str) and not fragment.call_id
        if has_blank_id and key in started and key not in reported:
            reported.add(key)
            message = (
                f"a later fragment of call {key[1]} has the id {fragment.id!r}: readers may start a"
                " new call"
            )
            yield fragment.path, message, None
        started.add(key)
    if not facts.profile.requires_ids:
        return
    for streamed_call in facts.calls_of_stream:
        call = streamed_call.call
        if (
            call.origin == "minted"
            and streamed_call.alias is None
            and call.family != "function-legacy"
        ):
            yield streamed_call.path, f"the call to {call.name} never gets an id", None


RULE = Rule(
    "TW067",
    "stream-id-null",
    title="a streamed call has no id, or an empty one",
    cost="refuse",
    check=_check,
    severity="info",
    scope="stream",
    bad=(
        stream_example(
            chunk(call_fragment("", index=0, id=None, name="f")),
            chunk(call_fragment("{}", index=0)),
            OVER,
        ),
        stream_example(
            chunk(
                call_fragment("{}", index=0, id="c1", name="f"),
                call_fragment("{}", index=1, id="null", name="f"),
            ),
            OVER,
        ),
        stream_example(
            chunk(call_fragment("", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0, id="", name="")),
            OVER,
        ),
    ),
    good=(
        stream_example(
            chunk(call_fragment("", index=0, id="c1", name="f")),
            chunk(call_fragment("{}", index=0, id=None)),
            OVER,
        ),
        stream_example(chunk(call_fragment("{}", index=0, id=None, name="f")), OVER, target="vllm"),
    ),
)
