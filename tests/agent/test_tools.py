"""Tools in the loop: every call gets a result under its id, wherever the tool runs, whether or not
the call is approved, and whatever the tool does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest
from agent.bad import TOOLS
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
)
from msgspec.structs import replace
from oxp_server.serving import running

from toolwire.agent.agent import Agent
from toolwire.agent.approvals import Allow, Decision, Deny, Edit
from toolwire.agent.events import Limits, RunResult, ToolFinished, ToolStarted
from toolwire.agent.phases import Phase
from toolwire.agent.thread import calls_of
from toolwire.codec import decode
from toolwire.conversation.parts import Call, Result
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.mcp.client import McpClient
from toolwire.oxp.client import OxpClient
from toolwire.tool_server import ToolServer
from toolwire.tools import Tools, tool
from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.runnable import Runnable, ToolContext, ToolId, Version

QUESTION = "add 1 and 2, and add 3 and 4"


def assert_every_call_has_its_result(agent: Agent) -> None:
    """Assert that every call of the thread has one result, under its id."""
    for message, after in zip(agent.thread.messages, agent.thread.messages[1:], strict=False):
        calls = calls_of(message)
        if calls:
            told = [part.call_id for part in after.parts if isinstance(part, Result)]
            assert told == [call.id for call in calls]
            assert len(set(told)) == len(told)


# --- what tools do --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOOLS)
def test_whatever_a_tool_does_its_call_gets_a_result_and_others_go_on(
    mock_server: MockServer, name: str
) -> None:
    bad, words, error = TOOLS[name]
    agent = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [bad, add],
        limits=Limits(result_chars=2000),
    )
    called = f"[[call {bad.runnable.name} {{}}]]"
    began = monotonic()
    seen = talk(agent, f'{called} [[call Calculator_Add {{"a": 1, "b": 2}}]] {called}')
    assert monotonic() - began < 60
    told = {done.number: done.result for done in only(seen, ToolFinished)}
    assert sorted(told) == [0, 1, 2]
    assert told[1].output == 3.0 and not told[1].error
    for n in (0, 2):
        assert told[n].error is error
        assert words in told[n].text and len(told[n].text) < 3000
        assert told[n].text or name == "nothing"
    assert over(seen).phase is Phase.DONE and "gave: 3.0" in over(seen).text
    assert_every_call_has_its_result(agent)


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_whatever_tools_do_the_history_stays_valid_on_every_wire(
    mock_server: MockServer, wire: str
) -> None:
    placed = mock_server.mock(wire)
    bad = {name: one[0] for name, one in TOOLS.items() if name not in ("huge", "many")}
    agent = Agent(model_at(wire, placed.url), [*bad.values(), add])
    seen = talk(agent, " ".join(f"[[call {one.runnable.name} {{}}]]" for one in bad.values()))
    assert [
        done.result.error for done in sorted(only(seen, ToolFinished), key=lambda done: done.number)
    ] == [TOOLS[name][2] for name in bad]
    assert over(seen).phase is Phase.DONE and set(placed.statuses()) == {200}
    assert_every_call_has_its_result(agent)
    sound(agent)


def test_a_long_result_is_cut_with_a_mark_and_a_short_one_is_not(mock_server: MockServer) -> None:
    @tool(id="Text.Give@1.0.0")
    def give(size: int) -> str:
        """Give a text.

        Args:
            size: how long
        """
        return "é" * size

    agent = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [give],
        limits=Limits(result_chars=100),
    )
    seen = talk(agent, '[[call Text_Give {"size": 100}]] [[call Text_Give {"size": 101}]]')
    assert outputs(seen)[0] == "é" * 100
    assert (
        outputs(seen)[1]
        == "é" * 100 + "\n[toolwire] cut: 101 characters, of which the first 100 are here"
    )


def test_the_limit_for_all_tools_ends_a_call_that_takes_too_long(mock_server: MockServer) -> None:
    @tool(id="Slow.Run@1.0.0")
    async def run() -> str:
        """Take long."""
        await asyncio.sleep(30)
        return ""

    agent = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [run],
        limits=Limits(tool_seconds=0.05),
    )
    seen = talk(agent, "[[call Slow_Run {}]]")
    assert only(seen, ToolFinished)[0].state == "timeout" and "too long" in over(seen).text


# --- what models do -------------------------------------------------------------------------------

STRANGE = {
    "an unknown tool": (
        '[[unknown-tool]] [[call Calculator_Add {"a": 1, "b": 2}]]',
        "there is no tool 'no_such_tool'",
    ),
    "a name that is nearly right": ('[[call calculator_add {"a": 1, "b": 2}]]', "Calculator_Add"),
    "arguments that do not fit": (
        '[[call Calculator_Add {"a": "one"}]]',
        "the arguments do not match the schema",
    ),
    "more arguments than there are": ('[[call Calculator_Add {"a": 1, "b": 2, "c": 3}]]', ""),
}


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
@pytest.mark.parametrize("name", STRANGE)
def test_a_call_that_cannot_be_run_is_answered_with_what_is_wrong(
    mock_server: MockServer, wire: str, name: str
) -> None:
    script, words = STRANGE[name]
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add])
    seen = talk(agent, script)
    first = next(done for done in only(seen, ToolFinished) if done.number == 0)
    assert words in first.result.text and over(seen).phase is Phase.DONE
    assert set(placed.statuses()) == {200}
    assert_every_call_has_its_result(agent)
    sound(agent)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_broken_arguments_are_answered_and_the_history_stays_valid(
    mock_server: MockServer, wire: str, stream: bool
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url, stream=stream), [add], limits=Limits(turns=3))
    seen = talk(agent, '[[broken-json]] [[call Calculator_Add {"a": 1, "b": 2}]]')
    assert not any(
        done.result.output == 3.0 and done.state == "done" and done.call.input is None
        for done in only(seen, ToolFinished)
    )
    assert set(placed.statuses()) == {200}
    assert over(seen).phase in (Phase.DONE, Phase.STOPPED, Phase.FAILED)
    assert_every_call_has_its_result(agent)
    sound(agent)


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_repeated_ids_get_each_its_own_result(mock_server: MockServer, wire: str) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add], limits=Limits(turns=4))
    script = " ".join(f'[[call Calculator_Add {{"a": {n}, "b": 1}}]]' for n in range(3))
    seen = talk(agent, f"[[repeat-id]] {script}")
    assert outputs(seen) == {0: 1.0, 1: 2.0, 2: 3.0}
    for n in range(3):
        assert f"(a={n}, b=1) gave: {n + 1}.0" in over(seen).text
    talk(agent, "[[repeat-id]] add 7 and 8")
    assert set(placed.statuses()) == {200}
    assert_every_call_has_its_result(agent)
    sound(agent)


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_a_model_that_never_stops_is_stopped_by_the_limit_and_can_be_asked_again(
    mock_server: MockServer, wire: str
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add], limits=Limits(turns=4))
    seen = talk(agent, "[[never-stop]] add 1 and 2")
    assert (over(seen).phase, over(seen).stop) == (Phase.STOPPED, "4 turns")
    assert len(placed.statuses()) == 4
    assert_every_call_has_its_result(agent)
    sound(agent)
    assert "hello" in over(talk(agent, "[[text hello]]")).text
    assert set(placed.statuses()) == {200}


def test_an_agent_without_tools_only_talks_also_over_a_thread_with_calls(
    mock_server: MockServer,
) -> None:
    placed = mock_server.mock("bedrock")
    agent = Agent(model_at("bedrock", placed.url), [add])
    talk(agent, "add 1 and 2")
    bare = Agent(model_at("bedrock", placed.url))
    bare.thread = agent.thread
    assert over(talk(bare, "[[text hello]]")).text == "hello"


# --- approvals ------------------------------------------------------------------------------------


def rule(call: Call, tool: Runnable) -> Decision:
    given = call.input
    assert isinstance(given, dict) and str(tool.id) == "Calculator.Add@1.0.0"
    if given["a"] == 1:
        return Deny("not that one")
    return Edit('{"a": 30, "b": 40}') if given["a"] == 3 else Allow()


async def slowly(call: Call, tool: Runnable) -> Decision:
    await asyncio.sleep(0.01)
    return rule(call, tool)


@pytest.mark.parametrize(
    ("wire", "ask"),
    [*((wire, rule) for wire in [*WIRES, TEXT]), ("anthropic", slowly), (TEXT, slowly)],
)
def test_a_call_is_allowed_denied_or_edited_before_it_runs(
    mock_server: MockServer, wire: str, ask: Callable[[Call, Runnable], Decision]
) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add], approve=ask)
    seen = talk(agent, " ".join(f'[[call Calculator_Add {{"a": {a}, "b": 2}}]]' for a in (1, 2, 3)))
    assert outputs(seen) == {0: "[toolwire] not that one", 1: 4.0, 2: 70.0}
    states = {done.number: done.state for done in only(seen, ToolFinished)}
    assert states == {0: "denied", 1: "done", 2: "done"}
    assert {one.number for one in only(seen, ToolStarted)} == {1, 2}
    assert [call.input for call in calls_of(agent.thread.messages[1])][2] == {"a": 30, "b": 40}
    if wire != TEXT:
        sent = decode(placed.bodies()[1], wire).calls()
        assert [call.input for call in sent][1:] == [{"a": 2, "b": 2}, {"a": 30, "b": 40}], (
            "the model sees what was run"
        )
    assert set(placed.statuses()) == {200}
    assert_every_call_has_its_result(agent)
    sound(agent)


def failing(call: Call, tool: Runnable) -> Decision:
    raise LookupError("no one is there")


async def raise_cancelled(call: Call, tool: Runnable) -> Decision:
    raise asyncio.CancelledError


def unsure(call: Call, tool: Runnable) -> Decision:
    return None  # type: ignore[return-value]


def edit_without_json(call: Call, tool: Runnable) -> Decision:
    return Edit({"a": object()})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("ask", "log"),
    [
        (failing, "LookupError: no one is there"),
        (raise_cancelled, ""),
        (unsure, "approve returned None for a call of Calculator_Add"),
        (edit_without_json, "/a: not JSON: expected a JSON value, got object"),
    ],
)
def test_a_call_without_an_explicit_approval_does_not_run(
    mock_server: MockServer,
    ask: Callable[[Call, Runnable], Decision],
    log: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent(model_at("anthropic", mock_server.mock("anthropic").url), [add], approve=ask)
    seen = talk(agent, QUESTION)
    assert not only(seen, ToolStarted)
    assert (
        all(done.result.error for done in only(seen, ToolFinished))
        and len(only(seen, ToolFinished)) == 2
    )
    assert over(seen).phase is Phase.DONE
    assert_every_call_has_its_result(agent)
    assert log in caplog.text


# --- where tools run ------------------------------------------------------------------------------


def test_local_tools_and_those_of_an_oxp_and_an_mcp_server_are_called_alike(
    mock_server: MockServer, tmp_path: Path
) -> None:
    rings: list[str] = []

    def toolkit_with_ring(kit: str) -> Tools:
        @tool(id=f"{kit}.Ring@1.2.0")
        def ring(name: str, context: ToolContext) -> str:
            """Ring.

            Args:
                name: at whose door
            """
            rings.append(f"{kit} {name}")
            return f"{kit} rang at {name} under {len(context.call_id) > 20}"

        return Tools(ring)

    async def go(oxp: str, mcp: str) -> list[object]:
        placed = mock_server.mock("anthropic")
        async with (
            OxpClient(oxp) as far,
            McpClient(mcp) as farther,
            model_at("anthropic", placed.url) as model,
        ):
            agent = Agent(
                model, [toolkit_with_ring("Near"), *await far.tools(), *await farther.tools()]
            )
            seen = [
                one
                async for one in agent.watch(
                    " ".join(
                        f'[[call {kit}_Ring {{"name": "Ann"}}]]'
                        for kit in ("Near", "Far", "Farther")
                    )
                )
            ]
            assert_every_call_has_its_result(agent)
            sound(agent)
            return [one.result.output for one in seen if isinstance(one, ToolFinished)] + [
                one for one in seen if isinstance(one, RunResult)
            ]

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    offered, calls = (
        toolkit_with_ring("Farther"),
        ToolExecutor(SqliteLedger(tmp_path / "b" / "calls.db")),
    )
    second = ToolServer(offered, executor=calls)
    first = ToolServer(
        toolkit_with_ring("Far"), executor=ToolExecutor(SqliteLedger(tmp_path / "a" / "calls.db"))
    )
    with running(first) as oxp, running(second) as mcp:
        out = asyncio.run(go(oxp.url, f"{mcp.url}/mcp"))
    assert sorted(map(str, out[:-1])) == [
        f"{kit} rang at Ann under True" for kit in ("Far", "Farther", "Near")
    ]
    assert sorted(rings) == ["Far Ann", "Farther Ann", "Near Ann"]


def test_a_tool_gets_what_it_needs_and_without_it_the_model_gets_an_error(
    mock_server: MockServer,
) -> None:
    @tool(id="Mail.Send@1.0.0", secrets=["MAIL_KEY"])
    def send(to: str, context: ToolContext) -> str:
        """Send a mail.

        Args:
            to: to whom
        """
        return f"sent with a key of {len(context.secret('MAIL_KEY'))}"

    script = '[[call Mail_Send {"to": "Ann"}]]'
    url = mock_server.mock("openai-chat").url
    assert (
        "the tool needs MAIL_KEY"
        in over(talk(Agent(model_at("openai-chat", url), [send]), script)).text
    )
    seen = talk(
        Agent(model_at("openai-chat", url), [send], secrets={"MAIL_KEY": "0123456789"}), script
    )
    assert "sent with a key of 10" in over(seen).text


def test_a_tool_that_the_ledger_cannot_serve_is_refused_when_the_agent_is_made(
    mock_server: MockServer,
) -> None:
    @tool(id="Bank.Pay@1.0.0", on_crash="transactional")
    async def pay(context: ToolContext) -> None:
        """Pay."""

    with pytest.raises(ToolDefinitionError, match="transactional"):
        Agent(model_at("anthropic", "http://127.0.0.1:9"), [pay])


def test_the_ledger_key_of_a_call_names_its_thread(mock_server: MockServer, tmp_path: Path) -> None:
    keys: list[str] = []

    @tool(id="Door.Ring@1.0.0")
    def ring(context: ToolContext) -> None:
        """Ring."""
        keys.append(context.call_id)

    agent = Agent(
        model_at("kimi", mock_server.mock("kimi").url),
        [ring],
        executor=ToolExecutor(SqliteLedger(tmp_path / "calls.db")),
    )

    async def go() -> None:
        async with agent.executor:
            for _ in range(2):
                await agent.run("[[call Door_Ring {}]] [[call Door_Ring {}]]")
        await agent.model.close()

    asyncio.run(go())
    assert len(set(keys)) == 4 and all(key.startswith(agent.thread.id) for key in keys)


def test_names_that_a_wire_does_not_take_are_fitted_and_found_again(
    mock_server: MockServer,
) -> None:
    long = replace(add.runnable, id=ToolId("Kit", "x" * 70, Version(1)))
    for wire in ("openai-chat", "gemini"):
        agent = Agent(model_at(wire, mock_server.mock(wire).url), [long])
        name = agent.toolset.tools[0].name
        assert len(name) <= 64
        assert "gave: 3.0" in over(talk(agent, f'[[call {name} {{"a": 1, "b": 2}}]]')).text
        sound(agent)
