"""The UI message stream of the AI SDK, in both directions, and the real clients of versions 5, 6
and 7 that read it over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import pytest
from cases import differences, load_streams, same, streaming
from streams.clients import CLIENTS, Verdict, install_clients, run_clients
from streams.loopback import serve

from toolwire import Call, Opaque, Result, Text, decode, translate
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.errors import DecodeError, pointer
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.ai_sdk.chunk_types import CHUNK_TYPES, fit_chunk
from toolwire.wires.ai_sdk.tool_parts import CUT_OFF, INVALID_INPUT
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import (
    DONE,
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    StreamWriter,
    data_sse,
)

START: Chunk = {"type": "start", "messageId": "m"}
STEP: Chunk = {"type": "start-step"}
END: tuple[Chunk, ...] = ({"type": "finish-step"}, {"type": "finish", "finishReason": "stop"})
ReadWithClients: TypeAlias = "Callable[[Iterable[tuple[str, list[bytes]]]], list[Verdict]]"


def stream_spec() -> StreamSpec:
    spec = wire("ai-sdk").stream
    assert spec is not None
    return spec


def read_events(events: Iterable[Chunk]) -> list[Event]:
    """The neutral events of a stream."""
    reader: StreamReader = stream_spec().reader()
    out: list[Event] = []
    for event in events:
        out += reader.read(event)
        reader.count += 1
    return out + reader.end()


def text_chunks(call_id: str, *words: str) -> list[Chunk]:
    deltas: list[Chunk] = [{"type": "text-delta", "id": call_id, "delta": word} for word in words]
    return [{"type": "text-start", "id": call_id}, *deltas, {"type": "text-end", "id": call_id}]


def input_chunk(call_id: str, value: JSON, name: str = "roll", **more: JSON) -> Chunk:
    return {
        "type": "tool-input-available",
        "toolCallId": call_id,
        "toolName": name,
        "input": value,
        **more,
    }


def output_chunk(call_id: str, output: JSON, **more: JSON) -> Chunk:
    return {"type": "tool-output-available", "toolCallId": call_id, "output": output, **more}


def parts_of(body: JSON) -> list[Object]:
    found = get(body, ("parts",))
    assert isinstance(found, list)
    return [part for part in found if isinstance(part, dict)]


# --- Anthropic answers, from which streams are made -----------------------------------------------


def block(
    index: int, opening: Object, kind: str, field: str, *pieces: str, closed: bool = True
) -> list[Chunk]:
    start: Chunk = {"type": "content_block_start", "index": index, "content_block": opening}
    deltas: list[Chunk] = [
        {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}
        for piece in pieces
    ]
    stop: list[Chunk] = [{"type": "content_block_stop", "index": index}] if closed else []
    return [start, *deltas, *stop]


def tool_use(index: int, call_id: str, *pieces: str, closed: bool = True) -> list[Chunk]:
    opening: Object = {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {}}
    return block(index, opening, "input_json_delta", "partial_json", *pieces, closed=closed)


def anthropic_stream(*blocks: list[Chunk], stop: str = "tool_use") -> list[Chunk]:
    usage: Object = {"input_tokens": 1, "output_tokens": 1}
    message: Object = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    return [
        {"type": "message_start", "message": message},
        *(event for block in blocks for event in block),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


REASONING_BLOCK = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    "thinking_delta",
    "thinking",
    "Two ",
    "cities.",
)
TEXT_BLOCK = block(1, {"type": "text", "text": ""}, "text_delta", "text", "Let me ", "look.")
PARALLEL = anthropic_stream(
    REASONING_BLOCK,
    TEXT_BLOCK,
    tool_use(2, "toolu_a", '{"city": ', '"Oslo"}'),
    tool_use(3, "toolu_b", '{"city":"Lima"}'),
    tool_use(4, "toolu_c"),
)


# --- the real clients -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def read_with_clients() -> ReadWithClients:
    """The official clients: one process reads many streams, each behind its own server."""
    install_clients()

    def ask(streams: Iterable[tuple[str, list[bytes]]]) -> list[Verdict]:
        with ExitStack() as stack:
            servers = [
                (name, stack.enter_context(serve(pieces, headers=stream_spec().headers)))
                for name, pieces in streams
            ]
            return run_clients({"package": name, "url": server.url} for name, server in servers)

    return ask


def last_message(verdict: Verdict) -> Object:
    messages = get(verdict["chat"], ("messages",))
    assert isinstance(messages, list) and isinstance(messages[-1], dict)
    return messages[-1]


def test_every_client_finds_two_calls_of_one_tool_with_their_ids_and_arguments(
    read_with_clients: ReadWithClients,
) -> None:
    requests = [(version, name) for version, names in CLIENTS.items() for name in names] + [
        (6, "ai7"),
        (6, "ai7-strict"),
        (5, "ai7"),
    ]
    streams = [
        (name, list(restream(PARALLEL, "anthropic", "ai-sdk", version=version)))
        for version, name in requests
    ]
    for (version, name), verdict in zip(requests, read_with_clients(streams), strict=True):
        assert (verdict["error"], verdict["invalid"]) == (None, None), (version, name)
        assert get(verdict["chat"], ("status",)) == "ready"
        message = last_message(verdict)
        assert message["id"] == "msg_1"
        parts = [
            {key: value for key, value in part.items() if key not in ("id",)}
            for part in parts_of(message)
        ]
        assert parts == [
            {"type": "step-start"},
            {"type": "reasoning", "text": "Two cities.", "state": "done"},
            {"type": "text", "text": "Let me look.", "state": "done"},
            {
                "type": "tool-get_weather",
                "toolCallId": "toolu_a",
                "state": "input-available",
                "input": {"city": "Oslo"},
            },
            {
                "type": "tool-get_weather",
                "toolCallId": "toolu_b",
                "state": "input-available",
                "input": {"city": "Lima"},
            },
            {
                "type": "tool-get_weather",
                "toolCallId": "toolu_c",
                "state": "input-available",
                "input": {},
            },
        ], (version, name)
        calls = get(verdict["chat"], ("asked",))
        assert isinstance(calls, list)
        assert [(get(call, ("toolCallId",)), get(call, ("input",))) for call in calls] == [
            ("toolu_a", {"city": "Oslo"}),
            ("toolu_b", {"city": "Lima"}),
            ("toolu_c", {}),
        ]


def test_every_client_gets_an_error_for_invalid_input_and_keeps_its_text(
    read_with_clients: ReadWithClients,
) -> None:
    events: list[Chunk] = [
        {
            "id": "chat-1",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "role": "assistant",
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "c1",
                                "type": "function",
                                "function": {"name": "roll", "arguments": '{"sides": '},
                            }
                        ],
                    },
                }
            ],
        },
        {"id": "chat-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
    ]
    requests = [(version, name) for version, names in CLIENTS.items() for name in names]
    streams = [
        (name, list(restream(events, "openai-chat", "ai-sdk", version=version)))
        for version, name in requests
    ]
    for (_, name), verdict in zip(requests, read_with_clients(streams), strict=True):
        assert (verdict["error"], verdict["invalid"]) == (None, None), name
        _, part = parts_of(last_message(verdict))
        assert (part["toolCallId"], part["state"], part["errorText"]) == (
            "c1",
            "output-error",
            INVALID_INPUT,
        ), name
        if (
            name != "ai5-strict"
        ):  # it has no such chunk in its first releases, and keeps what it could guess
            assert '{"sides": ' in (part.get("rawInput"), part.get("input")), name
        assert get(verdict["chat"], ("asked",)) == []


def test_a_client_shows_the_error_and_keeps_what_came_before(
    read_with_clients: ReadWithClients,
) -> None:
    events = anthropic_stream(TEXT_BLOCK, tool_use(2, "toolu_a", '{"city"'))
    neutral_events: list[Chunk] = [
        *events[:-2],
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ]
    streams = [
        (names[-1], list(restream(events, "anthropic", "ai-sdk", version=version)))
        for events in (neutral_events, events[:-3])
        for version, names in CLIENTS.items()
    ]
    for n, verdict in enumerate(read_with_clients(streams)):
        assert get(verdict["chat"], ("status",)) == "error"
        assert get(verdict["chat"], ("error",)) == ("Overloaded" if n < 3 else STREAM_CUT)
        _, text_part, call = parts_of(last_message(verdict))
        assert (text_part["text"], text_part["state"]) == ("Let me look.", "done")
        assert (call["toolCallId"], call["state"]) == ("toolu_a", "output-error")


RICH = anthropic_stream(
    TEXT_BLOCK,
    block(
        2,
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        "input_json_delta",
        "partial_json",
        '{"query":"x"}',
    ),
    block(3, {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}, "", ""),
    block(4, {"type": "text", "text": ""}, "text_delta", "text", "Nothing."),
    stop="end_turn",
)


def test_server_tools_are_shown_and_never_run_by_the_client(
    read_with_clients: ReadWithClients,
) -> None:
    requests = [(version, name) for version, names in CLIENTS.items() for name in names]
    streams = [
        (name, list(restream(RICH, "anthropic", "ai-sdk", version=version)))
        for version, name in requests
    ]
    for verdict in read_with_clients(streams):
        assert (verdict["error"], verdict["invalid"]) == (None, None)
        part = parts_of(last_message(verdict))[2]
        assert (part["type"], part["state"], part["providerExecuted"]) == (
            "tool-web_search",
            "output-available",
            True,
        )
        assert (part["input"], part["output"]) == ({"query": "x"}, [])
        assert get(verdict["chat"], ("asked",)) == []


def everything(version: int) -> list[Chunk]:
    """A stream with every type of chunk and every key that a version knows."""
    meta: Object = {"p": {"a": 1}}
    chunks: list[Chunk] = [
        {"type": "start", "messageId": "m", "messageMetadata": {"a": 1}},
        {"type": "start-step"},
        {"type": "data-x", "id": "d", "data": 1, "transient": False},
        {"type": "text-start", "id": "t", "providerMetadata": meta},
        {"type": "text-delta", "id": "t", "delta": "a", "providerMetadata": meta},
        {"type": "text-end", "id": "t", "providerMetadata": meta, "citations": []},
        {"type": "reasoning-start", "id": "r", "providerMetadata": meta},
        {"type": "reasoning-delta", "id": "r", "delta": "a", "providerMetadata": meta},
        {"type": "reasoning-end", "id": "r", "providerMetadata": meta},
        {
            "type": "tool-input-start",
            "toolCallId": "1",
            "toolName": "f",
            "providerExecuted": False,
            "dynamic": False,
            "title": "F",
            "providerMetadata": meta,
            "toolMetadata": {},
            "inputEncoding": "json",
        },
        {"type": "tool-input-delta", "toolCallId": "1", "inputTextDelta": "{}"},
        {
            "type": "tool-input-available",
            "toolCallId": "1",
            "toolName": "f",
            "input": {},
            "providerExecuted": False,
            "providerMetadata": meta,
            "dynamic": False,
            "title": "F",
            "toolMetadata": {},
        },
        {
            "type": "tool-output-available",
            "toolCallId": "1",
            "output": 1,
            "providerExecuted": False,
            "dynamic": False,
            "preliminary": True,
            "providerMetadata": meta,
            "toolMetadata": {},
        },
        {
            "type": "tool-output-error",
            "toolCallId": "1",
            "errorText": "e",
            "providerExecuted": False,
            "dynamic": False,
            "providerMetadata": meta,
            "toolMetadata": {},
        },
        {
            "type": "tool-input-error",
            "toolCallId": "2",
            "toolName": "f",
            "input": "{",
            "errorText": "e",
            "providerExecuted": False,
            "providerMetadata": meta,
            "dynamic": False,
            "title": "F",
            "toolMetadata": {},
        },
        {"type": "tool-input-available", "toolCallId": "3", "toolName": "f", "input": {}},
        {
            "type": "tool-approval-request",
            "approvalId": "a",
            "toolCallId": "3",
            "signature": "s",
            "approvalDescriptor": {},
            "inputSchemaInput": {},
            "isAutomatic": True,
            "reason": "r",
        },
        {
            "type": "tool-approval-response",
            "approvalId": "a",
            "approved": False,
            "reason": "r",
            "providerExecuted": False,
            "providerMetadata": meta,
        },
        {"type": "tool-output-denied", "toolCallId": "3"},
        {
            "type": "source-url",
            "sourceId": "s",
            "url": "https://example.com",
            "title": "t",
            "providerMetadata": meta,
        },
        {
            "type": "source-document",
            "sourceId": "s",
            "mediaType": "a/b",
            "title": "t",
            "filename": "f",
            "providerMetadata": meta,
        },
        {
            "type": "file",
            "url": "https://example.com/a",
            "mediaType": "image/png",
            "providerMetadata": meta,
        },
        {
            "type": "reasoning-file",
            "url": "https://example.com/a",
            "mediaType": "image/png",
            "providerMetadata": meta,
        },
        {"type": "custom", "kind": "a.b", "providerMetadata": meta},
        {"type": "steering-message", "id": "u", "parts": []},
        {"type": "message-metadata", "messageMetadata": {"b": 2}},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "reset-step"},
        {"type": "finish", "finishReason": "stop", "messageMetadata": {"c": 3}},
        {"type": "abort", "reason": "r"},
    ]
    return [known for chunk in chunks if (known := fit_chunk(chunk, version)) is not None]


def test_the_table_of_chunks_matches_the_first_release_of_each_version(
    read_with_clients: ReadWithClients,
) -> None:
    streams = [
        (names[0], [data_sse(chunk) for chunk in everything(version)])
        for version, names in CLIENTS.items()
    ]
    for (name, _), verdict in zip(streams, read_with_clients(streams), strict=True):
        assert verdict["error"] is None, name
        assert len(parts_of(last_message(verdict))) > 8
    seen = {str(chunk["type"]).replace("data-x", "data-*") for chunk in everything(7)} | {"error"}
    assert {name for name, known in CHUNK_TYPES.items() if known.since <= (7, 0)} == seen
    newer = [
        kind for version in (5, 6) for kind in CHUNK_TYPES if (version, 0) < CHUNK_TYPES[kind].since
    ]
    assert "tool-output-denied" in newer and "tool-approval-response" in newer


def test_a_stream_folds_to_the_message_that_the_real_client_has(
    read_with_clients: ReadWithClients,
) -> None:
    cases = [
        case for case in load_streams("ai-sdk") if case.name != "stream-newer-and-unknown-chunks"
    ]
    streams = [
        ("ai", [data_sse(event) for event in case.events if isinstance(event, dict)])
        for case in cases
    ]
    for case, verdict in zip(cases, read_with_clients(streams), strict=True):
        assert (verdict["error"], verdict["invalid"]) == (None, None), str(case)
        body = fold(case.stream, "ai-sdk")
        assert isinstance(body, dict)
        own_message = {key: value for key, value in body.items() if key != "finishReason"}
        client_message = last_message(verdict)
        expected_message = (
            client_message
            if any(get(event, ("messageId",)) == own_message["id"] for event in case.events)
            else {**client_message, "id": own_message["id"]}
        )
        assert same(own_message, expected_message), (
            str(case),
            [pointer(at) for at in differences(own_message, expected_message)],
        )


def test_streams_of_every_wire_are_read_by_the_strictest_client_as_they_fold(
    read_with_clients: ReadWithClients,
) -> None:
    rows: list[tuple[str, list[Chunk]]] = []
    for source in streaming():
        for case in load_streams(source) if source != "ai-sdk" else ():
            stream = list(restream(case.stream, source, "ai-sdk", framed=False))
            if not any(chunk["type"] in ("error", "abort") for chunk in stream):
                rows.append((str(case), stream))
    assert len(rows) > 10
    streams = [
        (package, [data_sse(chunk) for chunk in chunks])
        for package in ("ai6-strict", "ai")
        for _, chunks in rows
    ]
    for (name, chunks), verdict in zip([*rows, *rows], read_with_clients(streams), strict=True):
        body = fold(chunks, "ai-sdk")
        assert verdict["error"] is None, name
        assert verdict["invalid"] is None or parts_of(body) == [], name
        message = last_message(verdict)  # of an empty answer a client makes no message
        parts, client_message = (
            parts_of(body),
            parts_of(message) if message["role"] == "assistant" else [],
        )
        for part in (*parts, *client_message):
            part.pop("id", None)  # only newer clients keep the id of reasoning
        assert parts == client_message, name


# --- writing --------------------------------------------------------------------------------------


def test_an_answer_over_http_has_the_header_fields_of_the_official_server() -> None:
    stream = restream(PARALLEL, "anthropic", "ai-sdk")
    assert stream.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
    assert list(stream)[-1] == DONE


def test_calls_grow_live_and_end_with_the_whole_input() -> None:
    chunks = list(
        restream(
            anthropic_stream(tool_use(0, "toolu_a", '{"city": ', '"Oslo"}')),
            "anthropic",
            "ai-sdk",
            framed=False,
        )
    )
    assert chunks == [
        {"type": "start", "messageId": "msg_1"},
        {"type": "start-step"},
        {"type": "tool-input-start", "toolCallId": "toolu_a", "toolName": "get_weather"},
        {"type": "tool-input-delta", "toolCallId": "toolu_a", "inputTextDelta": '{"city": '},
        {"type": "tool-input-delta", "toolCallId": "toolu_a", "inputTextDelta": '"Oslo"}'},
        {
            "type": "tool-input-available",
            "toolCallId": "toolu_a",
            "toolName": "get_weather",
            "input": {"city": "Oslo"},
        },
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "tool-calls"},
    ]


def test_the_oldest_version_gets_no_stop_reason_and_the_loss_is_reported() -> None:
    stream = restream(
        anthropic_stream(TEXT_BLOCK, stop="max_tokens"),
        "anthropic",
        "ai-sdk",
        framed=False,
        version=5,
    )
    assert list(stream)[-1] == {"type": "finish"}
    assert [loss.pointer for loss in stream.losses if "length" in loss.reason] == ["/finish_reason"]
    assert list(
        restream(
            anthropic_stream(TEXT_BLOCK, stop="max_tokens"), "anthropic", "ai-sdk", framed=False
        )
    )[-1] == {"type": "finish", "finishReason": "length"}


def test_the_stop_reason_survives_a_round_trip() -> None:
    folded = fold(
        restream(anthropic_stream(TEXT_BLOCK, stop="max_tokens"), "anthropic", "ai-sdk"), "ai-sdk"
    )
    assert get(folded, ("finishReason",)) == "length"
    assert (
        get(translate(folded, "ai-sdk", "anthropic", "response").body, ("stop_reason",))
        == "max_tokens"
    )


def test_without_a_message_id_the_client_makes_one() -> None:
    events: list[Chunk] = [
        {"message": {"role": "assistant", "content": "Hi"}, "done": True, "done_reason": "stop"}
    ]
    chunks = list(restream(events, "ollama", "ai-sdk", framed=False))
    assert chunks[0] == {"type": "start"}
    assert get(fold(chunks, "ai-sdk"), ("id",)) == "msg-0"


def test_an_empty_answer_has_no_step_and_an_empty_text_is_no_part() -> None:
    empty = block(0, {"type": "text", "text": ""}, "text_delta", "text")
    assert list(
        restream(anthropic_stream(empty, stop="end_turn"), "anthropic", "ai-sdk", framed=False)
    ) == [{"type": "start", "messageId": "msg_1"}, {"type": "finish", "finishReason": "stop"}]


@pytest.mark.parametrize(
    ("version", "types"),
    [
        (5, ["tool-output-error"]),
        (6, ["tool-input-error", "tool-output-error"]),
        (7, ["tool-input-error"]),
    ],
)
def test_input_that_cannot_be_read_is_an_error_with_its_text(
    version: int, types: list[str]
) -> None:
    events = anthropic_stream(tool_use(0, "toolu_a", '{"city'))[:-2]
    chunks = list(restream(events, "anthropic", "ai-sdk", framed=False, version=version))
    failed = [
        chunk
        for chunk in chunks
        if str(chunk["type"]).startswith("tool-") and str(chunk["type"]).endswith("-error")
    ]
    assert [chunk["type"] for chunk in failed] == types
    assert all(chunk["errorText"] == INVALID_INPUT for chunk in failed)
    assert all(
        chunk["input"] == '{"city' for chunk in failed if chunk["type"] == "tool-input-error"
    )
    assert chunks[-1] == {"type": "error", "errorText": STREAM_CUT}


def test_a_call_that_is_cut_off_where_its_text_can_be_read_is_not_run() -> None:
    cut = anthropic_stream(tool_use(0, "toolu_a", "{}", closed=False))[:-2]
    chunks = list(restream(cut, "anthropic", "ai-sdk", framed=False))
    assert "tool-input-available" not in [chunk["type"] for chunk in chunks]
    (failed,) = [chunk for chunk in chunks if chunk["type"] == "tool-input-error"]
    assert (failed["input"], failed["errorText"]) == ("{}", CUT_OFF)


def test_an_open_call_with_broken_input_is_restored_unchanged() -> None:
    events = anthropic_stream(tool_use(0, "toolu_a", '{"city'))
    page = restream(events, "anthropic", "ai-sdk")
    body = fold(page, "ai-sdk")
    (call,) = decode(body, "ai-sdk", "response").calls()
    assert (call.id, call.executor) == ("toolu_a", "client")
    assert list(decode(body, "ai-sdk", "response").results()) == []


def writer(version: int | None = None) -> StreamWriter:
    stream_writer: StreamWriter = stream_spec().writer(
        EncodeContext("ai-sdk", "response", ids=None, names={}, reverse_map=NO_MAP), version
    )
    return stream_writer


def roll_call(call_id: str, arguments: str = "{}") -> Call:
    return Call(call_id, "roll", LazyJson(arguments))


def write_events(stream_writer: StreamWriter, *events: Event) -> Iterator[Chunk]:
    moves: dict[type, Callable[..., list[Chunk]]] = {
        MessageStart: stream_writer.begin,
        PartStart: stream_writer.start,
        PartDelta: stream_writer.delta,
        PartEnd: stream_writer.end,
        PartComplete: stream_writer.complete,
        Finish: stream_writer.finish,
        StreamError: stream_writer.error,
    }
    for event in events:
        yield from moves[type(event)](event)


def test_text_after_the_results_of_functions_starts_the_next_step() -> None:
    stream_writer = writer()
    call, other = roll_call("a"), roll_call("b")
    chunks = (
        list(
            write_events(
                stream_writer,
                MessageStart({}),
                PartStart(0, call),
                PartEnd(0),
                PartStart(1, other),
                PartEnd(1),
                PartComplete(other.result({"n": 2})),
                PartComplete(call.result("gone", error=True)),
                PartStart(2, Text("")),
                PartDelta(2, "Two."),
                PartEnd(2),
                Finish("stop"),
            )
        )
        + stream_writer.close()
    )
    assert [chunk["type"] for chunk in chunks if "step" in str(chunk["type"])] == [
        "start-step",
        "finish-step",
    ] * 2
    parts = parts_of(fold(chunks, "ai-sdk"))
    assert [part["type"] for part in parts] == [
        "step-start",
        "tool-roll",
        "tool-roll",
        "step-start",
        "text",
    ]
    assert (parts[1]["errorText"], parts[2]["output"]) == ("gone", {"n": 2})
    assert chunks[-1] == {"type": "finish", "finishReason": "stop"}


def test_a_text_ends_with_its_step_and_continues_as_another_text() -> None:
    stream_writer = writer()
    call = roll_call("a")
    chunks = (
        list(
            write_events(
                stream_writer,
                MessageStart({}),
                PartStart(9, Text("")),
                PartDelta(9, "still "),
                PartStart(0, call),
                PartEnd(0),
                PartComplete(call.result("1")),
                PartStart(1, Text("")),
                PartDelta(1, "new"),
                PartEnd(1),
                PartDelta(9, "going"),
                PartEnd(9),
                Finish("stop"),
            )
        )
        + stream_writer.close()
    )
    assert [
        part["text"] for part in parts_of(fold(chunks, "ai-sdk")) if part["type"] == "text"
    ] == ["still ", "new", "going"]
    kinds = [chunk["type"] for chunk in chunks]
    assert kinds.index("text-end") < kinds.index("finish-step")


def test_a_result_without_its_call_is_left_out_and_reported() -> None:
    stream_writer = writer()
    assert list(
        write_events(
            stream_writer, MessageStart({}), PartComplete(roll_call("nowhere").result("1"))
        )
    ) == [{"type": "start"}]
    assert [
        loss.reason for loss in stream_writer.context.losses if "which is not here" in loss.reason
    ]


def test_an_output_gives_a_call_with_broken_input_an_input() -> None:
    stream_writer = writer()
    call = roll_call("a")
    chunks = list(
        write_events(
            stream_writer,
            MessageStart({}),
            PartStart(0, call),
            PartDelta(0, "{"),
            PartEnd(0),
            PartComplete(call.result("1")),
            Finish("stop"),
        )
    )
    (part,) = parts_of(fold([*chunks, *stream_writer.close()], "ai-sdk"))[1:]
    assert (part["state"], part["input"], part["output"]) == (
        "output-available",
        {"_raw": "{"},
        "1",
    )


def test_an_abort_is_read_as_an_abort() -> None:
    events: list[Chunk] = [
        START,
        STEP,
        *text_chunks("0", "Hm")[:2],
        {"type": "abort", "reason": "stop button"},
    ]
    *_, fault = read_events(events)
    assert fault == StreamError("stop button", "abort")
    assert list(write_events(writer(6), MessageStart({}), fault))[-1] == {"type": "abort"}
    assert list(write_events(writer(7), MessageStart({}), fault))[-1] == {
        "type": "abort",
        "reason": "stop button",
    }


def test_newer_keys_and_types_are_left_out_for_an_older_version() -> None:
    start: Chunk = {
        "type": "tool-input-start",
        "toolCallId": "1",
        "toolName": "f",
        "title": "F",
        "toolMetadata": {},
        "new": 1,
    }
    assert fit_chunk(start, 5) == {"type": "tool-input-start", "toolCallId": "1", "toolName": "f"}
    assert fit_chunk(start, 6) == {
        "type": "tool-input-start",
        "toolCallId": "1",
        "toolName": "f",
        "title": "F",
    }
    assert fit_chunk(start, 7) == {
        "type": "tool-input-start",
        "toolCallId": "1",
        "toolName": "f",
        "title": "F",
        "toolMetadata": {},
    }
    assert fit_chunk({"type": "tool-output-denied", "toolCallId": "1"}, 5) is None
    assert (
        fit_chunk({"type": "reset-step"}, 7) is None and fit_chunk({"type": "hologram"}, 7) is None
    )


def test_a_part_that_only_this_wire_has_is_sent_to_the_versions_that_know_it() -> None:
    events: list[Chunk] = [
        START,
        STEP,
        {"type": "data-x", "data": 1},
        {"type": "custom", "kind": "a.b"},
        *END,
    ]
    older = restream(events, "ai-sdk", "ai-sdk", framed=False, version=6)
    assert [chunk["type"] for chunk in older] == [
        "start",
        "start-step",
        "data-x",
        "finish-step",
        "finish",
    ]
    assert [(loss.path, loss.reason) for loss in older.losses] == [
        ((3,), "version 6 of this wire has no such event: custom")
    ]


def test_a_stream_of_this_wire_goes_to_an_older_version_as_far_as_that_knows_it() -> None:
    ask: Chunk = {"type": "tool-approval-request", "approvalId": "q", "toolCallId": "a"}
    titled = {**input_chunk("a", {}), "title": "Roll"}
    denied: Chunk = {"type": "tool-output-denied", "toolCallId": "a"}
    events: list[Chunk] = [
        START,
        STEP,
        titled,
        ask,
        denied,
        input_chunk("b", {}),
        output_chunk("b", 1, preliminary=True),
        output_chunk("b", 2),
        *END,
    ]
    older = restream(events, "ai-sdk", "ai-sdk", framed=False, version=5)
    failed: Chunk = {
        "type": "tool-output-error",
        "toolCallId": "a",
        "errorText": "Tool call execution denied.",
    }
    finish: list[Chunk] = [{"type": "finish-step"}, {"type": "finish"}]
    assert list(older) == [
        START,
        STEP,
        input_chunk("a", {}),
        failed,
        input_chunk("b", {}),
        output_chunk("b", 2),
        *finish,
    ]
    assert [loss.path for loss in older.losses] == [(2, "title"), (3,), (6,), (9, "finishReason")]
    newer = restream(events, "ai-sdk", "ai-sdk", framed=False, version=7)
    assert list(newer) == events and newer.losses == []
    framed = list(restream(b"".join(map(data_sse, events)) + DONE, "ai-sdk", "ai-sdk", version=7))
    assert b"".join(framed) == b"".join(map(data_sse, events)) + DONE


# --- reading --------------------------------------------------------------------------------------


def test_text_is_emitted_as_it_arrives() -> None:
    reader: StreamReader = stream_spec().reader()
    assert reader.read(START) == [MessageStart({"id": "m"})]
    assert reader.read({"type": "text-start", "id": "0"}) == [PartStart(0, Text(""))]
    assert reader.read({"type": "text-delta", "id": "0", "delta": "a"}) == [PartDelta(0, "a")]
    assert reader.read({"type": "text-end", "id": "0"}) == [PartEnd(0)]


def test_a_call_with_a_result_in_the_stream_ran_on_the_server_and_any_other_is_the_clients() -> (
    None
):
    events = [
        START,
        STEP,
        input_chunk("a", {"n": 1}),
        input_chunk("b", {}),
        output_chunk("a", 6),
        *END,
    ]
    calls = [
        event.part
        for event in read_events(events)
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]
    assert [(call.id, call.executor) for call in calls] == [("a", "provider"), ("b", "client")]


def test_what_follows_a_call_waits_until_it_is_known_who_runs_it() -> None:
    reader: StreamReader = stream_spec().reader()
    for event in (START, STEP, input_chunk("a", {})):
        reader.read(event)
    assert [event for chunk in text_chunks("0", "after") for event in reader.read(chunk)] == []
    kinds = [type(event).__name__ for event in reader.read(output_chunk("a", 1))]
    assert kinds == ["PartComplete", "PartComplete", "PartStart", "PartDelta", "PartEnd"]


def test_an_id_of_a_text_that_is_used_again_is_another_text() -> None:
    events = [
        START,
        STEP,
        *text_chunks("0", "a"),
        {"type": "finish-step"},
        STEP,
        *text_chunks("0", "b"),
        *text_chunks("0", "c")[:2],
        *text_chunks("0", "d"),
        *END,
    ]
    parts = [part for part in parts_of(fold(events, "ai-sdk")) if part["type"] == "text"]
    assert [(part["text"], part["state"]) for part in parts] == [
        ("a", "done"),
        ("b", "done"),
        ("c", "done"),
        ("d", "done"),
    ]


def test_a_result_finds_its_call_in_an_earlier_step() -> None:
    events = [
        START,
        STEP,
        input_chunk("a", {}),
        input_chunk("b", {}),
        {"type": "finish-step"},
        STEP,
        *text_chunks("0", "Hm"),
        output_chunk("b", 2),
        output_chunk("a", 1),
    ]
    parts = parts_of(fold([*events, *END], "ai-sdk"))
    assert [(part["toolCallId"], part["output"]) for part in parts if "output" in part] == [
        ("a", 1),
        ("b", 2),
    ]


def test_a_second_call_under_an_id_of_the_same_step_is_a_part_of_its_own() -> None:
    body = fold(
        [
            START,
            STEP,
            input_chunk("a", {"n": 1}),
            input_chunk("a", {"n": 2}),
            output_chunk("a", 1),
            output_chunk("a", 2),
            *END,
        ],
        "ai-sdk",
    )
    assert [(part["input"], part["output"]) for part in parts_of(body)[1:]] == [
        ({"n": 1}, 1),
        ({"n": 2}, 2),
    ]


def test_a_call_whose_chunks_disagree_on_dynamic_is_one_part() -> None:
    start: Chunk = {"type": "tool-input-start", "toolCallId": "a", "toolName": "roll"}
    (part,) = parts_of(
        fold(
            [START, STEP, start, input_chunk("a", {}, dynamic=True), output_chunk("a", 1), *END],
            "ai-sdk",
        )
    )[1:]
    assert (part["type"], part["toolName"], part["output"]) == ("dynamic-tool", "roll", 1)


def test_a_result_without_its_call_is_kept_beside_the_parts_and_reported() -> None:
    events = [START, output_chunk("earlier", 1), *END]
    body = fold(events, "ai-sdk")
    assert get(body, ("unplaced",)) == [output_chunk("earlier", 1)] and parts_of(body) == []
    assert [event for event in read_events(events) if isinstance(event, Unsupported)] == [
        Unsupported((1,), "its part is not in this stream: tool-output-available")
    ]


def test_input_that_never_ended_is_kept_as_text_and_not_guessed() -> None:
    start: Chunk = {"type": "tool-input-start", "toolCallId": "a", "toolName": "roll"}
    events: list[Chunk] = [
        START,
        STEP,
        start,
        {"type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": '{"n": 1'},
    ]
    body = fold(events, "ai-sdk")
    assert parts_of(body)[1] == {
        "type": "tool-roll",
        "toolCallId": "a",
        "state": "input-streaming",
        "rawInput": '{"n": 1',
    }
    assert get(body, ("error",)) == STREAM_CUT
    *_, opening, deltas, ended, fault = read_events(events)
    assert (
        isinstance(opening, PartStart)
        and isinstance(opening.part, Call)
        and opening.part.executor == "client"
    )
    assert (deltas, ended, fault) == (
        PartDelta(0, '{"n": 1'),
        PartEnd(0, cut=True),
        StreamError(STREAM_CUT, cut=True),
    )


def test_a_stream_is_over_with_finish_or_with_its_mark() -> None:
    events = [START, *text_chunks("0", "Hi")]
    assert get(fold([*events, {"type": "finish"}], "ai-sdk"), ("error",)) != STREAM_CUT
    framed = b"".join(map(data_sse, events))
    assert "error" not in fold(framed + DONE, "ai-sdk")  # type: ignore[operator]
    assert get(fold(framed, "ai-sdk"), ("error",)) == STREAM_CUT


def test_an_error_chunk_is_a_stream_error_and_stays_in_the_body() -> None:
    events: list[Chunk] = [
        START,
        *text_chunks("0", "Hm")[:2],
        {"type": "error", "errorText": "boom"},
    ]
    assert read_events(events)[-2:] == [PartEnd(0, cut=True), StreamError("boom")]
    assert get(fold(events, "ai-sdk"), ("error",)) == "boom"


def test_a_later_output_replaces_a_preliminary_output() -> None:
    events = [
        START,
        input_chunk("a", {}),
        output_chunk("a", 1, preliminary=True),
        output_chunk("a", 2),
        *END,
    ]
    (result,) = [
        event.part
        for event in read_events(events)
        if isinstance(event, PartComplete) and isinstance(event.part, Result)
    ]
    assert (result.call_id, result.output) == ("a", 2)


def test_a_discarded_step_is_not_in_the_body() -> None:
    events: list[Chunk] = [
        START,
        STEP,
        *text_chunks("0", "a"),
        {"type": "finish-step"},
        STEP,
        input_chunk("x", {}),
        *text_chunks("1", "b"),
    ]
    reset: list[Chunk] = [*events, {"type": "reset-step"}, *text_chunks("2", "c"), *END]
    assert [part.get("text") for part in parts_of(fold(reset, "ai-sdk"))] == [None, "a", None, "c"]
    texts = "".join(event.text for event in read_events(reset) if isinstance(event, PartDelta))
    assert texts == "ac" and not any(isinstance(event, Unsupported) for event in read_events(reset))
    late: list[Chunk] = [START, STEP, *text_chunks("0", "a"), {"type": "reset-step"}, *END]
    assert [event.reason for event in read_events(late) if isinstance(event, Unsupported)] == [
        "a step was reset after some of it was sent"
    ]


def test_data_before_the_start_wait_for_the_id_of_the_message() -> None:
    events = read_events([{"type": "data-x", "data": 1}, START, *END])
    assert events[0] == MessageStart({"id": "m"})
    assert isinstance(events[1], PartComplete) and isinstance(events[1].part, Opaque)


def test_a_stream_of_another_wire_is_refused_here() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"id": "x", "choices": []}], "ai-sdk")
