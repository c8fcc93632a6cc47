"""What is peculiar to Mistral's chunks, and what the official client makes of those that
we write.
"""

from __future__ import annotations

import json

import pytest
from cases import Streamed
from mistralai.client import Mistral
from mistralai.client.models import UserMessage
from streams.others import Found, others, told, wanted

from toolwire import Reasoning, Text, decode
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream

WIRE = "mistral"
STOPS = {"tool_calls": "tool", "stop": "stop", "length": "length", "model_length": "length"}


def chunk(finish: str | None = None, **delta: JSON) -> Chunk:
    one: Object = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [one],
    }


def call(one: JSON, arguments: JSON, index: int = 0, name: str = "get_weather") -> JSON:
    return {"id": one, "function": {"name": name, "arguments": arguments}, "index": index}


def test_null_is_no_id_and_zero_is_no_index() -> None:
    events = [
        chunk(
            "tool_calls",
            tool_calls=[call("null", '{"city": "Paris"}'), call("null", '{"city": "Oslo"}')],
        )
    ]
    found = decode(fold(events, WIRE), WIRE, "response").calls()
    assert [one.input for one in found] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert all(is_minted(one.id) for one in found) and found[0].id != found[1].id
    there = decode(
        fold(restream(events, WIRE, "anthropic"), "anthropic"), "anthropic", "response"
    ).calls()
    assert [one.id for one in there] == [one.id for one in found]


def test_arguments_that_are_an_object_are_told_as_text() -> None:
    events = [chunk("tool_calls", tool_calls=[call("D681PevKs", {"city": "Paris", "days": [1]})])]
    (one,) = decode(fold(events, WIRE), WIRE, "response").calls()
    assert one.input == {"city": "Paris", "days": [1]}
    (there,) = decode(
        fold(restream(events, WIRE, "openai-chat"), "openai-chat"), "openai-chat", "response"
    ).calls()
    assert (there.id, there.input) == ("D681PevKs", one.input)


def test_thinking_in_chunks_is_reasoning_that_grows() -> None:
    thought: JSON = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]
    events = [
        chunk(role="assistant", content=thought),
        chunk(content=thought),
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


def test_an_id_of_another_wire_becomes_nine_letters_and_goes_home() -> None:
    native: JSON = [
        {
            "index": 0,
            "id": "call_abcdefghijkl",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
    ]
    there = restream([chunk(tool_calls=native), chunk("tool_calls")], "openai-chat", WIRE)
    body = fold(there, WIRE)
    (sent,) = decode(body, WIRE, "response").calls()
    assert len(sent.id) == 9 and sent.id.isalnum()
    assert there.ids.ids[sent.id] == "call_abcdefghijkl"


def test_an_error_as_the_reason_is_told_as_it_is() -> None:
    body = fold([chunk(content="Half"), chunk("error", content="")], WIRE)
    assert decode(body, WIRE, "response").messages[0].stop == "error"


@pytest.mark.parametrize("stream", others(WIRE), ids=str)
def test_the_client_reads_our_chunks(stream: Streamed) -> None:
    calls: dict[int, list[str]] = {}
    text = ""
    stop, tokens = "", (0, 0)
    with told(stream, WIRE) as (server, home):
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
                    held = calls.setdefault(entry.index or 0, [entry.id or "", "", ""])
                    held[1] += entry.function.name
                    held[2] += str(entry.function.arguments)
    found = [
        (home(one), name, json.loads(arguments))
        for _, (one, name, arguments) in sorted(calls.items())
    ]
    assert Found(found, text, tokens, STOPS[stop]) == wanted(stream)
