"""What is peculiar to ConverseStream. The official client boto3 reads our frames over
a real socket."""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import closing, suppress

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import EventStreamError  # type: ignore[import-untyped]
from cases import DELETE, StreamCase, load_recorded_streams, load_streams, nodes, same, set_at
from streams.loopback import serve

from toolwire import (
    Call,
    Conversation,
    DecodeError,
    Opaque,
    Reasoning,
    Result,
    Text,
    decode,
    translate,
)
from toolwire.conversation.json import JSON, Object, dump, get
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.streaming.framing import aws
from toolwire.streaming.restream import fold, restream
from toolwire.types import RequestInfo
from toolwire.wires import wire
from toolwire.wires.engine.specs import CatalogueEntry, catalogue_entries
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader

UNKNOWN_EVENTS = StreamCase(
    "unknown-events-and-fields",
    "bedrock",
    [
        {"messageStart": {"role": "assistant", "mood": "calm"}},
        {"heartbeat": {}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Well"}}},
        {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"text": "."},
                "beside": {"score": 1},
            }
        },
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"hologram": {"id": "h1"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"hologram": {"frames": ["a"]}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"hologram": {"frames": ["b"]}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"scent": "le"}}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"scent": "mon"}}},
        {
            "contentBlockStart": {
                "contentBlockIndex": 3,
                "start": {"toolUse": {"toolUseId": "t1", "name": "look", "urgency": 2}},
            }
        },
        {"contentBlockDelta": {"contentBlockIndex": 3, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": 3}},
        {"messageStop": {"stopReason": "tool_use"}},
        {
            "metadata": {
                "usage": {"inputTokens": 1, "outputTokens": 2, "dreamTokens": 4},
                "weather": "fine",
            }
        },
    ],
    {
        "output": {
            "message": {
                "role": "assistant",
                "mood": "calm",
                "content": [
                    {"text": "Well.", "beside": {"score": 1}},
                    {"hologram": {"id": "h1", "frames": ["a", "b"]}},
                    {"scent": "lemon"},
                    {"toolUse": {"toolUseId": "t1", "name": "look", "urgency": 2, "input": {}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2, "dreamTokens": 4},
        "weather": "fine",
    },
)
"""What the service may send one day. The official types do not accept it as a body, so it is no
case of theirs."""
STREAMS = (*load_streams("bedrock"), UNKNOWN_EVENTS)
CALLED: list[JSON] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Both "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "cities."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"city":'},
    },
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"city":"Oslo"}'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '"Paris"}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 40},
    },
    {"type": "message_stop"},
]
"""Two calls of one tool at once, as another wire streams them."""


def case(name: str) -> StreamCase:
    return next(stream for stream in STREAMS if stream.name == name)


def frames(events: list[JSON]) -> bytes:
    return b"".join(frame(event) for event in events)


def frame(event: JSON) -> bytes:
    ((name, payload),) = event.items()  # type: ignore[union-attr]
    return aws.write(
        dump(payload), name, kind="exception" if name.endswith("Exception") else "event"
    )


def reader(*, keep: bool = False) -> StreamReader:
    stream = wire("bedrock").stream
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


def delta(index: int, **content: JSON) -> Chunk:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": content}}


def stop(reason: str = "end_turn") -> Chunk:
    return {"messageStop": {"stopReason": reason}}


def content(body: JSON) -> list[JSON]:
    blocks = get(body, ("output", "message", "content"))
    assert isinstance(blocks, list)
    return blocks


def read_with_boto3(sent: bytes | list[bytes]) -> list[Object]:
    """The events that boto3 reads from such a stream."""
    with serve(
        [sent] if isinstance(sent, bytes) else sent, "application/vnd.amazon.eventstream"
    ) as server:
        client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=Config(retries={"total_max_attempts": 1}),
        )
        with closing(client):
            answer = client.converse_stream(
                modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}]
            )
            with closing(answer["stream"]) as stream:
                return list(stream)


# --- the laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_stream_folds_to_its_body_as_events_and_as_frames_cut_at_every_byte(
    stream: StreamCase,
) -> None:
    data = frames(stream.events)
    assert same(fold(stream.events, "bedrock"), stream.body)
    assert same(fold(data, "bedrock"), stream.body)
    assert same(fold([data[i : i + 1] for i in range(len(data))], "bedrock"), stream.body)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_cutting_the_frames_anywhere_does_not_change_the_output(stream: StreamCase) -> None:
    data = frames(stream.events)
    out = b"".join(restream(data, "bedrock", "openai-chat"))
    assert (
        b"".join(restream([data[i : i + 1] for i in range(len(data))], "bedrock", "openai-chat"))
        == out
    )
    assert b"".join(restream(stream.events, "bedrock", "openai-chat")) == out
    assert b"".join(restream([data[:100], data[100:]], "bedrock", "bedrock")) == data


@pytest.mark.parametrize("target", ["openai-chat", "cohere"])
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_translated_stream_folds_to_the_translated_body(stream: StreamCase, target: str) -> None:
    request = RequestInfo(id="any")  # else the id of a whole response depends on its content
    folded = fold(restream(stream.events, "bedrock", target, request=request), target)
    body = fold(stream.events, "bedrock")
    assert same(folded, translate(body, "bedrock", target, "response", request=request).body)


@pytest.mark.parametrize(
    "stream",
    [*load_streams("anthropic"), *load_streams("openai-chat"), *load_streams("cohere")],
    ids=str,
)
def test_a_stream_of_another_wire_folds_to_the_translated_body(stream: StreamCase) -> None:
    folded = fold(restream(stream.events, stream.wire, "bedrock"), "bedrock")
    body = translate(fold(stream.events, stream.wire), stream.wire, "bedrock", "response").body
    assert decode(folded, "bedrock", "response") == decode(body, "bedrock", "response")


NOISE: tuple[JSON, ...] = (DELETE, None, True, -1, "", [], {})


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
                fold(broken, "bedrock")
            list(restream(broken, "bedrock", "anthropic"))


def test_recorded_streams_are_read_and_their_pieces_add_up() -> None:
    for stream in load_recorded_streams("bedrock"):
        texts: dict[JSON, str] = {}
        for event in stream.events:
            index = get(event, ("contentBlockDelta", "contentBlockIndex"))
            text = get(event, ("contentBlockDelta", "delta", "text"))
            if isinstance(text, str):
                texts[index] = texts.get(index, "") + text  # type: ignore[index,arg-type]
        read = decode(fold(stream.events, "bedrock"), "bedrock", "response")
        assert [part.text for part in read.parts() if isinstance(part, Text)] == list(
            texts.values()
        )


# --- blocks ---------------------------------------------------------------------------------------


def test_a_text_starts_with_its_first_delta_and_is_emitted_at_once() -> None:
    assert read_events(delta(0, text="Hel"), delta(0, text="lo"), stop())[:3] == [
        PartStart(0, Text("")),
        PartDelta(0, "Hel"),
        PartDelta(0, "lo"),
    ]


def test_a_call_has_its_id_and_name_before_its_arguments() -> None:
    stream_reader = reader()
    opening_events = stream_reader.read(
        {
            "contentBlockStart": {
                "contentBlockIndex": 4,
                "start": {"toolUse": {"toolUseId": "t1", "name": "look"}},
            }
        }
    )
    assert [
        (event.part.id, event.part.name)  # type: ignore[attr-defined]
        for event in opening_events
        if isinstance(event, PartStart)
    ] == [("t1", "look")]
    assert stream_reader.read(delta(4, toolUse={"input": '{"a'})) == [PartDelta(0, '{"a')]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("{}", {}),
        ("null", {}),
        ('{"a":1}', {"a": 1}),
        ('{"a', {"_raw": '{"a'}),
        ("[1]", {"_raw": "[1]"}),
    ],
)
def test_arguments_that_are_no_object_are_written_under_raw(text: str, expected: JSON) -> None:
    start: Chunk = {
        "contentBlockStart": {
            "contentBlockIndex": 0,
            "start": {"toolUse": {"toolUseId": "t1", "name": "look"}},
        }
    }
    body = fold([start, delta(0, toolUse={"input": text}), stop("tool_use")], "bedrock")
    assert content(body) == [{"toolUse": {"toolUseId": "t1", "name": "look", "input": expected}}]


def test_arguments_of_the_opening_event_are_emitted_if_no_delta_follows() -> None:
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": 1}}}
    events: list[Chunk] = [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": use}},
        stop("tool_use"),
    ]
    assert [event.text for event in read_events(*events) if isinstance(event, PartDelta)] == [
        '{"a":1}'
    ]
    assert content(fold(events, "bedrock")) == [use]


def test_a_call_without_an_opening_event_is_still_a_call() -> None:
    read = decode(
        fold([delta(0, toolUse={"input": "{}"}), stop("tool_use")], "bedrock"),
        "bedrock",
        "response",
    )
    emitted_parts = [
        event.part
        for event in read_events(delta(0, toolUse={"input": "{}"}))
        if isinstance(event, PartComplete | PartStart)
    ]
    assert [call.id for call in read.calls()] == [
        part.id for part in emitted_parts if isinstance(part, Call)
    ]
    assert [call.origin for call in read.calls()] == ["minted"]


@pytest.mark.parametrize("missing", [None, "", " ", "null"])
def test_blank_ids_count_as_missing_and_get_different_ids(missing: str | None) -> None:
    events: list[Chunk] = []
    for i in range(2):
        use: JSON = {"toolUse": {"toolUseId": missing, "name": "look"}}
        events += [
            {"contentBlockStart": {"contentBlockIndex": i, "start": use}},
            {"contentBlockStop": {"contentBlockIndex": i}},
        ]
    call_ids = [
        event.part.id
        for event in read_events(*events)
        if isinstance(event, PartStart) and isinstance(event.part, Call)
    ]
    read = decode(fold([*events, stop("tool_use")], "bedrock"), "bedrock", "response")
    assert len(set(call_ids)) == 2
    assert call_ids == [call.id for call in read.calls()]


def test_a_delta_of_another_kind_under_the_same_index_begins_another_block() -> None:
    events = [delta(0, reasoningContent={"text": "Hm."}), delta(0, text="So."), stop()]
    assert content(fold(events, "bedrock")) == [
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"text": "So."},
    ]


def test_a_delta_with_the_name_of_a_call_starts_the_call() -> None:
    events = [delta(0, toolUse={"toolUseId": "c1", "name": "now"}), delta(0, toolUse={"input": ""})]
    (start, *_) = [event for event in read_events(*events) if isinstance(event, PartStart)]
    assert isinstance(start.part, Call) and (start.part.id, start.part.name) == ("c1", "now")


def test_a_call_that_starts_under_the_index_of_a_text_is_another_block() -> None:
    events: list[JSON] = [delta(0, text="Hm"), delta(0, toolUse={"name": "now"}), stop()]
    text, call = content(fold(events, "bedrock"))
    assert text == {"text": "Hm"} and get(call, ("toolUse", "name")) == "now"
    there = fold(b"".join(restream(events, "bedrock", "anthropic")), "anthropic")
    assert [call.name for call in decode(there, "anthropic", "response").calls()] == ["now"]


def test_text_and_citations_in_any_order_are_one_block() -> None:
    cited: JSON = {"title": "policy"}
    expected: list[JSON] = [
        {"citationsContent": {"content": [{"text": "ab"}], "citations": [cited]}}
    ]
    pieces = [delta(0, text="a"), delta(0, citation=cited), delta(0, text="b")]
    for events in (pieces, [pieces[1], pieces[0], pieces[2]]):
        assert content(fold([*events, stop()], "bedrock")) == expected
        assert [
            event.text for event in read_events(*events, stop()) if isinstance(event, PartDelta)
        ] == ["a", "b"]
        assert sum(isinstance(event, Unsupported) for event in read_events(*events, stop())) == 1


def test_the_signature_of_reasoning_comes_last_and_hidden_reasoning_is_one_part() -> None:
    events = [
        delta(0, reasoningContent={"text": "Hm."}),
        delta(0, reasoningContent={"signature": "s"}),
        delta(1, reasoningContent={"redactedContent": "aGk="}),
    ]
    out = read_events(*events, stop())
    assert out[:2] == [PartStart(0, Reasoning("")), PartDelta(0, "Hm.")]
    assert [event.signature for event in out if isinstance(event, PartEnd)] == ["s"]
    assert [event.part for event in out if isinstance(event, PartComplete)] == [
        Reasoning("", "aGk=")
    ]


def test_a_result_of_the_provider_finds_its_call() -> None:
    read = decode(
        fold(case("stream-server-tools-answer-in-place").events, "bedrock"), "bedrock", "response"
    )
    (pair,) = read.pairs()
    assert (pair.call and pair.call.executor, pair.result and pair.result.executor, pair.how) == (
        "provider",
        "provider",
        "id",
    )
    assert [
        event.part.call_id
        for event in read_events(*case("stream-server-tools-answer-in-place").events)  # type: ignore[arg-type]
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ] == ["tooluse_s1"]


@pytest.mark.parametrize(
    "entry",
    [entry for entry in catalogue_entries(wire("bedrock")) if "stream" in entry.forms],
    ids=lambda entry: entry.type,
)
def test_every_start_event_of_the_catalogue_is_read_as_listed(entry: CatalogueEntry) -> None:
    field: str = entry.discriminator["stream"].rpartition(".")[2]
    start: Chunk = {
        "contentBlockStart": {
            "contentBlockIndex": 0,
            "start": {field: {"toolUseId": "t1", "name": "look"}},
        }
    }
    parts = [
        event.part
        for event in read_events(start, stop())
        if isinstance(event, PartStart | PartComplete)
    ]
    assert [(part.family, part.executor) for part in parts if isinstance(part, Call | Result)] == [
        (entry.family, entry.executor)
    ]
    assert "t1" in repr(parts)


def test_unknown_fields_are_kept_and_reported() -> None:
    opaque = [
        part
        for part in decode(fold(UNKNOWN_EVENTS.events, "bedrock"), "bedrock", "response").parts()
        if isinstance(part, Opaque)
    ]
    assert [part.type for part in opaque] == ["hologram", "scent"]
    out = restream(UNKNOWN_EVENTS.events, "bedrock", "anthropic", framed=False)
    list(out)
    reported = " ".join(loss.pointer + " " + loss.reason for loss in out.losses)
    for word in (
        "mood",
        "heartbeat",
        "beside",
        "hologram",
        "scent",
        "urgency",
        "dreamTokens",
        "weather",
    ):
        assert word in reported


def test_a_picture_that_failed_is_kept_with_its_error() -> None:
    start: Chunk = {
        "contentBlockStart": {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}}
    }
    body = fold([start, delta(0, image={"error": {"message": "filtered"}}), stop()], "bedrock")
    assert content(body) == [{"image": {"format": "png", "error": {"message": "filtered"}}}]


def test_a_stream_without_metadata_is_complete() -> None:
    expected: JSON = {
        "output": {"message": {"role": "assistant", "content": [{"text": "a"}]}},
        "stopReason": "end_turn",
    }
    assert fold([delta(0, text="a"), stop()], "bedrock") == expected


def test_padding_is_ignored() -> None:
    padded: Chunk = {
        "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}, "p": "abcdefghijk"}
    }
    assert not any(isinstance(event, Unsupported) for event in read_events(padded, stop()))
    assert "p" not in json.dumps(fold([padded, stop()], "bedrock")).replace("output", "").replace(
        "stop", ""
    )


def test_a_long_stream_leaves_nothing_in_the_reader() -> None:
    stream_reader = reader()
    for _ in range(1000):
        stream_reader.read(delta(0, text="abc"))
        stream_reader.read(delta(0, citation={"title": "t"}))
    assert len(repr([(block.pieces, block.block) for block in stream_reader.open.values()])) < 200  # type: ignore[attr-defined]


# --- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "neutral"),
    [
        ("end_turn", "stop"),
        ("tool_use", "tool"),
        ("max_tokens", "length"),
        ("stop_sequence", "sequence"),
        ("guardrail_intervened", "filter"),
        ("content_filtered", "filter"),
        ("model_context_window_exceeded", "context"),
        ("malformed_tool_use", "malformed_tool_use"),
        ("malformed_model_output", "malformed_model_output"),
    ],
)
def test_every_stop_reason_is_translated(reason: str, neutral: str) -> None:
    assert read_events(stop(reason))[-1] == Finish(neutral)


def test_a_block_left_open_when_the_tokens_ran_out_was_cut() -> None:
    start: Chunk = {
        "contentBlockStart": {
            "contentBlockIndex": 0,
            "start": {"toolUse": {"toolUseId": "t1", "name": "look"}},
        }
    }
    assert [
        event.cut for event in read_events(start, stop("max_tokens")) if isinstance(event, PartEnd)
    ] == [True]
    assert [
        event.cut for event in read_events(start, stop("tool_use")) if isinstance(event, PartEnd)
    ] == [False]


def test_a_stream_that_breaks_off_keeps_its_content_and_reports_the_break() -> None:
    events = case("stream-parallel-calls-of-one-tool").events[:7]
    body = fold(events, "bedrock")
    assert get(body, ("error", "message")) == STREAM_CUT
    assert content(body)[1] == {
        "toolUse": {"toolUseId": "tooluse_a", "name": "get_weather", "input": {"_raw": '{"city":'}}
    }
    assert isinstance(decode(body, "bedrock", "response"), Conversation)
    out = read_events(*events)  # type: ignore[arg-type]
    assert out[-2:] == [PartEnd(1, cut=True), StreamError(STREAM_CUT, cut=True)]


def test_frames_cut_in_the_middle_are_a_stream_that_broke_off() -> None:
    data = frames(case("stream-text").events)
    body = fold(data[: len(data) // 2], "bedrock")
    assert get(body, ("error", "type")) == "stream_cut"
    last = list(restream(data[: len(data) // 2], "bedrock", "anthropic", framed=False))[-1]
    assert last == {"type": "error", "error": {"type": "api_error", "message": STREAM_CUT}}


def test_an_exception_closes_open_parts_and_is_a_stream_error() -> None:
    failed: Chunk = {"throttlingException": {"message": "slow down"}}
    assert read_events(delta(0, text="Well"), failed)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("slow down", "throttlingException"),
    ]
    body = fold(frames([delta(0, text="Well"), failed]), "bedrock")
    assert content(body) == [{"text": "Well"}]
    assert get(body, ("error",)) == {"type": "throttlingException", "message": "slow down"}


def test_a_stream_may_be_a_single_exception() -> None:
    failed: Chunk = {"validationException": {"message": "no"}}
    assert fold(frames([failed]), "bedrock") == {
        "error": {"type": "validationException", "message": "no"}
    }
    with pytest.raises(DecodeError):
        fold([], "bedrock")
    with pytest.raises(DecodeError):
        fold(CALLED, "bedrock")


# --- the real client ------------------------------------------------------------------------------


def test_boto3_reads_two_calls_of_one_tool_from_another_wire() -> None:
    out = restream(CALLED, "anthropic", "bedrock")
    assert out.headers["content-type"] == "application/vnd.amazon.eventstream"
    got = read_with_boto3(list(out))
    assert got[0] == {"messageStart": {"role": "assistant"}}
    uses = {
        get(event, ("contentBlockStart", "contentBlockIndex")): get(
            event, ("contentBlockStart", "start", "toolUse")
        )
        for event in got
        if "contentBlockStart" in event
    }
    assert uses == {
        1: {"toolUseId": "toolu_1", "name": "get_weather"},
        2: {"toolUseId": "toolu_2", "name": "get_weather"},
    }
    inputs, text = {1: "", 2: ""}, ""
    for event in got:
        block_delta = event.get("contentBlockDelta")
        if isinstance(block_delta, dict):
            piece = get(block_delta, ("delta", "text"))
            text += piece if isinstance(piece, str) else ""
            more = get(block_delta, ("delta", "toolUse", "input"))
            if isinstance(more, str):
                inputs[block_delta["contentBlockIndex"]] += more  # type: ignore[index]
    assert (text, inputs) == ("Both cities.", {1: '{"city":"Paris"}', 2: '{"city":"Oslo"}'})
    assert got[-2] == {"messageStop": {"stopReason": "tool_use"}}
    assert get(got[-1], ("metadata", "usage")) == {
        "inputTokens": 5,
        "outputTokens": 40,
        "totalTokens": 45,
    }
    assert same(fold(got, "bedrock"), fold(restream(CALLED, "anthropic", "bedrock"), "bedrock"))


def test_boto3_raises_the_exception_that_is_written() -> None:
    events = list(restream(CALLED[:4], "anthropic", "bedrock"))
    with pytest.raises(EventStreamError) as raised:
        read_with_boto3(events)
    assert raised.value.response["Error"] == {
        "Code": "modelStreamErrorException",
        "Message": STREAM_CUT,
    }


@pytest.mark.parametrize(
    "stream", [stream for stream in STREAMS if stream is not UNKNOWN_EVENTS], ids=str
)
def test_events_from_boto3_fold_to_the_same_body_as_the_frames(stream: StreamCase) -> None:
    got = json.dumps(
        read_with_boto3(frames(stream.events)), default=lambda data: b64encode(data).decode()
    )  # it gives bytes as bytes
    assert same(fold(json.loads(got), "bedrock"), stream.body)


def test_boto3_ignores_events_that_its_service_model_does_not_have() -> None:
    events = [
        event for event in UNKNOWN_EVENTS.events if get(event, ("contentBlockStart", "start")) != {}
    ]  # that it refuses
    got = read_with_boto3(frames(events))
    calls = [part.name for part in decode(fold(got, "bedrock"), "bedrock", "response").calls()]
    assert calls == ["look"]
