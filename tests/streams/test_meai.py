"""What is peculiar to the updates of Microsoft.Extensions.AI, read as its own `ToChatResponse`
reads them."""

from __future__ import annotations

import json
from urllib.request import urlopen

import pytest
from cases import load_streams
from streams.loopback import serve

from toolwire import DecodeError, decode, fold, restream
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Opaque, Result, Text
from toolwire.streaming.event_translator import EventTranslator
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
    TurnStart,
    Unsupported,
)
from toolwire.wires import wire


def update(*contents: JSON, **more: JSON) -> Object:
    return {"role": "assistant", "contents": list(contents), "responseId": "resp_1", **more}


def text(words: str) -> Object:
    return {"$type": "text", "text": words}


def call(call_id: str, zone: str) -> Object:
    return {"$type": "functionCall", "callId": call_id, "name": "now", "arguments": {"zone": zone}}


def result(call_id: str, value: str) -> Object:
    return {"$type": "functionResult", "callId": call_id, "result": value}


def read_events(*updates: Object) -> list[Event]:
    how = wire("meai").stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for update in updates:
        out += reader.read(update)
        reader.count += 1
    return out + reader.end()


TURNS: list[Object] = [
    update(call("call_1", "UTC"), call("call_2", "CET"), messageId="m1", finishReason="tool_calls"),
    {"role": "tool", "contents": [result("call_2", "13:00")], "messageId": "m2"},
    {"role": "tool", "contents": [result("call_1", "12:00")], "messageId": "m2"},
    update(text("Noon "), messageId="m3"),
    update(text("in London."), messageId="m3"),
    update(messageId="m3", finishReason="stop"),
]


def test_an_agent_stream_has_turns_and_each_result_has_the_id_of_its_call() -> None:
    events = read_events(*TURNS)
    neutral_events = [event for event in events if isinstance(event, TurnStart | PartComplete)]
    calls = [
        event.part
        for event in neutral_events
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]
    results = [
        event.part
        for event in neutral_events
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert [event.role for event in neutral_events if isinstance(event, TurnStart)] == [
        "tool",
        "assistant",
    ]
    assert [(call.id, call.name) for call in calls] == [("call_1", "now"), ("call_2", "now")]
    assert [(result.call_id, result.text) for result in results] == [
        ("call_2", "13:00"),
        ("call_1", "12:00"),
    ]
    assert events[-1] == Finish("stop")


def test_an_agent_stream_folds_to_its_messages() -> None:
    body = fold(TURNS, "meai")
    assert body == {
        "messages": [
            {
                "role": "assistant",
                "messageId": "m1",
                "contents": [call("call_1", "UTC"), call("call_2", "CET")],
            },
            {
                "role": "tool",
                "messageId": "m2",
                "contents": [result("call_2", "13:00"), result("call_1", "12:00")],
            },
            {"role": "assistant", "messageId": "m3", "contents": [text("Noon in London.")]},
        ],
        "responseId": "resp_1",
        "finishReason": "stop",
    }
    pairs = decode(body, "meai", "response").pairs()
    assert [
        (pair.call.id, pair.result.text, pair.how) for pair in pairs if pair.call and pair.result
    ] == [("call_1", "12:00", "id"), ("call_2", "13:00", "id")]


def test_an_agent_stream_keeps_its_turns_on_a_wire_with_turns() -> None:
    events = list(restream(TURNS, "meai", "genkit", framed=False))
    chunks = [event["message"] for event in events if isinstance(event.get("message"), dict)]
    assert [(event["role"], event["index"]) for event in chunks if isinstance(event, dict)] == [
        ("model", 0),
        ("model", 0),
        ("tool", 1),
        ("tool", 1),
        ("model", 2),
        ("model", 2),
    ]
    folded = fold(b"".join(restream(events, "genkit", "meai")), "meai")
    assert isinstance(folded, dict) and isinstance(folded["messages"], list)
    contents = [message["contents"] for message in folded["messages"] if isinstance(message, dict)]
    assert contents == [
        [call("call_1", "UTC"), call("call_2", "CET")],
        [result("call_2", "13:00"), result("call_1", "12:00")],
        [text("Noon in London.")],
    ]


def test_a_new_message_starts_with_another_author_id_or_role() -> None:
    def messages(**second: JSON) -> int:
        first: Object = {
            "role": "assistant",
            "authorName": "a",
            "messageId": "m1",
            "contents": [text("x")],
        }
        body = fold(
            [first, {"contents": [text("y")], **second}, {"contents": [], "finishReason": "stop"}],
            "meai",
        )
        assert isinstance(body, dict) and isinstance(body["messages"], list)
        return len(body["messages"])

    assert (
        messages()
        == messages(messageId="m1", responseId="other", createdAt="2026-03-01T12:00:00Z")
        == 1
    )
    assert messages(messageId="m2") == messages(role="tool") == messages(authorName="b") == 2


def test_a_json_array_of_updates_is_the_same_stream() -> None:
    updates = [update(text("Hi ")), update(text("you")), update(finishReason="stop")]
    events = b"".join(b"data: " + json.dumps(update).encode() + b"\n\n" for update in updates)
    assert fold(json.dumps(updates), "meai") == fold(events, "meai") == fold(updates, "meai")


def test_usage_is_added_up() -> None:
    def usage_content(read: int, output_tokens: int) -> Object:
        return {
            "$type": "usage",
            "details": {"inputTokenCount": read, "outputTokenCount": output_tokens},
        }

    events = read_events(
        update(usage_content(3, 1)), update(usage_content(4, 2)), update(finishReason="stop")
    )
    assert [event for event in events if isinstance(event, Metadata)] == [
        Metadata({"usage": Usage(3, 1)}),
        Metadata({"usage": Usage(7, 3)}),
    ]


def test_a_stream_without_a_finish_reason_broke_off() -> None:
    updates = [update(text("It is"))]
    assert read_events(*updates)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("the stream ended before the response was complete", cut=True),
    ]
    body = fold(updates, "meai")
    assert isinstance(body, dict) and body["error"] == {
        "message": "the stream ended before the response was complete"
    }


def test_a_finish_reason_of_an_earlier_message_is_not_the_end() -> None:
    assert isinstance(read_events(*TURNS[:4])[-1], StreamError)
    assert isinstance(read_events(*TURNS[:1])[-1], Finish)


def test_an_error_content_is_the_reason_only_if_it_is_the_last() -> None:
    trouble: Object = {"$type": "error", "message": "overloaded", "errorCode": "503"}
    went_on = read_events(update(trouble), update(text("Never mind.")), update(finishReason="stop"))
    assert any(
        isinstance(event, PartComplete) and isinstance(event.part, Opaque) for event in went_on
    )
    assert went_on[-1] == Finish("stop")
    assert read_events(update(text("Hm")), update(trouble))[-1] == StreamError("overloaded", "503")


def test_a_stream_error_is_written_as_error_content_without_a_finish_reason() -> None:
    events = list(restream([{"error": "out of memory"}], "ollama", "meai", framed=False))
    assert events == [
        {"role": "assistant", "contents": [{"$type": "error", "message": "out of memory"}]}
    ]
    assert read_events(*events)[-1] == StreamError("out of memory")


def test_contents_are_written_in_order_and_two_texts_stay_two() -> None:
    def block(i: int, words: list[str]) -> list[Object]:
        deltas: list[Object] = [
            {
                "type": "content_block_delta",
                "index": i,
                "delta": {"type": "text_delta", "text": word},
            }
            for word in words
        ]
        start: Object = {
            "type": "content_block_start",
            "index": i,
            "content_block": {"type": "text", "text": ""},
        }
        return [start, *deltas, {"type": "content_block_stop", "index": i}]

    start: Object = {
        "type": "message_start",
        "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": []},
    }
    events = [start, *block(0, ["a", "b"]), *block(1, ["c", "d"]), {"type": "message_stop"}]
    updates = list(restream(events, "anthropic", "meai", framed=False))
    assert [update["contents"] for update in updates] == [
        [text("a")],
        [text("b")],
        [text(""), text("c")],
        [text("d")],
        [],
    ]
    assert {update["responseId"] for update in updates} == {"msg_1"}
    body = fold(updates, "meai")
    assert isinstance(body, dict) and body["messages"] == [
        {"role": "assistant", "contents": [text("ab"), text("cd")]}
    ]


def test_the_error_flag_of_a_result_in_a_stream_is_reported() -> None:
    call = Call("c1", "f", {})
    stream = EventTranslator("meai", dict)
    parts: list[Event] = [PartComplete(call), PartComplete(call.result("boom", error=True))]
    stream.emit([MessageStart({}), *parts])
    assert ["error flag" in loss.reason for loss in stream.losses] == [True]


def test_framed_output_has_one_event_per_update() -> None:
    case = next(
        update
        for update in load_streams("meai")
        if update.name == "stream-parallel-calls-of-one-tool"
    )
    chat = b"".join(restream(case.events, "meai", "openai-chat"))
    stream = restream(chat, "openai-chat", "meai")
    with serve(stream, stream.headers["content-type"]) as server, urlopen(server.url) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        raw = answer.read()
    updates = [json.loads(update.removeprefix(b"data: ")) for update in raw.strip().split(b"\n\n")]
    blocks = [
        block
        for update in updates
        for block in update["contents"]
        if block["$type"] == "functionCall"
    ]
    assert [(block["callId"], block["arguments"]) for block in blocks] == [
        ("call_1", {"city": "Oslo"}),
        ("call_2", {"city": "Rome"}),
    ]
    assert all(next(iter(block)) == "$type" for update in updates for block in update["contents"])
    assert updates[-1]["finishReason"] == "tool_calls"


def test_what_is_no_update_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([], "meai")


def test_user_messages_in_a_response_are_kept_and_not_emitted() -> None:
    updates: list[Object] = [
        {"role": "user", "contents": [text("Hi")]},
        update(text("Hello")),
        update(finishReason="stop"),
    ]
    events = read_events(*updates)
    assert [event.text for event in events if isinstance(event, PartDelta)] == ["Hello"]
    assert any(isinstance(event, Unsupported) and event.path == (0,) for event in events)
    body = fold(updates, "meai")
    assert (
        isinstance(body, dict) and isinstance(body["messages"], list) and len(body["messages"]) == 2
    )


def test_a_text_grows_over_updates_that_repeat_everything_else() -> None:
    events = read_events(
        update(text("a")),
        update(text("b")),
        update(),
        update(text("c")),
        update(finishReason="stop"),
    )
    assert [
        type(event) for event in events if isinstance(event, PartStart | PartDelta | PartEnd)
    ] == [PartStart, PartDelta, PartDelta, PartDelta, PartEnd]


@pytest.mark.parametrize("target", ["meai", "genkit"])
def test_a_long_stream_of_bytes_keeps_two_texts_apart_and_whole(target: str) -> None:
    words = [f"word{n} " for n in range(9)]
    events: list[Object] = [
        {
            "type": "message_start",
            "message": {"id": "m", "role": "assistant", "model": "m", "content": []},
        }
    ]
    for i in (0, 1):
        events.append(
            {
                "type": "content_block_start",
                "index": i,
                "content_block": {"type": "text", "text": ""},
            }
        )
        for word in words:
            events.append(
                {
                    "type": "content_block_delta",
                    "index": i,
                    "delta": {"type": "text_delta", "text": word},
                }
            )
        events.append({"type": "content_block_stop", "index": i})
    raw = b"".join(
        b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in [*events, {"type": "message_stop"}]
    )
    answer = decode(fold(b"".join(restream(raw, "anthropic", target)), target), target, "response")
    assert list(answer.parts()) == [Text("".join(words)), Text("".join(words))]
