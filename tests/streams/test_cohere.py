"""What is peculiar to Cohere's chat stream. The official client reads it over a
real socket."""

from __future__ import annotations

from contextlib import suppress

import cohere
import pytest
from cases import DELETE, StreamCase, load_recorded_streams, load_streams, nodes, same, set_at
from cohere.v2.types import V2ChatStreamResponse
from streams.loopback import serve

from toolwire import Call, Conversation, DecodeError, Reasoning, Text, decode, translate
from toolwire.conversation.json import JSON, get
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    Metadata,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.engine.stream import DONE, STREAM_CUT, StreamReader, event_sse

STREAMS = load_streams("cohere")
CALLED: list[JSON] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Both "}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "cities."}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 1,
            "start": {"toolUse": {"toolUseId": "t.1", "name": "get_weather"}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"city":'}}}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 2,
            "start": {"toolUse": {"toolUseId": "t.2", "name": "get_weather"}},
        }
    },
    {
        "contentBlockDelta": {
            "contentBlockIndex": 2,
            "delta": {"toolUse": {"input": '{"city":"Oslo"}'}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '"Paris"}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"contentBlockStop": {"contentBlockIndex": 2}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 3,
            "start": {"toolUse": {"toolUseId": "t.3", "name": "now"}},
        }
    },
    {"contentBlockStop": {"contentBlockIndex": 3}},
    {"messageStop": {"stopReason": "tool_use"}},
    {
        "metadata": {
            "usage": {"inputTokens": 5, "outputTokens": 40, "totalTokens": 45},
            "metrics": {"latencyMs": 1},
        }
    },
]
"""Two calls of one tool at once and one without arguments, as another wire streams them."""
NOISE: tuple[JSON, ...] = (DELETE, None, True, -1, "", [], {})


def case(name: str) -> StreamCase:
    return next(stream for stream in STREAMS if stream.name == name)


def frames(events: list[JSON]) -> bytes:
    return b"".join(event_sse(event) for event in events) + DONE  # type: ignore[arg-type]


def reader(*, keep: bool = False) -> StreamReader:
    stream = wire("cohere").stream
    assert stream is not None
    return stream.reader(keep=keep)


def read_events(*events: Chunk) -> list[Event]:
    """The neutral events of a stream."""
    stream_reader = reader()
    out: list[Event] = []
    for event in events:
        out += stream_reader.read(event)
        stream_reader.count += 1
    return out + stream_reader.end()


def event(kind: str, index: int | None = None, **message: JSON) -> Chunk:
    return {
        "type": kind,
        **({"index": index} if index is not None else {}),
        "delta": {"message": message},
    }


def call_start(index: int, call_id: JSON, name: str = "look") -> Chunk:
    return event(
        "tool-call-start",
        index,
        tool_calls={"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}},
    )


def message_end(reason: str = "COMPLETE", **more: JSON) -> Chunk:
    return {"type": "message-end", "delta": {"finish_reason": reason, **more}}


def read_with_sdk(sent: list[bytes]) -> list[V2ChatStreamResponse]:
    """The events that the official client reads from such a stream."""
    with serve(sent) as server:
        client = cohere.ClientV2(api_key="none", base_url=server.url)
        return list(
            client.chat_stream(model="command-a", messages=[cohere.UserChatMessageV2(content="hi")])
        )


# --- the laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_stream_folds_to_its_body_as_events_and_as_text_cut_at_every_byte(
    stream: StreamCase,
) -> None:
    data = frames(stream.events)
    assert same(fold(stream.events, "cohere"), stream.body)
    assert same(fold(data.decode(), "cohere"), stream.body)
    assert same(fold([data[i : i + 1] for i in range(len(data))], "cohere"), stream.body)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_cutting_the_text_anywhere_does_not_change_the_output(stream: StreamCase) -> None:
    data = frames(stream.events)
    out = b"".join(restream(data, "cohere", "openai-chat"))
    assert (
        b"".join(restream([data[i : i + 1] for i in range(len(data))], "cohere", "openai-chat"))
        == out
    )
    assert (
        b"".join(restream([event_sse(event) for event in stream.events], "cohere", "openai-chat"))  # type: ignore[arg-type]
        == out
    )
    assert b"".join(restream(stream.events, "cohere", "openai-chat")) == out
    assert b"".join(restream([data[:100], data[100:]], "cohere", "cohere")) == data


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "bedrock"])
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_translated_stream_folds_to_the_translated_body(stream: StreamCase, target: str) -> None:
    folded = fold(restream(stream.events, "cohere", target), target)
    assert same(folded, translate(fold(stream.events, "cohere"), "cohere", target, "response").body)


@pytest.mark.parametrize(
    "stream",
    [*load_streams("anthropic"), *load_streams("openai-chat"), *load_streams("bedrock")],
    ids=str,
)
def test_a_stream_of_another_wire_folds_to_the_translated_body(stream: StreamCase) -> None:
    folded = fold(restream(stream.events, stream.wire, "cohere"), "cohere")
    body = translate(fold(stream.events, stream.wire), stream.wire, "cohere", "response").body
    assert decode(folded, "cohere", "response") == decode(
        body, "cohere", "response"
    )  # JSON may be spelled in another way


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_corrupted_stream_is_read_or_refused_as_no_stream_of_this_wire(
    stream: StreamCase,
) -> None:
    events = stream.events
    for at in [at for at in nodes(events) if len(at) > 1]:
        for new in NOISE:
            broken = set_at(events, at, new)
            assert isinstance(broken, list)
            with suppress(DecodeError):
                fold(broken, "cohere")
            list(restream(broken, "cohere", "anthropic"))


def test_recorded_streams_are_read_and_their_pieces_add_up() -> None:
    for stream in load_recorded_streams("cohere"):
        words = {"content": "", "tool_plan": "", "arguments": ""}
        for event in stream.events:
            for name, path in (
                ("content", ("content", "text")),
                ("tool_plan", ("tool_plan",)),
                ("arguments", ("tool_calls", "function", "arguments")),
            ):
                text = get(event, ("delta", "message", *path))
                words[name] += text if isinstance(text, str) else ""
        read = decode(fold(stream.stream, "cohere"), "cohere", "response")
        assert (
            "".join(part.text for part in read.parts() if isinstance(part, Text))
            == words["content"]
        )
        assert (
            "".join(part.text for part in read.parts() if isinstance(part, Reasoning))
            == words["tool_plan"]
        )
        assert "".join(call.arguments for call in read.calls()) == words["arguments"]


# --- the message ----------------------------------------------------------------------------------


def test_the_plan_is_emitted_as_it_grows_and_ends_when_a_call_starts() -> None:
    out = read_events(
        event("tool-plan-delta", tool_plan="I "),
        event("tool-plan-delta", tool_plan="look."),
        call_start(0, "c1"),
    )
    assert out[:4] == [
        PartStart(0, Reasoning("")),
        PartDelta(0, "I "),
        PartDelta(0, "look."),
        PartEnd(0),
    ]
    assert isinstance(out[4], PartStart) and isinstance(out[4].part, Call)


def test_content_and_calls_have_separate_indexes() -> None:
    events = [
        event("content-start", 0, content={"type": "text", "text": ""}),
        call_start(0, "c1"),
        event("content-delta", 0, content={"text": "a"}),
        event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
    ]
    assert [
        (event.slot, event.text) for event in read_events(*events) if isinstance(event, PartDelta)
    ] == [(0, "a"), (1, "{}")]


def test_fields_that_stay_empty_are_not_in_the_body() -> None:
    message = get(fold(case("stream-text").events, "cohere"), ("message",))
    assert isinstance(message, dict)
    assert sorted(message) == ["content", "role"]


@pytest.mark.parametrize("missing", [None, "", " ", "null"])
def test_blank_ids_count_as_missing_and_get_different_ids(missing: str | None) -> None:
    events = [call_start(0, missing), call_start(1, missing), message_end("TOOL_CALL")]
    call_ids = [
        event.part.id
        for event in read_events(*events)
        if isinstance(event, PartStart) and isinstance(event.part, Call)
    ]
    assert len(set(call_ids)) == 2
    assert call_ids == [
        call.id for call in decode(fold(events, "cohere"), "cohere", "response").calls()
    ]


def test_text_in_the_opening_event_comes_before_the_deltas() -> None:
    events = [
        event("content-start", 0, content={"type": "text", "text": "a"}),
        event("content-delta", 0, content={"text": "b"}),
    ]
    assert [event.text for event in read_events(*events) if isinstance(event, PartDelta)] == [
        "a",
        "b",
    ]


def test_a_call_that_was_never_opened_is_still_a_call() -> None:
    events = [
        event("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
        message_end("TOOL_CALL"),
    ]
    assert [
        call.arguments for call in decode(fold(events, "cohere"), "cohere", "response").calls()
    ] == ["{}"]


def test_the_first_event_may_hold_the_whole_message() -> None:
    whole: JSON = {
        "role": "assistant",
        "tool_plan": "Look.",
        "content": [],
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    }
    first: Chunk = {"type": "message-start", "id": "r1", "delta": {"message": whole}}
    read = decode(fold([first, message_end("TOOL_CALL")], "cohere"), "cohere", "response")
    assert [type(part) for part in read.parts()] == [Reasoning, Call]


def test_citations_and_logprobs_are_kept_and_reported_once() -> None:
    stream = case("stream-thinking-citations-and-logprobs")
    left = [
        event.path[1:]
        for event in read_events(*stream.events)  # type: ignore[arg-type]
        if isinstance(event, Unsupported)
    ]
    assert left == [
        ("logprobs",),
        ("delta", "message", "citations"),
        ("delta", "usage", "billed_units", "input_tokens"),
        ("delta", "usage", "billed_units", "output_tokens"),
    ]


def test_unknown_fields_are_kept_and_reported() -> None:
    out = restream(case("unknown-blocks-and-fields").events, "cohere", "anthropic", framed=False)
    list(out)
    reported = " ".join(loss.pointer + " " + loss.reason for loss in out.losses)
    for word in ("region", "mood", "prompt", "heartbeat", "hologram", "lang", "dreams", "warnings"):
        assert word in reported


def test_a_long_stream_leaves_nothing_in_the_reader() -> None:
    stream_reader = reader()
    stream_reader.read(event("content-start", 0, content={"type": "text", "text": ""}))
    for _ in range(1000):
        stream_reader.read(
            {**event("content-delta", 0, content={"text": "abc"}), "logprobs": {"text": "abc"}}
        )
        stream_reader.read(event("citation-start", 0, citations={"start": 1}))
    assert len(repr([(block.pieces, block.block) for block in stream_reader.open.values()])) < 200  # type: ignore[attr-defined]
    assert not stream_reader.citations and not stream_reader.logprobs  # type: ignore[attr-defined]


# --- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [
        ("COMPLETE", "stop"),
        ("TOOL_CALL", "tool"),
        ("MAX_TOKENS", "length"),
        ("STOP_SEQUENCE", "sequence"),
        ("TIMEOUT", "TIMEOUT"),
        ("ERROR", "ERROR"),
    ],
)
def test_every_stop_reason_is_translated(reason: str, neutral: str) -> None:
    assert read_events(message_end(reason))[-1] == Finish(neutral)


def test_a_message_with_calls_stops_for_tools_whatever_its_finish_reason_is() -> None:
    out = list(
        restream([call_start(0, "c1"), message_end("COMPLETE")], "cohere", "bedrock", framed=False)
    )
    assert {"messageStop": {"stopReason": "tool_use"}} in out


def test_the_usage_is_in_the_event_with_the_finish_reason() -> None:
    (note,) = [
        event
        for event in read_events(
            message_end(usage={"tokens": {"input_tokens": 3, "output_tokens": 4}})
        )
        if isinstance(event, Metadata)
    ]
    assert "input=3, output=4" in repr(note)


def test_a_stream_that_breaks_off_keeps_its_content_and_reports_the_break() -> None:
    events = case("stream-parallel-calls-with-a-plan").events[:5]
    body = fold(events, "cohere")
    assert get(body, ("error",)) == STREAM_CUT
    assert get(body, ("message", "tool_calls", 0, "function", "arguments")) == '{"city":'
    assert isinstance(decode(body, "cohere", "response"), Conversation)
    assert read_events(*events)[-2:] == [PartEnd(1, cut=True), StreamError(STREAM_CUT, cut=True)]  # type: ignore[arg-type]


def test_a_call_that_was_cut_off_is_written_with_its_partial_arguments() -> None:
    out = list(restream(CALLED[:6], "bedrock", "cohere", framed=False))
    assert out[-1] == {
        "type": "message-end",
        "delta": {"finish_reason": "ERROR", "error": STREAM_CUT},
    }
    assert (
        get(fold(out, "cohere"), ("message", "tool_calls", 0, "function", "arguments"))
        == '{"city":'
    )


def test_an_error_at_the_end_is_a_stream_error_and_stays_in_the_body() -> None:
    events = [
        event("content-delta", 0, content={"text": "Well"}),
        message_end("ERROR", error="overloaded"),
    ]
    assert read_events(*events)[-2:] == [PartEnd(0, cut=True), StreamError("overloaded", "ERROR")]
    body = fold(events, "cohere")
    assert get(body, ("error",)) == "overloaded"
    assert get(body, ("message", "content")) == [{"type": "text", "text": "Well"}]


def test_an_error_body_in_place_of_an_event_is_a_stream_error() -> None:
    assert read_events({"message": "internal server error"}) == [
        StreamError("internal server error")
    ]
    assert fold([{"message": "internal server error"}], "cohere") == {
        "message": "internal server error"
    }


def test_what_is_no_stream_of_this_wire_is_refused() -> None:
    for events in ([], CALLED):
        with pytest.raises(DecodeError):
            fold(events, "cohere")


# --- the real client ------------------------------------------------------------------------------


def test_the_official_client_reads_two_calls_of_one_tool_from_another_wire() -> None:
    got = read_with_sdk(list(restream(CALLED, "bedrock", "cohere")))
    calls: dict[int | None, list[str | None]] = {}
    text = ""
    for event in got:
        if event.type == "tool-call-start":
            call = event.delta.message.tool_calls  # type: ignore[union-attr]
            calls[event.index] = [call.id, call.function.name, call.function.arguments]  # type: ignore[union-attr]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += event.delta.message.tool_calls.function.arguments  # type: ignore[union-attr,operator]
        elif event.type == "content-delta":
            text += event.delta.message.content.text  # type: ignore[union-attr,operator]
    assert text == "Both cities."
    assert calls == {
        0: ["t.1", "get_weather", '{"city":"Paris"}'],
        1: ["t.2", "get_weather", '{"city":"Oslo"}'],
        2: ["t.3", "now", "{}"],
    }
    last = got[-1]
    assert last.type == "message-end" and last.delta is not None
    assert last.delta.finish_reason == "TOOL_CALL"
    assert last.delta.usage is not None and last.delta.usage.tokens is not None
    assert (last.delta.usage.tokens.input_tokens, last.delta.usage.tokens.output_tokens) == (5, 40)


def test_the_official_client_reads_reasoning_and_an_error() -> None:
    reasoning: list[JSON] = [
        {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"text": "Hm."}},
            }
        }
    ]
    got = read_with_sdk(list(restream(reasoning, "bedrock", "cohere")))
    assert [
        event.delta.message.content.thinking  # type: ignore[union-attr]
        for event in got
        if event.type == "content-delta"
    ] == ["Hm."]
    assert got[-1].type == "message-end" and got[-1].delta is not None
    assert (got[-1].delta.finish_reason, got[-1].delta.error) == ("ERROR", STREAM_CUT)


@pytest.mark.parametrize(
    "stream", [stream for stream in STREAMS if "unknown" not in stream.name], ids=str
)
def test_events_from_the_official_client_fold_to_the_same_body(stream: StreamCase) -> None:
    got = read_with_sdk([frames(stream.events)])
    assert fold(got, "cohere") == stream.body  # 7 is parsed as 7.0
