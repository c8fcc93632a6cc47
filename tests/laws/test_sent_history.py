"""A history that is sent now: calls at its end that wait for results get results, or the provider
refuses the request."""

from __future__ import annotations

import httpx
import pytest
from cases import MODELS
from gateway.bodies import CHAT, MESSAGE
from gateway.upstreams import answers, scripted_gateway
from hand_made_histories import TOOLS

from toolwire import check, decode, pending, repair, resume, translate
from toolwire.conversation.json import JSON, Object, dump
from toolwire.profiles.table import PROFILES

CALLS: list[JSON] = [
    {"id": f"call0000{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for n in (1, 2)
]
TURN: list[JSON] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
]
RESULT: JSON = {"role": "tool", "tool_call_id": "call00002", "content": "two"}
HISTORIES: dict[str, list[JSON]] = {"no result": TURN, "one of two results": [*TURN, RESULT]}
STRICT = [wire for wire in MODELS if PROFILES[wire].rejects_missing_results]
ANSWERS = {"openai-chat": CHAT, "anthropic": MESSAGE}
both_histories = pytest.mark.parametrize("name", HISTORIES)


def request(name: str) -> Object:
    return {"model": "m", "messages": HISTORIES[name], "tools": TOOLS}


def texts(body: JSON | bytes, wire: str) -> list[str | None]:
    """The text of the result of each call."""
    results = [pair.result for pair in decode(body, wire).pairs()]
    return [None if result is None else result.text for result in results]


@both_histories
@pytest.mark.parametrize("target", STRICT)
def test_a_translation_for_sending_leaves_no_call_without_a_result(target: str, name: str) -> None:
    encoded = translate(request(name), "openai-chat", target, abandon_pending=True)
    assert pending(encoded.body, target) == []
    assert [finding for finding in check(encoded.body, target) if finding.severity == "error"] == []
    first, second = texts(encoded.body, target)
    assert first and "[toolwire]" in first
    assert second and ("[toolwire]" in second) == (name == "no result")
    assert encoded.changes


@both_histories
@pytest.mark.parametrize("wire", STRICT)
def test_a_repair_for_sending_leaves_no_call_without_a_result(wire: str, name: str) -> None:
    body = translate(request(name), "openai-chat", wire, repair=False).body
    repaired = repair(body, wire, abandon_pending=True)
    assert pending(repaired.body, wire) == []
    assert len(texts(repaired.body, wire)) == 2 and all(texts(repaired.body, wire))
    again = repair(repaired.body, wire, abandon_pending=True)
    assert again.changes == [] and again.body == repaired.body


@both_histories
@pytest.mark.parametrize("wire", MODELS)
def test_by_default_pending_calls_can_be_resumed_on_every_wire(wire: str, name: str) -> None:
    body = translate(request(name), "openai-chat", wire).body
    waiting = pending(body, wire)
    assert len(waiting) == (2 if name == "no result" else 1)
    resumed = resume(body, wire, {call.id: "late" for call in waiting})
    assert texts(resumed.body, wire).count("late") == len(waiting)
    assert repair(resumed.body, wire).changes == []


@both_histories
@pytest.mark.parametrize("upstream", ANSWERS)
def test_the_gateway_sends_no_call_without_a_result(upstream: str, name: str) -> None:
    with scripted_gateway(upstream, answers(ANSWERS[upstream])) as gw:
        response = httpx.post(
            f"{gw.url}/v1/chat/completions",
            content=dump(request(name)),
            headers={"content-type": "application/json"},
        )
        sent = gw.up.got[0].body
    assert pending(sent, upstream) == []
    assert all(texts(sent, upstream))
    rule = "missing-result" if name == "no result" else "partial-batch"
    assert rule in response.headers["x-toolwire-repairs"]
