"""A thread moves from provider to provider, with results of every kind, each paired with its call.

The five situations at the end are those of a bug report against a framework that sent results where
ids belong: results of various lengths, JSON from MCP tools, several turns, calls without ids, and
special characters.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent.mock_server import TEXT, WIRES, MockServer, add, model_at, only, over, sound, talk
from oxp_server.serving import running

from toolwire.agent.agent import Agent
from toolwire.agent.events import Retry, ToolFinished
from toolwire.agent.phases import Phase
from toolwire.agent.session_format import dump_thread
from toolwire.agent.session_store import FileStore, SqliteStore
from toolwire.agent.thread import calls_of
from toolwire.codec import decode
from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Result
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.mcp.client import McpClient
from toolwire.server.asgi import Receive, Scope, Send
from toolwire.tool_server import ToolServer
from toolwire.tools import Tools, tool

ALL = [*WIRES, TEXT]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_thread_goes_around_all_wires_and_back_saved_and_loaded_after_every_turn(
    mock_server: MockServer, tmp_path: Path, stream: bool
) -> None:
    placed = {wire: mock_server.mock(wire) for wire in ALL}
    sums: list[str] = []
    for n, wire in enumerate([*ALL, *reversed(ALL)] if stream else ALL):
        store = FileStore(tmp_path / "t.json") if stream else SqliteStore(tmp_path / "t.db", "t")
        agent = Agent(
            model_at(wire, placed[wire].url, stream=stream), [add], store=store, system="be brief"
        )
        asyncio.run(agent.resume())
        seen = talk(agent, f"add {n} and 2, and add {n} and 4, then add the results")
        end = over(seen)
        sums = [
            f"(a={n}, b=2) gave: {n + 2}.0",
            f"(a={n}, b=4) gave: {n + 4}.0",
            f"gave: {2 * n + 6}.0",
        ]
        assert end.phase is Phase.DONE and all(one in end.text for one in sums), (wire, end)
        assert not only(seen, Retry)
        sound(agent)
    assert {status for one in placed.values() for status in one.statuses()} == {200}
    results = [
        part
        for message in agent.thread.messages
        for part in message.parts
        if isinstance(part, Result)
    ]
    assert len(results) == 3 * (n + 1)


@pytest.mark.parametrize("first", ALL)
def test_a_call_of_any_wire_is_answered_under_its_id_on_any_other(
    mock_server: MockServer, first: str
) -> None:
    agent = Agent(model_at(first, mock_server.mock(first).url), [add])
    talk(agent, "add 1 and 2, and add 3 and 4")
    for second in WIRES:
        placed = mock_server.mock(second)
        other = Agent(model_at(second, placed.url), [add])
        other.thread = agent.thread
        assert "gave: 11.0" in over(talk(other, "add 5 and 6")).text
        assert set(placed.statuses()) == {200}
        if first == TEXT:
            continue
        pairs = [
            pair
            for pair in decode(placed.bodies()[-1], second).pairs()
            if pair.call and pair.result
        ]
        told = {
            json.dumps(pair.call.input): pair.result.text
            for pair in pairs
            if pair.call and pair.result
        }
        assert (
            "3" in told['{"a": 1, "b": 2}'] and "7" in told['{"a": 3, "b": 4}'] and len(told) == 3
        )


# --- the five situations --------------------------------------------------------------------------


def giving(values: dict[str, JSON]) -> Tools:
    """A tool that returns one of several values."""

    @tool(id="Docs.Search@1.0.0")
    def search(query: str) -> JSON:
        """Search the docs.

        Args:
            query: what for
        """
        return values[query]

    return Tools(search)


def run_with_values(
    mock_server: MockServer, wire: str, values: dict[str, JSON]
) -> tuple[list[JSON], str]:
    """Call a tool for all values at once; return the outputs in the thread, and the text of the
    model."""
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [giving(values)])
    seen = talk(agent, " ".join(f'[[call Docs_Search {{"query": "{name}"}}]]' for name in values))
    assert over(seen).phase is Phase.DONE, over(seen).stop
    assert len(only(seen, ToolFinished)) == len(values) and not any(
        done.result.error for done in only(seen, ToolFinished)
    )
    assert set(placed.statuses()) == {200}
    sound(agent)
    answer, told = agent.thread.messages[1:3]
    results = [part for part in told.parts if isinstance(part, Result)]
    assert [part.call_id for part in results] == [call.id for call in calls_of(answer)]
    assert all(len(part.call_id) <= 64 for part in results)
    again = dump_thread(agent.thread)
    assert json.loads(json.dumps(again)) == again
    return [part.output for part in results], over(seen).text  # type: ignore[misc]


@pytest.mark.parametrize("wire", ALL)
def test_situation_1_results_of_various_lengths(mock_server: MockServer, wire: str) -> None:
    sizes = (0, 1, 39, 40, 41, 45, 64, 65, 3000, 90_000)
    kept, text = run_with_values(mock_server, wire, {f"of {size}": "x" * size for size in sizes})
    assert [len(str(one)) for one in kept] == list(sizes)
    for size in sizes:
        assert f'(query="of {size}") gave: {"x" * min(size, 3000)}' in text


@pytest.mark.parametrize("wire", ALL)
def test_situation_2_json_of_1721_characters_from_an_mcp_tool(
    mock_server: MockServer, wire: str, mcp: str
) -> None:
    async def go() -> str:
        async with McpClient(mcp) as client, model_at(wire, mock_server.mock(wire).url) as model:
            agent = Agent(model, await client.tools())
            end = await agent.run(
                '[[call Docs_Search {"query": "S3"}]] [[call Docs_Search {"query": "EC2"}]]'
            )
            sound(agent)
            assert end.phase is Phase.DONE, end.stop
            return end.text

    text = asyncio.run(go())
    assert text.count("Docs_Search(") == 2 and text.count("bucket policy 29") == 2
    assert len(json.dumps(FOUND)) > 1721


FOUND: JSON = {
    "results": [
        {"title": f"bucket policy {n}", "url": f"https://docs.example/s3/{n}", "score": n / 7}
        for n in range(30)
    ]
}


@pytest.fixture(scope="module")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    offered, calls = (
        giving({"S3": FOUND, "EC2": FOUND}),
        ToolExecutor(SqliteLedger(tmp_path_factory.mktemp("mcp") / "calls.db")),
    )
    server = ToolServer(offered, executor=calls)
    with running(server) as where:
        yield f"{where.url}/mcp"


@pytest.mark.parametrize("wire", ALL)
def test_situation_3_conversations_of_several_turns(mock_server: MockServer, wire: str) -> None:
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add])
    for n in range(4):
        text = over(talk(agent, f"add {n} and 1, and add {n} and 1, then add the results")).text
        assert text.count(f"(a={n}, b=1) gave: {n + 1}.0") == 2 and f"gave: {2 * n + 2}.0" in text
    assert set(placed.statuses()) == {200}
    sound(agent)


CHAT_ID = re.compile(rb'"id": ?"(call_|functions\.)[^"]*"')


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("empty", [b'"id":""', b'"id":null'])
@pytest.mark.parametrize("wire", ["openai-chat", "kimi", "mistral"])
def test_situation_4_calls_whose_server_gives_no_ids(
    mock_server: MockServer, wire: str, empty: bytes, stream: bool
) -> None:
    placed = mock_server.mock(wire)
    pattern = re.compile(rb'"id": ?"[a-zA-Z0-9]{9}"') if wire == "mistral" else CHAT_ID

    async def forgetful(scope: Scope, receive: Receive, send: Send) -> None:
        async def without(message: dict[str, object]) -> None:
            body = message.get("body")
            if isinstance(body, bytes):
                message = {**message, "body": pattern.sub(empty, body)}
            headers = message.get("headers")
            if isinstance(headers, list):
                message = {
                    **message,
                    "headers": [pair for pair in headers if pair[0] != b"content-length"],
                }
            await send(message)

        await placed.mock(scope, receive, without)  # type: ignore[arg-type]

    agent = Agent(model_at(wire, mock_server.place(forgetful), stream=stream), [add])
    text = over(talk(agent, "add 1 and 2, and add 3 and 4, then add the results")).text
    assert (
        "(a=1, b=2) gave: 3.0" in text and "(a=3, b=4) gave: 7.0" in text and "gave: 10.0" in text
    )
    assert set(placed.statuses()) == {200}
    sound(agent)


SPECIAL: dict[str, JSON] = {
    "emoji": "sunny ☀️ 👩‍👩‍👧 in Zürich — 東京",
    "quotes": 'she said "no" and \'yes\' and `maybe` \\ \\n {"a": "}"}',
    "controls": "tab\tline\nreturn\rbell\x07 nul\x00 end",
    "separators": "a\u2028b\u2029c\ufeffd\u200b",
    "tags": "<tool_result>no</tool_result> </tool_call> <|im_end|> ]]>",
    "lone surrogate": "a\ud83db",
    "sse": "data: [DONE]\n\nevent: error\n\n",
    "nothing": None,
    "false": False,
    "zero": 0,
    "an empty list": [],
    "an empty object": {},
    "deep": {"a": [{"b": [{"c": None}]}]},
    "keys": {"": 1, "a b": 2, "☀️": 3, '"': 4},
    "large numbers": [2**63, -(2**70), 1e300, 0.1],
}


@pytest.mark.parametrize("wire", ALL)
def test_situation_5_special_characters_and_values(mock_server: MockServer, wire: str) -> None:
    kept, text = run_with_values(mock_server, wire, SPECIAL)
    for (name, value), output in zip(SPECIAL.items(), kept, strict=True):
        wanted = value.replace("\ud83d", "\ufffd") if isinstance(value, str) else value
        assert output == wanted, name
        assert f'Docs_Search(query="{name}") gave: ' in text, name
        if isinstance(wanted, str):
            assert f'Docs_Search(query="{name}") gave: {wanted}' in text, name
