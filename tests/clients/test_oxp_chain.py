"""The OXP client on toolwire's server, and its tools as local tools: a chain of ledgers in which an
effect happens once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clients.dialects import run
from mcp_server.served_tools import effects, tools
from oxp_server.serving import RunningServer, running

from toolwire.conversation.json import JSON, Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.oxp import (
    AuthenticationError,
    InvalidInput,
    Jwt,
    MissingRequirements,
    OxpClient,
    ToolCallFailed,
    ToolNotFound,
)
from toolwire.providers.http.policy import RetryPolicy
from toolwire.server.asgi import App, Message, Receive, Scope, Send
from toolwire.server.auth import NO_AUTH, Auth
from toolwire.tool_server import ToolServer
from toolwire.tools.registry import Tools

SECRET = "a-shared-secret-of-enough-bytes-0123456789"
QUICK = RetryPolicy(attempts=3, backoff=0.01, max_retry_after=30.0)


@contextmanager
def serving(
    folder: Path, auth: Auth = NO_AUTH, wrap: Callable[[App], App] = lambda app: app
) -> Iterator[RunningServer]:
    """Toolwire's server with its own ledger."""
    server = ToolServer(
        tools(folder), executor=ToolExecutor(SqliteLedger(folder / "server.db")), auth=auth
    )
    with running(wrap(server)) as where:
        yield where


def test_every_case_of_a_call_on_our_own_server(tmp_path: Path) -> None:
    async def act() -> None:
        with serving(tmp_path, Auth(secrets=[SECRET])) as where:
            async with OxpClient(
                where.url, auth=Jwt(SECRET), secrets={"TWILIO_API_KEY": "k"}
            ) as client:
                assert await client.health()
                assert len(await client.list()) == 7
                reply = await client.send_call("Calculator.Add", {"a": 10, "b": 5}, call_id="a1")
                assert (reply.value, reply.call_id, reply.replayed) == ({"total": 15}, "a1", False)
                again = await client.send_call(
                    "Calculator.Add@1.10.0", {"a": 10, "b": 5}, call_id="a1"
                )
                assert (again.value, again.replayed, effects(tmp_path, "add")) == (
                    {"total": 15},
                    True,
                    1,
                )
                with pytest.raises(InvalidInput) as wrong:
                    await client.call("Calculator.Add", {"a": 1, "b": "x"})
                assert list(wrong.value.parameter_errors) == ["b"]
                with pytest.raises(ToolNotFound):
                    await client.call("Calculator.Subtract")
                with pytest.raises(ToolCallFailed) as failed:
                    await client.call("Doorbell.Ring", {"doorbell_id": "x"})
                assert (failed.value.can_retry, failed.value.retry_after_ms) == (True, 50)
                assert failed.value.additional_prompt_content == "Doorbells: doorbell42"
                with pytest.raises(MissingRequirements):
                    await client.call("Sms.Send", {"to": "me"})
                sent = await client.call(
                    "Sms.Send", {"to": "me"}, tokens={"phone": "t"}, user_id="u"
                )
                assert sent == ["me", "k", "t", "u"]
            async with OxpClient(
                where.url, auth=Jwt("another-secret-that-the-server-does-not-know-0")
            ) as stranger:
                with pytest.raises(AuthenticationError):
                    await stranger.call("Calculator.Add", {"a": 10, "b": 5})

    run(act())


class Swallows:
    """An app in front of another one that loses the first responses to calls, after they ran."""

    def __init__(self, app: App, lost: int) -> None:
        self._app, self._left = app, lost

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or self._left <= 0:
            await self._app(scope, receive, send)
            return
        self._left -= 1

        async def nowhere(message: Message) -> None:
            pass

        await self._app(scope, receive, nowhere)
        raise ConnectionAbortedError("lost on the way back")


async def ask(
    executor: ToolExecutor, offered: Tools, name: str, input: Object, call_id: str, **more: str
) -> ToolCallResult:
    return await executor.execute(
        ToolCall(
            tool=offered.resolve(name), input=input, call_id=call_id, user_id=more.get("user_id")
        )
    )


def value(answer: ToolCallResult) -> JSON:
    assert answer.outcome is not None and answer.outcome.failure is None, answer
    return answer.outcome.value


def test_a_chain_of_a_local_record_and_a_server_has_one_effect(tmp_path: Path) -> None:
    async def act() -> None:
        with serving(tmp_path, wrap=lambda app: Swallows(app, 2)) as where:
            async with (
                OxpClient(where.url, retry=QUICK) as client,
                ToolExecutor(SqliteLedger(tmp_path / "local.db")) as executor,
            ):
                remote = Tools(*await client.tools())
                assert remote.resolve("Slow.Run").remote
                found = await asyncio.gather(
                    *(ask(executor, remote, "Slow.Run", {"seconds": 0.1}, "s1") for _ in range(4))
                )
                assert [value(one) for one in found] == ["done"] * 4
                later = await ask(executor, remote, "Slow.Run", {"seconds": 0.1}, "s1")
                assert (value(later), later.replayed) == ("done", True)
                assert effects(tmp_path, "slow") == 1, (
                    "two answers were lost on the way back, and nothing ran again"
                )
            # Another replica, which has no record of the call: the server has
            async with OxpClient(where.url) as client, ToolExecutor(None) as executor:
                remote = Tools(*await client.tools())
                assert (
                    value(await ask(executor, remote, "Slow.Run", {"seconds": 0.1}, "s1")) == "done"
                )
                assert effects(tmp_path, "slow") == 1

    run(act())


def test_while_the_server_is_away_nothing_is_recorded_and_the_same_id_runs_later(
    tmp_path: Path,
) -> None:
    async def act() -> None:
        with serving(tmp_path, wrap=lambda app: Swallows(app, 3)) as where:
            async with (
                OxpClient(where.url, retry=QUICK) as client,
                ToolExecutor(SqliteLedger(tmp_path / "local.db")) as executor,
            ):
                remote = Tools(*await client.tools())
                away = await ask(
                    executor, remote, "Doorbell.Ring", {"doorbell_id": "doorbell42"}, "r1"
                )
                assert away.outcome is not None and away.outcome.failure is not None
                assert (away.outcome.failure.kind, away.outcome.failure.can_retry) == (
                    "server_unavailable",
                    False,
                )
                assert (
                    value(
                        await ask(
                            executor, remote, "Doorbell.Ring", {"doorbell_id": "doorbell42"}, "r1"
                        )
                    )
                    is None
                )
                assert effects(tmp_path, "ring") == 1

    run(act())


def test_what_the_server_says_of_a_failure_reaches_the_caller_of_the_local_tool(
    tmp_path: Path,
) -> None:
    async def act() -> None:
        with serving(tmp_path) as where:
            async with (
                OxpClient(where.url) as client,
                ToolExecutor(SqliteLedger(tmp_path / "local.db")) as executor,
            ):
                remote = Tools(*await client.tools())
                boom = await ask(executor, remote, "Bad.Boom", {}, "b1")
                assert boom.outcome is not None and boom.outcome.failure is not None
                failure = boom.outcome.failure
                assert (failure.message, failure.kind, failure.extra["yield"]) == (
                    "It went off.",
                    "bang",
                    3,
                )
                assert (await ask(executor, remote, "Bad.Boom", {}, "b1")).replayed
                ring = await ask(executor, remote, "Doorbell.Ring", {"doorbell_id": "x"}, "r1")
                assert ring.outcome is not None and ring.outcome.failure is not None
                assert (ring.outcome.failure.can_retry, ring.outcome.failure.retry_after_ms) == (
                    True,
                    50,
                )
                wrong = await ask(executor, remote, "Calculator.Add", {"a": "x", "b": 1}, "a1")
                assert wrong.outcome is not None and wrong.outcome.failure is not None
                assert wrong.outcome.failure.kind == "invalid_input"
                assert value(
                    await ask(executor, remote, "Calculator.Add", {"a": 1, "b": 1}, "a2")
                ) == {"total": 2}

    run(act())


def test_a_remote_tool_needs_what_its_client_does_not_have_itself(tmp_path: Path) -> None:
    async def act() -> None:
        with serving(tmp_path) as where:
            async with (
                OxpClient(where.url, secrets={"TWILIO_API_KEY": "k"}) as client,
                ToolExecutor(None) as executor,
            ):
                send = Tools(*await client.tools()).resolve("Sms.Send")
                assert [one.id for one in send.needs.authorization] == ["phone"]
                assert (send.needs.secrets, send.needs.user_id) == ((), True)
                answer = await executor.execute(
                    ToolCall(
                        tool=send, input={"to": "me"}, tokens={"phone": "t", "x": "y"}, user_id="u1"
                    )
                )
                assert value(answer) == ["me", "k", "t", "u1"]

    run(act())
