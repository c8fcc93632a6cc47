"""What is peculiar to Genkit's chunks, in each of its languages, and what its HTTP flows
look like.
"""

from __future__ import annotations

import json
from urllib.request import urlopen

import pytest
from cases import load_streams
from streams.loopback import serve

from toolwire import DecodeError, decode, fold, restream
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get, text_of
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Result, Text
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


def chunk(*content: JSON, role: str = "model", index: int = 0, **more: JSON) -> Object:
    return {"role": role, "index": index, "content": list(content), **more}


def request_part(ref: str | None, value: JSON, name: str = "get_weather", **more: JSON) -> Object:
    return {
        "toolRequest": {
            **({} if ref is None else {"ref": ref}),
            "name": name,
            "input": value,
            **more,
        }
    }


def response_part(ref: str | None, output: JSON, name: str = "get_weather") -> Object:
    return {
        "toolResponse": {**({} if ref is None else {"ref": ref}), "name": name, "output": output}
    }


def message_events(*chunks: Object) -> list[Object]:
    return [{"message": event} for event in chunks]


def result_event(*content: JSON, **more: JSON) -> Object:
    return {
        "result": {
            "message": {"role": "model", "content": list(content)},
            "finishReason": "stop",
            **more,
        }
    }


def read_events(*events: Object) -> list[Event]:
    how = wire("genkit").stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for event in events:
        out += reader.read(event)
        reader.count += 1
    return out + reader.end()


def arguments_by_id(events: list[Event]) -> dict[str, str]:
    """The arguments of the emitted calls, by id."""
    slots: dict[int, str] = {}
    arguments: dict[str, str] = {}
    for event in events:
        if isinstance(event, PartStart) and isinstance(event.part, Call):
            slots[event.slot] = event.part.id
            arguments[event.part.id] = ""
        elif isinstance(event, PartDelta) and event.slot in slots:
            arguments[slots[event.slot]] += event.text
        elif isinstance(event, PartComplete) and isinstance(event.part, Call):
            arguments[event.part.id] = event.part.arguments
    return arguments


OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'


def test_a_partial_snapshot_starts_a_call_and_its_input_is_emitted_when_complete() -> None:
    events = read_events(
        *message_events(
            chunk(request_part("c1", {}, partial=True), request_part("c2", {}, partial=True)),
            chunk(request_part("c1", {"city": "Os"}, partial=True)),
            chunk(request_part("c2", {"city": "Rome"}), request_part("c1", {"city": "Oslo"})),
        ),
        result_event(request_part("c1", {"city": "Oslo"}), request_part("c2", {"city": "Rome"})),
    )
    assert [type(event) for event in events[1:3]] == [PartStart, PartStart]
    assert [event.text for event in events if isinstance(event, PartDelta)] == [ROME, OSLO]
    assert arguments_by_id(events) == {"c1": OSLO, "c2": ROME}


def test_the_response_completes_a_partial_snapshot() -> None:
    events = read_events(
        *message_events(chunk(request_part("c1", {"city": "Os"}, partial=True))),
        result_event(request_part("c1", {"city": "Oslo"})),
    )
    assert arguments_by_id(events) == {"c1": OSLO}


def test_fragments_are_emitted_as_they_arrive() -> None:
    fragments = [
        request_part("c1", ""),
        request_part(None, '{"city"', ""),
        request_part(None, ':"Oslo"}', ""),
        request_part("c2", ROME),
    ]
    events = read_events(
        *message_events(*map(chunk, fragments)),
        result_event(request_part("c1", {"city": "Oslo"}), request_part("c2", {"city": "Rome"})),
    )
    assert [event.text for event in events if isinstance(event, PartDelta)] == [
        '{"city"',
        ':"Oslo"}',
        ROME,
    ]
    assert arguments_by_id(events) == {"c1": OSLO, "c2": ROME}


def test_truncated_fragments_stay_as_they_arrived() -> None:
    events = message_events(
        chunk(request_part("c1", '{"ci')), chunk(request_part(None, 'ty":"Os', ""))
    )
    assert read_events(*events)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("the stream ended before the response was complete", cut=True),
    ]
    body = fold(events, "genkit")
    assert isinstance(body, dict) and body["error"] == {
        "message": "the stream ended before the response was complete"
    }
    assert body["message"] == {
        "role": "model",
        "content": [request_part("c1", {"_raw": '{"city":"Os'})],
    }


def test_the_input_of_a_tool_may_be_plain_text() -> None:
    events = message_events(chunk(request_part("c1", "hello", "echo")))
    assert arguments_by_id(
        read_events(*events, result_event(request_part("c1", "hello", "echo")))
    ) == {"c1": '"hello"'}
    body = fold([*events, {"result": "done"}], "genkit")
    assert isinstance(body, dict) and body["message"] == {
        "role": "model",
        "content": [request_part("c1", "hello", "echo")],
    }


@pytest.mark.parametrize("value", ['{"city": "Oslo"}', ""], ids=["json", "empty"])
def test_a_text_that_a_stream_reader_takes_for_json_is_sent_as_raw_arguments(value: str) -> None:
    call: JSON = {"functionCall": {"id": "c1", "name": "f", "args": value}}
    events: list[JSON] = [{"candidates": [{"content": {"role": "model", "parts": [call]}}]}]
    stream = restream(events, "gemini", "genkit", framed=False)
    call_chunk = next(event for event in stream if "toolRequest" in str(event))
    path = ("message", "content", 0, "toolRequest", "input")
    assert get(call_chunk, path) == {"_raw": text_of(value)}
    assert [loss.reason for loss in stream.losses if "_raw" in loss.reason]


def test_a_ref_that_only_the_response_has_is_the_id_of_the_call() -> None:
    requests = [request_part(None, {"city": "Oslo"}), request_part(None, {"city": "Rome"})]
    events = read_events(
        *message_events(*map(chunk, requests)),
        result_event(request_part("u1", {"city": "Oslo"}), request_part("u2", {"city": "Rome"})),
    )
    assert arguments_by_id(events) == {"u1": OSLO, "u2": ROME}


def test_calls_without_any_ref_get_the_ids_that_the_whole_body_gives_them() -> None:
    requests = [request_part(None, {"city": "Oslo"}), request_part(None, {"city": "Oslo"})]
    events = [*message_events(*map(chunk, requests)), result_event(*requests)]
    live = arguments_by_id(read_events(*events))
    assert len(live) == 2 and all(map(is_minted, live))
    assert list(live) == [
        call.id for call in decode(fold(events, "genkit"), "genkit", "response").calls()
    ]


TURNS = [
    chunk(
        {"text": "Looking."},
        request_part("c1", {"city": "Oslo"}),
        request_part("c2", {"city": "Rome"}),
    ),
    chunk(response_part("c2", {"c": 30}), role="tool", index=1),
    chunk(response_part("c1", "cold"), role="tool", index=1),
    chunk({"text": "Cold "}, index=2),
    chunk({"text": "and warm."}, index=2),
]


def test_an_agent_stream_has_turns_and_each_result_has_the_id_of_its_call_in_any_order() -> None:
    events = read_events(
        *message_events(*TURNS),
        result_event({"text": "Cold and warm."}, usage={"inputTokens": 3, "outputTokens": 2}),
    )
    assert [event.role for event in events if isinstance(event, TurnStart)] == ["tool", "assistant"]
    results = [
        event.part
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert [(result.call_id, result.text) for result in results] == [
        ("c2", '{"c":30}'),
        ("c1", "cold"),
    ]
    assert [event.text for event in events if isinstance(event, PartDelta)] == [
        "Looking.",
        OSLO,
        ROME,
        "Cold ",
        "and warm.",
    ]
    assert events[-2:] == [Metadata({"usage": Usage(3, 2)}), Finish("stop")]


def test_earlier_turns_are_in_the_messages_of_the_request() -> None:
    body = fold([*message_events(*TURNS), result_event({"text": "Cold and warm."})], "genkit")
    assert isinstance(body, dict)
    assert body["message"] == {"role": "model", "content": [{"text": "Cold and warm."}]}
    assert body["request"] == {
        "messages": [
            {"role": "model", "content": TURNS[0]["content"]},
            {
                "role": "tool",
                "content": [response_part("c2", {"c": 30}), response_part("c1", "cold")],
            },
        ]
    }


def test_results_without_refs_pair_with_the_only_call_of_their_name() -> None:
    request = chunk(
        request_part(None, {"city": "Oslo"}),
        request_part(None, {"city": "Rome"}),
        request_part(None, {}, "now"),
    )
    events = read_events(
        request,
        chunk(
            response_part(None, 1),
            response_part(None, 2, "now"),
            response_part(None, 3),
            role="tool",
            index=1,
        ),
    )
    first, second, three = arguments_by_id(events)
    results = [
        event.part
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert [each.call_id for each in results if each.output == 2] == [three]
    ambiguous = {each.call_id for each in results if each.output != 2}
    assert len(ambiguous) == 2 and not ambiguous & {first, second, three}


def test_the_ref_of_a_result_becomes_that_of_the_only_call_of_its_name() -> None:
    events = read_events(
        chunk(request_part(None, {"city": "Oslo"})),
        chunk(response_part("u1", "cold"), role="tool", index=1),
    )
    assert arguments_by_id(events) == {"u1": OSLO}


def test_bare_chunks_lines_and_plain_texts_are_streams_too() -> None:
    pieces: list[Object] = [{"text": "Hi "}, {"text": "you"}]
    want: Object = {"role": "model", "content": [{"text": "Hi you"}]}
    lines = b"".join(json.dumps(chunk(piece)).encode() + b"\n" for piece in pieces)
    events = b"".join(
        b"data: " + json.dumps({"message": piece["text"]}).encode() + b"\n\n" for piece in pieces
    )
    answer: Object = {"message": want, "finishReason": "stop"}
    bare: list[Object] = [chunk(piece) for piece in pieces]
    for body in (
        fold(lines, "genkit"),
        fold([*bare, answer], "genkit"),
        fold([*bare, {"result": answer}], "genkit"),
    ):
        assert isinstance(body, dict) and body["message"] == want
    flow = fold(events + b'data: {"result": {"words": 2}}\n\n', "genkit")
    assert flow == {"message": want, "result": {"words": 2}}


def test_a_stream_of_only_the_response_is_emitted_in_full() -> None:
    events = read_events(
        result_event({"reasoning": "Hm."}, {"text": "Noon."}, request_part(None, {}, "now"))
    )
    parts = [event.part for event in events if isinstance(event, PartComplete)]
    assert [type(part).__name__ for part in parts] == ["Reasoning", "Text", "Call"]


def test_content_that_only_the_response_has_is_emitted_at_the_end() -> None:
    media: Object = {"media": {"url": "https://example.com/a.png", "contentType": "image/png"}}
    events = read_events(
        *message_events(chunk({"text": "A do"})),
        result_event({"text": "A dot."}, media, request_part("c1", {}, "now")),
    )
    assert [event.text for event in events if isinstance(event, PartDelta)] == ["A do", "t."]
    complete = [event.part for event in events if isinstance(event, PartComplete)]
    assert [type(part).__name__ for part in complete] == ["Media", "Call"]
    assert complete[0].path == (1, "result", "message", "content", 1), "a path into the stream"


def test_of_two_images_the_one_that_only_the_response_has_is_emitted_at_the_end() -> None:
    first: Object = {"media": {"url": "https://example.com/a.png", "contentType": "image/png"}}
    second: Object = {"media": {"url": "https://example.com/b.png", "contentType": "image/png"}}
    events = read_events(*message_events(chunk(first)), result_event(first, second))
    parts = [event.part for event in events if isinstance(event, PartComplete)]
    assert [part.raw for part in parts] == [first, second]


def test_an_error_closes_open_parts_and_has_its_status() -> None:
    error: Object = {"error": {"status": "RESOURCE_EXHAUSTED", "message": "slow down"}}
    events = read_events(*message_events(chunk({"text": "Hm"})), error)
    assert events[-2:] == [PartEnd(0, cut=True), StreamError("slow down", "RESOURCE_EXHAUSTED")]
    assert list(restream([error], "genkit", "ollama", framed=False)) == [{"error": "slow down"}]
    assert list(restream([{"error": "no"}], "ollama", "genkit", framed=False)) == [
        {"error": {"status": "INTERNAL", "message": "no"}}
    ]


def test_a_flow_without_a_result_was_cut_off_and_bare_chunks_were_not() -> None:
    assert read_events(*message_events(chunk({"text": "Hm"})))[-1] == StreamError(
        "the stream ended before the response was complete", cut=True
    )
    assert read_events(chunk({"text": "Hm"}))[-1] == Finish(None)


def test_what_is_no_chunk_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], "genkit")


def test_nulls_that_python_writes_do_not_keep_a_text_from_growing() -> None:
    def piece(words: str) -> Object:
        return {"text": words, "media": None, "toolRequest": None, "metadata": None}

    events = read_events(
        *message_events(chunk(piece("a")), chunk(piece("b"))), result_event({"text": "ab"})
    )
    assert [event for event in events if isinstance(event, PartStart)] == [PartStart(0, Text(""))]


def test_unknown_fields_of_a_chunk_are_reported_once() -> None:
    events = read_events(
        *message_events(
            chunk({"text": "a"}, custom={"n": 1}), chunk({"text": "b"}, custom={"n": 2})
        ),
        result_event({"text": "ab"}),
    )
    assert [event.path for event in events if isinstance(event, Unsupported)] == [
        (0, "message", "custom")
    ]


def test_the_error_flag_of_a_result_in_a_stream_is_reported() -> None:
    call = Call("c1", "f", {})
    stream = EventTranslator("genkit", dict)
    parts: list[Event] = [PartComplete(call), PartComplete(call.result("boom", error=True))]
    stream.emit([MessageStart({}), *parts])
    assert ["error flag" in loss.reason for loss in stream.losses] == [True]


def test_framed_output_is_a_flow_with_chunks_and_a_result() -> None:
    case = next(piece for piece in load_streams("genkit") if piece.name == "stream-of-fragments")
    chat = b"".join(restream(case.events, "genkit", "openai-chat"))
    stream = restream(chat, "openai-chat", "genkit")
    with serve(stream, stream.headers["content-type"]) as server, urlopen(server.url) as answer:
        events = [
            json.loads(piece.removeprefix(b"data: "))
            for piece in answer.read().strip().split(b"\n\n")
        ]
    *chunks, last = events
    assert [event["message"]["content"] for event in chunks] == [
        [{"text": "Looking."}],
        [request_part("c1", {"city": "Oslo"})],
        [request_part("c2", {"city": "Rome"})],
    ]
    assert {(event["message"]["role"], event["message"]["index"]) for event in chunks} == {
        ("model", 0)
    }
    assert last["result"]["message"] == case.body["message"]  # type: ignore[index,call-overload]
    assert last["result"]["finishReason"] == "stop"


def test_reasoning_after_a_signature_is_another_part_although_its_event_equals_the_one_before() -> (
    None
):
    signed: JSON = {"reasoning": ".", "metadata": {"thoughtSignature": "c2ln"}}
    events = message_events(chunk({"reasoning": "Done"}), chunk(signed), chunk(signed))
    framed = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    for stream in (events, framed):
        starts = [
            event
            for event in restream(stream, "genkit", "ai-sdk", framed=False)
            if event["type"] == "reasoning-start"
        ]
        written = b"".join(restream(stream, "genkit", "ai-sdk"))
        assert len(starts) == written.count(b'"reasoning-start"') == 2
