"""One turn: parallel and early calls, native results and results in text, and histories of other
programs."""

from __future__ import annotations

import asyncio
import json

import pytest
from agent.mock_server import (
    TEXT,
    WIRES,
    MockServer,
    add,
    model_at,
    only,
    outputs,
    over,
    sound,
    talk,
    turns,
)

from toolwire.agent.agent import Agent
from toolwire.agent.events import Limits, ModelRequest, ToolFinished, ToolStarted
from toolwire.agent.phases import Phase
from toolwire.agent.session_format import dump_thread, load_thread
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.parts import Call, Result, Text
from toolwire.errors import InputError, UsageError
from toolwire.tools import tool

QUESTION = "add 1 and 2, and add 3 and 4"


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_every_wire_answers_two_calls_of_one_tool_and_counts_what_it_took(
    mock_server: MockServer, wire: str, stream: bool
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url, stream=stream), [add])
    seen = talk(agent, QUESTION)
    end = over(seen)
    assert (end.phase, end.stop, turns(seen)) == (Phase.DONE, "stop", 2)
    assert outputs(seen) == {0: 3.0, 1: 7.0}
    assert "(a=1, b=2) gave: 3.0" in end.text and "(a=3, b=4) gave: 7.0" in end.text
    assert end.usage.input and end.usage.output
    assert placed.statuses() == [200, 200]
    assert not any(one.changes for one in only(seen, ModelRequest))
    sound(agent)


@pytest.mark.parametrize("wire", WIRES)
def test_a_wire_with_tools_gets_one_message_with_the_calls_and_then_one_result_for_each(
    mock_server: MockServer, wire: str
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add])
    talk(agent, QUESTION)
    read = decode(placed.bodies()[1], wire)
    roles = [
        (message.role, [type(part) for part in message.parts if not isinstance(part, Text)])
        for message in read.messages
    ]
    assert roles[1] == ("assistant", [Call, Call])
    assert [kind for _, kinds in roles[2:] for kind in kinds] == [Result, Result]
    asked, told = read.calls(), read.results()
    assert [result.call_id for result in told] == [call.id for call in asked]
    assert [(pair.call, pair.result) for pair in read.pairs()] == list(
        zip(asked, told, strict=True)
    )
    if wire in ("openai-chat", "azure-openai", "kimi", "mistral"):
        messages = placed.bodies()[1]["messages"]
        assert isinstance(messages, list)
        assert get(messages[1], ("tool_calls", 0, "id")) == get(messages[2], ("tool_call_id",))
        assert get(messages[1], ("tool_calls", 1, "id")) == get(messages[3], ("tool_call_id",))
        assert [get(one, ("role",)) for one in messages] == ["user", "assistant", "tool", "tool"]


def in_text(body: Object) -> None:
    """Assert that a request has its calls as text: an assistant message of content only, and one
    user message with all results."""
    messages = body["messages"]
    assert isinstance(messages, list)
    plain = [one for one in messages if isinstance(one, dict) and one["role"] != "system"]
    assert [one["role"] for one in plain] == ["user", "assistant", "user"]
    assert all("tool_calls" not in one and "tool_call_id" not in one for one in plain)
    told = str(plain[2]["content"])
    assert "3.0" in told and "7.0" in told


def test_a_model_without_tools_gets_content_only_and_one_user_message_with_all_results(
    mock_server: MockServer,
) -> None:
    placed = mock_server.mock(TEXT)
    agent = Agent(model_at(TEXT, placed.url), [add])
    seen = talk(agent, QUESTION)
    assert outputs(seen) == {0: 3.0, 1: 7.0}
    assert all("tools" not in body for body in placed.bodies())
    in_text(placed.bodies()[1])


def test_native_tools_can_be_set_for_one_model(mock_server: MockServer) -> None:
    placed = mock_server.mock("openai-chat")
    seen = talk(Agent(model_at("openai-chat", placed.url, native_tools=False), [add]), QUESTION)
    assert outputs(seen) == {0: 3.0, 1: 7.0}
    in_text(placed.bodies()[1])


@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_that_a_model_with_tools_wrote_as_text_is_sent_as_text_and_the_next_is_native_again(
    mock_server: MockServer, wire: str
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add])
    seen = talk(agent, f"{QUESTION} [[say-as-text]]")
    assert outputs(seen) == {0: 3.0, 1: 7.0}
    read = decode(placed.bodies()[1], wire)
    assert not read.calls() and not read.results()
    assert [message.role for message in read.messages if message.role != "system"] == [
        "user",
        "assistant",
        "user",
    ]
    seen = talk(agent, "add 5 and 6")
    assert "gave: 11.0" in over(seen).text
    read = decode(placed.bodies()[-1], wire)
    assert len(read.calls()) == len(read.results()) == 1
    assert set(placed.statuses()) == {200}
    sound(agent)


def test_words_that_only_look_like_a_call_stay_words(mock_server: MockServer) -> None:
    placed = mock_server.mock("openai-chat")
    agent = Agent(model_at("openai-chat", placed.url), [add])
    seen = talk(agent, '[[text see <tool_call>{"name":"other","arguments":{}}</tool_call>]]')
    assert over(seen).phase is Phase.DONE and not only(seen, ToolFinished)
    assert "<tool_call>" in over(seen).text


# --- when calls run -------------------------------------------------------------------------------


class Watch:
    """A tool that notes how many of its calls ran at once."""

    def __init__(self, together: int = 1, *, concurrency: int | None = None) -> None:
        """A tool whose calls wait until `together` of them run at once."""
        self.most = 0
        self._now = 0
        all_here = asyncio.Event()

        @tool(id="Door.Ring@1.0.0", concurrency=concurrency)
        async def ring(n: float) -> float:
            """Ring the door.

            Args:
                n: which
            """
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now == together:
                all_here.set()
            await asyncio.wait_for(all_here.wait(), 30)
            await asyncio.sleep(0.02 if together > 1 else 0)  # a call too many would arrive now
            self._now -= 1
            return n

        self.ring = ring


RINGS = " ".join(f'[[call Door_Ring {{"n": {n}}}]]' for n in range(6))


def test_calls_run_at_once_up_to_the_limit(mock_server: MockServer) -> None:
    for limit in (1, 3):
        watch = Watch(limit)
        placed = mock_server.mock("anthropic")
        agent = Agent(
            model_at("anthropic", placed.url, stream=False),
            [watch.ring],
            limits=Limits(parallel=limit),
        )
        seen = talk(agent, RINGS)
        assert outputs(seen) == {n: float(n) for n in range(6)}
        assert watch.most == limit


def test_a_tool_may_say_how_often_it_runs_at_once(mock_server: MockServer) -> None:
    watch = Watch(2, concurrency=2)
    seen = talk(
        Agent(model_at("anthropic", mock_server.mock("anthropic").url, stream=False), [watch.ring]),
        RINGS,
    )
    assert outputs(seen) == {n: float(n) for n in range(6)}
    assert watch.most == 2


def test_a_call_runs_while_the_answer_still_comes(mock_server: MockServer) -> None:
    watch = Watch()
    placed = mock_server.mock("anthropic")
    agent = Agent(model_at("anthropic", placed.url), [watch.ring])
    seen = talk(agent, "[[slow 0.05]] " + RINGS)
    kinds = [type(one).__name__ for one in seen]
    assert kinds.index("ToolFinished") < len(kinds) - 1 - kinds[::-1].index("PartStart"), (
        "the first call had its result before the last began"
    )
    assert outputs(seen) == {n: float(n) for n in range(6)}
    assert only(seen, ToolStarted)[0].call.arguments.replace(" ", "") in ('{"n":0}', '{"n":0.0}')
    sound(agent)


def test_lone_surrogates_never_reach_a_server(mock_server: MockServer) -> None:
    placed = mock_server.mock("anthropic")
    agent = Agent(model_at("anthropic", placed.url), [add], system="be \udcff brief")
    assert "gave: 3.0" in over(talk(agent, "add 1 and 2 \ud83d")).text
    assert all("\\ud" not in json.dumps(body, ensure_ascii=False) for body in placed.bodies())
    assert all(json.dumps(body, ensure_ascii=False).encode() for body in placed.bodies())


def test_many_steps_follow_one_another(mock_server: MockServer) -> None:
    placed = mock_server.mock("gemini")
    agent = Agent(model_at("gemini", placed.url), [add])
    script = '[[call Calculator_Add {"a": 1, "b": 1}]] ' + " ".join(
        f'[[then]] [[call Calculator_Add {{"a": "${n}", "b": 1}}]]' for n in range(1, 8)
    )
    seen = talk(agent, script)
    assert [done.result.output for done in only(seen, ToolFinished)] == [
        float(n) for n in range(2, 10)
    ]
    assert set(placed.statuses()) == {200}


def test_a_second_question_while_the_first_is_answered_is_refused(mock_server: MockServer) -> None:
    agent = Agent(model_at("anthropic", mock_server.mock("anthropic").url), [add])

    async def go() -> None:
        first = agent.watch(QUESTION)
        await anext(first)
        with pytest.raises(UsageError, match="already running"):
            await agent.run("and another")
        await first.aclose()
        await agent.model.close()

    asyncio.run(go())


def test_an_agent_can_be_asked_without_asyncio_again_and_again(mock_server: MockServer) -> None:
    agent = Agent(model_at("ollama", mock_server.mock("ollama").url), [add])
    assert "gave: 3.0" in agent.run_sync("add 1 and 2").text
    assert "gave: 7.0" in agent.run_sync("add 3 and 4").text
    assert len(agent.thread.messages) == 8


# --- histories of other programs ------------------------------------------------------------------

CALL: Object = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "Calculator_Add", "arguments": '{"a":1,"b":2}'},
}
OLD: dict[str, tuple[JSON, int]] = {
    "a body": (
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"},
            ]
        },
        2,
    ),
    "a list": ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}], 2),
    "results as words": (
        {
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "let me see"},
                {"role": "user", "content": "<tool_result>\n3\n</tool_result>"},
            ]
        },
        4,
    ),
    "native fields": (
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_1", "content": "3"},
            ]
        },
        3,
    ),
    "another wire": (
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "toolu_1", "name": "Calculator_Add", "input": {}}
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}],
                },
            ],
        },
        3,
    ),
}


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini", TEXT])
@pytest.mark.parametrize("name", OLD)
def test_histories_from_elsewhere_load_and_go_on(
    mock_server: MockServer, name: str, target: str
) -> None:
    body, many = OLD[name]
    thread = load_thread(body, thread_id="old")
    assert len(thread.messages) == many
    placed = mock_server.mock(target)
    agent = Agent(model_at(target, placed.url), [add])
    agent.thread = load_thread(dump_thread(thread), thread_id="other")
    assert agent.thread.id == "old"
    assert "gave: 11.0" in over(talk(agent, "add 5 and 6")).text
    assert set(placed.statuses()) == {200}


@pytest.mark.parametrize(
    "body",
    [b"", b"nothing", b"[1]", b"3", {"toolwire": 2}, {"toolwire": 1, "id": "x", "sections": [1]}],
)
def test_what_is_no_history_is_refused_with_words(body: JSON | bytes) -> None:
    with pytest.raises(InputError):
        load_thread(body, thread_id="old")
