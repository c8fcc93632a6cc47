"""Tools on Temporal: what they can do and what they cannot, with one process, a real server and a
real worker."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import temporal_server
from msgspec.structs import replace
from runnables import NOTHING, runnable
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import (
    DeleteActivityExecutionRequest,
    DescribeActivityExecutionRequest,
)
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.worker import Worker

from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.temporal.runner import TemporalRunner, activity_id, worker
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolDefinitionError
from toolwire.tools.runnable import (
    Authorization,
    Body,
    OnCrash,
    Requirements,
    Runnable,
    ToolContext,
)

KEYED = Requirements((Authorization("github"),), ("API_KEY",), True)


class Xor(PayloadCodec):
    """A codec that hides payloads well enough for a test."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"xor"}, data=_xor(one.SerializeToString()))
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(_xor(one.data)) for one in payloads]


def _xor(data: bytes) -> bytes:
    return bytes(one ^ 0x5A for one in data)


class House:
    """A client, and a ledger in a folder; calls have their own scope."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.scope = os.urandom(4).hex()

    def worker(self, *tools: Runnable, shutdown_timeout: float = 30.0) -> Worker:
        return worker(self.client, tools, queue=self.scope, shutdown_timeout=shutdown_timeout)

    @asynccontextmanager
    async def executor(
        self,
        *,
        heartbeat_timeout: float = 30.0,
        worker_timeout: float | None = None,
        clock: Callable[[], float] = time.time,
        max_payload_bytes: int = 10_000,
    ) -> AsyncIterator[ToolExecutor]:
        runner = TemporalRunner(
            self.client,
            queue=self.scope,
            scope=self.scope,
            heartbeat_timeout=heartbeat_timeout,
            worker_timeout=worker_timeout,
            clock=clock,
            max_payload_bytes=max_payload_bytes,
        )
        async with ToolExecutor(SqliteLedger(self.folder / "ledger.db"), runner=runner) as executor:
            yield executor

    def id(self, call_id: str = "c", attempt: int = 1) -> str:
        return activity_id(Claim("new", key_of("p", None, call_id), b"", attempt), self.scope)


def ask(tool: Runnable, call_id: str = "c", **input: str | int) -> ToolCall:
    return ToolCall(tool=tool, input={**input}, call_id=call_id, principal="p")


def house(
    tmp_path: Path, act: Callable[[House], Awaitable[None]], codec: PayloadCodec | None = None
) -> None:
    """Run a test with a new house."""
    target = temporal_server.common_server().target

    async def main() -> None:
        converter = dataclasses.replace(DataConverter.default, payload_codec=codec)
        await act(House(await Client.connect(target, data_converter=converter), tmp_path))

    asyncio.run(main())


class CountingBody:
    """A tool that counts how often it ran."""

    def __init__(
        self,
        body: Body,
        *,
        on_crash: OnCrash = "report",
        timeout: float = 55.0,
        needs: Requirements = NOTHING,
    ) -> None:
        self.times = 0

        async def run(arguments: Mapping[str, object], context: ToolContext) -> object:
            self.times += 1
            given = body(arguments, context)
            return await given if isinstance(given, Awaitable) else given

        self.tool = runnable(run, on_crash=on_crash, timeout=timeout, needs=needs)


async def execute_call(executor: ToolExecutor, what: ToolCall) -> tuple[str, object, int]:
    answer = await executor.execute(what)
    return answer.state, answer.outcome and answer.outcome.value, answer.attempt


def kind(answer: ToolCallResult) -> str | None:
    assert answer.outcome is not None and answer.outcome.failure is not None, answer
    return answer.outcome.failure.kind


def test_a_value_comes_back_as_it_was_given(tmp_path: Path) -> None:
    value = {"big": 2**70, "half": "\ud800", "many": [1, 2.5, None, True]}
    counted = CountingBody(lambda arguments, context: value)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert await execute_call(executor, ask(counted.tool)) == ("done", value, 1)
            assert await execute_call(executor, ask(counted.tool)) == ("done", value, 1)
        assert counted.times == 1

    house(tmp_path, act)


@pytest.mark.parametrize("on_crash", ["report", "retry"])
def test_what_a_tool_raises_is_recorded_and_not_tried_again_by_the_engine(
    tmp_path: Path, on_crash: OnCrash
) -> None:
    def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        raise ValueError("no")

    counted = CountingBody(body, on_crash=on_crash)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "exception"
            again = await executor.execute(ask(counted.tool))
            assert (kind(again), again.replayed) == ("exception", True)
        assert counted.times == 1

    house(tmp_path, act)


@pytest.mark.parametrize(
    "error", [NoEffect("not today", kind="shy"), RetryableToolError("later", kind="shy")]
)
def test_a_call_that_did_nothing_runs_again_as_another_activity(
    tmp_path: Path, error: Exception
) -> None:
    def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        if context.attempt == 1:
            raise error
        return context.attempt

    counted = CountingBody(body)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "shy"
            assert await execute_call(executor, ask(counted.tool)) == ("done", 2, 2)
            found = await house.client.get_activity_handle(house.id(attempt=2)).describe()
            assert found.activity_id == house.id(attempt=2)

    house(tmp_path, act)


def test_a_tool_that_takes_too_long_fails_like_anywhere(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: asyncio.sleep(30), timeout=0.2)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "timeout"

    house(tmp_path, act)


# --- what is sent ---------------------------------------------------------------------------------


def secretive() -> CountingBody:
    return CountingBody(
        lambda arguments, context: len(context.secret("API_KEY") + context.token("github")),
        needs=KEYED,
    )


def call_with_secrets(tool: Runnable) -> ToolCall:
    return replace(
        ask(tool),
        user_id="u",
        tokens={"github": "gh-token"},
        secrets={"API_KEY": "hunter2-hunter2"},
    )


def test_secrets_are_not_sent_in_the_clear(tmp_path: Path) -> None:
    counted = secretive()

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            answer = await executor.execute(call_with_secrets(counted.tool))
            assert kind(answer) == "engine"
            assert answer.outcome and answer.outcome.failure
            assert "payload codec" in str(answer.outcome.failure.developer_message)
        assert counted.times == 0

    house(tmp_path, act)


def test_with_a_codec_secrets_reach_the_tool_and_temporal_cannot_read_them(tmp_path: Path) -> None:
    counted = secretive()

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert await execute_call(executor, call_with_secrets(counted.tool)) == (
                "done",
                len("gh-token" + "hunter2-hunter2"),
                1,
            )
        id = activity_id(Claim("new", key_of("p", "u", "c"), b""), house.scope)
        asked = DescribeActivityExecutionRequest(
            namespace=house.client.namespace,
            activity_id=id,
            include_input=True,
            include_outcome=True,
        )
        kept = await house.client.workflow_service.describe_activity_execution(asked)
        assert len(kept.input.payloads) == 1
        stored = kept.SerializeToString()
        assert b"hunter2" not in stored and b"gh-token" not in stored
        assert b"hunter2-hunter2" in _xor(kept.input.payloads[0].data)

    house(tmp_path, act, Xor())


def test_arguments_that_are_too_large_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            answer = await executor.execute(ask(counted.tool, text="x" * 20_000))
            assert kind(answer) == "too_large"
            assert (
                answer.outcome
                and answer.outcome.failure
                and "the maximum is 10000" in answer.outcome.failure.message
            )
        assert counted.times == 0

    house(tmp_path, act)


def test_a_result_that_is_too_large_is_a_failure_that_says_so(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: "x" * 3_000_000)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor() as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "result_not_kept"
            assert (await executor.execute(ask(counted.tool))).replayed
        assert counted.times == 1

    house(tmp_path, act)


def test_what_temporal_itself_finds_too_large_was_not_run(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1)

    async def act(house: House) -> None:
        async with (
            house.worker(counted.tool),
            house.executor(max_payload_bytes=10_000_000) as executor,
        ):
            assert kind(await executor.execute(ask(counted.tool, text="x" * 3_000_000))) == "engine"
        assert counted.times == 0

    house(tmp_path, act)


# --- workers --------------------------------------------------------------------------------------


def test_a_tool_that_the_worker_does_not_have_was_not_run_and_may_be_later(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1)
    other = runnable(counted.tool.body, "Other.Tool@1.0.0")

    async def act(house: House) -> None:
        async with house.executor() as executor:
            async with house.worker(other):
                assert kind(await executor.execute(ask(counted.tool))) == "engine"
            async with house.worker(counted.tool):
                assert await execute_call(executor, ask(counted.tool)) == ("done", 1, 2)

    house(tmp_path, act)


def test_a_call_that_no_worker_took_in_time_was_not_run_and_may_be_later(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1)

    async def act(house: House) -> None:
        async with house.executor(worker_timeout=1.0) as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "busy"
            async with house.worker(counted.tool):
                assert await execute_call(executor, ask(counted.tool)) == ("done", 1, 2)

    house(tmp_path, act)


def test_a_tool_that_blocks_its_event_loop_does_not_look_dead(tmp_path: Path) -> None:
    def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        time.sleep(3)
        return "slept"

    counted = CountingBody(body)

    async def act(house: House) -> None:
        async with house.worker(counted.tool), house.executor(heartbeat_timeout=1.0) as executor:
            assert await execute_call(executor, ask(counted.tool)) == ("done", "slept", 1)

    house(tmp_path, act)


def test_the_outcome_of_a_call_whose_worker_was_shut_down_in_the_middle_of_it_is_unknown(
    tmp_path: Path,
) -> None:
    began = asyncio.Event()

    async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
        loop.call_soon_threadsafe(began.set)
        return await asyncio.sleep(60, "slept")

    counted = CountingBody(body)
    loop: asyncio.AbstractEventLoop

    async def act(house: House) -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        async with house.executor() as executor:
            async with house.worker(counted.tool, shutdown_timeout=0.0):
                call = asyncio.create_task(executor.execute(ask(counted.tool)))
                await began.wait()
            assert (await call).state == "lost"
            assert (await executor.execute(ask(counted.tool))).state == "lost"
        assert counted.times == 1

    house(tmp_path, act)


def test_a_transactional_tool_is_no_tool_for_a_worker(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1, on_crash="transactional")

    async def act(house: House) -> None:
        with pytest.raises(ToolDefinitionError, match="transactional"):
            house.worker(counted.tool)
        async with house.executor() as executor:
            assert kind(await executor.execute(ask(counted.tool))) == "engine"

    house(tmp_path, act)


# --- servers that stop, records that outlive what Temporal knows ----------------------------------


def test_a_server_that_stops_leaves_its_calls_to_the_next_one(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: asyncio.sleep(1.0, "slept"))

    async def act(house: House) -> None:
        async with house.worker(counted.tool):
            async with house.executor() as executor:
                call = asyncio.create_task(executor.execute(ask(counted.tool)))
                while not counted.times:
                    await asyncio.sleep(0.02)
                await executor.drain(0.0)
                assert (await call).state == "running"
            async with house.executor() as executor:
                assert await execute_call(executor, ask(counted.tool)) == ("done", "slept", 1)
        assert counted.times == 1

    house(tmp_path, act)


async def _begin_and_leave(house: House, counted: CountingBody) -> None:
    """Leave a call that has run and whose end no server knows."""
    async with house.worker(counted.tool):
        async with house.executor() as executor:
            call = asyncio.create_task(executor.execute(ask(counted.tool)))
            while not counted.times:
                await asyncio.sleep(0.02)
            await executor.drain(0.0)
            assert (await call).state == "running"
        await house.client.get_activity_handle(house.id()).result()


@pytest.mark.parametrize("days", [0.95, 40])
def test_a_call_that_temporal_has_forgotten_is_lost_and_not_run_again(
    tmp_path: Path, days: float
) -> None:
    counted = CountingBody(lambda arguments, context: asyncio.sleep(0.5))

    async def act(house: House) -> None:
        await _begin_and_leave(house, counted)
        forget = DeleteActivityExecutionRequest(
            namespace=house.client.namespace, activity_id=house.id()
        )
        await house.client.workflow_service.delete_activity_execution(forget)
        await _until_forgotten(house)
        later = time.time() + days * 86400  # the namespace keeps what has ended for a day
        async with house.worker(counted.tool), house.executor(clock=lambda: later) as executor:
            assert (await executor.execute(ask(counted.tool))).state == "lost"
            assert (await executor.execute(ask(counted.tool))).state == "lost"
        assert counted.times == 1

    house(tmp_path, act)


async def _until_forgotten(house: House) -> None:
    with pytest.raises(Exception, match="not found"):
        while True:
            await house.client.get_activity_handle(house.id()).describe()
            await asyncio.sleep(0.1)


def test_a_call_that_is_old_gets_its_result_as_long_as_temporal_has_it(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: asyncio.sleep(0.5, "kept"))

    async def act(house: House) -> None:
        await _begin_and_leave(house, counted)
        async with house.executor(clock=lambda: time.time() + 40 * 86400) as executor:
            assert await execute_call(executor, ask(counted.tool)) == ("done", "kept", 1)
        assert counted.times == 1

    house(tmp_path, act)


def test_a_call_that_was_lost_before_the_engine_was_used_is_not_begun_on_it(tmp_path: Path) -> None:
    counted = CountingBody(lambda arguments, context: 1)

    async def act(house: House) -> None:
        before = SqliteLedger(tmp_path / "ledger.db")
        await before.open()
        first = ToolExecutor(before)
        hanging = runnable(lambda arguments, context: asyncio.sleep(60))
        call = asyncio.create_task(first.execute(ask(hanging)))
        while await before.get(key_of("p", None, "c")) is None:
            await asyncio.sleep(0.02)
        await before.close()  # as a crash leaves it
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        async with house.worker(counted.tool), house.executor() as executor:
            assert (await executor.execute(ask(counted.tool))).state == "lost"
        assert counted.times == 0
        first_left = [flight.task for flight in first._in_progress if flight.task is not None]
        for task in first_left:
            task.cancel()
        await asyncio.gather(*first_left, return_exceptions=True)

    house(tmp_path, act)


def test_another_ledger_in_the_same_namespace_does_not_get_the_result_of_a_different_call(
    tmp_path: Path,
) -> None:
    counted = CountingBody(lambda arguments, context: arguments["n"])

    async def act(house: House) -> None:
        async with house.worker(counted.tool):
            async with house.executor() as executor:
                assert await execute_call(executor, ask(counted.tool, n=1)) == ("done", 1, 1)
            house.folder = tmp_path / "other"
            house.folder.mkdir()
            async with house.executor() as executor:
                assert (await executor.execute(ask(counted.tool, n=2))).state == "lost"
        assert counted.times == 1

    house(tmp_path, act)


def test_no_two_calls_have_one_activity_id() -> None:
    keys = [
        ("a:b", "c"),
        ("a", "b:c"),
        ("a", "b"),
        ("a%3Ab", "c"),
        ("a", "b:2"),
        ("a", "\ud800"),
        ("é", "x"),
        ("a" * 2000, "b"),
    ]
    keys += [("a" * 2000, "c"), ("s/a", "b"), ("1:p", "x:y"), ("1:p:x", "y")]
    ids = [
        activity_id(Claim("new", CallKey(tenant, call_id), b"", attempt), scope)
        for tenant, call_id in keys
        for attempt in (1, 2)
        for scope in ("", "s")
    ]
    assert len(set(ids)) == len(ids)
    assert all(len(id) < 1000 and id.isascii() for id in ids)
    assert activity_id(Claim("new", key_of("p", None, "call-1"), b"")) == "1%3Ap:call-1"
