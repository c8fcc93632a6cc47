"""To wires whose API sends one part after the other, parallel calls are never open at the same time.

Clients of these APIs append a delta to the newest part, whatever its index says.
"""

from __future__ import annotations

import pytest

from toolwire import decode
from toolwire.conversation.json import JSON, Object, dump
from toolwire.streaming.events import Chunk, Event
from toolwire.streaming.restream import fold, restream
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.families.chat.stream_reader import ChatReader

SOURCE = "openai-chat"
OPENED, GREW, CLOSED = "opened", "grew", "closed"
ITEM_EVENTS = {
    "response.output_item.added": OPENED,
    "response.function_call_arguments.delta": GREW,
    "response.output_item.done": CLOSED,
}
EVENTS = {
    "anthropic": {
        "content_block_start": OPENED,
        "content_block_delta": GREW,
        "content_block_stop": CLOSED,
    },
    "bedrock": {"contentBlockStart": OPENED, "contentBlockDelta": GREW, "contentBlockStop": CLOSED},
    "cohere": {"tool-call-start": OPENED, "tool-call-delta": GREW, "tool-call-end": CLOSED},
    "openai-responses": ITEM_EVENTS,
    "azure-foundry": ITEM_EVENTS,
}
"""The events of a call on each wire that sends one part after the other."""


def chunk(delta: Object, reason: str | None = None) -> Chunk:
    choice: JSON = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [choice]}


def piece(index: int, arguments: str, **more: JSON) -> Chunk:
    function: Object = {"arguments": arguments}
    if "id" in more:
        function["name"] = "weather"
    return chunk({"tool_calls": [{"index": index, "function": function, **more}]})


FIRST, SECOND = piece(0, "", id="call_a"), piece(1, "", id="call_b")
INTERLEAVED = [
    *(chunk({"role": "assistant", "content": ""}), FIRST, SECOND),
    *(piece(0, '{"city":'), piece(1, '{"city":"Os'), piece(0, '"Lima"}'), piece(1, 'lo"}')),
    chunk({}, "tool_calls"),
]
"""Two calls of one tool whose arguments arrive in turns."""
IN_ORDER = [
    *(chunk({"role": "assistant", "content": ""}), FIRST, piece(0, '{"city":"Lima"}')),
    *(SECOND, piece(1, '{"city":"Oslo"}'), chunk({}, "tool_calls")),
]
"""The same two calls, one after the other: no event says that the first one has ended."""


def outline(target: str, events: list[Chunk]) -> list[str]:
    """What happens to calls, event by event."""
    kinds = EVENTS[target]
    names = [str(event.get("type") or next(iter(event))) for event in events]
    return [kinds[name] for name in names if name in kinds]


def calls(target: str, events: list[Chunk]) -> list[tuple[str, JSON]]:
    found = decode(fold(events, target), target, "response").calls()
    return [(call.id, call.input) for call in found]


@pytest.mark.parametrize("target", EVENTS)
@pytest.mark.parametrize("source", [INTERLEAVED, IN_ORDER], ids=["interleaved", "in-order"])
def test_a_call_is_closed_before_the_next_one_opens(source: list[Chunk], target: str) -> None:
    events = list(restream(source, SOURCE, target, framed=False))
    whole = outline(target, events)
    deltas = [step for step in whole if step == GREW]
    assert [step for step in whole if step != GREW] == [OPENED, CLOSED] * 2
    assert whole[1] == whole[-2] == GREW and len(deltas) >= 2
    assert calls(target, events) == [("call_a", {"city": "Lima"}), ("call_b", {"city": "Oslo"})]


@pytest.mark.parametrize("target", EVENTS)
def test_calls_that_arrive_in_order_are_sent_without_delay(target: str) -> None:
    translator: StreamTranslator[Chunk] = StreamTranslator(
        SOURCE, target, encode_chunk=lambda event: event
    )
    sent = [outline(target, translator.feed(event)) for event in IN_ORDER]
    assert sent[1:5] == [[OPENED], [GREW], [CLOSED, OPENED], [GREW]]


@pytest.mark.parametrize("target", EVENTS)
def test_only_the_call_that_interleaves_waits(target: str) -> None:
    translator: StreamTranslator[Chunk] = StreamTranslator(
        SOURCE, target, encode_chunk=lambda event: event
    )
    sent = [outline(target, translator.feed(event)) for event in INTERLEAVED]
    assert sent[1:7] == [[OPENED], [], [GREW], [], [GREW], []]


@pytest.mark.parametrize("target", EVENTS)
def test_a_call_that_waits_is_kept_if_the_source_fails(target: str) -> None:
    broken: list[Chunk] = [*INTERLEAVED[:5], {"error": {"message": "try later"}}]
    events = list(restream(broken, SOURCE, target, framed=False))
    assert [call_id for call_id, _ in calls(target, events)] == ["call_a", "call_b"]


@pytest.mark.parametrize("target", ["openai-responses", "azure-foundry"])
def test_a_call_that_is_cut_off_is_done_only_if_no_error_follows(target: str) -> None:
    broken: list[Chunk] = [*INTERLEAVED[:5], {"error": {"message": "try later"}}]
    events = list(restream(broken, SOURCE, target, framed=False))
    assert outline(target, events) == [OPENED, GREW, OPENED]
    limited = [*INTERLEAVED[:5], chunk({}, "length")]
    events = list(restream(limited, SOURCE, target, framed=False))
    assert outline(target, events) == [OPENED, GREW, CLOSED] * 2


WORDS = [f" w{n}" for n in range(40)]
LONG = [
    *INTERLEAVED[:3],
    *(piece(index, '{"city":"') for index in (0, 1)),
    *(piece(index, word) for word in WORDS for index in (0, 1)),
    *(piece(index, '"}') for index in (0, 1)),
    INTERLEAVED[-1],
]
"""Two calls whose arguments arrive in turns, word by word."""


@pytest.mark.parametrize("target", [*EVENTS, "gemini"])
def test_deltas_that_wait_are_not_read_in_full(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events_read: list[Chunk] = []
    read = ChatReader.read

    def record(reader: ChatReader, event: Chunk) -> list[Event]:
        events_read.append(event)
        return read(reader, event)

    monkeypatch.setattr(ChatReader, "read", record)
    source = [b"data: " + dump(event) + b"\n\n" for event in LONG]
    stream = b"".join(bytes(item) for item in restream(source, SOURCE, target))
    assert len(events_read) < 0.6 * len(LONG)
    found = decode(fold(stream, target), target, "response").calls()
    assert [call.input for call in found] == [{"city": "".join(WORDS)}] * 2
