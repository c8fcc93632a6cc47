"""A stream that is rewritten on its own wire: with an id map, its events are not passed through."""

from __future__ import annotations

from cases import StreamCase, load_streams, same, streaming
from rows import rows

from toolwire import Opaque, Reasoning, decode
from toolwire.conversation.json import JSON
from toolwire.streaming.restream import fold, restream
from toolwire.streaming.target_stream import UNKNOWN_PART

STREAMS = [case for wire in streaming() for case in load_streams(wire)]


def unknown_parts(body: JSON, wire: str) -> list[JSON]:
    """The values of the parts of unknown type in an answer."""
    parts = decode(body, wire, "response").parts()
    return [part.value for part in parts if isinstance(part, Opaque)]


def signatures(body: JSON, wire: str) -> list[str | None]:
    """The signatures of the reasoning with text in an answer."""
    parts = decode(body, wire, "response").parts()
    return [part.signature for part in parts if isinstance(part, Reasoning) and part.text]


@rows("case", STREAMS, ids=str)
def test_unknown_parts_are_repeated_or_reported(case: StreamCase) -> None:
    before = unknown_parts(case.body, case.wire)
    stream = restream(case.events, case.wire, case.wire, ids={})
    after = unknown_parts(fold(b"".join(stream), case.wire), case.wire)
    reported = [loss for loss in stream.losses if loss.reason == UNKNOWN_PART]
    assert same(after, before) or len(reported) == len(before) - len(after)


@rows("wire", ["anthropic", "bedrock"])
def test_reasoning_keeps_its_signature(wire: str) -> None:
    for case in load_streams(wire):
        written = fold(b"".join(restream(case.events, wire, wire, ids={})), wire)
        assert signatures(written, wire) == signatures(case.body, wire)
