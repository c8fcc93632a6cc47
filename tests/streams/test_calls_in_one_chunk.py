"""Parallel calls that arrive in one chunk leave as the target's server sends them: one after the
other, or together on wires whose calls come whole."""

from __future__ import annotations

import json

import pytest
from cases import facts, streaming

from toolwire import fold, restream, translate
from toolwire.conversation.json import JSON, Object, text_of

CITIES = ("Oslo", "Rome", "Lima")
ARGUMENTS: list[JSON] = [{"city": city} for city in CITIES]


def gemini_stream() -> list[Object]:
    parts: list[JSON] = [{"functionCall": {"name": "weather", "args": args}} for args in ARGUMENTS]
    content: Object = {"role": "model", "parts": parts}
    return [{"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}]


def ollama_stream() -> list[Object]:
    calls: list[JSON] = [{"function": {"name": "weather", "arguments": args}} for args in ARGUMENTS]
    message: Object = {"role": "assistant", "content": "", "tool_calls": calls}
    end: Object = {"role": "assistant", "content": ""}
    return [
        {"model": "m", "message": message, "done": False},
        {"model": "m", "message": end, "done": True, "done_reason": "stop"},
    ]


def mistral_stream() -> list[Object]:
    calls: list[JSON] = [
        {
            "id": f"aaaaaaaa{n}",
            "index": n,
            "function": {"name": "weather", "arguments": json.dumps(args)},
        }
        for n, args in enumerate(ARGUMENTS)
    ]
    choice: Object = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    return [{"id": "r", "model": "m", "choices": [choice]}]


STREAMS = {"gemini": gemini_stream, "ollama": ollama_stream, "mistral": mistral_stream}
WHOLE = ("gemini", "ollama")
"""Wires whose servers send all parallel calls in one chunk."""
TARGETS = [
    name
    for name in streaming()
    if not facts(name).exempt.repeats_answer and name not in ("text", "mcp", "oxp", *WHOLE)
]


@pytest.mark.parametrize(
    ("source", "target"),
    [(source, target) for source in STREAMS for target in TARGETS if source != target],
)
def test_each_chunk_holds_one_of_the_calls_that_came_together(source: str, target: str) -> None:
    chunks = list(restream(STREAMS[source](), source, target, framed=False))
    cities = [[city for city in CITIES if city in text_of(chunk)] for chunk in chunks]
    assert max(map(len, cities)) == 1
    assert list(dict.fromkeys(city for found in cities for city in found)) == list(CITIES)


def chat_stream() -> list[Object]:
    """Two calls one after the other, each in two pieces, with a text before them."""
    deltas: list[Object] = [{"role": "assistant", "content": "let me see"}]
    for n, city in enumerate(CITIES):
        function: Object = {"name": "weather", "arguments": '{"city":'}
        deltas.append({"tool_calls": [{"index": n, "id": f"call_{n}", "function": function}]})
        rest: Object = {"arguments": json.dumps(city) + "}"}
        deltas.append({"tool_calls": [{"index": n, "function": rest}]})
    choices: list[Object] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    return [{"id": "r", "model": "m", "choices": [choice]} for choice in choices]


@pytest.mark.parametrize("target", WHOLE)
@pytest.mark.parametrize("source", [*STREAMS, "openai-chat"])
def test_calls_share_a_chunk_on_wires_whose_calls_come_whole(source: str, target: str) -> None:
    stream = STREAMS.get(source, chat_stream)()
    chunks = list(restream(stream, source, target, framed=False))
    cities = [[city for city in CITIES if city in text_of(chunk)] for chunk in chunks]
    assert [found for found in cities if found] == [list(CITIES)]


@pytest.mark.parametrize("target", WHOLE)
@pytest.mark.parametrize("last", ["text", "error"])
def test_calls_go_out_before_whatever_follows_them(target: str, last: str) -> None:
    stream = chat_stream()[:-1]
    text: Object = {"index": 0, "delta": {"content": "and now?"}}
    error: Object = {"error": {"message": "and now?", "code": 500}}
    stream.append({"id": "r", "model": "m", "choices": [text]} if last == "text" else error)
    chunks = [text_of(chunk) for chunk in restream(stream, "openai-chat", target, framed=False)]
    first_call = next(n for n, chunk in enumerate(chunks) if "Oslo" in chunk)
    after = next(n for n, chunk in enumerate(chunks) if "and now?" in chunk)
    assert all(city in chunks[first_call] for city in CITIES) and first_call < after


@pytest.mark.parametrize("source", STREAMS)
def test_calls_that_came_together_are_three_items_of_a_response(source: str) -> None:
    chunks = list(restream(STREAMS[source](), source, "openai-responses", framed=False))
    added = [chunk for chunk in chunks if chunk["type"] == "response.output_item.added"]
    whole = translate(fold(STREAMS[source](), source), source, "openai-responses", "response")
    assert len(added) == 3 and whole.json().count(b'"function_call"') == 3
