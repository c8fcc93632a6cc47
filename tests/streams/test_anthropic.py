"""What is peculiar to Anthropic's events, and what the official client makes of those that we
write."""

from __future__ import annotations

import json

import pytest
from anthropic import Anthropic, APIStatusError
from cases import StreamCase
from streams.loopback import serve
from streams.other_wires import (
    ClientResult,
    result_of_body,
    serve_translation,
    streams_of_other_wires,
)

from toolwire import Call, Opaque, Reasoning, Text, decode
from toolwire.conversation.json import JSON, Object
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream
from toolwire.streaming.stream_translator import StreamTranslator

WIRE = "anthropic"
STOPS = {
    "tool_use": "tool",
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "filter",
    "stop_sequence": "stop",
}


def message_start(*content: JSON, **more: JSON) -> Chunk:
    message: Object = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(content),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
        **more,
    }
    return {"type": "message_start", "message": message}


def block_start(index: int, kind: str, **fields: JSON) -> Chunk:
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": kind, **fields},
    }


def block_delta(index: int, kind: str, **fields: JSON) -> Chunk:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def block_stop(index: int) -> Chunk:
    return {"type": "content_block_stop", "index": index}


def message_end(reason: str, **more: JSON) -> list[Chunk]:
    delta: Object = {"stop_reason": reason, "stop_sequence": None, **more}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def content(events: list[Chunk]) -> list[JSON]:
    body = fold(events, WIRE)
    assert isinstance(body, dict) and isinstance(body["content"], list)
    return body["content"]


def restream_to_chat(events: list[Chunk]) -> tuple[Object, list[str]]:
    """The message on the chat wire, and what stays behind."""
    out = restream(events, WIRE, "openai-chat")
    body = fold(out, "openai-chat")
    assert (
        isinstance(body, dict)
        and isinstance(body["choices"], list)
        and isinstance(body["choices"][0], dict)
    )
    message = body["choices"][0]["message"]
    assert isinstance(message, dict)
    return message, [loss.reason for loss in out.losses]


# --- what events may be ---------------------------------------------------------------------------


def test_a_call_without_any_delta_has_no_arguments() -> None:
    events = [
        message_start(),
        block_start(0, "tool_use", id="toolu_1", name="now", input={}),
        block_stop(0),
        *message_end("tool_use"),
    ]
    assert content(events) == [{"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}]
    function: JSON = {
        "id": "toolu_1",
        "type": "function",
        "function": {"name": "now", "arguments": "{}"},
    }
    assert restream_to_chat(events)[0]["tool_calls"] == [function]


def test_input_of_the_opening_event_is_used_if_no_delta_follows() -> None:
    events = [
        message_start(),
        block_start(0, "tool_use", id="toolu_1", name="q", input={"sql": "x"}),
        block_stop(0),
        *message_end("tool_use"),
    ]
    (call,) = decode(fold(events, WIRE), WIRE, "response").calls()
    assert call.input == {"sql": "x"}
    assert json.loads(_arguments(restream_to_chat(events)[0])) == {"sql": "x"}


def _arguments(message: Object) -> str:
    calls = message["tool_calls"]
    assert (
        isinstance(calls, list)
        and isinstance(calls[0], dict)
        and isinstance(calls[0]["function"], dict)
    )
    return str(calls[0]["function"]["arguments"])


def test_interleaved_blocks_grow_by_their_index() -> None:
    events = [
        message_start(),
        block_start(0, "tool_use", id="a", name="f", input={}),
        block_start(1, "tool_use", id="b", name="f", input={}),
        block_delta(1, "input_json_delta", partial_json='{"n":'),
        block_delta(0, "input_json_delta", partial_json='{"n":1}'),
        block_delta(1, "input_json_delta", partial_json="2}"),
        block_stop(1),
        block_stop(0),
        *message_end("tool_use"),
    ]
    assert [
        (call.id, call.input) for call in decode(fold(events, WIRE), WIRE, "response").calls()
    ] == [("a", {"n": 1}), ("b", {"n": 2})]
    calls = decode(
        fold(restream(events, WIRE, "openai-chat"), "openai-chat"), "openai-chat", "response"
    ).calls()
    assert [(call.id, call.input) for call in calls] == [("a", {"n": 1}), ("b", {"n": 2})]


def test_content_of_the_first_event_is_emitted_and_a_second_message_start_is_not() -> None:
    first = message_start({"type": "tool_use", "id": "toolu_1", "name": "q", "input": {"n": 1}})
    events = [first, first, *message_end("tool_use")]
    message, _ = restream_to_chat(events)
    assert isinstance(message["tool_calls"], list) and len(message["tool_calls"]) == 1
    assert [call.id for call in decode(fold(events, WIRE), WIRE, "response").calls()] == ["toolu_1"]


def test_a_signature_comes_last_and_stays_with_its_thinking() -> None:
    events = [
        message_start(),
        block_start(0, "thinking", thinking="", signature=""),
        block_delta(0, "thinking_delta", thinking="Hm"),
        block_delta(0, "signature_delta", signature="Eq"),
        block_delta(0, "signature_delta", signature="QB"),
        block_stop(0),
        *message_end("end_turn"),
    ]
    (part,) = decode(fold(events, WIRE), WIRE, "response").messages[0].parts
    assert isinstance(part, Reasoning) and (part.text, part.signature) == ("Hm", "EqQB")
    message, losses = restream_to_chat(events)
    assert message["reasoning_content"] == "Hm"
    assert losses == ["a signature that only its own provider can read"]


def test_redacted_thinking_is_left_out_and_reported() -> None:
    events = [
        message_start(),
        block_start(0, "redacted_thinking", data="Em"),
        block_stop(0),
        block_start(1, "text", text=""),
        block_delta(1, "text_delta", text="So."),
        block_stop(1),
        *message_end("end_turn"),
    ]
    assert content(events)[0] == {"type": "redacted_thinking", "data": "Em"}
    message, losses = restream_to_chat(events)
    assert message["content"] == "So." and len(losses) == 1


def test_citations_are_kept_in_the_body_and_reported_on_other_wires() -> None:
    cite: JSON = {"type": "char_location", "cited_text": "x", "document_index": 0}
    events = [
        message_start(),
        block_start(0, "text", text="", citations=[]),
        block_delta(0, "citations_delta", citation=cite),
        block_delta(0, "text_delta", text="So."),
        block_delta(0, "citations_delta", citation=cite),
        block_stop(0),
        *message_end("end_turn"),
    ]
    assert content(events) == [{"type": "text", "text": "So.", "citations": [cite, cite]}]
    message, losses = restream_to_chat(events)
    assert message["content"] == "So." and set(losses) == {"no such field on this wire"}


def test_server_tools_are_neither_calls_nor_text_of_the_answer() -> None:
    events = [
        message_start(),
        block_start(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        block_delta(0, "input_json_delta", partial_json='{"query":"tea"}'),
        block_stop(0),
        block_start(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
        block_stop(1),
        *message_end("end_turn"),
    ]
    pairs = decode(fold(events, WIRE), WIRE, "response").pairs()
    assert [(pair.call.id, pair.how) for pair in pairs if pair.call is not None] == [
        ("srvtoolu_1", "id")
    ]
    message, _ = restream_to_chat(events)
    assert "tool_calls" not in message and not message["content"]
    in_text = fold(restream(events, WIRE, "openai-chat", server_tools="text"), "openai-chat")
    assert "web_search" in str(in_text)


def test_an_unknown_block_is_kept_and_the_stream_goes_on() -> None:
    events: list[Chunk] = [
        message_start(),
        block_start(0, "hologram", beam=1),
        block_delta(0, "hologram_delta", beam=2),
        block_stop(0),
        block_start(1, "text", text=""),
        block_delta(1, "text_delta", text="So."),
        block_stop(1),
        {"type": "novelty"},
        *message_end("end_turn"),
    ]
    parts = decode(fold(events, WIRE), WIRE, "response").messages[0].parts
    assert [type(part) for part in parts] == [Opaque, Text]
    message, losses = restream_to_chat(events)
    assert message["content"] == "So." and losses


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("refusal", None),
        ("pause_turn", None),
        ("model_context_window_exceeded", None),
    ],
)
def test_a_stop_reason_that_the_other_wire_lacks_is_reported(reason: str, word: str | None) -> None:
    events = [
        message_start(),
        block_start(0, "text", text=""),
        block_delta(0, "text_delta", text="So"),
        block_stop(0),
        *message_end(reason),
    ]
    out = restream(events, WIRE, "openai-chat")
    body = fold(out, "openai-chat")
    assert (
        isinstance(body, dict)
        and isinstance(body["choices"], list)
        and isinstance(body["choices"][0], dict)
    )
    reported = any("no value for the stop reason" in loss.reason for loss in out.losses)
    assert body["choices"][0]["finish_reason"] == word if word else reported


# --- what breaks ----------------------------------------------------------------------------------


def test_an_error_may_be_the_first_event_and_the_only_one() -> None:
    events: list[Chunk] = [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    ]
    assert fold(events, WIRE) == events[0]
    assert list(restream(events, WIRE, "openai-chat", framed=False))[-1] == {
        "error": {"message": "Overloaded", "type": "overloaded_error", "code": None}
    }


@pytest.mark.parametrize("closing", [[], [block_stop(0)]], ids=["never stopped", "stopped"])
def test_input_that_the_limit_cuts_off_is_kept_as_text(closing: list[Chunk]) -> None:
    events = [
        message_start(),
        block_start(0, "tool_use", id="toolu_1", name="f", input={}),
        block_delta(0, "input_json_delta", partial_json='{"q": "to'),
        *closing,
        *message_end("max_tokens"),
    ]
    assert content(events) == [
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"_raw": '{"q": "to'}}
    ]
    assert _arguments(restream_to_chat(events)[0]) == '{"q": "to'


def test_a_stream_that_breaks_off_keeps_its_content_and_reports_the_break() -> None:
    events = [
        message_start(),
        block_start(0, "text", text=""),
        block_delta(0, "text_delta", text="Half"),
    ]
    body = fold(events, WIRE)
    assert isinstance(body, dict)
    assert body["content"] == [{"type": "text", "text": "Half"}]
    assert body["error"] == {
        "type": "stream_cut",
        "message": "the stream ended before the response was complete",
    }
    last = list(restream(events, WIRE, "openai-chat", framed=False))[-1]
    assert "error" in last


# --- one block after the other --------------------------------------------------------------------


def chunk(**delta: JSON) -> Chunk:
    choice: JSON = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [choice]}


def call_chunk(index: int, arguments: str, **more: JSON) -> Chunk:
    name = more.pop("name", None)
    function: JSON = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk(tool_calls=[{"index": index, "function": function, **more}])


INTERLEAVED: list[Chunk] = [
    chunk(role="assistant", content=""),
    chunk(content="Both "),
    chunk(content="cities."),
    call_chunk(0, "", id="call_a", name="weather", type="function"),
    call_chunk(1, "", id="call_b", name="weather", type="function"),
    call_chunk(0, '{"city":'),
    call_chunk(1, '{"city":"O'),
    call_chunk(0, '"Paris"}'),
    call_chunk(1, 'slo"}'),
    {
        "id": "chatcmpl-1",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
    },
]
"""Two calls of one tool whose arguments arrive in turns."""


def outline(events: list[Chunk]) -> list[str]:
    """The events of blocks, in short: `+1` opens a block, `1` adds to it, `-1` closes it."""
    signs = {"content_block_start": "+", "content_block_delta": "", "content_block_stop": "-"}
    return [f"{signs[str(e['type'])]}{e['index']}" for e in events if e["type"] in signs]


def test_a_block_opens_only_after_the_block_before_it_is_closed() -> None:
    events = list(restream(INTERLEAVED, "openai-chat", WIRE, framed=False))
    assert outline(events) == [*("+0", "0", "0", "-0"), *("+1", "1", "1", "-1"), *("+2", "2", "-2")]
    calls = decode(fold(events, WIRE), WIRE, "response").calls()
    assert [(call.id, call.name, call.input) for call in calls] == [
        ("call_a", "weather", {"city": "Paris"}),
        ("call_b", "weather", {"city": "Oslo"}),
    ]


def test_only_the_deltas_of_a_later_block_wait_and_are_sent_as_one() -> None:
    translator: StreamTranslator[Chunk] = StreamTranslator(
        "openai-chat", WIRE, encode_chunk=lambda event: event
    )
    sent = [outline(translator.feed(event)) for event in INTERLEAVED]
    assert sent == [*([], ["+0", "0"], ["0"]), *(["-0", "+1"], [], ["1"], [], ["1"], [], [])]
    assert outline(translator.end()) == ["-1", "+2", "2", "-2"]


SEQUENTIAL: list[Chunk] = [
    INTERLEAVED[0],
    call_chunk(0, "", id="call_a", name="weather", type="function"),
    call_chunk(0, '{"city":"Paris"}'),
    call_chunk(1, "", id="call_b", name="weather", type="function"),
    call_chunk(1, '{"city":"Oslo"}'),
    INTERLEAVED[-1],
]
"""The same two calls, one after the other: no event says that the first one has ended."""


def test_a_call_with_complete_arguments_is_closed_when_the_next_one_starts() -> None:
    translator: StreamTranslator[Chunk] = StreamTranslator(
        "openai-chat", WIRE, encode_chunk=lambda event: event
    )
    sent = [outline(translator.feed(event)) for event in SEQUENTIAL]
    assert sent == [[], ["+0"], ["0"], ["-0", "+1"], ["1"], []]
    assert outline(translator.end()) == ["-1"]


def test_framed_events_are_those_of_the_unframed_stream() -> None:
    data = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in INTERLEAVED]
    framed = fold(b"".join(restream(data, "openai-chat", WIRE)), WIRE)
    assert framed == fold(list(restream(INTERLEAVED, "openai-chat", WIRE, framed=False)), WIRE)


def test_blocks_that_wait_are_sent_before_an_error() -> None:
    neutral_events: list[Chunk] = [*INTERLEAVED[:7], {"error": {"message": "try later"}}]
    events = list(restream(neutral_events, "openai-chat", WIRE, framed=False))
    assert outline(events)[4:] == ["+1", "1", "-1", "+2", "2", "-2"]
    assert events[-1]["type"] == "error"


# --- the official client --------------------------------------------------------------------------


def client(url: str) -> Anthropic:
    return Anthropic(base_url=url, api_key="none", max_retries=0)


@pytest.mark.parametrize("stream", streams_of_other_wires(WIRE), ids=str)
def test_the_helper_of_the_official_client_assembles_the_message(stream: StreamCase) -> None:
    with (
        serve_translation(stream, WIRE) as (server, original_id),
        client(server.url).messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        ) as events,
    ):
        answer = events.get_final_message()
    blocks = [block for block in answer.content if block.type == "tool_use"]
    calls: list[tuple[str, str, JSON]] = [
        (original_id(block.id), block.name, json.loads(json.dumps(block.input))) for block in blocks
    ]
    text = "".join(block.text for block in answer.content if block.type == "text")
    read = (answer.usage.cache_read_input_tokens or 0) + (
        answer.usage.cache_creation_input_tokens or 0
    )
    tokens = (answer.usage.input_tokens + read, answer.usage.output_tokens)
    assert ClientResult(calls, text, tokens, STOPS[answer.stop_reason or ""]) == result_of_body(
        stream
    )


def test_the_client_assembles_calls_whose_arguments_interleave() -> None:
    with (
        serve(list(restream(INTERLEAVED, "openai-chat", WIRE))) as server,
        client(server.url).messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        ) as events,
    ):
        answer = events.get_final_message()
    direct: JSON = {"type": "tool_use", "name": "weather", "caller": {"type": "direct"}}
    assert isinstance(direct, dict)
    assert [block.to_dict(mode="json") for block in answer.content] == [
        {"type": "text", "text": "Both cities.", "citations": []},
        {**direct, "id": "call_a", "input": {"city": "Paris"}},
        {**direct, "id": "call_b", "input": {"city": "Oslo"}},
    ]


def test_the_client_raises_the_error_of_the_source() -> None:
    events: list[Chunk] = [{"error": {"message": "try later", "type": "server_error"}}]
    with (
        serve(list(restream(events, "openai-chat", WIRE))) as server,
        pytest.raises(APIStatusError, match="try later"),
        client(server.url).messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        ) as stream,
    ):
        stream.get_final_message()


def test_a_stream_survives_a_round_trip_over_another_wire() -> None:
    events = [
        message_start(),
        block_start(0, "text", text=""),
        block_delta(0, "text_delta", text="So."),
        block_stop(0),
        block_start(1, "tool_use", id="toolu_1", name="f", input={}),
        block_delta(1, "input_json_delta", partial_json='{"a":1}'),
        block_stop(1),
        *message_end("tool_use"),
    ]
    stream = restream(events, WIRE, "mistral")
    middle = list(stream)
    folded = fold(restream(middle, "mistral", WIRE, ids=stream.ids), WIRE)
    assert [
        (call.id, call.name, call.input)
        for call in decode(folded, WIRE, "response").calls()
        if isinstance(call, Call)
    ] == [("toolu_1", "f", {"a": 1})]
