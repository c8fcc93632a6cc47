"""Functions that block: they run in threads, with the context of their call, and do not block each
other.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar

import pytest
from runnables import CountingBody, runnable, tool_call

from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.local_runner import LocalRunner
from toolwire.execution.thread_pool import ThreadPool
from toolwire.execution.tool_call import ToolCallResult
from toolwire.tools.runnable import ToolContext

WHO: ContextVar[str] = ContextVar("WHO", default="unset")


def kind_of(answer: ToolCallResult) -> str | None:
    assert answer.outcome is not None
    return None if answer.outcome.failure is None else answer.outcome.failure.kind


class Blocking:
    """A function that blocks until it is released, and counts how many calls block at once."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.now = self.most = self.runs = 0
        self.lock = threading.Lock()

    def __call__(self, arguments: Mapping[str, object], context: ToolContext) -> object:
        with self.lock:
            self.runs += 1
            self.now += 1
            self.most = max(self.most, self.now)
        self.free.wait(30)
        with self.lock:
            self.now -= 1
        return threading.current_thread().name


@pytest.mark.parametrize("call_id", ["c1", None])
@pytest.mark.parametrize("is_async", [True, False])
def test_context_variables_of_the_caller_are_seen_by_the_body(
    is_async: bool, call_id: str | None
) -> None:
    async def main() -> None:
        def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            assert (threading.current_thread() is threading.main_thread()) == is_async
            return WHO.get()

        WHO.set("alice")
        async with ToolExecutor() as executor:
            answer = await executor.execute(tool_call(runnable(body, is_async=is_async), call_id))
        assert answer.outcome is not None and answer.outcome.value == "alice"

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [True, False])
def test_no_more_run_at_once_than_a_tool_allows_and_the_rest_wait(is_async: bool) -> None:
    async def main() -> None:
        now = most = 0

        async def later(arguments: Mapping[str, object], context: ToolContext) -> object:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.005)
            now -= 1
            return 1

        blocking = Blocking()
        blocking.free.set()
        tool = runnable(later if is_async else blocking, is_async=is_async, concurrency=3)
        async with ToolExecutor() as executor:
            answers = await asyncio.gather(
                *(executor.execute(tool_call(tool, f"c{n}")) for n in range(12))
            )
        assert {answer.state for answer in answers} == {"done"}
        assert (most if is_async else blocking.most) <= 3

    asyncio.run(main())


def test_a_tool_that_hangs_leaves_the_others_alone() -> None:
    async def main() -> None:
        hangs, fine = Blocking(), Blocking()
        fine.free.set()
        hanging = runnable(hangs, "Test.Hangs@1.0.0", is_async=False, timeout=0.05)
        async with ToolExecutor(
            runner=LocalRunner(threads=4, per_tool=2, slot_timeout=0.2)
        ) as executor:
            dead = await asyncio.gather(
                *(executor.execute(tool_call(hanging, f"h{n}")) for n in range(6))
            )
            assert sorted(str(kind_of(answer)) for answer in dead) == ["busy"] * 4 + ["timeout"] * 2
            for answer in dead:
                known = await executor.ledger.get(key_of("p", None, answer.call_id))
                assert (known is None) == (kind_of(answer) == "busy")
            for n in range(4):
                assert (
                    await executor.execute(tool_call(runnable(fine, is_async=False), f"f{n}"))
                ).state == "done"
            hangs.free.set()
            while hangs.now:
                await asyncio.sleep(0.005)
            busy = next(answer.call_id for answer in dead if kind_of(answer) == "busy")
            patient = runnable(hangs, "Test.Hangs@1.0.0", is_async=False)
            assert (
                await executor.execute(tool_call(patient, busy))
            ).state == "done"  # room again, and the same id may come

    asyncio.run(main())


def test_all_threads_together_are_bounded() -> None:
    async def main() -> None:
        hangs = Blocking()
        async with ToolExecutor(
            runner=LocalRunner(threads=3, per_tool=2, slot_timeout=0.1)
        ) as executor:
            many = [
                asyncio.create_task(
                    executor.execute(
                        tool_call(runnable(hangs, f"Test.T{n % 3}@1.0.0", is_async=False), f"c{n}")
                    )
                )
                for n in range(6)
            ]
            while sum(task.done() for task in many) < 3 or hangs.most < 3:
                await asyncio.sleep(0.005)
            assert hangs.most == 3
            assert (
                await executor.execute(tool_call(runnable(CountingBody()), "free"))
            ).state == "done"  # async tools need no thread
            hangs.free.set()
            kinds = [kind_of(answer) for answer in await asyncio.gather(*many)]
        assert kinds.count("busy") == 3 and kinds.count(None) == 3

    asyncio.run(main())


def test_threads_are_used_again() -> None:
    pool = ThreadPool("used-again")
    names: set[int] = set()
    for _ in range(20):
        pool.start(lambda: names.add(threading.get_ident()))
        until = time.monotonic() + 60
        while not pool._idle and time.monotonic() < until:
            time.sleep(0.001)
    assert len(names) == 1


def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.execution.thread_pool.IDLE", 0.01)
    pool = ThreadPool("short-lived")
    for _ in range(50):
        ran = threading.Event()
        pool.start(ran.set)
        assert ran.wait(10)
    for thread in [one for one in threading.enumerate() if one.name == "short-lived"]:
        thread.join(10)
        assert not thread.is_alive()


def test_a_hanging_thread_does_not_keep_the_process_alive() -> None:
    code = (
        "import threading; from toolwire.execution.thread_pool import ThreadPool\n"
        "begun = threading.Event()\n"
        "ThreadPool().start(lambda: (begun.set(), threading.Event().wait()))\n"
        "begun.wait()"
    )
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)
