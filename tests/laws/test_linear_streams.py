"""Streams take linear time, also those with hundreds of calls or parts."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from cases import streaming
from growth import GROWTH_LIMIT, growth

from toolwire import fold, restream
from toolwire.conversation.json import JSON
from toolwire.streaming.events import Chunk

SIZE = 100


def chat_calls(size: int) -> list[Chunk]:
    """A chat stream with a number of calls, each in three pieces."""
    deltas: list[JSON] = [{"role": "assistant", "content": "I look it up."}]
    for n in range(size):
        function: JSON = {"name": f"f{n % 7}", "arguments": ""}
        pieces: list[JSON] = [
            {"index": n, "id": f"c{n}", "type": "function", "function": function},
            {"index": n, "function": {"arguments": '{"a":'}},
            {"index": n, "function": {"arguments": "1}"}},
        ]
        deltas += [{"tool_calls": [piece]} for piece in pieces]
    chunks: list[Chunk] = [{"id": "a", "choices": [{"index": 0, "delta": d}]} for d in deltas]
    end: JSON = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    return [*chunks, {"id": "a", "choices": [end]}]


def text_blocks(size: int) -> list[Chunk]:
    """An Anthropic stream with a number of texts and thinking blocks, which alternate."""
    message: JSON = {"id": "a", "type": "message", "role": "assistant", "content": []}
    events: list[Chunk] = [{"type": "message_start", "message": message}]
    for n in range(size):
        field = "thinking" if n % 2 else "text"
        delta: JSON = {"type": f"{field}_delta", field: "Hm."}
        block: JSON = {"type": field, field: ""}
        events += [
            {"type": "content_block_start", "index": n, "content_block": block},
            {"type": "content_block_delta", "index": n, "delta": delta},
            {"type": "content_block_stop", "index": n},
        ]
    end: Chunk = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return [*events, end, {"type": "message_stop"}]


def item_with_gaps(size: int) -> list[Chunk]:
    """A Responses stream whose message has parts with indexes past the end of its content."""
    item: JSON = {"type": "message", "id": "m", "role": "assistant", "content": []}
    events: list[Chunk] = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    for n in range(10 * size):
        delta: Chunk = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hm."}
        events.append({**delta, "content_index": 2 * n})
    entries: JSON = [{"type": "output_text"}] * (10 * size)
    done: JSON = {"type": "message", "id": "m", "role": "assistant", "content": entries}
    return [
        *events,
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {}},
    ]


STREAMS: dict[str, tuple[Callable[[int], list[Chunk]], str]] = {
    "calls": (chat_calls, "openai-chat"),
    "texts": (text_blocks, "anthropic"),
}


def calls_and_results(size: int) -> list[Chunk]:
    """An ADK stream with a number of calls without ids, each with its result."""
    parts: list[JSON] = []
    for n in range(size):
        name = f"f{n % 7}"
        parts.append({"functionCall": {"name": name, "args": {"n": n}}})
        parts.append({"functionResponse": {"name": name, "response": {"result": n}}})
    roles = ("model", "user")
    return [
        {"author": "a", "content": {"role": roles[n % 2], "parts": [part]}}
        for n, part in enumerate(parts)
    ]


def growth_of(work: Callable[[list[Chunk]], object], streams: list[list[Chunk]]) -> float:
    work(streams[0])  # what is imported or cached on first use does not count
    return growth(lambda: work(streams[0]), lambda: work(streams[1]))


@pytest.mark.parametrize("wire", streaming())
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_folded_and_translated_in_linear_time(name: str, wire: str) -> None:
    create, source = STREAMS[name]
    streams = [
        list(restream(create(size), source, wire, framed=False)) for size in (SIZE, 4 * SIZE)
    ]
    target = "anthropic" if wire != "anthropic" else "openai-chat"
    assert growth_of(lambda events: fold(events, wire), streams) < GROWTH_LIMIT
    assert growth_of(lambda events: list(restream(events, wire, target)), streams) < GROWTH_LIMIT


def test_an_item_with_gaps_is_assembled_in_linear_time() -> None:
    streams = [item_with_gaps(size) for size in (SIZE, 4 * SIZE)]
    assert growth_of(lambda events: fold(events, "openai-responses"), streams) < GROWTH_LIMIT


def blank_arguments(size: int) -> list[Chunk]:
    """A chat stream whose call starts with many blanks, which do not show what arguments it has."""
    chunks = chat_calls(1)
    blanks: JSON = {"index": 0, "function": {"arguments": 500 * " "}}
    choice: JSON = {"index": 0, "delta": {"tool_calls": [blanks]}}
    chunk: Chunk = {"id": "a", "choices": [choice]}
    return [*chunks[:2], *[chunk] * (20 * size), *chunks[2:]]


def test_arguments_after_many_blanks_are_translated_in_linear_time() -> None:
    streams = [blank_arguments(size) for size in (SIZE, 4 * SIZE)]
    translated = list(restream(streams[0], "openai-chat", "anthropic", framed=False))
    assert json.dumps(fold(translated, "anthropic")).count('{"a": 1}') == 1
    work = growth_of(lambda events: list(restream(events, "openai-chat", "anthropic")), streams)
    assert work < GROWTH_LIMIT


def test_results_find_their_calls_in_linear_time() -> None:
    streams = [calls_and_results(40 * size) for size in (SIZE, 4 * SIZE)]
    work = growth_of(lambda events: list(restream(events, "adk", "ai-sdk")), streams)
    assert work < GROWTH_LIMIT
