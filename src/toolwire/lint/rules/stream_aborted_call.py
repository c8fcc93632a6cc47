"""A stream ended in the middle of a call.

The connection broke, the response was cancelled, or the model ran out of tokens while it wrote the
arguments. The call is incomplete: its arguments are truncated, so running it would do something
that the model did not ask for. If it is stored as a call without a result, every later request of
the conversation fails.

There is no fix, because a recorded stream cannot be continued. Leave such a call and its result out
of the history, or repeat the request. `fold` returns the incomplete message with an `error` that
says that the stream broke off.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.lint.examples.streams import OVER, call_fragment, chunk, stream_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Problem, Rule
from toolwire.lint.stream_facts import StreamFacts


def _check(facts: Facts) -> Iterable[Problem]:
    if not isinstance(facts, StreamFacts):
        return
    for streamed_call in facts.calls_of_stream:
        call = streamed_call.call
        if streamed_call.cut:
            cause = "the stream ended"
        elif (
            streamed_call.stop == "length"
            and call.family != "custom"
            and LazyJson(streamed_call.text).broken
        ):
            cause = "the model ran out of tokens"
        else:
            continue
        message = f"{cause} inside the call {call.id} ({call.name}): the call is incomplete"
        yield streamed_call.path, message, None


_BLOCK: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_DELTA: JSON = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "input_json_delta", "partial_json": '{"a": '},
}
_START: JSON = {
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
    scope="stream",
    bad=(
        stream_example(chunk(call_fragment('{"a": ', index=0, id="c1", name="f"))),
        stream_example(
            chunk(call_fragment('{"a": ', index=0, id="c1", name="f")), chunk(stop="length")
        ),
        Example(
            "anthropic",
            "anthropic",
            [_START, {"type": "content_block_start", "index": 0, "content_block": _BLOCK}, _DELTA],
            "stream",
        ),
    ),
    good=(
        stream_example(chunk(call_fragment('{"a": 1}', index=0, id="c1", name="f")), OVER),
        stream_example(
            chunk(call_fragment('{"a": 1}', index=0, id="c1", name="f")), chunk(stop="length")
        ),
    ),
)
