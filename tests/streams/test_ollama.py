"""What is peculiar to Ollama's lines, and what its own client makes of the lines we write."""

from __future__ import annotations

import json
from urllib.request import urlopen

import ollama
import pytest
from cases import StreamCase, load_recorded_streams, load_streams
from streams.loopback import serve

from toolwire import DecodeError, decode, fold, restream
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Reasoning, Text
from toolwire.streaming.events import (
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires import wire

TIME = "2026-08-07T06:08:11Z"


def line(**message: JSON) -> Object:
    return {
        "model": "qwen3",
        "created_at": TIME,
        "message": {"role": "assistant", "content": "", **message},
        "done": False,
    }


def last_line(**more: JSON) -> Object:
    return {**line(), "done": True, "done_reason": "stop", **more}


def call(city: str, **more: JSON) -> Object:
    return {**more, "function": {"name": "get_weather", "arguments": {"city": city}}}


def read_events(*lines: Object) -> list[Event]:
    how = wire("ollama").stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for text in lines:
        out += reader.read(text)
        reader.count += 1
    return out + reader.end()


def anthropic_stream(*, cut: bool = False) -> list[Object]:
    """Text, then two calls of one tool that grow side by side."""
    events: list[Object] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 7, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Let me "},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "look."},
        },
        {"type": "content_block_stop", "index": 0},
    ]
    for i, call_id in ((1, "toolu_a"), (2, "toolu_b")):
        block: Object = {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {}}
        events.append({"type": "content_block_start", "index": i, "content_block": block})
    for text in ('{"city":', '"Oslo"}', '"Rome"}'):
        for i in (1, 2):
            if (text, i) not in (('"Oslo"}', 2), ('"Rome"}', 1)):
                delta: Object = {"type": "input_json_delta", "partial_json": text}
                events.append({"type": "content_block_delta", "index": i, "delta": delta})
    if cut:
        return events[:-1]
    usage: Object = {"input_tokens": 7, "output_tokens": 20}
    return [
        *events,
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]


def test_the_official_client_reads_the_text_the_calls_and_the_counts_that_we_write() -> None:
    stream = restream(anthropic_stream(), "anthropic", "ollama")
    with serve(stream, stream.headers["content-type"]) as server:
        parts = list(
            ollama.Client(host=server.url).chat(
                "m", [{"role": "user", "content": "Oslo and Rome?"}], stream=True
            )
        )
    assert "".join(part.message.content or "" for part in parts) == "Let me look."
    assert [part.message.content for part in parts[:2]] == ["Let me ", "look."]
    calls = [call.function for part in parts for call in part.message.tool_calls or ()]
    assert [(call.name, dict(call.arguments)) for call in calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    final = parts[-1]
    assert (final.done, final.done_reason, final.prompt_eval_count, final.eval_count) == (
        True,
        "stop",
        7,
        20,
    )
    assert [part.done for part in parts[:-1]] == [False] * 3
    assert {(part.model, part.created_at) for part in parts} == {("claude", "1970-01-01T00:00:00Z")}


def test_ids_are_written_although_the_official_client_drops_them() -> None:
    with (
        serve(
            restream(anthropic_stream(), "anthropic", "ollama"), "application/x-ndjson"
        ) as server,
        urlopen(server.url) as answer,
    ):
        lines = [json.loads(text) for text in answer.read().splitlines()]
    assert [
        call_id["id"] for part in lines for call_id in part["message"].get("tool_calls", ())
    ] == ["toolu_a", "toolu_b"]


def test_a_minted_id_is_not_sent() -> None:
    chunk: Object = {"functionCall": {"name": "now", "args": {}}}
    answer: Object = {
        "candidates": [{"content": {"role": "model", "parts": [chunk]}, "finishReason": "STOP"}]
    }
    assert b"tw-" not in b"".join(restream([answer], "gemini", "ollama"))


def test_the_official_client_raises_the_error_of_a_truncated_stream() -> None:
    with serve(
        restream(anthropic_stream(cut=True), "anthropic", "ollama"), "application/x-ndjson"
    ) as server:
        got: list[ollama.ChatResponse] = []
        with pytest.raises(ollama.ResponseError, match="ended before the response was complete"):
            got.extend(ollama.Client(host=server.url).chat("m", [], stream=True))
    arguments = [
        dict(call_id.function.arguments)
        for part in got
        for call_id in part.message.tool_calls or ()
    ]
    assert arguments == [{"city": "Oslo"}, {"_raw": '{"city":'}]


def test_a_call_is_emitted_with_its_line_and_text_with_each_delta() -> None:
    events = read_events(
        line(content="Look"),
        line(content="ing."),
        line(tool_calls=[call("Oslo", id="c1")]),
        last_line(eval_count=3),
    )
    kinds = [type(event) for event in events]
    assert kinds == [
        MessageStart,
        PartStart,
        PartDelta,
        PartDelta,
        PartEnd,
        PartComplete,
        Metadata,
        Finish,
    ]
    assert events[-2] == Metadata({"usage": Usage(None, 3)})


def test_the_done_reason_stop_becomes_the_stop_reason_tool_if_there_are_calls() -> None:
    lines = [line(tool_calls=[call("Oslo")]), last_line()]
    assert read_events(*lines)[-1] == Finish("stop")
    *_, delta, _ = restream(lines, "ollama", "anthropic", framed=False)
    assert get(delta, ("delta", "stop_reason")) == "tool_use"


def test_calls_without_ids_in_several_lines_get_the_ids_that_the_whole_body_gives_them() -> None:
    lines: list[Object] = [
        line(tool_calls=[call("Oslo")]),
        {**line(tool_calls=[call("Oslo")]), "created_at": "2030-01-01T00:00:00Z"},
        last_line(),
    ]
    live = [
        event.part.id
        for event in read_events(*lines)
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]
    assert live == [call.id for call in decode(fold(lines, "ollama"), "ollama", "response").calls()]
    assert len(set(live)) == 2 and all(map(is_minted, live))


def test_an_error_line_closes_open_parts_and_ends_the_stream() -> None:
    lines: list[Object] = [line(content="Hm"), {"error": "model runner has unexpectedly stopped"}]
    assert read_events(*lines)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("model runner has unexpectedly stopped"),
    ]
    assert fold(lines, "ollama") == {
        **line(content="Hm"),
        "error": "model runner has unexpectedly stopped",
    }


def test_a_stream_may_consist_of_an_error() -> None:
    assert read_events({"error": "no such model"}) == [StreamError("no such model")]
    assert (
        list(restream([{"error": "no such model"}], "ollama", "anthropic", framed=False))[-1][
            "type"
        ]
        == "error"
    )


def test_a_stream_without_its_last_line_broke_off() -> None:
    lines = [line(thinking="Well"), line(content="It is")]
    assert read_events(*lines)[-2:] == [
        PartEnd(1, cut=True),
        StreamError("the stream ended before the response was complete", cut=True),
    ]
    body = fold(lines, "ollama")
    assert isinstance(body, dict) and body["error"] and body["done"] is False
    assert body["message"] == {"role": "assistant", "content": "It is", "thinking": "Well"}


def test_what_is_no_line_of_this_wire_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], "ollama")


def test_unknown_fields_are_kept_and_reported_once() -> None:
    lines = [
        {**line(content="a", hologram={"n": [1]}), "odd": 1},
        {**line(content="b", hologram={"n": [2]}), "odd": 2},
        last_line(),
    ]
    body = fold(lines, "ollama")
    assert isinstance(body, dict) and body["odd"] == 2
    assert body["message"] == {"role": "assistant", "content": "ab", "hologram": {"n": [1, 2]}}
    assert [event.path for event in read_events(*lines) if isinstance(event, Unsupported)] == [
        (0, "odd"),
        (0, "message", "hologram"),
    ]


def test_a_call_that_is_no_object_does_not_affect_other_calls() -> None:
    events = read_events(line(content="Hi", tool_calls=[7, call("Oslo", id="c1")]), last_line())
    assert [
        event.part.id
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ] == ["c1"]
    assert any(
        isinstance(event, Unsupported) and event.path == (0, "message", "tool_calls", 0)
        for event in events
    )


def test_several_texts_and_several_reasoning_parts_are_joined() -> None:
    blocks: list[Object] = [
        {"type": "text", "text": "One."},
        {"type": "tool_use", "id": "t1", "name": "now", "input": {}},
        {"type": "text", "text": " Two."},
    ]
    start: Object = {**anthropic_stream()[0]}
    start["message"] = {**start["message"], "content": blocks}  # type: ignore[dict-item]
    stream = restream([start, {"type": "message_stop"}], "anthropic", "ollama")
    body = fold(b"".join(stream), "ollama")
    assert isinstance(body, dict) and isinstance(body["message"], dict)
    assert body["message"]["content"] == "One. Two."
    assert {
        "a message has one text here, and its images after that",
        "text after a call is moved before the calls here",
    } <= {loss.reason for loss in stream.losses}


@pytest.mark.parametrize("case", load_streams("ollama") + load_recorded_streams("ollama"), ids=str)
def test_the_deltas_add_up_to_the_whole_body(case: StreamCase) -> None:
    events = [event for event in case.events if isinstance(event, dict)]
    neutral_events = read_events(*events)
    conversation = decode(fold(events, "ollama"), "ollama", "response")
    texts: dict[int, str] = {}
    for event in neutral_events:
        if isinstance(event, PartDelta):
            texts[event.slot] = texts.get(event.slot, "") + event.text
    assert list(texts.values()) == [
        part.text for part in conversation.parts() if isinstance(part, Text | Reasoning)
    ]
    calls = [
        event.part
        for event in neutral_events
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        (call.id, call.name, call.arguments) for call in conversation.calls()
    ]


def test_content_that_is_a_list_is_kept_before_a_text() -> None:
    lines: list[JSON] = [
        {"message": {"role": "assistant", "content": [piece] if n == 0 else piece}, "done": n == 2}
        for n, piece in enumerate(("No", "on", "."))
    ]
    body = decode(fold(lines, "ollama"), "ollama", "response")
    assert "".join(part.text for part in body.parts() if isinstance(part, Text)) == "Noon."
