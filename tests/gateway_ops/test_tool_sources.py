"""Gateway tools from servers, and a ledger that replicas share: real programs, real sockets, a real
PostgreSQL.

Two gateways in separate processes have the same configuration: tools of an MCP server of the
official SDK, of toolwire's MCP server, and of an OXP server, all over HTTP; the model is a strict
mock. The tool servers run in this process, so that tests can count what ran.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest
from gateway.serving import Below, row, serving
from gateway_ops.client_requests import FRONTS, Row, answer_of
from gateway_ops.running import HttpAnswer, post
from gateway_ops.test_process import Running, running
from mcp.server.mcpserver import MCPServer
from oxp_server.serving import running as served
from postgres import database_url

from toolwire import decode
from toolwire.conversation.json import Object
from toolwire.conversation.parts import Call, Text
from toolwire.mock.server import MockProvider
from toolwire.tool_server import ToolServer
from toolwire.tools import tool
from toolwire.tools.registry import ToolSource

RAN: Counter[str] = Counter()
"""How often each tool ran, by its argument."""
MODELS = ("openai-chat", "anthropic")


def _did(what: str, seconds: float = 0.0) -> str:
    RAN[what] += 1
    n = RAN[what]
    time.sleep(seconds)
    return f"{what} done {n} times"


def foreign() -> MCPServer:
    """A server of the official SDK."""
    server = MCPServer("bells")

    @server.tool()
    def ring(bell: str, seconds: float = 0.0) -> str:
        """Ring a bell."""
        return _did(f"bell {bell}", seconds)

    return server


@tool(id="Lamp.Light@1.0.0")
def light(lamp: str) -> str:
    """Light a lamp.

    Args:
        lamp: Which one.
    """
    return _did(f"lamp {lamp}")


@tool(id="Door.Open@1.0.0")
def unlock(door: str) -> str:
    """Open a door.

    Args:
        door: Which one.
    """
    return _did(f"door {door}")


class ToolServers(NamedTuple):
    """Gateways with the same configuration, and the models behind them."""

    gateways: list[Running]
    mocks: dict[str, MockProvider]


@contextmanager
def ours(made: ToolSource, *, over: str) -> Iterator[str]:
    """Serve one tool with toolwire; yields its source for the configuration."""
    with served(ToolServer(made)) as where:
        yield f"mcp+{where.url}/mcp" if over == "mcp" else where.url


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolServers]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "KEY", "k" * 20)
        mocks = {wire: MockProvider(wire) for wire in MODELS}
        up = stack.enter_context(serving(Below(mocks)))
        rows = [row(wire, f"{up}/{wire}", name=wire) for wire in MODELS]
        sources = [
            f"mcp+{stack.enter_context(serving(foreign().streamable_http_app()))}/mcp",
            stack.enter_context(ours(light, over="mcp")),
            stack.enter_context(ours(unlock, over="oxp")),
        ]
        rows.append(
            f"[tools]\nsources = {json.dumps(sources)}\nledger = {json.dumps(database_url())}\n"
        )
        gateways = []
        for name in ("one", "two"):
            folder = tmp_path_factory.mktemp(name)
            (folder / "g.toml").write_text("\n".join(rows))
            gateways.append(stack.enter_context(running(folder, "g.toml")))
        yield ToolServers(gateways, mocks)


def question_for(what: str) -> str:
    """A question to which the model calls one tool of each server, and one of the client."""
    return (
        f'[[call bells_ring {{"bell": "{what}"}}]] [[call Lamp_Light {{"lamp": "{what}"}}]] '
        f'[[call Door_Open {{"door": "{what}"}}]] [[call add {{"a": 1, "b": 2}}]]'
    )


def run_counts(what: str) -> list[int]:
    """How often each server ran its tool."""
    return [RAN[f"{kind} {what}"] for kind in ("bell", "lamp", "door")]


class GatewayAnswer(NamedTuple):
    body: Object
    text: str
    calls: list[Call]


def ask_gateway(
    at: Running, api: Row, body: Object, model: str, *, stream: bool, key: str = ""
) -> GatewayAnswer:
    """Send a request; return the response as its client reads it."""
    got = post_request(at, api, body, model, stream=stream, key=key)
    assert got.status == 200, got.text[:500]
    answer = answer_of(got.text, api.wire, stream=stream)
    parts = [part for one in decode(answer, api.wire, "response").messages for part in one.parts]
    calls = [part for part in parts if isinstance(part, Call) and part.executor == "client"]
    return GatewayAnswer(
        answer, "".join(part.text for part in parts if isinstance(part, Text)), calls
    )


def post_request(
    at: Running, api: Row, body: Object, model: str, *, stream: bool, key: str = ""
) -> HttpAnswer:
    """Send a request and return the HTTP response."""
    given = {"anthropic-version": "2023-06-01"} | ({"idempotency-key": key} if key else {})
    return post(at.url + api.path(model, stream), body, given)


CELLS = [(api, stream) for api in FRONTS for stream in (True, False) if stream or api.whole]


def in_one_turn(house: ToolServers, model: str) -> None:
    """Assert that calls of three servers and of the client in one turn each find their results."""
    for api, stream in CELLS:
        what = f"{model} {api.wire} {stream}"
        body = api.begin(question_for(what), model, stream)
        first = ask_gateway(house.gateways[0], api, body, model, stream=stream)
        assert [(call.name, call.input) for call in first.calls] == [("add", {"a": 1, "b": 2})], (
            what,
            first.text,
        )
        assert run_counts(what) == [1, 1, 1], what
        results = [(call.id, call.name, "three") for call in first.calls]
        second = ask_gateway(
            house.gateways[1], api, api.go_on(body, first.body, results), model, stream=stream
        )
        assert not second.calls and run_counts(what) == [1, 1, 1], what
        results_by_call = dict(
            line.split(" gave: ", 1) for line in second.text.splitlines() if " gave: " in line
        )
        assert "three" in results_by_call["add(a=1, b=2)"], what
        for name, kind in {
            "bells_ring(bell": "bell",
            "Lamp_Light(lamp": "lamp",
            "Door_Open(door": "door",
        }.items():
            assert f"{kind} {what} done 1 times" in next(
                out for call, out in results_by_call.items() if call.startswith(name)
            ), results_by_call
        assert house.mocks[model].requests[-1].status == 200, "the strict server took the history"


def one_after_the_other(house: ToolServers, stream: bool) -> None:
    """Assert that a request under one key runs its tools once, whichever replica gets it."""
    one, two = house.gateways
    api, what = FRONTS[0], f"again {stream}"
    body = api.begin(question_for(what), "anthropic", stream)
    turns = [
        ask_gateway(at, api, body, "anthropic", stream=stream, key="k1")
        for at in (one, one, two, two)
    ]
    assert run_counts(what) == [1, 1, 1]
    assert all(
        f"{kind} {what} done 1 times" in turn.text
        for turn in turns
        for kind in ("bell", "lamp", "door")
    )
    ask_gateway(two, api, body, "anthropic", stream=stream, key="k2")
    assert run_counts(what) == [2, 2, 2], "another key is another request"
    ask_gateway(one, api, body, "anthropic", stream=stream, key="k2")
    assert run_counts(what) == [2, 2, 2]


def at_once(house: ToolServers) -> None:
    """Assert that a request to both replicas at once runs its tools once."""
    api, what = FRONTS[0], "at once"
    words = f'[[call bells_ring {{"bell": "{what}", "seconds": 0.5}}]]'
    body = api.begin(words, "openai-chat", False)

    def ask(n: int) -> GatewayAnswer:
        return ask_gateway(
            house.gateways[n % 2], api, body, "openai-chat", stream=False, key="same"
        )

    with ThreadPoolExecutor(6) as pool:
        turns = list(pool.map(ask, range(6)))
    assert RAN[f"bell {what}"] == 1
    assert all(f"bell {what} done 1 times" in turn.text for turn in turns), [
        turn.text for turn in turns
    ]


def test_tools_of_three_servers_run_once_over_two_replicas_and_their_results_find_their_calls(
    house: ToolServers,
) -> None:
    """One test, because the servers take long to start."""
    for model in MODELS:
        in_one_turn(house, model)
    for stream in (True, False):
        one_after_the_other(house, stream)
    at_once(house)
