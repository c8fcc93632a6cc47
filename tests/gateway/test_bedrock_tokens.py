"""Bedrock's Converse behind clients of other wires, over sockets: signatures of the model return in
the next turn.

The upstream is scripted, so that a signature arrives in pieces and next to reasoning that is
redacted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

import pytest
from gateway.clients import CLIENTS
from gateway.turns import Turn
from gateway.upstreams import Answer, ScriptedGateway, answers, scripted_gateway, streams
from mock.tools import run
from validators import complaints

from toolwire.conversation.json import JSON, Object, dump
from toolwire.gateway.translation.continuation_tokens import PREFIX
from toolwire.streaming.framing.aws import write

MODEL = "eu.anthropic.claude-opus-5-v1:0"
USAGE: Object = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
THOUGHT: Object = {
    "reasoningContent": {
        "reasoningText": {"text": "hm, two sums", "signature": "c2lnbmVkLWJ5LWJlZHJvY2s="}
    }
}
HIDDEN: Object = {"reasoningContent": {"redactedContent": "aGlkZGVuIQ=="}}
FINISH_REASON_TO_WIRE: Object = {"text": "Let me see."}


def _call(made: str, a: int, b: int) -> Object:
    return {"toolUse": {"toolUseId": made, "name": "Calculator_Add", "input": {"a": a, "b": b}}}


TURNS: dict[str, list[JSON]] = {
    "calls": [
        THOUGHT,
        HIDDEN,
        FINISH_REASON_TO_WIRE,
        _call("tooluse_1", 1, 2),
        _call("tooluse_2", 3, 4),
    ],
    "only calls": [THOUGHT, _call("tooluse_1", 1, 2), _call("tooluse_2", 3, 4)],
    "words": [HIDDEN, THOUGHT, FINISH_REASON_TO_WIRE],
}
"""The first response of the model."""


def whole(content: list[JSON]) -> Answer:
    """An answer of Converse."""
    called = any(isinstance(one, dict) and "toolUse" in one for one in content)
    message: Object = {"role": "assistant", "content": content}
    return answers(
        {
            "output": {"message": message},
            "stopReason": "tool_use" if called else "end_turn",
            "usage": USAGE,
        }
    )


def _deltas(block: JSON) -> Iterator[Object]:
    """A block in pieces."""
    match block:
        case {"reasoningContent": {"reasoningText": {"text": str(text), "signature": str(seal)}}}:
            for name, piece in (
                ("text", text[:3]),
                ("text", text[3:]),
                ("signature", seal[:8]),
                ("signature", seal[8:]),
            ):
                yield {"reasoningContent": {name: piece}}
        case {"toolUse": {"input": given}}:
            text = json.dumps(given)
            for piece in ("", text[:4], text[4:]):
                yield {"toolUse": {"input": piece}}
        case {"text": str(text)}:
            yield {"text": text[:5]}
            yield {"text": text[5:]}
        case dict():
            yield block


def converse_stream(content: list[JSON]) -> Answer:
    """An answer of ConverseStream; the messages are cut where no reader expects it."""
    called = False
    events: list[tuple[str, Object]] = [("messageStart", {"role": "assistant"})]
    for n, block in enumerate(content):
        if isinstance(block, dict) and isinstance(use := block.get("toolUse"), dict):
            called = True
            start: Object = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            events.append(("contentBlockStart", {"contentBlockIndex": n, "start": start}))
        events += [
            ("contentBlockDelta", {"contentBlockIndex": n, "delta": delta})
            for delta in _deltas(block)
        ]
        events.append(("contentBlockStop", {"contentBlockIndex": n}))
    events.append(("messageStop", {"stopReason": "tool_use" if called else "end_turn"}))
    events.append(("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}))
    data = b"".join(write(dump(body), name) for name, body in events)
    return streams(
        *(data[at : at + 97] for at in range(0, len(data), 97)),
        media="application/vnd.amazon.eventstream",
    )


@pytest.fixture(scope="module")
def gw() -> Iterator[ScriptedGateway]:
    """A gateway to a scripted Bedrock."""
    with scripted_gateway("bedrock", whole(TURNS["words"])) as made:
        yield made


def set_answers(gw: ScriptedGateway, *script: Answer) -> None:
    """Set the responses of the model."""
    gw.up.answers[:] = script
    gw.up.got.clear()


def two_turns(
    gw: ScriptedGateway, api: str, content: list[JSON], stream: bool
) -> tuple[Turn, Object]:
    """The first response as the client has it, and the next request to the model."""
    client, answer = CLIENTS[api], converse_stream if stream else whole
    set_answers(gw, answer(content), answer([{"text": "Hi"}]))
    history = client.begin("go")
    turn = client.ask(gw.url, MODEL, history, stream, thinks=True)
    outputs = [run(name, given) for _, name, given in turn.calls]
    more = [] if turn.calls else client.begin("and?")
    assert (
        client.ask(
            gw.url, MODEL, [*client.go_on(history, turn, outputs), *more], stream, thinks=True
        ).text
        == "Hi"
    )
    assert {one.path.rpartition("/")[2] for one in gw.up.got} == {
        "converse-stream" if stream else "converse"
    }
    return turn, gw.up.got[1].json


def blocks(body: Object, at: int) -> list[Object]:
    """The content of a message."""
    messages = body["messages"]
    message = messages[at] if isinstance(messages, list) else None
    content = message["content"] if isinstance(message, dict) else None
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def results(body: Object) -> list[tuple[str, str]]:
    """The ids of the results, and the number in each."""
    tool_results = [block["toolResult"] for block in blocks(body, 2)]
    return [
        (str(one["toolUseId"]), "".join(filter(str.isdigit, json.dumps(one["content"]))))
        for one in tool_results
        if isinstance(one, dict)
    ]


@pytest.mark.parametrize("api", CLIENTS)
def test_a_converse_turn_is_restored_with_its_signature(gw: ScriptedGateway, api: str) -> None:
    for stream, (name, content) in product((False, True), TURNS.items()):
        turn, body = two_turns(gw, api, content, stream)
        assert "hm, two sums" in turn.thoughts and PREFIX not in turn.text, (name, stream)
        assert blocks(body, 1) == content, (name, stream)
        called = [] if name == "words" else [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
        assert [given for _, _, given in turn.calls] == called, (name, stream)
        assert not called or results(body) == [("tooluse_1", "3"), ("tooluse_2", "7")], (
            name,
            stream,
        )
        assert PREFIX not in json.dumps(body) and complaints("bedrock", body) == "", (name, stream)


def test_a_converse_turn_without_its_token_is_accepted(gw: ScriptedGateway) -> None:
    client = CLIENTS["openai-chat"]
    set_answers(gw, whole(TURNS["calls"]), whole([{"text": "Hi"}]))
    turn = client.ask(gw.url, MODEL, client.begin("go"), False)
    dropped = [one for one in turn.kept if isinstance(one, dict) and one.pop("reasoning_details")]
    turn.kept = [*dropped]
    assert (
        len(dropped) == 1
        and client.ask(
            gw.url, MODEL, client.go_on(client.begin("go"), turn, ["3", "7"]), False
        ).text
        == "Hi"
    )
    body = gw.up.got[1].json
    assert "reasoningContent" not in json.dumps(body) and complaints("bedrock", body) == ""
    assert results(body) == [("tooluse_1", "3"), ("tooluse_2", "7")]
