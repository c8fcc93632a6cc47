"""The npm package `ai` with its providers for OpenAI, Anthropic and Google, pointed at the gateway
and otherwise unchanged.

All conversations are held in one process of Node, `npm_clients.mjs`; behind the gateway are strict
mocks of other wires.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from cases import DEEP
from gateway.bodies import MESSAGE
from gateway.cells import ADDED, SIGNATURE_FIELDS, THINKS, WORDS, model
from gateway.serving import UPSTREAMS, Gateways
from mock.tools import FINAL, QUESTION
from streams.clients import NODE, install_clients

from toolwire.conversation.json import JSON, Object, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.translator import Translator

SCRIPT = Path(__file__).parent / "npm_clients.mjs"
CLIENT_APIS = ("openai-chat", "openai-responses", "anthropic", "gemini")
PACKAGES = ("openai", "anthropic", "google")
LONG = f"[[slow 0.05]] [[text {'word ' * 1000}]]"
"""A response that does not end before a client disconnects, however slow the client is."""
TEXTS = {
    "tools": QUESTION,
    "thinks": THINKS,
    "object": '[[text {"a": 1, "b": 2}]]',
    "refused": "[[error 429]] hello",
    "leaves": LONG,
}
DROPS = {
    ("openai-chat", False): "the package reads no `reasoning_details`, and no thoughts",
    ("openai-chat", True): "the package reads no `reasoning_details`, and no thoughts",
    ("gemini", True): "the package drops a signature after calls in a stream (3.x; 4.x keeps it)",
}
"""Packages, streamed or not, that do not return signatures of a model, with or without a gateway."""


class Talk(NamedTuple):
    """A conversation to run."""

    scenario: str
    api: str
    upstream: str
    stream: bool


def others(api: str, scenario: str) -> list[str]:
    """Upstreams of other wires: all of them in a deep run; otherwise some, different ones for each
    API.
    """
    names = [name for name in UPSTREAMS if name != api]
    if scenario == "thinks":
        return [name for name in names if name in SIGNATURE_FIELDS]
    first = 2 * CLIENT_APIS.index(api)
    return (
        names
        if DEEP
        else [names[(first + n) % len(names)] for n in range(3 if scenario == "tools" else 1)]
    )


TALKS = [
    Talk(scenario, api, upstream, stream)
    for scenario in TEXTS
    for api in CLIENT_APIS
    for upstream in others(api, scenario)
    for stream in ((True,) if scenario == "leaves" else (False, True))
]


def conversations(gateways: Gateways) -> dict[Talk, Object]:
    """The outcome of each conversation."""
    node = install_clients()
    absent = [
        name
        for name in PACKAGES
        if not (NODE / "node_modules" / "@ai-sdk" / name / "package.json").is_file()
    ]
    assert not absent, f"`npm install --prefix tests/node` is needed: package.json names {absent}"
    asks: list[Object] = [
        {
            "client": one.api,
            "url": gateways.url(one.upstream),
            "model": model(one.upstream),
            "text": TEXTS[one.scenario],
            "stream": one.stream,
            "thinks": one.scenario == "thinks",
            "abort": one.scenario == "leaves",
            "object": one.scenario == "object",
        }
        for one in TALKS
    ]
    lines = "".join(json.dumps(ask) + "\n" for ask in asks)
    done = subprocess.run(
        [node, str(SCRIPT)], input=lines, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(TALKS, map(json.loads, done.stdout.splitlines()), strict=True))


def _rows(value: JSON) -> list[list[JSON]]:
    assert isinstance(value, list)
    return [row for row in value if isinstance(row, list)]


def answer_lines(output: Object) -> list[str]:
    """The lines of the answer; `@ai-sdk/google` wraps a result in an object, which the model then
    sees."""
    lines = []
    for line in str(output["text"]).splitlines():
        call, _, out = line.partition(" gave: ")
        lines.append(f"{call} gave: {json.loads(out)['content']}" if out.startswith("{") else line)
    return lines


def tools(gateways: Gateways, talk: Talk, output: Object) -> None:
    """Two calls of one tool, and then another: each finds its result, and usage is reported."""
    assert output["error"] is None, output["error"]
    calls = _rows(output["calls"])
    called = [(step, name) for step, _, name, _ in calls]
    assert called == [(0, "Calculator_Add"), (0, "Calculator_Add"), (1, "Calculator_Multiply")], (
        called
    )
    ids = [str(call[1]) for call in calls]
    assert len(set(ids)) == 3, ids
    assert _rows(output["results"]) == [
        [made, out] for made, out in zip(ids, ("5", "9", "45"), strict=True)
    ]
    assert answer_lines(output) == list(FINAL) and output["finish"] == "stop", (
        output["text"],
        output["finish"],
    )
    usage = output["usage"]
    assert isinstance(usage, dict) and usage["inputTokens"] and usage["outputTokens"], usage


def thinks(gateways: Gateways, talk: Talk, output: Object) -> None:
    """Reasoning before calls: it is shown, and the model gets its signature back if the package
    keeps it."""
    assert output["error"] is None and answer_lines(output) == ADDED, output
    assert talk.api == "openai-chat" or WORDS in str(output["thoughts"]), output["thoughts"]
    made = [f'"{call[1]}"' for call in _rows(output["calls"])]
    sent = [json.dumps(one.body) for one in gateways.mocks[talk.upstream].requests]
    after = [
        body
        for body in sent
        if THINKS[:20] in body and (talk.upstream == "gemini" or all(one in body for one in made))
    ]
    sealed = any(
        f'"{SIGNATURE_FIELDS[talk.upstream]}": "' in body and "skip_thought" not in body
        for body in after
    )
    assert sealed or (talk.api, talk.stream) in DROPS, after[-1:]
    assert not any("tw1." in body for body in after)


def an_object(gateways: Gateways, talk: Talk, output: Object) -> None:
    """A response that has to be JSON of a schema."""
    assert output["error"] is None and output["object"] == {"a": 1, "b": 2}, output


def assert_refusal(gateways: Gateways, talk: Talk, output: Object) -> None:
    """A refusal has its status and message, and is marked as retryable."""
    error = output["error"]
    assert isinstance(error, dict) and error["status"] == 429 and error["retry"] is True, output
    assert error["message"] and "{" not in str(error["message"]), error


def leaves(gateways: Gateways, talk: Talk, output: Object) -> None:
    """A program that disconnects during a response gets nothing more, and the gateway stops the
    upstream."""
    assert output["error"] is None, output
    late = time.monotonic() + 60
    while f'client_disconnects_total{{api="{talk.api}"}}' not in (
        numbers := httpx.get(f"{gateways.url(talk.upstream)}/metrics").text
    ):
        assert time.monotonic() < late, numbers
        time.sleep(0.01)


CHECKS: dict[str, Callable[[Gateways, Talk, Object], None]] = {
    "tools": tools,
    "thinks": thinks,
    "object": an_object,
    "refused": assert_refusal,
    "leaves": leaves,
}


def test_ai_sdk_programs_work_with_models_of_other_wires(gateways: Gateways) -> None:
    broken: dict[str, str] = {}
    for talk, output in conversations(gateways).items():
        try:
            CHECKS[talk.scenario](gateways, talk, output)
        except AssertionError as error:
            broken[" ".join(map(str, talk))] = str(error)[:1000]
    assert broken == {}


SIGNED: Object = {
    **MESSAGE,
    "stop_reason": "tool_use",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}},
    ],
}


@pytest.mark.parametrize("at", [0, 1, 2], ids=["thought", "text", "call"])
def test_a_token_that_a_client_moved_does_not_remove_other_parts(at: int) -> None:
    """As `@ai-sdk/google` does with the signature of an empty text."""
    asked: Object = {"role": "user", "parts": [{"text": "go"}]}
    api = BY_WIRE["gemini"]
    translator = Translator(api, "anthropic", model="m")
    response = json.loads(
        translator.response(dump(SIGNED), translator.request(dump({"contents": [asked]}))).body
    )
    parts = response["candidates"][0]["content"]["parts"]
    parts[at]["thoughtSignature"] = seal = parts[-1].pop("thoughtSignature")
    done: Object = {
        "functionResponse": {"id": "toolu_1", "name": "add", "response": {"output": "3"}}
    }
    back = dump(
        {"contents": [asked, {"role": "model", "parts": parts}, {"role": "user", "parts": [done]}]}
    )
    messages = translator.request(back).body["messages"]
    assert isinstance(messages, list) and messages[1:2] == [
        {"role": "assistant", "content": SIGNED["content"]}
    ], messages
    for other in ("openai-chat", "openai-responses", "gemini", "bedrock", "ollama"):
        text = json.dumps(Translator(api, other, model="m").request(back).body)
        assert "Let me see." in text and re.search(r"a\W+1", text) and seal[:9] not in text, (
            other,
            text,
        )
