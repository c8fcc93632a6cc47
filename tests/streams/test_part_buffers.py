"""How open parts of a stream are collected, ordered and cached, one event at a time."""

from __future__ import annotations

from toolwire import Call, IdMap, Text, fold, restream
from toolwire.conversation.id_map import RAW_ARGUMENTS
from toolwire.conversation.json import JSON, dump, get
from toolwire.conversation.parts import Part, describe
from toolwire.streaming.accumulate import complete_part
from toolwire.streaming.delta_cache import DeltaCache
from toolwire.streaming.event_translator import EventTranslator
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
)
from toolwire.streaming.framing import aws
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart, SequentialWriter
from toolwire.wires.families.chat.call_buffer import CallBuffer


def arguments(part: Part) -> str:
    assert isinstance(part, Call)
    return part.arguments


# --- complete parts -------------------------------------------------------------------------------


def test_a_part_that_is_repeated_whole_at_its_end_replaces_its_pieces() -> None:
    end = PartEnd(0, whole='{"a":1}')
    assert arguments(complete_part(Call("c", "f"), ['{"a"'], end)) == '{"a":1}'


def test_a_call_that_was_cut_off_before_its_first_argument_is_no_call_without_arguments() -> None:
    part = complete_part(Call("c", "f"), [], PartEnd(0, cut=True))
    assert isinstance(part, Call) and part.args.broken
    whole = complete_part(Call("c", "f"), [], PartEnd(0))
    assert isinstance(whole, Call) and not whole.args.broken


def test_parallel_calls_are_released_in_the_order_in_which_they_started() -> None:
    buffer = CallBuffer()
    for slot in (0, 1):
        buffer.start(PartStart(slot, Call(f"c{slot}", "f")))
        buffer.delta(PartDelta(slot, f'{{"n":{slot}}}'))
    assert buffer.end(PartEnd(1)) == []
    assert list(map(arguments, buffer.end(PartEnd(0)))) == ['{"n":0}', '{"n":1}']


# --- one part after another -----------------------------------------------------------------------


class Recorder(SequentialWriter):
    """Writes what happens to parts as `[event, text]`."""

    def __init__(self) -> None:
        super().__init__(EncodeContext("test", "response", ids=None, names={}, reverse_map=IdMap()))

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        return [{"open": text}]

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        return [{"grow": text}]

    def close_part(self, queued: QueuedPart, event: PartEnd) -> list[Chunk]:
        return [{"close": event.whole}]

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        return [{"whole": describe(part)}]


def test_a_later_part_waits_until_the_first_part_ends() -> None:
    writer = Recorder()
    assert writer.start(PartStart(0, Text(""))) == writer.start(PartStart(1, Text(""))) == []
    assert writer.delta(PartDelta(1, "two")) == []
    assert writer.complete(PartComplete(Text("three"))) == []
    assert writer.delta(PartDelta(0, "one")) == [{"open": "one"}]
    assert writer.delta(PartDelta(1, "too")) == []
    assert writer.end(PartEnd(1)) == []
    written = writer.end(PartEnd(0))
    assert [name for chunk in written for name in chunk if name != "grow"] == [
        "close",
        "open",
        "close",
        "whole",
    ]
    text = "".join(str(value) for chunk in written for value in chunk.values() if value is not None)
    assert text == "twotoothree"


def test_candidates_do_not_wait_for_each_other() -> None:
    writer = Recorder()
    writer.start(PartStart(0, Text("")))
    writer.start(PartStart(1, Text(""), 1))
    assert writer.delta(PartDelta(1, "two")) == [{"open": "two"}]


def test_a_call_that_is_repeated_whole_while_it_waits_is_written_as_that() -> None:
    writer = Recorder()
    assert writer.start(PartStart(0, Call("a", "f"))) == [{"open": ""}]
    writer.start(PartStart(1, Call("b", "f")))
    writer.delta(PartDelta(1, '{"a"'))
    writer.end(PartEnd(1, whole='{"a":1}'))
    assert writer.end(PartEnd(0))[1:] == [{"open": '{"a":1}'}, {"close": None}]


def test_an_empty_text_is_no_part() -> None:
    writer = Recorder()
    writer.start(PartStart(0, Text("")))
    assert writer.end(PartEnd(0)) == []


def test_parts_that_the_source_left_open_are_ended() -> None:
    writer = Recorder()
    writer.start(PartStart(0, Text("")))
    writer.delta(PartDelta(0, "one"))
    assert writer.close_unfinished() == [{"close": None}]
    assert writer.parts_in_queue() == []


# --- the cache of deltas --------------------------------------------------------------------------


def translate_cached(piece: bytes, later: bytes) -> bytes | None:
    """What a later event becomes if the text of an earlier one, `x`, became the text of `out`."""
    cache = DeltaCache()
    cache.add(piece, "x", b'{"out":"x"}', on_read=lambda text: True, on_write=bool)
    return cache.translate(later)


def test_an_event_that_differs_only_in_its_text_is_taken_from_the_cache() -> None:
    assert translate_cached(b'{"text":"x"}', b'{"text":"y"}') == b'{"out":"y"}'


def test_an_event_that_holds_its_text_twice_is_not_cached() -> None:
    assert translate_cached(b'{"text":"x","id":"x"}', b'{"text":"y","id":"x"}') is None


def test_an_event_that_holds_its_text_as_a_key_is_not_cached() -> None:
    assert translate_cached(b'{"text":{"n":1,"x":2}}', b'{"text":{"n":1,"y":2}}') is None


# --- the end of an answer -------------------------------------------------------------------------


def finish_reason(*events: Event, target: str = "ai-sdk") -> JSON:
    """The finish reason of the chunks that some events become."""
    stream: EventTranslator[Chunk] = EventTranslator(target, dict)
    chunks = [*stream.emit(list(events)), *stream.close()]
    (reason,) = [chunk["finishReason"] for chunk in chunks if "finishReason" in chunk]
    return reason


def test_a_call_that_has_its_result_does_not_wait_for_the_client() -> None:
    call = Call("c", "f", {})
    assert finish_reason(PartComplete(call), Finish("stop")) == "tool-calls"
    answered = PartComplete(call), PartComplete(call.result("r")), Finish("stop")
    assert finish_reason(*answered) == "stop"


def test_an_answer_with_a_call_ends_for_its_tools_whatever_the_source_says() -> None:
    stream: EventTranslator[Chunk] = EventTranslator("openai-chat", dict)
    stream.emit([PartComplete(Call("c", "f", {})), Finish("stop")])
    reasons = [get(chunk, ("choices", 0, "finish_reason")) for chunk in stream.close()]
    assert "tool_calls" in reasons and "stop" not in reasons


def test_the_last_reason_of_an_answer_counts() -> None:
    assert finish_reason(Finish("stop"), Finish("length")) == "length"


def test_the_reason_of_another_candidate_does_not_count_where_there_is_one() -> None:
    assert finish_reason(Finish("stop"), Finish("length", 1)) == "stop"


def test_arguments_that_are_not_an_object_are_restored_after_a_stream() -> None:
    stream: EventTranslator[Chunk] = EventTranslator("anthropic", dict)
    stream.emit([PartStart(0, Call("c", "f")), PartDelta(0, "[1]"), PartEnd(0), Finish("tool")])
    stream.close()
    assert stream.ids.calls == {"c": RAW_ARGUMENTS}


def test_arguments_that_are_wrapped_in_a_string_are_escaped_in_every_piece() -> None:
    """A delta like an earlier one is copied without parsing it, but not where its text changes."""
    pieces = ('["', "first", "second", r"a \n line", r"a \" quote", '"]')
    deltas: list[JSON] = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]
    deltas += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    source: list[bytes] = []
    for delta in deltas:
        event: JSON = {"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]}
        source.append(b"data: " + dump(event) + b"\n\n")
    body = fold(b"".join(restream(source, "openai-chat", "anthropic")), "anthropic")
    assert get(body, ("content", 0, "input")) == {"_raw": "".join(pieces)}


def test_a_reader_that_cannot_repeat_an_event_leaves_the_cache_empty() -> None:
    """Checksums differ in every event of a binary stream: a template would match no other event."""
    deltas: list[JSON] = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}
        for text in ("one", "two", "three")
    ]
    events: list[JSON] = [{"messageStart": {"role": "assistant"}}, *deltas]
    translator: StreamTranslator[bytes] = StreamTranslator("bedrock", "openai-chat")
    for event in events:
        assert isinstance(event, dict)
        ((name, data),) = event.items()
        translator.feed(aws.write(dump(data), name))
    assert translator._delta_cache.empty
