"""Parallel calls that arrive in one chunk leave one after the other, as the targets' servers send
them."""

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
TARGETS = [
    name
    for name in streaming()
    if not facts(name).exempt.repeats_answer and name not in ("text", "mcp", "oxp")
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


@pytest.mark.parametrize("source", STREAMS)
def test_calls_that_came_together_are_three_items_of_a_response(source: str) -> None:
    chunks = list(restream(STREAMS[source](), source, "openai-responses", framed=False))
    added = [chunk for chunk in chunks if chunk["type"] == "response.output_item.added"]
    whole = translate(fold(STREAMS[source](), source), source, "openai-responses", "response")
    assert len(added) == 3 and whole.json().count(b'"function_call"') == 3
