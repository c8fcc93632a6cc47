"""A stream ended in the middle of a call.

The connection broke, somebody stopped the answer, or the model ran out of tokens while it wrote the
arguments. What came is not a call: its arguments are the beginning of some, and to run it would be
to run something else. Kept as a call without a result, it makes every later request of the
conversation fail.

A stream is over when it is looked at, so nothing is mended here. In a history, leave such a call
out together with whatever answered it, or ask again. `fold` gives what came, with an `error` that
says the stream broke off.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.lint.examples.streams import OVER, chunk, piece, streamed
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    for one in facts.told:
        if one.cut:
            yield (
                one.path,
                (
                    f"the stream ended inside the call {one.call.id} of {one.call.name}: it is no"
                    " whole call"
                ),
                None,
            )
        elif one.stop == "length" and one.call.family != "custom" and LazyJson(one.text).broken:
            yield (
                one.path,
                (
                    f"the model ran out of tokens inside the call {one.call.id} of {one.call.name}:"
                    " it is no whole call"
                ),
                None,
            )


_BLOCK: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_GROWS: JSON = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "input_json_delta", "partial_json": '{"a": '},
}
_BEGINS: JSON = {
    "type": "message_start",
    "message": {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
RULE = Rule(
    "TW069",
    "stream-aborted-call",
    title="a stream ended in the middle of a call",
    cost="refuse",
    check=_check,
    bad=(
        streamed(chunk(piece('{"a": ', index=0, id="c1", name="f"))),
        streamed(chunk(piece('{"a": ', index=0, id="c1", name="f")), chunk(stop="length")),
        Example(
            "anthropic",
            "anthropic",
            [_BEGINS, {"type": "content_block_start", "index": 0, "content_block": _BLOCK}, _GROWS],
            "stream",
        ),
    ),
    good=(
        streamed(chunk(piece('{"a": 1}', index=0, id="c1", name="f")), OVER),
        streamed(chunk(piece('{"a": 1}', index=0, id="c1", name="f")), chunk(stop="length")),
    ),
)
