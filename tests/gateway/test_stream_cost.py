"""The cost of a stream: how much is read before its first byte is sent, and when it is freed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED

from toolwire.conversation.json import JSON, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.outcome import StreamTail, find_fault
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.stream import StreamSpec

START: JSON = {"type": "message_start", "message": {"id": "msg_1", "role": "assistant"}}
BLOCK: JSON = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "text", "text": ""},
}
ERROR: JSON = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


def events(*bodies: JSON) -> bytes:
    return b"".join(b"data: " + dump(body) + b"\n\n" for body in bodies)


def test_an_error_before_the_first_content_is_found() -> None:
    fault = find_fault(events(START, ERROR), "anthropic", complete=False)
    assert fault is not None and fault.message == "busy"


def test_nothing_is_read_after_the_first_content() -> None:
    data = events(START, BLOCK) + b"data: this is not JSON\n\n"
    assert find_fault(data, "anthropic", complete=False) is None


def test_a_stream_without_content_is_checked_at_its_end() -> None:
    assert find_fault(events(START), "anthropic", complete=False) is None
    assert find_fault(events(START), "anthropic", complete=True) is not None


def test_one_read_of_the_end_gives_usage_finish_reason_and_a_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[str] = []
    read_events = StreamTail._read_events

    def count(tail: StreamTail, spec: StreamSpec) -> Iterator[Chunk]:
        reads.append(spec.media)
        return read_events(tail, spec)

    monkeypatch.setattr(StreamTail, "_read_events", count)
    whole, cut = StreamTail("anthropic"), StreamTail("anthropic")
    for piece in ANTHROPIC_STREAM:
        whole.add(piece)
    cut.add(events(START, BLOCK))
    end = whole.read_end()
    assert end.usage is not None and end.finish_reason == "stop" and not end.cut
    assert cut.read_end().cut
    assert len(reads) == 2, "each of the two tails is read once"


def test_a_translated_stream_is_freed_without_the_garbage_collector() -> None:
    translator = Translator(BY_WIRE["openai-chat"], "anthropic", model="m")
    request = translator.request(dump(ASKED["openai-chat"][1]))
    gc.disable()
    try:
        stream = ResponseStream(translator, request)
        stream.feed(b"".join(ANTHROPIC_STREAM))
        stream.end()
        reference = weakref.ref(stream)
        del stream
        assert reference() is None
    finally:
        gc.enable()
