"""What is peculiar to Mistral's chunks, and what the official client makes of those that
we write.
"""

from __future__ import annotations

import json

import pytest
from cases import StreamCase
from mistralai.client import Mistral
from mistralai.client.models import UserMessage
from streams.other_wires import (
    ClientResult,
    result_of_body,
    serve_translation,
    streams_of_other_wires,
)

from toolwire import Reasoning, Text, decode
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream

WIRE = "mistral"
STOPS = {"tool_calls": "tool", "stop": "stop", "length": "length", "model_length": "length"}


def chunk(finish: str | None = None, **delta: JSON) -> Chunk:
    choice: Object = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


def call(call_id: JSON, arguments: JSON, index: int = 0, name: str = "get_weather") -> JSON:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}, "index": index}


def test_null_is_no_id_and_zero_is_no_index() -> None:
    events = [
        chunk(
            "tool_calls",
            tool_calls=[call("null", '{"city": "Paris"}'), call("null", '{"city": "Oslo"}')],
        )
    ]
    calls = decode(fold(events, WIRE), WIRE, "response").calls()
    assert [call.input for call in calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert all(is_minted(call.id) for call in calls) and calls[0].id != calls[1].id
    found_calls = decode(
        fold(restream(events, WIRE, "anthropic"), "anthropic"), "anthropic", "response"
    ).calls()
    assert [call.id for call in found_calls] == [call.id for call in calls]


def test_arguments_that_are_an_object_are_emitted_as_text() -> None:
    events = [chunk("tool_calls", tool_calls=[call("D681PevKs", {"city": "Paris", "days": [1]})])]
    (parsed_call,) = decode(fold(events, WIRE), WIRE, "response").calls()
    assert parsed_call.input == {"city": "Paris", "days": [1]}
    (translated_call,) = decode(
        fold(restream(events, WIRE, "openai-chat"), "openai-chat"), "openai-chat", "response"
    ).calls()
    assert (translated_call.id, translated_call.input) == ("D681PevKs", parsed_call.input)


def test_thinking_in_chunks_is_reasoning_that_grows() -> None:
    reasoning: JSON = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]
    events = [
        chunk(role="assistant", content=reasoning),
        chunk(content=reasoning),
        chunk(content="So."),
        chunk("stop", content=""),
    ]
    out = list(restream(events, WIRE, "anthropic", framed=False))
    assert [
        delta["thinking"]
        for event in out
        if isinstance(delta := event.get("delta"), dict) and "thinking" in delta
    ] == ["Hm"] * 2
    parts = decode(fold(events, WIRE), WIRE, "response").messages[0].parts
    assert [(type(part), part.text) for part in parts if isinstance(part, Text | Reasoning)] == [
        (Reasoning, "HmHm"),
        (Text, "So."),
    ]


def test_an_id_of_another_wire_becomes_nine_characters_and_is_restored() -> None:
    native: JSON = [
        {
            "index": 0,
            "id": "call_abcdefghijkl",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
    ]
    stream = restream([chunk(tool_calls=native), chunk("tool_calls")], "openai-chat", WIRE)
    body = fold(stream, WIRE)
    (call,) = decode(body, WIRE, "response").calls()
    assert len(call.id) == 9 and call.id.isalnum()
    assert stream.ids.ids[call.id] == "call_abcdefghijkl"


def test_the_finish_reason_error_is_kept() -> None:
    body = fold([chunk(content="Half"), chunk("error", content="")], WIRE)
    assert decode(body, WIRE, "response").messages[0].stop == "error"


@pytest.mark.parametrize("stream", streams_of_other_wires(WIRE), ids=str)
def test_the_client_reads_our_chunks(stream: StreamCase) -> None:
    calls: dict[int, list[str]] = {}
    text = ""
    stop, tokens = "", (0, 0)
    with serve_translation(stream, WIRE) as (server, original_id):
        answer = Mistral(api_key="none", server_url=server.url).chat.stream(
            model="m", messages=[UserMessage(content="?")]
        )
        for event in answer:
            usage = event.data.usage
            tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else tokens
            for choice in event.data.choices:
                content = choice.delta.content
                blocks = [] if isinstance(content, str) or not content else content
                text += (
                    content
                    if isinstance(content, str)
                    else "".join(getattr(block, "text", "") for block in blocks)
                )
                stop = str(choice.finish_reason or stop)
                for entry in choice.delta.tool_calls or []:
                    call = calls.setdefault(entry.index or 0, [entry.id or "", "", ""])
                    call[1] += entry.function.name
                    call[2] += str(entry.function.arguments)
    found = [
        (original_id(call_id), name, json.loads(arguments))
        for _, (call_id, name, arguments) in sorted(calls.items())
    ]
    assert ClientResult(found, text, tokens, STOPS[stop]) == result_of_body(stream)


def test_reasoning_may_be_a_list_of_strings() -> None:
    block: JSON = {"type": "thinking", "thinking": ["Hm."]}
    events: list[JSON] = [
        {"choices": [{"index": 0, "delta": {"content": [block]}, "finish_reason": "stop"}]}
    ]
    body = fold(b"".join(restream(events, "mistral", "openai-chat")), "openai-chat")
    assert get(body, ("choices", 0, "message", "reasoning_content")) == "Hm."


def test_a_custom_call_is_read_alike_in_a_stream_and_in_its_body() -> None:
    entry: JSON = {"index": 0, "custom": {"name": "shell", "input": "ls"}}
    events: list[JSON] = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": "stop"}]}
    ]
    body = fold(events, "mistral")
    there = fold(b"".join(restream(events, "mistral", "openai-chat")), "openai-chat")
    calls = decode(body, "mistral", "response").calls()
    assert [call.name for call in calls] == [
        call.name for call in decode(there, "openai-chat", "response").calls()
    ]
