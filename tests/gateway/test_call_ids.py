"""A model that calls tools without ids: its clients get ids, and it never sees them."""

from __future__ import annotations

import json
import logging

import httpx
import pytest
from gateway.bodies import GEMINI, event
from gateway.upstreams import Answer, ScriptedGateway, answers, scripted_gateway, streams

from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get, put

CITIES = ("Oslo", "Rome", "Lima")
QUESTION: Object = {"role": "user", "parts": [{"text": "The weather?"}]}
TOOLS: list[JSON] = [{"functionDeclarations": [{"name": "weather", "description": "weather"}]}]
MODES = {
    "whole": "generateContent",
    "events": "streamGenerateContent?alt=sse",
    "array": "streamGenerateContent",
}


def call(city: str) -> Object:
    return {"functionCall": {"name": "weather", "args": {"city": city}}}


def result(city: str) -> Object:
    return {"functionResponse": {"name": "weather", "response": {"output": f"sunny in {city}"}}}


def chunk(*cities: str, finish: str | None = None) -> Object:
    content: Object = {"role": "model", "parts": [call(city) for city in cities]}
    return {"candidates": [{"index": 0, "content": content, "finishReason": finish}]}


def answer_of_gemini(mode: str) -> Answer:
    if mode == "whole":
        return answers(chunk(*CITIES, finish="STOP"))
    stream = event(chunk(*CITIES[:2])) + event(chunk(*CITIES[2:], finish="STOP"))
    return streams(*[stream[at : at + 50] for at in range(0, len(stream), 50)])


def answer_of_ollama(mode: str) -> Answer:
    calls = [{"function": {"name": "weather", "arguments": {"city": city}}} for city in CITIES]
    message: Object = {"role": "assistant", "content": "", "tool_calls": calls}  # type: ignore[dict-item]
    body: Object = {"model": "up", "message": message, "done": True, "done_reason": "stop"}
    if mode == "whole":
        return answers(body)
    return streams(json.dumps(body).encode() + b"\n", media="application/x-ndjson")


def ask(gw: ScriptedGateway, mode: str, *contents: Object) -> list[Object]:
    """Send a history; return the parts of the answer."""
    body = {"contents": [QUESTION, *contents], "tools": TOOLS}
    got = httpx.post(f"{gw.url}/v1beta/models/m:{MODES[mode]}", json=body)
    assert got.status_code == 200, got.text
    chunks = got.json()
    if isinstance(chunks, dict):
        chunks = [chunks]
    return [part for one in chunks for part in one["candidates"][0].get("content", {})["parts"]]


def ask_for_events(gw: ScriptedGateway, *contents: Object) -> list[Object]:
    body = {"contents": [QUESTION, *contents], "tools": TOOLS}
    got = httpx.post(f"{gw.url}/v1beta/models/m:{MODES['events']}", json=body)
    lines = [line for line in got.text.splitlines() if line.startswith("data:")]
    chunks = [json.loads(line.removeprefix("data:")) for line in lines]
    return [part for one in chunks for part in one["candidates"][0]["content"]["parts"]]


def calls_of(gw: ScriptedGateway, mode: str, *contents: Object) -> list[Object]:
    parts = ask_for_events(gw, *contents) if mode == "events" else ask(gw, mode, *contents)
    return [part for part in parts if "functionCall" in part]


def ids_of(calls: list[Object]) -> list[str]:
    return [str(get(part, ("functionCall", "id"))) for part in calls]


def answer_in_order_of_completion(calls: list[Object]) -> list[JSON]:
    """The results as a client sends them whose last tool finishes first."""
    results: list[JSON] = []
    for part, call_id in zip(reversed(calls), reversed(ids_of(calls)), strict=True):
        city = get(part, ("functionCall", "args", "city"))
        results.append(put(result(str(city)), ("functionResponse", "id"), call_id))
    return results


@pytest.mark.parametrize("mode", MODES)
def test_results_in_order_of_completion_reach_a_model_without_ids_in_order_of_its_calls(
    mode: str,
) -> None:
    with scripted_gateway("gemini", answer_of_gemini(mode), answers(GEMINI)) as gw:
        calls = calls_of(gw, mode)
        ids = ids_of(calls)
        assert len(set(ids)) == 3 and all(map(is_minted, ids))
        results: Object = {"role": "user", "parts": answer_in_order_of_completion(calls)}
        asked: Object = {"role": "model", "parts": [*calls]}
        ask(gw, "whole", asked, results)
        history = gw.up.got[1].json["contents"]
    assert history == [
        QUESTION,
        {"role": "model", "parts": [call(city) for city in CITIES]},
        {"role": "user", "parts": [result(city) for city in CITIES]},
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_model_of_another_wire_without_ids_gets_each_result_with_its_call(mode: str) -> None:
    with scripted_gateway("ollama", answer_of_ollama(mode), answer_of_ollama("whole")) as gw:
        calls = calls_of(gw, mode)
        asked: Object = {"role": "model", "parts": [*calls]}
        results: Object = {"role": "user", "parts": answer_in_order_of_completion(calls)}
        ask(gw, "whole", asked, results)
        messages = gw.up.got[1].json["messages"]
    assert isinstance(messages, list)
    tool_results = [
        one["content"] for one in messages if isinstance(one, dict) and one["role"] == "tool"
    ]
    assert tool_results == [f"sunny in {city}" for city in CITIES]
    assert "tw-" not in json.dumps(messages)


def test_ids_differ_from_turn_to_turn() -> None:
    with scripted_gateway("gemini", answer_of_gemini("whole"), answer_of_gemini("whole")) as gw:
        first = calls_of(gw, "whole")
        results: Object = {"role": "user", "parts": answer_in_order_of_completion(first)}
        second = calls_of(gw, "whole", {"role": "model", "parts": [*first]}, results)
    assert len({*ids_of(first), *ids_of(second)}) == 6


def test_an_answer_whose_calls_have_ids_passes_byte_for_byte() -> None:
    path = ("candidates", 0, "content", "parts", 0, "functionCall", "id")
    named = put(chunk("Oslo", finish="STOP"), path, "fc-1")
    identity = b'"responseId":"r1", "modelVersion":"m",'
    data = b'data:  {"odd" : 1.50,' + identity + json.dumps(named).encode()[1:] + b"\r\n\r\n"
    with scripted_gateway("gemini", streams(data)) as gw:
        url = f"{gw.url}/v1beta/models/m:{MODES['events']}"
        got = httpx.post(url, json={"contents": [QUESTION], "tools": TOOLS})
    assert got.content == data


@pytest.mark.parametrize("wire", ["gemini", "ollama"])
@pytest.mark.parametrize("answered", ["by order", "by id"])
def test_the_log_and_a_header_list_the_results_that_only_order_assigns(
    wire: str, answered: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "toolwire.gateway")
    answer = answer_of_gemini("whole") if wire == "gemini" else answer_of_ollama("whole")
    with scripted_gateway(wire, answer) as gw:
        calls = calls_of(gw, "whole")
        results = answer_in_order_of_completion(calls)
        if answered == "by order":
            calls, results = [call(city) for city in CITIES], [result(city) for city in CITIES]
        contents = [QUESTION, {"role": "model", "parts": calls}, {"role": "user", "parts": results}]
        url = f"{gw.url}/v1beta/models/m:{MODES['whole']}"
        got = httpx.post(url, json={"contents": contents, "tools": TOOLS})
    pairs = [f"/contents/2/parts/{n} for /contents/1/parts/{n}" for n in range(3)]
    if answered == "by id":
        assert "x-toolwire-paired-by-order" not in got.headers
        assert "by order" not in caplog.text
    else:
        assert got.headers["x-toolwire-paired-by-order"] == f"3: {', '.join(pairs)}"
        assert "paired 3 results by order" in caplog.text
