"""What is peculiar to Gemini's streams, and Google's own client reading ours."""

from __future__ import annotations

import json

import pytest
from google import genai
from google.genai import errors, types
from streams.loopback import serve

from toolwire import Call, DecodeError, decode, translate
from toolwire.conversation.json import JSON, Object, get, text_of
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
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.families.contents.stream_arguments import PartialArguments, parse_json_path

NAME = "gemini"


def chunk(*parts: JSON, **more: JSON) -> Chunk:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}],
        "responseId": "r1",
    }


def partial_call(*value: JSON, **more: JSON) -> JSON:
    return {"functionCall": {**({"partialArgs": list(value)} if value else {}), **more}}


def partial_argument(path: str, **value: JSON) -> JSON:
    return {"jsonPath": path, **value}


def read_events(*events: Chunk, keep: bool = False) -> list[Event]:
    how = wire(NAME).stream
    assert how is not None
    reader = how.reader(keep=keep)
    out: list[Event] = []
    for event in events:
        out += reader.read(event)
        reader.count += 1
    return out + reader.end()


def parts(body: JSON) -> list[JSON]:
    found = get(body, ("candidates", 0, "content", "parts"))
    assert isinstance(found, list)
    return found


STOP: Chunk = {"candidates": [{"finishReason": "STOP", "index": 0}]}


# --- texts ----------------------------------------------------------------------------------------


def test_an_empty_text_separates_the_texts_around_it() -> None:
    body = fold(
        [
            chunk({"text": "a"}),
            chunk({"text": "b"}),
            chunk({"text": ""}),
            chunk({"text": "c"}),
            STOP,
        ],
        NAME,
    )
    assert parts(body) == [{"text": "ab"}, {"text": "c"}]


def test_a_signed_text_is_a_part_of_its_own_and_keeps_its_signature() -> None:
    signed: JSON = {"text": "b", "thoughtSignature": "c2VhbA=="}
    events = [chunk({"text": "a"}), chunk(signed), chunk({"text": "c"}), STOP]
    assert parts(fold(events, NAME)) == [{"text": "a"}, signed, {"text": "c"}]
    stream = restream(events, NAME, "anthropic")
    assert fold(b"".join(stream), "anthropic")["content"] == [  # type: ignore[call-overload, index]
        {"type": "text", "text": word, "citations": []} for word in "abc"
    ]
    assert any("signature" in loss.reason for loss in stream.losses)


def test_texts_of_two_blocks_stay_two_parts() -> None:
    def block(index: int, text: str) -> list[Chunk]:
        return [
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "text_delta", "text": text},
            },
            {"type": "content_block_stop", "index": index},
        ]

    start: Chunk = {
        "type": "message_start",
        "message": {"id": "m", "type": "message", "role": "assistant", "content": []},
    }
    events = [start, *block(0, "a"), *block(1, "b"), {"type": "message_stop"}]
    assert parts(fold(restream(events, "anthropic", NAME), NAME)) == [{"text": "a"}, {"text": "b"}]


def test_interleaved_parts_are_written_in_the_order_of_opening() -> None:
    def start(index: int, block: JSON) -> Chunk:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **delta: JSON) -> Chunk:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    use: JSON = {"type": "tool_use", "id": "tu_1", "name": "f", "input": {}}
    again: JSON = {"type": "tool_use", "id": "tu_2", "name": "f", "input": {}}
    events = [
        {
            "type": "message_start",
            "message": {"id": "m", "type": "message", "role": "assistant", "content": []},
        },
        start(0, {"type": "text", "text": ""}),
        delta(0, type="text_delta", text="a"),
        start(1, use),
        start(2, again),
        delta(2, type="input_json_delta", partial_json='{"n":2}'),
        {"type": "content_block_stop", "index": 2},
        delta(1, type="input_json_delta", partial_json='{"n":1}'),
        {"type": "content_block_stop", "index": 1},
        delta(0, type="text_delta", text="b"),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    first, second, third = parts(fold(restream(events, "anthropic", NAME), NAME))
    assert first == {"text": "ab"}
    assert [part["functionCall"]["args"] for part in (second, third)] == [{"n": 1}, {"n": 2}]  # type: ignore[index,call-overload]


# --- arguments by path ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a", ["a"]),
        ("$.a.b[0].c", ["a", "b", 0, "c"]),
        ("$['a.b'].c", ["a.b", "c"]),
        ('$["it\'s"][12]', ["it's", 12]),
        (r"$['it\'s']", ["it's"]),
        ("$", []),
    ],
)
def test_a_json_path_is_split_into_steps(path: str, expected: list[str | int]) -> None:
    assert parse_json_path(path) == expected


def test_values_by_path_are_emitted_as_json_text() -> None:
    args = PartialArguments()
    partial_arguments: list[Object] = [
        {"jsonPath": "$.a.b[0]", "numberValue": 50.0},
        {"jsonPath": "$.a.b[1]", "stringValue": "x", "willContinue": True},
        {"jsonPath": "$.a.b[1]", "stringValue": 'y"z'},
        {"jsonPath": "$.a.c", "boolValue": True},
        {"jsonPath": "$.n", "nullValue": None},
        {"jsonPath": "$.r", "numberValue": 0.1},
    ]
    results = [args.add(part) for part in partial_arguments]
    assert results == ['{"a":{"b":[50', ',"x', 'y\\"z', '"],"c":true', '},"n":null', ',"r":0.1']
    assert args.close() == "}"
    assert args.corrected_text is None


def test_null_fields_of_a_value_by_path_do_not_count() -> None:
    nulls: Object = dict.fromkeys(("stringValue", "numberValue", "boolValue", "nullValue"))
    args = PartialArguments()
    given: tuple[Object, ...] = ({"boolValue": False}, {"nullValue": "NULL_VALUE"}, {})
    results = [args.add({**nulls, "jsonPath": f"$.v{n}", **value}) for n, value in enumerate(given)]
    assert results == ['{"v0":false', ',"v1":null', ""]


def test_an_out_of_order_path_replaces_the_arguments_at_the_end() -> None:
    partial_arguments = (
        partial_argument("$.a.x", numberValue=1),
        partial_argument("$.b", numberValue=2),
        partial_argument("$.a.y", numberValue=3),
    )
    events = [
        chunk(partial_call(name="f", willContinue=True)),
        chunk(partial_call(*partial_arguments)),
        STOP,
    ]
    (ended,) = (event for event in read_events(*events) if isinstance(event, PartEnd))
    assert ended.whole == '{"a":{"x":1,"y":3},"b":2}'
    assert parts(fold(events, NAME)) == [
        {"functionCall": {"name": "f", "args": {"a": {"x": 1, "y": 3}, "b": 2}}}
    ]


def test_an_open_call_may_end_with_all_of_its_arguments() -> None:
    events = [
        chunk(partial_call(name="now", willContinue=True)),
        chunk({"functionCall": {"args": {"city": "Oslo"}}}, finishReason="STOP"),
    ]
    texts = [event.text for event in read_events(*events) if isinstance(event, PartDelta)]
    assert texts == ['{"city":"Oslo"}']


def test_only_will_continue_separates_two_calls_of_one_tool() -> None:
    part, other = (
        partial_call(partial_argument("$.n", numberValue=1), willContinue=True),
        partial_call(partial_argument("$.n", numberValue=2), willContinue=True),
    )
    opening = partial_call(name="f", willContinue=True)
    events = read_events(
        chunk(opening),
        chunk(part),
        chunk(partial_call()),
        chunk(opening),
        chunk(other),
        chunk(partial_call()),
        STOP,
    )
    assert [type(event).__name__ for event in events[1:]] == [
        "PartStart",
        "PartDelta",
        "PartDelta",
        "PartEnd",
    ] * 2 + ["Finish"]
    calls = [event.part for event in events if isinstance(event, PartStart)]
    assert len({call.id for call in calls if isinstance(call, Call)}) == 2


def test_a_call_is_emitted_while_its_arguments_arrive() -> None:
    events: list[Chunk] = [
        chunk(partial_call(name="f", id="c1", willContinue=True)),
        chunk(
            partial_call(
                partial_argument("$.q", stringValue="a", willContinue=True), willContinue=True
            )
        ),
        chunk(partial_call(partial_argument("$.q", stringValue="b"))),
        STOP,
    ]
    pulled = 0

    def one_by_one() -> object:
        nonlocal pulled
        for event in events:
            pulled += 1
            yield event

    events_seen = [
        (pulled, event) for event in restream(one_by_one(), NAME, "anthropic", framed=False)
    ]
    pieces = [
        (n, event["delta"]["partial_json"])  # type: ignore[call-overload, index]
        for n, event in events_seen
        if event["type"] == "content_block_delta"
    ]
    assert pieces == [(2, '{"q":"a'), (3, "b"), (3, '"}')]


def test_truncated_arguments_stay_as_they_arrived() -> None:
    events = [
        chunk(
            {**partial_call(name="f", id="c1", willContinue=True), "thoughtSignature": "c2VhbA=="}  # type: ignore[dict-item]
        ),
        chunk(
            partial_call(
                partial_argument("$.q", stringValue="ab", willContinue=True), willContinue=True
            )
        ),
    ]
    body = fold(events, NAME)
    assert parts(body) == [
        {
            "functionCall": {"name": "f", "id": "c1", "args": {"_raw": '{"q":"ab'}},
            "thoughtSignature": "c2VhbA==",
        }
    ]
    assert isinstance(body, dict) and body["error"]
    *_, ended, fault = read_events(*events)
    assert isinstance(ended, PartEnd) and ended.cut and ended.signature == "c2VhbA=="
    assert isinstance(fault, StreamError) and fault.cut


# --- the end, and errors --------------------------------------------------------------------------


def test_a_stream_without_a_reason_was_cut_off() -> None:
    *_, ended, fault = read_events(chunk({"text": "Hel"}))
    assert isinstance(ended, PartEnd) and ended.cut
    assert isinstance(fault, StreamError) and fault.cut


def test_an_error_may_replace_a_response() -> None:
    error: JSON = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
    events: list[Chunk] = [chunk({"text": "Hel"}), {"error": error}]
    body = fold(events, NAME)
    assert parts(body) == [{"text": "Hel"}] and isinstance(body, dict) and body["error"] == error
    assert read_events(*events)[-2:] == [
        PartEnd(0, cut=True),
        StreamError("The model is overloaded.", "UNAVAILABLE"),
    ]
    folded = fold([{"error": error}], NAME)
    assert folded == {"candidates": [], "error": error}
    assert list(decode(folded, NAME, "response").parts()) == []
    (*_, last) = restream(events, NAME, "anthropic", framed=False)
    assert last["type"] == "error"


def test_a_blocked_prompt_is_an_answer_that_was_filtered() -> None:
    blocked: Chunk = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 4},
        "responseId": "r",
    }
    assert fold([blocked], NAME) == blocked
    assert read_events(blocked)[-1] == Finish("filter")
    folded = fold(restream([blocked], NAME, "openai-chat"), "openai-chat")
    assert folded == translate(blocked, NAME, "openai-chat", "response").body
    assert get(folded, ("choices", 0, "finish_reason")) == "content_filter"


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(DecodeError, match="no event of this wire"):
        fold([{"type": "ping"}], NAME)


def test_a_malformed_call_has_its_own_stop_reason() -> None:
    assert read_events({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})[-1] == Finish(
        "malformed_function_call"
    )


def test_an_array_and_server_sent_events_are_the_same_stream() -> None:
    events = [chunk({"text": "Hel"}), chunk({"text": "lo"}), STOP]
    array = json.dumps(events, indent=1).encode()
    sent = b"".join(f"data: {text_of(event)}\r\n\r\n".encode() for event in events)
    assert (
        fold(array, NAME)
        == fold(sent, NAME)
        == fold([array[i : i + 1] for i in range(len(array))], NAME)
    )


def test_unknown_fields_are_kept_and_reported_once() -> None:
    events = [chunk({"hologram": 1}, mood="fine"), chunk({"text": "x"}, mood="fine"), STOP]
    left = [event.path for event in read_events(*events) if isinstance(event, Unsupported)]
    assert left == [(0, "candidates", 0, "mood")]
    assert any(isinstance(event, PartComplete) for event in read_events(*events))
    assert parts(fold(events, NAME))[0] == {"hologram": 1}


# --- ids ------------------------------------------------------------------------------------------


def test_calls_without_ids_get_the_ids_that_the_whole_body_gives_them() -> None:
    call: JSON = {"functionCall": {"name": "f", "args": {}}}
    events = [chunk(call), chunk(call), STOP]
    events_seen = [
        event.part.id
        for event in read_events(*events)
        if isinstance(event, PartComplete) and isinstance(event.part, Call)
    ]
    assert events_seen == [call.id for call in decode(fold(events, NAME), NAME, "response").calls()]


def test_a_minted_id_is_not_sent() -> None:
    call: JSON = {
        "function_call": {"name": "f", "arguments": "{}"},
        "content": None,
        "role": "assistant",
    }
    chat: list[Chunk] = [
        {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": call}]},
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "function_call"}],
        },
    ]
    assert parts(fold(restream(chat, "openai-chat", NAME), NAME)) == [
        {"functionCall": {"name": "f", "args": {}}}
    ]


# --- the real client ------------------------------------------------------------------------------


def anthropic_stream() -> list[Chunk]:
    """Anthropic: thinking, text, and two calls of one tool that come in pieces."""

    def block(index: int, opening: JSON, *deltas: JSON) -> list[Chunk]:
        events: list[Chunk] = [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        stopped: Chunk = {"type": "content_block_stop", "index": index}
        return [
            {"type": "content_block_start", "index": index, "content_block": opening},
            *events,
            stopped,
        ]

    def call(index: int, call_id: str, *pieces: str) -> list[Chunk]:
        opening: JSON = {"type": "tool_use", "id": call_id, "name": "weather", "input": {}}
        deltas: list[JSON] = [
            {"type": "input_json_delta", "partial_json": piece} for piece in pieces
        ]
        return block(index, opening, *deltas)

    start: JSON = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }
    words: list[JSON] = [{"type": "text_delta", "text": word} for word in ("I ", "look.")]
    return [
        {"type": "message_start", "message": start},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Two cities."},
        ),
        *block(1, {"type": "text", "text": ""}, *words),
        *call(2, "toolu_1", '{"city":', '"Oslo"}'),
        *call(3, "toolu_2", '{"city":', '"Rome"}'),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def client(url: str) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))


def test_the_official_client_reads_a_stream_of_another_provider() -> None:
    with serve(restream(anthropic_stream(), "anthropic", NAME)) as server:
        google = client(server.url)
        chunks = list(google.models.generate_content_stream(model="m", contents="?"))
    parts = [
        part
        for event in chunks
        for candidate in event.candidates or []
        if candidate.content
        for part in candidate.content.parts or []
    ]
    assert "".join(part.text for part in parts if part.text and part.thought) == "Two cities."
    assert [part.text for part in parts if part.text and not part.thought] == ["I ", "look."]
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == [
        ("toolu_1", "weather", {"city": "Oslo"}),
        ("toolu_2", "weather", {"city": "Rome"}),
    ]
    last = chunks[-1]
    assert last.candidates and last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata and last.usage_metadata.prompt_token_count == 11
    assert {event.response_id for event in chunks} == {"msg_1"}


def test_the_last_chunk_has_content_for_every_candidate() -> None:
    def piece(choice: int, reason: str | None = None, **delta: JSON) -> Chunk:
        return {
            "id": "c",
            "object": "chat.completion.chunk",
            "choices": [{"index": choice, "delta": delta, "finish_reason": reason}],
        }

    chunks = [
        piece(0, role="assistant", content="a"),
        piece(1, role="assistant", content="b"),
        piece(0, "stop"),
        piece(1, "length"),
    ]
    events = list(restream(chunks, "openai-chat", NAME, framed=False))
    empty: JSON = {"role": "model", "parts": [{"text": ""}]}
    assert events[-1]["candidates"] == [
        {"content": empty, "finishReason": "STOP", "index": 0},
        {"content": empty, "finishReason": "MAX_TOKENS", "index": 1},
    ]
    assert parts(fold(events, NAME)) == [{"text": "a"}]


def test_a_chat_of_the_official_client_stores_a_stream_of_another_provider() -> None:
    with serve(restream(anthropic_stream(), "anthropic", NAME)) as server:
        google = client(server.url)
        chat = google.chats.create(model="m")
        list(chat.send_message_stream("?"))
        kept = chat.get_history(curated=True)
    assert [content.role for content in kept[:2]] == ["user", "model"]
    assert sum(1 for content in kept for part in content.parts or [] if part.function_call) == 2


def test_the_official_client_raises_a_stream_error() -> None:
    events: list[Chunk] = [
        *anthropic_stream()[:6],
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ]
    with serve(restream(events, "anthropic", NAME)) as server:
        google = client(server.url)
        with pytest.raises(errors.APIError, match="Overloaded"):
            list(google.models.generate_content_stream(model="m", contents="?"))
