"""What is peculiar to chat chunks, and what the official client makes of those that we write."""

from __future__ import annotations

import json

import pytest
from cases import StreamCase
from openai import APIError, OpenAI
from streams.loopback import serve
from streams.other_wires import (
    ClientResult,
    result_of_body,
    serve_translation,
    streams_of_other_wires,
)

from toolwire import Call, DecodeError, Reasoning, Text, decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream

WIRE = "openai-chat"
STOPS = {"tool_calls": "tool", "stop": "stop", "length": "length", "content_filter": "filter"}


def chunk(finish: str | None = None, choice: int = 0, **delta: JSON) -> Chunk:
    choice_delta: Object = {"index": choice, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice_delta]}


def piece(index: int, arguments: str, **more: JSON) -> JSON:
    name = more.pop("name", None)
    return {
        "index": index,
        **more,
        "function": {**({"name": name} if name else {}), "arguments": arguments},
    }


def message(events: list[Chunk]) -> Object:
    body = fold(events, WIRE)
    assert (
        isinstance(body, dict)
        and isinstance(body["choices"], list)
        and isinstance(body["choices"][0], dict)
    )
    reply = body["choices"][0]["message"]
    assert isinstance(reply, dict)
    return reply


def restream_to_anthropic(events: list[Chunk]) -> tuple[list[Chunk], list[str]]:
    """The same for a wire with blocks, and what stays behind."""
    out = restream(events, WIRE, "anthropic", framed=False)
    written_events = list(out)
    return written_events, [loss.reason for loss in out.losses]


# --- what a chunk may be --------------------------------------------------------------------------


def test_the_last_usage_counts_wherever_it_is() -> None:
    early, last = (
        {"prompt_tokens": 1, "completion_tokens": 0},
        {"prompt_tokens": 1, "completion_tokens": 9},
    )
    events: list[Chunk] = [
        {**chunk(content="Hi"), "usage": dict(early)},
        {**chunk("stop"), "usage": dict(last)},
        {"choices": [], "usage": None},
    ]
    body = fold(events, WIRE)
    assert isinstance(body, dict) and body["usage"] == last
    usage = restream_to_anthropic(events)[0][-2]["usage"]
    assert isinstance(usage, dict)
    assert (usage["input_tokens"], usage["output_tokens"]) == (1, 9)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_either_name_is_reasoning(field: str) -> None:
    first: dict[str, JSON] = {field: "Let me"}
    events = [
        chunk(None, 0, **first),
        chunk(None, 0, **{**first, field: " think."}),
        chunk(content="So."),
        chunk("stop"),
    ]
    assert message(events)[field] == "Let me think."
    conversation = decode(
        fold(restream(events, WIRE, "anthropic"), "anthropic"), "anthropic", "response"
    )
    assert [type(part) for part in conversation.messages[0].parts] == [Reasoning, Text]


def test_an_empty_list_of_calls_and_an_empty_role_are_ignored() -> None:
    events = [
        chunk(role="assistant", content="A", tool_calls=[]),
        chunk(role="", content="B", tool_calls=[]),
        chunk("stop"),
    ]
    assert message(events)["content"] == "AB"
    assert not decode(fold(events, WIRE), WIRE, "response").calls()


def test_a_finish_reason_does_not_end_the_stream() -> None:
    events = [
        chunk("tool_calls", tool_calls=[piece(0, '{"q":', id="a", type="function", name="f")]),
        chunk(tool_calls=[piece(0, "1}")]),
    ]
    assert [call.input for call in decode(fold(events, WIRE), WIRE, "response").calls()] == [
        {"q": 1}
    ]


def test_calls_decide_whether_a_response_stops_for_tools() -> None:
    events = [chunk("stop", tool_calls=[piece(0, "{}", id="a", type="function", name="f")])]
    written_events, _ = restream_to_anthropic(events)
    assert get(written_events[-2], ("delta", "stop_reason")) == "tool_use"


def test_a_refusal_is_emitted_as_a_refusal() -> None:
    events = [chunk(refusal="I"), chunk(refusal=" won't."), chunk("stop")]
    (part,) = decode(fold(events, WIRE), WIRE, "response").messages[0].parts
    assert isinstance(part, Text) and part.refusal and part.text == "I won't."


def test_logprobs_are_left_out_and_reported_once() -> None:
    logs: JSON = {"content": [{"token": "x", "logprob": -1, "top_logprobs": []}]}
    events = [chunk(content="x"), chunk(content="y"), chunk("stop")]
    for event in events[:2]:
        choices = event["choices"]
        assert isinstance(choices, list) and isinstance(choices[0], dict)
        choices[0]["logprobs"] = logs
    assert restream_to_anthropic(events)[1] == ["no such field on this wire"]


def test_other_candidates_are_left_out_where_only_one_is_possible() -> None:
    events = [
        chunk(content="A"),
        chunk(content="B", choice=1),
        chunk("stop"),
        chunk("stop", choice=1),
    ]
    written_events, losses = restream_to_anthropic(events)
    assert "B" not in "".join(json.dumps(event.get("delta")) for event in written_events)
    assert losses == ["a response is one message here; the other candidates are left out"]


def test_a_call_without_an_id_has_the_same_one_in_the_stream_and_in_the_body() -> None:
    events = [chunk(function_call={"name": "f", "arguments": "{}"}), chunk("function_call")]
    (call,) = decode(fold(events, WIRE), WIRE, "response").calls()
    (translated_call,) = decode(
        fold(restream(events, WIRE, "anthropic"), "anthropic"), "anthropic", "response"
    ).calls()
    assert call.origin == "minted" and translated_call.id == call.id


def test_unknown_fields_of_a_call_are_joined_and_leave_the_call_as_it_is() -> None:
    first: JSON = {
        "index": 0,
        "id": "a",
        "type": "function",
        "note": "x",
        "function": {"name": "f", "arguments": '{"q":', "mood": "calm"},
    }
    second: JSON = {"index": 0, "note": "y", "function": {"arguments": "1}", "mood": "er"}}
    events = [chunk(tool_calls=[first]), chunk(tool_calls=[second]), chunk("tool_calls")]
    assert message(events)["tool_calls"] == [
        {
            "id": "a",
            "type": "function",
            "note": "xy",
            "function": {"name": "f", "arguments": '{"q":1}', "mood": "calmer"},
        }
    ]
    assert restream_to_anthropic(events)[1] == ["no such field on this wire"] * 2


def test_entries_that_are_no_objects_are_not_among_the_calls() -> None:
    entry = piece(0, "{}", id="a", type="function", name="f")
    events = [chunk(tool_calls=["junk"]), chunk(tool_calls=[7, entry]), chunk("tool_calls")]
    assert [call["id"] for call in message(events)["tool_calls"]] == ["a"]  # type: ignore[index,union-attr,call-overload]
    assert "tool_calls" not in message([chunk(content="", tool_calls=["junk"]), chunk("stop")])


@pytest.mark.parametrize("value", [0, False, "", {}], ids=repr)
def test_an_unknown_field_is_reported_although_its_value_is_false(value: JSON) -> None:
    entry: JSON = {
        "index": 0,
        "id": "a",
        "odd_call": value,
        "function": {"name": "f", "arguments": "{}", "odd_function": value},
    }
    first = chunk(tool_calls=[entry], odd_delta=value)
    assert isinstance(first["choices"], list) and isinstance(first["choices"][0], dict)
    first["choices"][0]["odd_choice"] = value
    out = restream([first, chunk("tool_calls")], WIRE, "anthropic", framed=False)
    list(out)
    assert {loss.path[-1] for loss in out.losses} == {
        "odd_call",
        "odd_function",
        "odd_delta",
        "odd_choice",
    }


# --- what breaks ----------------------------------------------------------------------------------


def test_an_error_record_is_kept_in_the_body_and_reported() -> None:
    fault: JSON = {"message": "overloaded", "type": "server_error", "code": None}
    events: list[Chunk] = [chunk(content="Half"), {"error": fault}]
    body = fold(events, WIRE)
    assert isinstance(body, dict) and body["error"] == fault
    assert message(events)["content"] == "Half"
    assert restream_to_anthropic(events)[0][-1] == {
        "type": "error",
        "error": {"type": "api_error", "message": "overloaded"},
    }


def test_a_stream_without_a_finish_reason_was_cut_off_and_keeps_its_partial_arguments() -> None:
    events = [chunk(tool_calls=[piece(0, '{"q": "too', id="a", type="function", name="f")])]
    body = fold(events, WIRE)
    assert isinstance(body, dict) and "error" in body
    (call,) = decode(body, WIRE, "response").calls()
    assert isinstance(call, Call) and call.arguments == '{"q": "too'
    written_events, _ = restream_to_anthropic(events)
    assert [event["type"] for event in written_events[-3:]] == [
        "content_block_delta",
        "content_block_stop",
        "error",
    ]


def test_a_stream_without_any_chunk_is_refused() -> None:
    with pytest.raises(DecodeError):
        fold([], WIRE)


# --- the official client --------------------------------------------------------------------------


def client(url: str) -> OpenAI:
    return OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize("stream", streams_of_other_wires(WIRE), ids=str)
def test_the_client_reads_our_chunks(stream: StreamCase) -> None:
    calls: dict[int, list[str]] = {}
    text = ""
    stop, tokens = "", (0, 0)
    with serve_translation(stream, WIRE) as (server, original_id):
        for block in client(server.url).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "?"}], stream=True
        ):
            tokens = (
                (block.usage.prompt_tokens, block.usage.completion_tokens)
                if block.usage
                else tokens
            )
            for choice in block.choices:
                text += choice.delta.content or ""
                stop = choice.finish_reason or stop
                for entry in choice.delta.tool_calls or []:
                    call = calls.setdefault(entry.index, [entry.id or "", "", ""])
                    call[1] += (entry.function.name if entry.function else None) or ""
                    call[2] += (entry.function.arguments if entry.function else None) or ""
    found = [
        (original_id(call_id), name, json.loads(arguments))
        for _, (call_id, name, arguments) in sorted(calls.items())
    ]
    assert ClientResult(found, text, tokens, STOPS[stop]) == result_of_body(stream)


@pytest.mark.parametrize("stream", streams_of_other_wires(WIRE), ids=str)
def test_the_helper_of_the_official_client_assembles_the_message(stream: StreamCase) -> None:
    with (
        serve_translation(stream, WIRE) as (server, original_id),
        client(server.url).chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "?"}]
        ) as events,
    ):
        answer = events.get_final_completion()
    (choice,) = answer.choices
    calls = [
        (original_id(call.id), call.function.name, json.loads(call.function.arguments))
        for call in choice.message.tool_calls or []
        if call.type == "function"
    ]
    tokens = (
        (answer.usage.prompt_tokens, answer.usage.completion_tokens) if answer.usage else (0, 0)
    )
    assert ClientResult(
        calls, choice.message.content or "", tokens, STOPS[choice.finish_reason]
    ) == result_of_body(stream)


def test_the_client_raises_the_error_of_the_source() -> None:
    events: list[Chunk] = [
        {"type": "error", "error": {"type": "overloaded_error", "message": "try later"}}
    ]
    with (
        serve(list(restream(events, "anthropic", WIRE))) as server,
        pytest.raises(APIError, match="try later"),
    ):
        list(
            client(server.url).chat.completions.create(
                model="m", messages=[{"role": "user", "content": "?"}], stream=True
            )
        )


# --- values that come again -----------------------------------------------------------------------

VALUE_CHANGED = "the stream has another value later; the value that was sent first stays"


def test_a_name_that_grows_after_the_call_was_announced_is_reported() -> None:
    events = [
        chunk(tool_calls=[piece(0, "", id="c1", name="get_weather")]),
        chunk(tool_calls=[{"index": 0, "function": {"name": "_today"}}]),
        chunk("tool_calls"),
    ]
    _, reasons = restream_to_anthropic(events)
    assert VALUE_CHANGED in reasons


def test_arguments_that_come_again_after_the_next_call_are_reported() -> None:
    events = [
        chunk(tool_calls=[piece(0, '{"q":1}', id="c1", name="search")]),
        chunk(tool_calls=[piece(1, '{"q":2}', id="c2", name="search")]),
        chunk(tool_calls=[piece(0, '{"q":3}')]),
        chunk("tool_calls"),
    ]
    _, reasons = restream_to_anthropic(events)
    assert reasons == [VALUE_CHANGED]


def test_arguments_that_come_again_after_a_list_are_reported() -> None:
    events = [
        chunk(tool_calls=[piece(0, "[]", id="c1", name="search")]),
        chunk(tool_calls=[piece(0, '{"q":1}')]),
        chunk("tool_calls"),
    ]
    _, reasons = restream_to_anthropic(events)
    assert "the final arguments differ from the deltas that were sent; the deltas stay" in reasons


def test_only_text_continues_a_text() -> None:
    assert (
        message([chunk(reasoning_content="Hm."), chunk(reasoning_content={}), chunk("stop")])[
            "reasoning_content"
        ]
        == "Hm."
    )
    block: JSON = {"type": "text", "text": []}
    content = message([chunk(content="Half."), chunk(content=[block]), chunk("stop")])["content"]
    assert content == [{"type": "text", "text": "Half."}, block]


def test_an_empty_legacy_call_is_no_call() -> None:
    events = [chunk(content="Hi."), chunk(function_call={}), chunk("stop")]
    written, _ = restream_to_anthropic(events)
    body = fold(written, "anthropic")
    assert decode(body, "anthropic", "response").calls() == []


def test_the_name_of_a_legacy_call_does_not_grow_after_its_arguments_started() -> None:
    pieces: list[JSON] = [{"name": "get_"}, {"name": "time", "arguments": "{}"}, {"name": "more"}]
    events: list[JSON] = [
        {"choices": [{"index": 0, "delta": {"function_call": x}}]} for x in pieces
    ]
    there = fold(b"".join(restream(events, "openai-chat", "anthropic")), "anthropic")
    for body, name in ((fold(events, "openai-chat"), "openai-chat"), (there, "anthropic")):
        assert [call.name for call in decode(body, name, "response").calls()] == ["get_time"]
