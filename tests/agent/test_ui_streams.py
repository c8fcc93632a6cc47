"""A run as a stream of a wire: what the official clients make of it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from agent.mock_server import TEXT, WIRES, MockServer, add, model_at, talk
from anthropic import Anthropic
from cases import streaming
from openai import OpenAI
from streams.clients import CLIENTS, run_clients
from streams.loopback import serve

from toolwire.agent.agent import Agent
from toolwire.agent.approvals import Deny
from toolwire.agent.events import Limits
from toolwire.agent.stream import AgentStream
from toolwire.agent.thread import Thread
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Message, Text
from toolwire.streaming.restream import fold
from toolwire.tools import tool

SCRIPTS = {
    "parallel": "add 1 and 2, and add 3 and 4",
    "several turns": "add 2 and 3, and add 4 and 5, then add the results",
    "words between": (
        '[[think hm]] [[text let me see]] [[call Calculator_Add {"a": 1, "b": 2}]] [[then]] [[text'
        " and so]]"
    ),
    "one id for all": (
        '[[repeat-id]] [[call Calculator_Add {"a": 1, "b": 2}]] [[call Calculator_Add {"a": 3, "b":'
        " 4}]]"
    ),
    "the same id again": "[[repeat-id]] [[never-stop]] add 1 and 2",
    "calls in text": "add 1 and 2, and add 3 and 4 [[say-as-text]]",
    "an unknown tool": "[[unknown-tool]]",
    "arguments that do not fit": '[[call Calculator_Add {"a": "one"}]]',
    "a busy server": "[[error 500 1]] add 1 and 2",
    "only words": "[[text hello]]",
    "a stream that was cut": (
        '[[cut]] [[call Calculator_Add {"a": 1, "b": 2}]] [[call Calculator_Add {"a": 3, "b": 4}]]'
    ),
}
FAILS = {"a stream that was cut"}


def stream_answer(
    mock_server: MockServer,
    wire: str,
    target: str,
    question: str | None,
    *,
    version: int | None = None,
    agent: Agent | None = None,
) -> list[bytes]:
    made = agent or Agent(model_at(wire, mock_server.mock(wire).url), [add], limits=Limits(turns=3))

    async def go() -> list[bytes]:
        try:
            return [data async for data in made.stream(target, question, version=version)]
        finally:
            await made.model.close()

    return asyncio.run(go())


def parts(verdict: dict[str, JSON]) -> list[Object]:
    message = verdict["message"]
    assert isinstance(message, dict) and isinstance(message["parts"], list)
    return [part for part in message["parts"] if isinstance(part, dict)]


@pytest.mark.parametrize("version", CLIENTS)
def test_the_real_ai_sdk_reads_every_run_with_each_output_under_its_call(
    mock_server: MockServer, version: int
) -> None:
    headers = AgentStream[bytes]("ai-sdk").headers
    asks: list[tuple[str, str, dict[str, JSON]]] = []
    with ExitStack() as stack:
        for n, (name, script) in enumerate(SCRIPTS.items()):
            wire = [*WIRES, TEXT][n % (len(WIRES) + 1)]
            for one in {wire, "openai-chat"} if version == 6 else {wire}:
                said = stream_answer(mock_server, one, "ai-sdk", script, version=version)
                server = stack.enter_context(serve(said, headers["content-type"], headers=headers))
                asks += [
                    (name, one, {"package": package, "url": server.url})
                    for package in CLIENTS[version]
                ]
        verdicts = run_clients(ask for _, _, ask in asks)
    for (name, wire, _), verdict in zip(asks, verdicts, strict=True):
        label = f"{name} on {wire}: {verdict.get('error')}"
        if name in FAILS:
            continue
        assert verdict["error"] is None and verdict["invalid"] is None, label
        calls = [part for part in parts(verdict) if "toolCallId" in part]
        assert len({str(part["toolCallId"]) for part in calls}) == len(calls), label
        for part in calls:
            given = part["input"]
            if part["state"] != "output-available":
                assert part["state"] == "output-error", label
                continue
            assert isinstance(given, dict)
            a, b = given["a"], given["b"]
            if isinstance(a, int | float) and isinstance(b, int | float):
                assert part["output"] in (a + b, str(float(a + b))), label
        assert calls or name == "only words", label
        chat = verdict["chat"]
        assert isinstance(chat, dict) and chat["status"] == "ready", label


def test_a_front_end_sees_a_run_that_is_resumed_and_one_that_is_refused(
    mock_server: MockServer,
) -> None:
    call = Call("call_1", "Calculator_Add", LazyJson('{"a":1,"b":2}'))
    headers = AgentStream[bytes]("ai-sdk").headers
    resumed = Agent(model_at("anthropic", mock_server.mock("anthropic").url), [reading])
    resumed.thread = Thread("t").add_user("hi").add_reply(Message("assistant", (call,)))
    denied = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [add],
        approve=lambda call, tool: Deny("not today"),
    )
    with ExitStack() as stack:
        asks: list[dict[str, JSON]] = []
        for agent, question in ((resumed, None), (denied, "add 1 and 2")):
            said = stream_answer(mock_server, "anthropic", "ai-sdk", question, agent=agent)
            server = stack.enter_context(serve(said, headers["content-type"], headers=headers))
            asks.append({"package": "ai", "url": server.url})
        first, second = run_clients(asks)
    assert first["error"] is None and second["error"] is None
    (one,) = [part for part in parts(first) if "toolCallId" in part]
    assert (one["toolCallId"], one["input"], one["output"]) == ("call_1", {"a": 1, "b": 2}, 3)
    (two,) = [part for part in parts(second) if "toolCallId" in part]
    assert two["state"] == "output-error" and "not today" in str(two["errorText"])


@tool(id="Calculator.Add@1.0.0", read_only=True)
def reading(a: int, b: int) -> int:
    """Add.

    Args:
        a: one
        b: two
    """
    return a + b


def test_the_openai_client_reads_a_run(mock_server: MockServer) -> None:
    for wire in ("anthropic", TEXT):
        with serve(
            stream_answer(mock_server, wire, "openai-chat", SCRIPTS["several turns"]),
            "text/event-stream",
        ) as server:
            client = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
            with (
                client,
                client.chat.completions.stream(
                    model="m", messages=[{"role": "user", "content": "hi"}]
                ) as stream,
            ):
                end = stream.get_final_completion()
        choice = end.choices[0]
        assert choice.finish_reason == "stop" and not choice.message.tool_calls
        assert "[Calculator_Add answered: 5.0]" in str(choice.message.content)
        assert "gave: 14.0" in str(choice.message.content)
        assert end.usage is not None and end.usage.prompt_tokens > 0


def test_the_anthropic_client_reads_a_run(mock_server: MockServer) -> None:
    for wire in ("openai-chat", "gemini"):
        with serve(
            stream_answer(mock_server, wire, "anthropic", SCRIPTS["several turns"]),
            "text/event-stream",
        ) as server:
            client = Anthropic(base_url=server.url, api_key="none", max_retries=0)
            asked = client.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
            with client, asked as stream:
                end = stream.get_final_message()
        text = "".join(block.text for block in end.content if block.type == "text")
        assert end.stop_reason == "end_turn" and not [
            block for block in end.content if block.type == "tool_use"
        ]
        assert "[Calculator_Add answered: 5.0]" in text and "gave: 14.0" in text


NO_ANSWER = {
    (
        "genkit",
        "the same id again",
    ): "its answer is the last message, and the run was stopped before there was one"
}


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in FAILS])
def test_a_run_folds_on_every_wire(mock_server: MockServer, name: str) -> None:
    seen = talk(
        Agent(
            model_at("anthropic", mock_server.mock("anthropic").url), [add], limits=Limits(turns=3)
        ),
        SCRIPTS[name],
    )
    for target in streaming():
        made: AgentStream[bytes] = AgentStream(target)
        said = [data for one in seen for data in made.feed(one)] + made.end() + [made.trailer]
        read = decode(fold(b"".join(said), target), target, "response")
        words = "".join(
            part.text
            for message in read.messages
            for part in message.parts
            if isinstance(part, Text)
        )
        assert words or read.calls() or (target, name) in NO_ANSWER, target
        assert all(
            result.call_id in {call.id for call in read.calls()} for result in read.results()
        ), target


def test_results_do_not_come_in_the_middle_of_words(mock_server: MockServer) -> None:
    script = '[[slow 0.01]] [[text one two three]] [[call Calculator_Add {"a": 1, "b": 2}]]'
    agent = Agent(model_at("anthropic", mock_server.mock("anthropic").url), [add])
    seen = talk(agent, script)
    made: AgentStream[Object] = AgentStream("openai-chat", lambda chunk: dict(chunk))
    out = [one for event in seen for one in made.feed(event)]
    words = "".join(
        str(choice["delta"].get("content") or "")  # type: ignore[call-overload, index, union-attr]
        for one in out
        for choice in one["choices"]  # type: ignore[union-attr]
    )
    assert words.startswith("one two three[Calculator_Add was called with")
