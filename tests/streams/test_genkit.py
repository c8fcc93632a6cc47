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
from toolwire.conversation.json import JSON, Object
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


def asks(ref: str | None, given: JSON, name: str = "get_weather", **more: JSON) -> Object:
    return {
        "toolRequest": {
            **({} if ref is None else {"ref": ref}),
            "name": name,
            "input": given,
            **more,
        }
    }


def answers(ref: str | None, output: JSON, name: str = "get_weather") -> Object:
    return {
        "toolResponse": {**({} if ref is None else {"ref": ref}), "name": name, "output": output}
    }


def framed(*chunks: Object) -> list[Object]:
    return [{"message": one} for one in chunks]


def whole(*content: JSON, **more: JSON) -> Object:
    return {
        "result": {
            "message": {"role": "model", "content": list(content)},
            "finishReason": "stop",
            **more,
        }
    }


def said(*events: Object) -> list[Event]:
    how = wire("genkit").stream
    assert how is not None
    reader = how.reader(keep=False)
    out: list[Event] = []
    for one in events:
        out += reader.read(one)
        reader.count += 1
    return out + reader.end()


def calls(events: list[Event]) -> dict[str, str]:
    """The calls that were told, and their arguments."""
    slots: dict[int, str] = {}
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, PartStart) and isinstance(event.part, Call):
            slots[event.slot] = event.part.id
            found[event.part.id] = ""
        elif isinstance(event, PartDelta) and event.slot in slots:
            found[slots[event.slot]] += event.text
        elif isinstance(event, PartComplete) and isinstance(event.part, Call):
            found[event.part.id] = event.part.arguments
    return found


OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'


def test_snapshots_open_a_call_at_once_and_tell_its_input_once_it_is_not_partial() -> None:
    events = said(
        *framed(
            chunk(asks("c1", {}, partial=True), asks("c2", {}, partial=True)),
            chunk(asks("c1", {"city": "Os"}, partial=True)),
            chunk(asks("c2", {"city": "Rome"}), asks("c1", {"city": "Oslo"})),
        ),
        whole(asks("c1", {"city": "Oslo"}), asks("c2", {"city": "Rome"})),
    )
    assert [type(event) for event in events[1:3]] == [PartStart, PartStart]
    assert [event.text for event in events if isinstance(event, PartDelta)] == [ROME, OSLO]
    assert calls(events) == {"c1": OSLO, "c2": ROME}


def test_a_snapshot_that_nothing_finished_is_finished_by_the_response() -> None:
    events = said(
        *framed(chunk(asks("c1", {"city": "Os"}, partial=True))),
        whole(asks("c1", {"city": "Oslo"})),
    )
    assert calls(events) == {"c1": OSLO}


def test_fragments_are_told_as_they_come() -> None:
    fragments = [
        asks("c1", ""),
        asks(None, '{"city"', ""),
        asks(None, ':"Oslo"}', ""),
        asks("c2", ROME),
    ]
    events = said(
        *framed(*map(chunk, fragments)),
        whole(asks("c1", {"city": "Oslo"}), asks("c2", {"city": "Rome"})),
    )
    assert [event.text for event in events if isinstance(event, PartDelta)] == [
        '{"city"',
        ':"Oslo"}',
        ROME,
    ]
    assert calls(events) == {"c1": OSLO, "c2": ROME}


def test_fragments_that_break_off_stay_as_far_as_they_came() -> None:
    events = framed(chunk(asks("c1", '{"ci')), chunk(asks(None, 'ty":"Os', "")))
    assert said(*events)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("the stream ended before the answer was over", cut=True),
    ]
    body = fold(events, "genkit")
    assert isinstance(body, dict) and body["error"] == {
        "message": "the stream ended before the answer was over"
    }
    assert body["message"] == {"role": "model", "content": [asks("c1", {"_raw": '{"city":"Os'})]}


def test_a_text_may_be_all_that_a_tool_is_given() -> None:
    events = framed(chunk(asks("c1", "hello", "echo")))
    assert calls(said(*events, whole(asks("c1", "hello", "echo")))) == {"c1": '"hello"'}
    body = fold([*events, {"result": "done"}], "genkit")
    assert isinstance(body, dict) and body["message"] == {
        "role": "model",
        "content": [asks("c1", "hello", "echo")],
    }


def test_a_ref_that_comes_only_in_the_response_is_the_id_from_the_start() -> None:
    asked = [asks(None, {"city": "Oslo"}), asks(None, {"city": "Rome"})]
    events = said(
        *framed(*map(chunk, asked)),
        whole(asks("u1", {"city": "Oslo"}), asks("u2", {"city": "Rome"})),
    )
    assert calls(events) == {"u1": OSLO, "u2": ROME}


def test_calls_without_any_ref_get_the_ids_that_the_whole_body_gives_them() -> None:
    asked = [asks(None, {"city": "Oslo"}), asks(None, {"city": "Oslo"})]
    events = [*framed(*map(chunk, asked)), whole(*asked)]
    live = calls(said(*events))
    assert len(live) == 2 and all(map(is_minted, live))
    assert list(live) == [
        one.id for one in decode(fold(events, "genkit"), "genkit", "response").calls()
    ]


TURNS = [
    chunk({"text": "Looking."}, asks("c1", {"city": "Oslo"}), asks("c2", {"city": "Rome"})),
    chunk(answers("c2", {"c": 30}), role="tool", index=1),
    chunk(answers("c1", "cold"), role="tool", index=1),
    chunk({"text": "Cold "}, index=2),
    chunk({"text": "and warm."}, index=2),
]


def test_an_agent_s_stream_is_turns_and_each_result_names_its_call_though_the_last_came_first() -> (
    None
):
    events = said(
        *framed(*TURNS),
        whole({"text": "Cold and warm."}, usage={"inputTokens": 3, "outputTokens": 2}),
    )
    assert [event.role for event in events if isinstance(event, TurnStart)] == ["tool", "assistant"]
    results = [
        event.part
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert [(one.call_id, one.text) for one in results] == [("c2", '{"c":30}'), ("c1", "cold")]
    assert [event.text for event in events if isinstance(event, PartDelta)] == [
        "Looking.",
        OSLO,
        ROME,
        "Cold ",
        "and warm.",
    ]
    assert events[-2:] == [Metadata({"usage": Usage(3, 2)}), Finish("stop")]


def test_the_turns_before_the_last_stand_in_the_messages_of_the_request() -> None:
    body = fold([*framed(*TURNS), whole({"text": "Cold and warm."})], "genkit")
    assert isinstance(body, dict)
    assert body["message"] == {"role": "model", "content": [{"text": "Cold and warm."}]}
    assert body["request"] == {
        "messages": [
            {"role": "model", "content": TURNS[0]["content"]},
            {"role": "tool", "content": [answers("c2", {"c": 30}), answers("c1", "cold")]},
        ]
    }


def test_results_without_refs_go_to_the_calls_without_refs_in_their_order() -> None:
    asked = chunk(asks(None, {"city": "Oslo"}), asks(None, {"city": "Rome"}), asks(None, {}, "now"))
    events = said(
        asked,
        chunk(answers(None, 1), answers(None, 2, "now"), answers(None, 3), role="tool", index=1),
    )
    one, two, three = calls(events)
    results = [
        event.part
        for event in events
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert [(each.call_id, each.output) for each in results] == [(one, 1), (three, 2), (two, 3)]


def test_a_response_with_a_ref_tells_that_of_the_only_call_of_its_name() -> None:
    events = said(
        chunk(asks(None, {"city": "Oslo"})), chunk(answers("u1", "cold"), role="tool", index=1)
    )
    assert calls(events) == {"u1": OSLO}


def test_bare_chunks_lines_and_plain_texts_are_streams_too() -> None:
    pieces: list[Object] = [{"text": "Hi "}, {"text": "you"}]
    want: Object = {"role": "model", "content": [{"text": "Hi you"}]}
    lines = b"".join(json.dumps(chunk(one)).encode() + b"\n" for one in pieces)
    events = b"".join(
        b"data: " + json.dumps({"message": one["text"]}).encode() + b"\n\n" for one in pieces
    )
    answer: Object = {"message": want, "finishReason": "stop"}
    bare: list[Object] = [chunk(one) for one in pieces]
    for body in (
        fold(lines, "genkit"),
        fold([*bare, answer], "genkit"),
        fold([*bare, {"result": answer}], "genkit"),
    ):
        assert isinstance(body, dict) and body["message"] == want
    flow = fold(events + b'data: {"result": {"words": 2}}\n\n', "genkit")
    assert flow == {"message": want, "result": {"words": 2}}


def test_a_response_alone_is_told_in_full() -> None:
    events = said(whole({"reasoning": "Hm."}, {"text": "Noon."}, asks(None, {}, "now")))
    parts = [event.part for event in events if isinstance(event, PartComplete)]
    assert [type(part).__name__ for part in parts] == ["Reasoning", "Text", "Call"]


def test_what_only_the_response_has_is_told_at_the_end() -> None:
    media: Object = {"media": {"url": "https://example.com/a.png", "contentType": "image/png"}}
    events = said(
        *framed(chunk({"text": "A do"})), whole({"text": "A dot."}, media, asks("c1", {}, "now"))
    )
    assert [event.text for event in events if isinstance(event, PartDelta)] == ["A do", "t."]
    assert [type(event.part).__name__ for event in events if isinstance(event, PartComplete)] == [
        "Call",
        "Media",
    ]


def test_an_error_closes_what_is_open_and_says_its_status() -> None:
    error: Object = {"error": {"status": "RESOURCE_EXHAUSTED", "message": "slow down"}}
    events = said(*framed(chunk({"text": "Hm"})), error)
    assert events[-2:] == [PartEnd(0, cut=True), StreamError("slow down", "RESOURCE_EXHAUSTED")]
    assert list(restream([error], "genkit", "ollama", framed=False)) == [{"error": "slow down"}]
    assert list(restream([{"error": "no"}], "ollama", "genkit", framed=False)) == [
        {"error": {"status": "INTERNAL", "message": "no"}}
    ]


def test_a_flow_that_never_gives_its_result_broke_off_and_bare_chunks_just_end() -> None:
    assert said(*framed(chunk({"text": "Hm"})))[-1] == StreamError(
        "the stream ended before the answer was over", cut=True
    )
    assert said(chunk({"text": "Hm"}))[-1] == Finish(None)


def test_what_is_no_chunk_is_said_to_be_none() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], "genkit")


def test_nulls_that_python_writes_do_not_keep_a_text_from_growing() -> None:
    def piece(words: str) -> Object:
        return {"text": words, "media": None, "toolRequest": None, "metadata": None}

    events = said(*framed(chunk(piece("a")), chunk(piece("b"))), whole({"text": "ab"}))
    assert [event for event in events if isinstance(event, PartStart)] == [PartStart(0, Text(""))]


def test_fields_of_a_chunk_that_nobody_knows_are_reported_once() -> None:
    events = said(
        *framed(chunk({"text": "a"}, custom={"n": 1}), chunk({"text": "b"}, custom={"n": 2})),
        whole({"text": "ab"}),
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


def test_over_a_socket_it_is_a_flow_with_chunks_and_a_result() -> None:
    case = next(one for one in load_streams("genkit") if one.name == "stream-of-fragments")
    chat = b"".join(restream(case.events, "genkit", "openai-chat"))
    stream = restream(chat, "openai-chat", "genkit")
    with serve(stream, stream.headers["content-type"]) as server, urlopen(server.url) as answer:
        events = [
            json.loads(one.removeprefix(b"data: ")) for one in answer.read().strip().split(b"\n\n")
        ]
    *chunks, last = events
    assert [one["message"]["content"] for one in chunks] == [
        [{"text": "Looking."}],
        [asks("c1", {"city": "Oslo"})],
        [asks("c2", {"city": "Rome"})],
    ]
    assert {(one["message"]["role"], one["message"]["index"]) for one in chunks} == {("model", 0)}
    assert last["result"]["message"] == case.body["message"]  # type: ignore[index,call-overload]
    assert last["result"]["finishReason"] == "stop"
