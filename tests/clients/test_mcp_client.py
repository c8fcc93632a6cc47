"""Tools of MCP servers as local tools: of toolwire's server, and of a server of the official SDK."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from clients.dialects import run
from clients.test_oxp_chain import ask, value
from mcp_server.served_tools import effects, tools
from oxp_server.serving import running

from toolwire.conversation.json import JSON
from toolwire.errors import ToolwireError, UsageError
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Failure
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall
from toolwire.mcp.client import McpClient
from toolwire.mcp.server import McpApp
from toolwire.oxp import Jwt
from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer
from toolwire.tools.registry import Tools

SECRET = "a-shared-secret-of-enough-bytes-0123456789"
TESTS = Path(__file__).parents[1]


@asynccontextmanager
async def ours(folder: Path, over: str) -> AsyncIterator[McpClient]:
    """A client of toolwire's server."""
    if over == "stdio":
        command = [sys.executable, str(TESTS / "mcp_server" / "served_tools.py"), str(folder), "30"]
        async with McpClient(
            command, env={"PYTHONPATH": str(TESTS), "TWILIO_API_KEY": "k"}
        ) as client:
            yield client
        return
    offered, executor = tools(folder), ToolExecutor(SqliteLedger(folder / "calls.db"))
    server = ToolServer(offered, executor=executor, auth=Auth(secrets=[SECRET]), mcp=False)
    app = McpApp(offered, executor=executor, secrets={"TWILIO_API_KEY": "k"})
    server.mount("/mcp", app, context=app.running)
    with running(server) as where:
        async with McpClient(f"{where.url}/mcp", auth=Jwt(SECRET)) as client:
            yield client


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_tools_of_our_own_server_come_with_ids_and_needs_and_run_once(
    tmp_path: Path, over: str
) -> None:
    async def act() -> None:
        async with (
            ours(tmp_path, over) as client,
            ToolExecutor(SqliteLedger(tmp_path / "local.db")) as executor,
        ):
            remote = Tools(*await client.tools())
            assert [str(one.id) for one in remote] == [
                "Bad.Boom@1.0.0",
                "Calculator.Add@1.0.0",
                "Calculator.Add@1.10.0",
                "Doorbell.Ring@0.1.0",
                "Echo.Any@1.0.0",
                "Slow.Run@1.0.0",
                "Sms.Send@0.1.2",
            ]
            slow = [ask(executor, remote, "Slow.Run", {"seconds": 0.2}, "s1") for _ in range(3)]
            sums = [
                ask(executor, remote, "Calculator.Add", {"a": n, "b": 1}, f"a{n}") for n in range(5)
            ]
            found = [value(one) for one in await asyncio.gather(*slow, *sums)]
            assert found == ["done"] * 3 + [{"total": n + 1} for n in range(5)]
            async with ToolExecutor(None) as fresh:  # a replica without a record of the call
                assert value(await ask(fresh, remote, "Slow.Run", {"seconds": 0.2}, "s1")) == "done"
            assert effects(tmp_path, "slow") == 1
            kinds: list[JSON] = [
                "5",
                5,
                5.5,
                None,
                True,
                [1, None],
                {"a": None},
                "null",
                "",
                90071992547409931,
            ]
            for plain in kinds:
                assert (
                    value(
                        await executor.execute(
                            ToolCall(tool=remote.resolve("Echo.Any"), input={"value": plain})
                        )
                    )
                    == plain
                )

            boom = (await ask(executor, remote, "Bad.Boom", {}, "b1")).outcome
            assert boom is not None and boom.failure is not None
            assert (boom.failure.message, boom.failure.kind, boom.failure.extra["yield"]) == (
                "It went off.",
                "bang",
                3,
            )
            ring = (
                await ask(executor, remote, "Doorbell.Ring", {"doorbell_id": "x"}, "r1")
            ).outcome
            assert ring is not None and ring.failure is not None
            assert (ring.failure.can_retry, ring.failure.retry_after_ms) == (True, 50)
            assert ring.failure.additional_prompt_content == "Doorbells: doorbell42"

            send = remote.resolve("Sms.Send")
            assert (send.needs.user_id, send.needs.authorization[0].id) == (True, "phone")
            given = {"phone": "t", "other": "unseen"}
            sent = await executor.execute(
                ToolCall(
                    tool=send,
                    input={"to": "me"},
                    tokens=given,
                    secrets={"TWILIO_API_KEY": "s"},
                    user_id="u",
                )
            )
            assert value(sent) == ["me", "s", "t", "u"]

    run(act())


def failure(found: Failure | None) -> Failure:
    assert found is not None
    return found


def test_a_server_of_another_make_has_legal_ids_and_its_content_is_kept(tmp_path: Path) -> None:
    async def act() -> None:
        command = [sys.executable, str(TESTS / "clients" / "foreign.py"), str(tmp_path)]
        async with (
            McpClient(command, env={"PYTHONPATH": str(TESTS)}) as client,
            ToolExecutor(SqliteLedger(tmp_path / "l.db")) as executor,
        ):
            listed = await client.tools()
            again = await client.tools()
            assert [one.id for one in listed] == [one.id for one in again]
            assert len({one.id for one in listed}) == 4
            weather, picture, broken, vanish = listed
            assert (
                weather.id.toolkit.startswith("weather_station_7")
                and weather.id.toolkit.isidentifier()
            )
            assert (picture.id.name, weather.id.name != picture.id.name) == ("get_current_v2", True)
            assert (weather.on_crash, vanish.on_crash, weather.read_only) == (
                "retry",
                "report",
                True,
            )
            remote = Tools(*listed)
            assert (
                value(await ask(executor, remote, str(weather.id), {"city": "Rome"}, "w1"))
                == "rain in Rome"
            )
            blocks = value(await ask(executor, remote, str(picture.id), {}, "p1"))
            assert isinstance(blocks, list)
            assert [block["type"] for block in blocks if isinstance(block, dict)] == [
                "text",
                "image",
            ]
            fails = (await ask(executor, remote, str(broken.id), {}, "b1")).outcome
            assert fails is not None and failure(fails.failure).can_retry is False

            gone = await ask(executor, remote, str(vanish.id), {}, "v1")
            assert (
                gone.outcome is not None and failure(gone.outcome.failure).kind == "outcome_unknown"
            )
            assert (await ask(executor, remote, str(vanish.id), {}, "v1")).replayed, (
                "it is unknown whether it ran: not again"
            )
            assert effects(tmp_path, "vanish") == 1
            assert (
                value(await ask(executor, remote, str(weather.id), {"city": "Rome"}, "w2"))
                == "rain in Rome"
            ), "a new process"

    run(act())


def test_a_server_that_cannot_be_reached_ran_nothing(tmp_path: Path) -> None:
    async def act() -> None:
        async with ours(tmp_path, "http") as client:
            remote = Tools(*await client.tools())
        async with ToolExecutor(None) as executor:
            away = await ask(executor, remote, "Echo.Any", {"value": 1}, "e1")
            assert (
                away.outcome is not None
                and failure(away.outcome.failure).kind == "server_unavailable"
            )
            assert failure(away.outcome.failure).can_retry is False
        await client.close()

    run(act())
    with pytest.raises(UsageError):
        McpClient("ftp://example.com")
    with pytest.raises(UsageError):
        McpClient([])


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (
            "http://127.0.0.1:1/mcp",
            r"^nothing is listening at http://127\.0\.0\.1:1; start the MCP",
        ),
        ("http://127.0.0.1:1", r"; most MCP servers have a path, such as /mcp$"),
        (["no-such-program"], "^cannot start no-such-program: no such file or directory$"),
        (["true"], "^true ended before it answered; does it speak MCP over stdio"),
    ],
)
def test_a_server_that_is_not_there_is_one_error_of_ours(
    server: str | list[str], says: str
) -> None:
    async def act() -> None:
        async with McpClient(server):
            pass

    with pytest.raises(ConnectionError, match=says) as raised:
        run(act())
    assert isinstance(raised.value, ToolwireError)
