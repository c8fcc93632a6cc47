"""`toolwire serve` as the MCP server of coding agents, and of the client of fastmcp."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from clients_real import station
from clients_real.agents import AGENTS, Question
from clients_real.harness import (
    Cell,
    Client,
    ClientRun,
    ExpectedCall,
    Turn,
    check,
    install,
    join,
    prompts,
    record_cell,
    run,
)
from clients_real.test_agents import ask
from gateway.serving import Gateways
from oxp_server.serving import running

from toolwire import decode
from toolwire.tool_server import ToolServer

PROGRAM = "from toolwire.cli import main; main()"
SERVER = [sys.executable, "-c", PROGRAM, "serve", "--stdio", str(Path(station.__file__))]
NAMES = ("claude-code", "codex", "gemini-cli", "opencode", "qwen-code")
TOOLS = ("Station_Weather", "Station_StationStatus", "Station_Picture")
BY_NAME = {agent.client.name: agent for agent in AGENTS}
FASTMCP = Client("fastmcp", "pypi", ("fastmcp",), ())


def _cell(name: str) -> Cell:
    """The agent with a model of the wire that it speaks itself."""
    client = BY_NAME[name].client
    api = client.apis[0]
    upstream = "openai-chat" if api == "openai-responses" else api
    return Cell(client, api, upstream, stream=True, tools="mcp-stdio")


def _names(finished: ClientRun, upstream: str) -> list[str]:
    """The names that the agent gives the tools of its server: every agent adds its own prefix."""
    bodies = [request.body for request in finished.requests if isinstance(request.body, dict)]
    offered = [tool.name for body in bodies for tool in decode(body, upstream).tools]
    names = [next((name for name in offered if tool in name), "") for tool in TOOLS]
    assert all(names), (
        f"the tools of the server are not offered to the model\n{offered} {finished.errors[-2000:]}"
    )
    return names


def _turn(names: list[str], *, image: bool) -> Turn:
    weather, status, picture = names
    turn = [
        [
            ExpectedCall(weather, {"city": "Oslo"}, "4 degrees"),
            ExpectedCall(weather, {"city": "Rome"}, "21 degrees"),
        ],
        [ExpectedCall(status, {"station": "7"}, "station 7 is closed")],
    ]
    if image:
        turn.append([ExpectedCall(picture, {"place": "Oslo"}, "a picture of Oslo", image=True)])
    return turn


@pytest.mark.parametrize("cell", [*map(_cell, NAMES)], ids=str)
def test_an_agent_calls_the_tools_of_a_server_it_started(
    cell: Cell, gateways: Gateways, tmp_path: Path
) -> None:
    install(cell.client)
    agent = BY_NAME[cell.client.name]
    url = gateways.url(cell.upstream)
    with record_cell(cell):
        hello = Question(cell, url, "[[text hello]]", resume=False, tools=SERVER)
        first = ask(gateways, agent, hello, tmp_path)
        image = agent.view is not None and cell.upstream not in agent.lost_images
        turns: list[Turn] = [_turn(_names(first, cell.upstream), image=image), []]
        finished = first
        for prompt in prompts(turns):
            question = Question(cell, url, prompt, resume=True, tools=SERVER)
            finished = join(finished, ask(gateways, agent, question, tmp_path))
        check(cell, finished, turns)


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_the_client_of_fastmcp_gets_every_kind_of_result(
    over: str, gateways: Gateways, tmp_path: Path
) -> None:
    install(FASTMCP)
    cell = Cell(FASTMCP, "mcp", "openai-chat", stream=True, tools=f"mcp-{over}")
    program = str(Path(__file__).parent / "frameworks" / "fastmcp_client.py")
    with record_cell(cell), running(ToolServer(station)) as server:
        given = SERVER if over == "stdio" else f"{server.url}/mcp"
        command = [FASTMCP.python, program, json.dumps(given)]
        finished = run(gateways, cell, command, folder=tmp_path, env={})
        assert finished.output, finished.errors[-2000:]
        tools, oslo, rome, status, picture, unknown = json.loads(finished.output)
        assert tools == ["Station_Picture", "Station_StationStatus", "Station_Weather"]
        assert [oslo, rome] == [["Oslo: 4 degrees"], ["Rome: 21 degrees"]]
        assert status[0] == "error" and "station 7 is closed" in status[1]
        assert picture == ["a picture of Oslo", "image"]
        assert unknown[0] == "error" and "Unknown tool" in unknown[1]
