"""The MCP server, tested with the official client: over stdio in a separate process, and over HTTP
on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import httpx2
import postgres
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_server.served_tools import effects, tools
from mcp_types import CallToolResult, TextContent
from oxp_server.serving import running

from toolwire.conversation.json import JSON, Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.mcp.server import McpApp
from toolwire.server.auth import NO_AUTH, Auth
from toolwire.tool_server import ToolServer

PROGRAM = Path(__file__).parent / "served_tools.py"
Over: TypeAlias = Literal["stdio", "http"]
Mode: TypeAlias = Literal["auto", "legacy"]
EVERY = [(over, mode) for over in ("stdio", "http") for mode in ("auto", "legacy")]


@asynccontextmanager
async def connect_client(
    folder: Path, over: str, mode: str = "auto", *, wait: float = 30.0
) -> AsyncIterator[Client]:
    """The official client of a server with a durable ledger."""
    if over == "stdio":
        env = {"PYTHONPATH": str(PROGRAM.parents[1]), "TWILIO_API_KEY": "from-the-environment"}
        program = StdioServerParameters(
            command=sys.executable, args=[str(PROGRAM), str(folder), str(wait)], env=env
        )
        async with Client(program, mode=mode) as client:
            yield client
        return
    offered, calls = tools(folder), ToolExecutor(SqliteLedger(folder / "calls.db"), wait=wait)
    server = ToolServer(offered, executor=calls, mcp=False)
    app = McpApp(offered, executor=calls, secrets={"TWILIO_API_KEY": "from-the-server"})
    server.mount("/mcp", app, context=app.running)
    with running(server) as where:
        async with Client(f"{where.url}/mcp", mode=mode) as client:
            yield client


def run(act: Awaitable[None]) -> None:
    async def run_with_timeout() -> None:
        async with asyncio.timeout(600):
            await act

    asyncio.run(run_with_timeout())


async def call(
    client: Client, name: str, arguments: dict[str, JSON], **meta: JSON
) -> CallToolResult:
    said = {f"toolwire/{key}": value for key, value in meta.items()}
    return await client.call_tool(name, arguments, meta=said or None)  # type: ignore[arg-type]


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def error_of(result: CallToolResult) -> Object:
    assert result.is_error
    told = (result.meta or {})["toolwire/error"]
    assert isinstance(told, dict)
    return told


@pytest.mark.parametrize(("over", "mode"), EVERY)
def test_tools_are_listed_with_their_ids_and_hints_and_always_in_one_order(
    tmp_path: Path, over: str, mode: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over, mode) as client:
            listed = (await client.list_tools()).tools
            assert listed == (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [
            "Bad_Boom",
            "Calculator_Add_1_0_0",
            "Calculator_Add",
            "Doorbell_Ring",
            "Echo_Any",
            "Slow_Run",
            "Sms_Send",
        ]
        by_name = {tool.name: tool for tool in listed}
        newest, old = by_name["Calculator_Add"], by_name["Calculator_Add_1_0_0"]
        assert (newest.meta or {})["toolwire/id"] == "Calculator.Add@1.10.0"
        assert (old.meta or {})["toolwire/id"] == "Calculator.Add@1.0.0"
        assert old.annotations is not None and old.annotations.read_only_hint is True
        assert newest.annotations is not None and newest.annotations.idempotent_hint is True
        assert newest.output_schema is not None and newest.output_schema["type"] == "object"
        assert by_name["Slow_Run"].output_schema is None, "a text is no object"
        assert newest.input_schema["required"] == ["a", "b"]

    run(act())


@pytest.mark.parametrize(("over", "mode"), EVERY)
def test_a_value_is_sent_as_structured_content_and_text_and_a_failure_with_its_kind(
    tmp_path: Path, over: str, mode: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over, mode) as client:
            sum = await call(client, "Calculator_Add", {"a": 10, "b": 5})
            assert (sum.is_error, sum.structured_content, texts(sum)) == (
                False,
                {"total": 15},
                ['{"total":15}'],
            )
            assert (sum.meta or {})["toolwire/call_id"]
            assert "toolwire/replayed" not in (sum.meta or {})
            held = await call(
                client, "Echo_Any", {"value": {"a": None, "n": 90071992547409931, "x": [1, None]}}
            )
            assert held.structured_content == {"a": None, "n": 90071992547409931, "x": [1, None]}

            ring = await call(client, "Doorbell_Ring", {"doorbell_id": "nope"}, call_id="r1")
            assert texts(ring) == ["There is no such doorbell.", "Doorbells: doorbell42"]
            told = error_of(ring)
            assert (
                told["can_retry"],
                told["retry_after_ms"],
                told["call_id"],
                told["attempt"],
            ) == (True, 50, "r1", 1)

            boom = error_of(await call(client, "Bad_Boom", {}, call_id="b1"))
            assert (boom["kind"], boom["can_retry"], boom["yield"]) == ("bang", False, 3)
            assert isinstance(
                error_of(await call(client, "Bad_Boom", {}, call_id="b1"))["started_at"], int
            )

            wrong = await call(client, "Calculator_Add", {"a": 10, "b": "infinity"})
            parameters = error_of(wrong)["parameter_errors"]
            assert isinstance(parameters, dict) and list(parameters) == ["b"]
            assert "infinity" not in str(wrong.content)
            assert effects(tmp_path, "add") == 1

            with pytest.raises(MCPError) as unknown:
                await call(client, "Missing", {})
            assert unknown.value.code == -32602

    run(act())


@pytest.mark.parametrize(("over", "mode"), EVERY)
def test_one_call_id_runs_once_and_its_answer_is_replayed(
    tmp_path: Path, over: str, mode: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over, mode) as client:
            slow = [call(client, "Slow_Run", {"seconds": 0.3}, call_id="s1") for _ in range(5)]
            others = [
                call(client, "Calculator_Add", {"a": n, "b": 1}, call_id=f"a{n}") for n in range(10)
            ]
            found = await asyncio.gather(*slow, *others)
            assert [texts(one) for one in found[:5]] == [["done"]] * 5
            assert [one.structured_content for one in found[5:]] == [
                {"total": n + 1} for n in range(10)
            ]
            again = await call(client, "Slow_Run", {"seconds": 0.3}, call_id="s1")
            assert texts(again) == ["done"]
            assert (again.meta or {})["toolwire/replayed"] is True
            assert effects(tmp_path, "slow") == 1

            for _ in range(2):
                assert error_of(await call(client, "Bad_Boom", {}, call_id="b1"))["kind"] == "bang"
            assert effects(tmp_path, "boom") == 1, "a failure is recorded too"

            with pytest.raises(MCPError) as mismatch:
                await call(client, "Slow_Run", {"seconds": 0.4}, call_id="s1")
            assert (mismatch.value.code, mismatch.value.data) == (
                -32602,
                {"kind": "call_id_reused"},
            )

    run(act())


def test_a_record_outlives_the_process_that_made_it(tmp_path: Path) -> None:
    async def act() -> None:
        for replayed in (None, True):
            async with connect_client(tmp_path, "stdio") as client:
                ring = await call(
                    client, "Doorbell_Ring", {"doorbell_id": "doorbell42"}, call_id="r1"
                )
                assert (ring.meta or {}).get("toolwire/replayed") is replayed
                assert texts(ring) == ["null"]
        assert effects(tmp_path, "ring") == 1

    run(act())


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_call_that_takes_longer_than_the_wait_is_reported_as_running_and_its_id_gets_the_result(
    tmp_path: Path, over: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over, wait=0.2) as client:
            first = asyncio.create_task(call(client, "Slow_Run", {"seconds": 3}, call_id="s1"))
            while not effects(tmp_path, "slow"):
                await asyncio.sleep(0.02)
            told = error_of(await call(client, "Slow_Run", {"seconds": 3}, call_id="s1"))
            assert (told["kind"], told["can_retry"], told["call_id"]) == (
                "still_running",
                True,
                "s1",
            )
            assert texts(await first) == ["done"]
            assert effects(tmp_path, "slow") == 1

    run(act())


@pytest.mark.parametrize(
    ("over", "mode"), [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto")]
)
def test_a_cancelled_request_leaves_the_server_well_and_its_call_on_record(
    tmp_path: Path, over: str, mode: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over, mode) as client:
            first = asyncio.create_task(call(client, "Slow_Run", {"seconds": 3}, call_id="s1"))
            unnamed = asyncio.create_task(call(client, "Slow_Run", {"seconds": 60}))
            while effects(tmp_path, "slow") < 2:
                await asyncio.sleep(0.02)
            for task in (first, unnamed):
                task.cancel()  # the client says so to the server
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await call(client, "Calculator_Add", {"a": 1, "b": 1})).structured_content == {
                "total": 2
            }
            assert texts(await call(client, "Slow_Run", {"seconds": 3}, call_id="s1")) == ["done"]
            assert effects(tmp_path, "slow") == 2
            assert effects(tmp_path, "slow-done") == 1, (
                "without an id it cannot be asked for again, so it was stopped"
            )

    run(act())


@pytest.mark.parametrize(
    ("over", "secret"), [("stdio", "from-the-environment"), ("http", "from-the-server")]
)
def test_credentials_come_with_the_call_or_from_the_server(
    tmp_path: Path, over: str, secret: str
) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, over) as client:
            told = error_of(await call(client, "Sms_Send", {"to": "me"}, call_id="m1"))
            missing = told["missing_requirements"]
            assert told["kind"] == "missing_requirements" and isinstance(missing, dict)
            assert set(missing) == {"authorization", "user_id"}
            assert effects(tmp_path, "send") == 0

            context: Object = {"authorization": [{"id": "phone", "token": "t-0"}], "user_id": "u1"}
            sent = await call(client, "Sms_Send", {"to": "me"}, call_id="m1", context=context)
            assert sent.structured_content == ["me", secret, "t-0", "u1"], (
                "nothing was recorded of the first try"
            )
            context["secrets"] = [{"id": "TWILIO_API_KEY", "value": "mine"}]
            own = await call(client, "Sms_Send", {"to": "me"}, context=context)
            assert own.structured_content == ["me", "mine", "t-0", "u1"]

            bad: list[JSON] = [
                [],
                {"secrets": {"TWILIO_API_KEY": "x"}},
                {"user_id": 7},
                {"secrets": [{"id": "a", "key": "hush"}]},
            ]
            for wrong in bad:
                with pytest.raises(MCPError) as refused:
                    await call(client, "Sms_Send", {"to": "me"}, context=wrong)
                assert refused.value.code == -32602
                assert "hush" not in str(refused.value)

    run(act())


def http(act: Callable[[str, Path], Awaitable[None]], folder: Path, auth: Auth = NO_AUTH) -> None:
    offered, calls = tools(folder), ToolExecutor(SqliteLedger(folder / "calls.db"))
    server = ToolServer(
        offered, executor=calls, auth=auth, allowed_origins=["https://page.example"]
    )
    with running(server) as where:
        run(act(f"{where.url}/mcp", folder))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "Unknown tool: 'nothing': no tool has this name"),
        ("echo_any", "did you mean Echo.Any"),
        ("Echo.Any@7.0.0", "no such version"),
    ],
)
def test_an_unknown_tool_is_named(tmp_path: Path, name: str, message: str) -> None:
    async def act(url: str, folder: Path) -> None:
        async with Client(url) as client:
            with pytest.raises(MCPError, match=message) as caught:
                await client.call_tool(name, {})
            assert caught.value.code == -32602 and "tool id" not in str(caught.value)

    http(act, tmp_path)


def test_an_idempotency_key_is_a_call_id_and_the_id_of_the_request_is_not(tmp_path: Path) -> None:
    async def act(url: str, folder: Path) -> None:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "Echo_Any", "arguments": {"value": 1}},
        }
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient() as plain:
            for _ in range(2):
                await plain.post(url, json=body, headers=accept)
            assert effects(folder, "echo") == 2, "a JSON-RPC id starts again with every client"
            found = [
                await plain.post(url, json=body, headers={**accept, "Idempotency-Key": '"k-1"'})
                for _ in range(2)
            ]
            found += [
                await plain.post(url, json=body, headers={**accept, "Idempotency-Key": "k-1"})
            ]
            assert [one.status_code for one in found] == [200] * 3
            assert "toolwire/replayed" not in found[0].text and "toolwire/replayed" in found[2].text
            assert effects(folder, "echo") == 3
            body["params"] = {
                "name": "Echo_Any",
                "arguments": {"value": 1},
                "_meta": {"toolwire/call_id": "other"},
            }
            both = await plain.post(url, json=body, headers={**accept, "Idempotency-Key": "k-1"})
            assert "-32602" in both.text
            assert effects(folder, "echo") == 3

    http(act, tmp_path)


def test_the_idempotency_key_of_the_parameters_is_a_call_id(tmp_path: Path) -> None:
    async def act(url: str, folder: Path) -> None:
        params: JSON = {"name": "Echo_Any", "arguments": {"value": 1}, "idempotencyKey": "k-1"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient() as plain:
            found = [await plain.post(url, json=body, headers=accept) for _ in range(2)]
            assert "toolwire/replayed" in found[1].text and effects(folder, "echo") == 1
            same = await plain.post(url, json=body, headers={**accept, "Idempotency-Key": "k-1"})
            assert "toolwire/replayed" in same.text
            other = await plain.post(url, json=body, headers={**accept, "Idempotency-Key": "k-2"})
            assert "-32602" in other.text and effects(folder, "echo") == 1

    http(act, tmp_path)


def test_callers_are_authenticated_and_have_separate_records(tmp_path: Path) -> None:
    keys = {
        "ann": "a-key-that-is-long-enough-for-ann-0123456789",
        "bob": "b-key-that-is-long-enough-for-bob-9876543210",
    }

    async def act(url: str, folder: Path) -> None:
        async with httpx2.AsyncClient() as plain:
            assert (await plain.post(url, json={})).status_code == 401
        for key in keys.values():
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as signed,
                Client(streamable_http_client(url, http_client=signed)) as client,
            ):
                result = await call(client, "Echo_Any", {"value": [key[0]]}, call_id="same")
                assert result.structured_content == [key[0]]
        assert effects(folder, "echo") == 2

    http(act, tmp_path, Auth(keys))


def test_a_page_of_another_site_is_turned_away(tmp_path: Path) -> None:
    async def act(url: str, folder: Path) -> None:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "Echo_Any", "arguments": {"value": 1}},
        }
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient() as page:
            for origin, status in (
                ("https://evil.example", 403),
                ("null", 403),
                ("http://[", 403),
                ("https://page.example", 200),
            ):
                assert (
                    await page.post(url, json=body, headers={**accept, "Origin": origin})
                ).status_code == status
            large = {
                **body,
                "params": {"name": "Echo_Any", "arguments": {"value": "x" * 5_000_000}},
            }
            assert (await page.post(url, json=large, headers=accept)).status_code == 413
        assert effects(folder, "echo") == 1

    http(act, tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "text", "text": 5}],
        [{"type": "image", "mimeType": "image/png"}],
        [{"type": "resource", "resource": {"uri": "file:///a"}}],
        [{"type": "text", "text": "a", "annotations": {"audience": ["nobody"]}}],
    ],
)
def test_a_value_that_is_no_valid_content_is_sent_as_json(tmp_path: Path, value: JSON) -> None:
    async def act() -> None:
        async with connect_client(tmp_path, "http") as client:
            (text,) = texts(await call(client, "Echo_Any", {"value": value}))
            assert json.loads(text) == value

    run(act())


def test_replicas_share_one_record_and_any_of_them_answers(tmp_path: Path) -> None:
    schema = postgres.fresh()

    def replica() -> ToolServer:
        offered, calls = (
            tools(tmp_path),
            ToolExecutor(PostgresLedger(postgres.dsn(), schema=schema)),
        )
        return ToolServer(offered, executor=calls)

    async def act() -> None:
        with running(replica()) as one, running(replica()) as two:
            async with (
                Client(f"{one.url}/mcp") as ann,
                Client(f"{two.url}/mcp", mode="legacy") as bob,
            ):
                both = [
                    call(client, "Slow_Run", {"seconds": 0.3}, call_id="s1")
                    for client in (ann, bob) * 3
                ]
                assert [texts(one) for one in await asyncio.gather(*both)] == [["done"]] * 6
        assert effects(tmp_path, "slow") == 1

    run(act())


def test_callers_do_not_see_the_text_of_an_internal_error(tmp_path: Path) -> None:
    class FailingExecutor(ToolExecutor):
        async def execute(self, request: ToolCall) -> ToolCallResult:
            raise ZeroDivisionError("the password is hunter2")

    async def act() -> None:
        offered, calls = tools(tmp_path), FailingExecutor(None)
        server = ToolServer(offered, executor=calls)
        with running(server) as where:
            for mode in ("auto", "legacy"):
                async with Client(f"{where.url}/mcp", mode=mode) as client:
                    with pytest.raises(MCPError) as told:
                        await call(client, "Echo_Any", {"value": 1})
                    assert (told.value.code, str(told.value)) == (-32603, "The server failed.")

    run(act())
