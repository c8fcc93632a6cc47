"""A tool server beyond OXP: mounts, metrics, traces, its lifecycle, and the example tools."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from mcp.client import Client
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from oxp_server.serving import RunningServer, executor_in, running
from oxp_server.toolkit import SEED, add, tools

from toolwire.errors import UsageError
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.server.asgi import Message, Receive, Scope, Send, answer
from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer
from toolwire.tools import ToolContext, ToolDefinitionError, ToolError, Tools, tool

KEY = "a key for tests that is long enough too"
EXAMPLES = Path(__file__).parents[2] / "examples" / "tools.py"


def test_the_example_tools_answer_the_examples_of_the_specification(tmp_path: Path) -> None:
    offered = runpy.run_path(str(EXAMPLES))["TOOLS"]
    assert isinstance(offered, Tools)
    with running(ToolServer(offered, executor=executor_in(tmp_path))) as server:
        for body in SEED:
            got = server.call(json.loads(body))
            assert (got.status, got.json["success"], got.json["call_id"]) == (
                200,
                True,
                json.loads(body)["call_id"],
            )
        assert server.ask("GET", "/tools").status == 200


def test_metrics_count_calls(server: RunningServer) -> None:
    server.call({"tool_id": "Calculator.Add@1.9.0", "input": {"a": 1, "b": 2}})
    got = server.ask("GET", "/metrics")
    assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'toolwire_calls_total{tool="Calculator.Add@1.9.0",state="done"}' in got.body


def test_tools_that_are_added_later_are_listed_with_another_tag(tmp_path: Path) -> None:
    held = Tools(add("1.0.0"))
    with running(
        ToolServer(held, executor=executor_in(tmp_path), repeat_list_as_tools=True)
    ) as server:
        first = server.ask("GET", "/tools")
        held.add(add("2.0.0"))
        second = server.ask("GET", "/tools", headers={"If-None-Match": first.headers["etag"]})
    assert second.status == 200
    assert second.json["tools"] == second.json["items"]
    assert b"Calculator.Add@2.0.0" in second.body


def test_a_server_of_another_protocol_only_has_no_routes_of_this_one(tmp_path: Path) -> None:
    with running(ToolServer(tools(), executor=executor_in(tmp_path), oxp=False)) as server:
        assert server.ask("GET", "/health").status == 200
        assert server.ask("GET", "/tools").status == 404
        assert server.call({"tool_id": "Calculator.Add"}).status == 404


# --- mounts ---------------------------------------------------------------------------------------


def test_a_mounted_application_is_authenticated_and_gets_the_principal(tmp_path: Path) -> None:
    life: list[str] = []

    @asynccontextmanager
    async def context() -> AsyncIterator[None]:
        life.append("open")
        yield
        life.append("closed")

    async def answer_with_principal(scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["state"]
        assert isinstance(state, dict)
        await answer(send, 200, f"{scope['path']} {state['principal']}".encode(), [_VERSION, _KIND])

    app = ToolServer(tools(), executor=executor_in(tmp_path), auth=Auth({"alice": KEY}))
    app.mount("/mcp", answer_with_principal, context=context)
    headers = {"OXP-API-Key": KEY}
    with running(app) as server:
        assert life == ["open"]
        assert server.ask("GET", "/mcp").status == 401
        assert server.ask("GET", "/mcp", headers={**headers, "Host": "evil.example"}).status == 421
        for path in ("/mcp", "/mcp/", "/mcp/deep"):
            connection = server.ask("HEAD", path, headers=headers)
            assert connection.status == 200
        assert server.ask("GET", "/mcpx", headers=headers).status == 404
    assert life == ["open", "closed"]


_VERSION = (b"oxp-version", b"1.0")
_KIND = (b"content-type", b"application/json")


def test_a_prefix_is_a_path_without_a_slash_at_its_end(tmp_path: Path) -> None:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...

    for prefix in ("mcp", "/mcp/", "/", ""):
        with pytest.raises(UsageError, match="prefix"):
            ToolServer(tools(), executor=executor_in(tmp_path)).mount(prefix, nothing)


# --- traces ---------------------------------------------------------------------------------------


def test_a_call_joins_the_trace_that_its_request_names(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    executor = ToolExecutor(SqliteLedger(tmp_path / "calls.db"), tracer_provider=provider)
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with running(ToolServer(tools(), executor=executor)) as server:
        body = {
            "tool_id": "Calculator.Add",
            "call_id": "traced",
            "trace_id": "t1",
            "input": {"a": 1, "b": 2},
        }
        assert (
            server.call(
                json.loads(json.dumps(body)), {"traceparent": f"00-{trace}-{span}-01"}
            ).status
            == 200
        )
    (found,) = exporter.get_finished_spans()
    assert found.context is not None and found.parent is not None and found.attributes is not None
    assert (f"{found.context.trace_id:032x}", f"{found.parent.span_id:016x}") == (trace, span)
    assert found.attributes["gen_ai.tool.call.id"] == "traced"


# --- lifecycle ------------------------------------------------------------------------------------


async def send_request(
    app: ToolServer, method: str, path: str, body: bytes = b""
) -> tuple[int, bytes]:
    """Send one request without a socket."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"content-type", b"application/json")],
    }
    await app(scope, receive, send)
    status, content = sent[0]["status"], sent[1]["body"]
    assert isinstance(status, int) and isinstance(content, bytes)
    return status, content


def test_a_server_opens_on_its_first_request_and_runs_nothing_when_it_is_closed(
    tmp_path: Path,
) -> None:
    body = b'{"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}}'

    async def states() -> list[int]:
        app = ToolServer(tools(), executor=executor_in(tmp_path))
        seen: list[int] = []
        for step in (None, app.open, app.close):
            if step is not None:
                await step()
            seen += [
                (await send_request(app, "GET", "/health"))[0],
                (await send_request(app, "POST", "/call", body))[0],
            ]
        return seen

    assert asyncio.run(states()) == [200, 200, 200, 200, 503, 400]


@pytest.mark.parametrize("prefix", ["/agents", "/tools"])
def test_a_server_can_be_mounted_in_another_application(tmp_path: Path, prefix: str) -> None:
    """Starlette runs no lifespan of mounted applications, so the first request opens the ledger."""
    app = FastAPI()
    server = ToolServer(tools(), ledger=SqliteLedger(tmp_path / "calls.db"))
    app.mount(prefix, server)

    async def requests() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            call = {"tool_id": "Calculator.Add", "call_id": "c1", "input": {"a": 1, "b": 2}}
            responses = [
                await client.get(f"{prefix}/health"),
                await client.get(f"{prefix}/tools/"),
                await client.post(f"{prefix}/tools/call", json=call),
                await client.post(f"{prefix}/mcp", json={}),
                await client.get(f"{prefix}/nothing"),
            ]
        await server.close()
        return [response.status_code for response in responses]

    assert asyncio.run(requests()) == [200, 200, 200, 400, 404]


def test_a_server_that_is_not_ready_reports_it(tmp_path: Path) -> None:
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path), ready=lambda: False)
    ) as server:
        assert server.ask("GET", "/health").status == 503


def test_a_bug_is_500_and_is_not_to_be_sent_again(tmp_path: Path) -> None:
    def raise_with_secret() -> bool:
        raise RuntimeError("a bug with a s3cret")

    with running(
        ToolServer(tools(), executor=executor_in(tmp_path), ready=raise_with_secret)
    ) as server:
        got = server.ask("GET", "/health")
    assert (got.status, got.headers["x-should-retry"]) == (500, "false")
    assert b"s3cret" not in got.body


def test_a_tool_that_the_ledger_cannot_serve_is_found_when_the_server_is_made(
    tmp_path: Path,
) -> None:
    """A tool that wants a transaction needs a database that has them."""

    @tool(id="A.B@1.0.0", on_crash="transactional")
    async def change(context: ToolContext) -> None:
        """Change something."""

    with pytest.raises(ToolDefinitionError, match="transactional"):
        ToolServer(Tools(change.runnable), executor=executor_in(tmp_path))


DATABASE = "postgresql://app:hunter2-password@db.internal/shop"


@tool(id="Leak.Boom@1.0.0")
def boom() -> None:
    """Fail with a text that holds a password."""
    raise ConnectionError(f"could not connect to {DATABASE}")


@tool(id="Leak.Told@1.0.0")
def fail_with_text() -> None:
    """Fail with a text for the caller."""
    raise ToolError("The shop is closed.", developer_message="opens at 9")


def test_exception_text_reaches_no_caller_unless_the_tool_raised_a_tool_error(
    tmp_path: Path,
) -> None:
    """A database address with its password was once in `developer_message`."""
    with running(ToolServer([boom, fail_with_text], ledger=SqliteLedger(tmp_path / "c.db"))) as at:
        for call_id in ("c1", "c1"):  # the recorded failure, too
            got = at.call({"tool_id": "Leak.Boom", "call_id": call_id})
            error = got.json["error"]
            assert isinstance(error, dict)
            assert error["message"] == "The tool failed (ConnectionError)."
            assert "hunter2" not in got.body.decode() and "db.internal" not in got.body.decode()
        reported_error = at.call({"tool_id": "Leak.Told"}).json["error"]
        assert isinstance(reported_error, dict)
        assert (reported_error["message"], reported_error["developer_message"]) == (
            "The shop is closed.",
            "opens at 9",
        )

        async def over_mcp() -> str:
            async with Client(f"{at.url}/mcp") as client:
                return repr(await client.call_tool("Leak_Boom", {}))

        text = asyncio.run(over_mcp())
    assert "ConnectionError" in text
    assert "hunter2" not in text and "db.internal" not in text
