"""The process that the fault tests kill: it makes calls through a real `ToolExecutor`, and dies at a
given point.

Run as `python ledger_child.py '<Instructions as JSON>'`, or without an argument as a nursery: it
reads instructions line by line and forks a child for each, which saves the imports. A child writes
one JSON line for each result to `Instructions.out` at once. Effects are lines of a file, each with
an fsync, so that they survive the process.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from select import select
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from runnables import runnable

from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim, Ledger, Outcome, Record, Sweep
from toolwire.execution.ledger.sqlite.ledger import LedgerFileError, SqliteLedger
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext


class Instructions(Struct, frozen=True):
    """The task of a child."""

    ledger: str
    """`sqlite:<path>`, or the DSN of a PostgreSQL database."""
    effects: str
    act: str = "call"
    ids: list[str] = []
    on_crash: OnCrash = "report"
    die: str | None = None
    options: dict[str, float] = {}
    seed: int = 0
    out: str = ""
    """The file of its reports; the nursery writes the exit code next to it."""
    disk: str = ""
    """The folder whose files control the faults of the disk."""
    hooked: bool = False
    """True if the commit itself is made to fail, instead of fsync."""


class Report(Struct, frozen=True, omit_defaults=True):
    """A line of a child's output."""

    call_id: str = ""
    state: str = ""
    value: object = None
    attempt: int = 0
    recorded: bool = True
    replayed: bool = False
    note: str = ""


def say(said: Report) -> None:
    os.write(1, msgspec.json.encode(said) + b"\n")


def report_of(answer: ToolCallResult) -> Report:
    value = None if answer.outcome is None else answer.outcome.value
    if isinstance(value, list):  # with padding
        value = value[0]
    return Report(
        answer.call_id, answer.state, value, answer.attempt, answer.recorded, answer.replayed
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- the ledger, with points to die at ------------------------------------------------------------


def make(orders: Instructions) -> Ledger:
    """The ledger of a child."""
    if orders.ledger.startswith("sqlite:"):
        return SqliteLedger(orders.ledger.removeprefix("sqlite:"), **orders.options)  # type: ignore[arg-type]
    from toolwire.execution.ledger.postgres.ledger import PostgresLedger

    return PostgresLedger(orders.ledger, **orders.options)  # type: ignore[arg-type]


def arm_sqlite(point: str) -> None:
    """Make the commit of a finish kill the process: before it, or after it."""
    commit = SqliteStore.commit

    def dying(self: SqliteStore) -> None:
        if point == "before commit":
            die()
        commit(self)
        die()

    SqliteStore.commit = dying  # type: ignore[method-assign]


ARMS: dict[str, Callable[[str], None]] = {"SqliteLedger": arm_sqlite}
"""By class of the ledger, the function that makes its next commit deadly. A kind without one cannot
be killed there."""


class Deadly:
    """A ledger that kills the process at one point."""

    def __init__(self, inner: Ledger, point: str | None) -> None:
        self.inner = inner
        self.point = point

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)  # a ledger with transactions keeps them

    def at(self, point: str) -> None:
        if self.point == point:
            die()

    @property
    def key(self) -> bytes:
        return self.inner.key

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        self.at("before claim")
        claim = await self.inner.claim(key, fp, tool=tool, on_crash=on_crash, token=token)
        if claim.state == "new":
            self.at("after claim")
        return claim

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        if self.point in ("before commit", "after commit"):
            ARMS[type(self.inner).__name__](self.point)
        done = await self.inner.finish(claim, outcome)
        self.at("after record")
        return done

    async def release(self, claim: Claim) -> None:
        await self.inner.release(claim)

    async def lose(self, claim: Claim) -> None:
        await self.inner.lose(claim)

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        return await self.inner.wait(key, timeout)

    async def get(self, key: CallKey) -> Record | None:
        return await self.inner.get(key)

    async def sweep(self) -> Sweep:
        return await self.inner.sweep()


# --- the tool -------------------------------------------------------------------------------------


def bell(orders: Instructions) -> Runnable:
    """A tool with an effect that can be counted from outside, and a probe that looks there."""
    file = Path(orders.effects)

    async def ring(arguments: Mapping[str, object], context: ToolContext) -> object:
        if orders.die == "in body":
            die()
        done = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(done, f"{context.call_id}\n".encode())
            os.fsync(done)
        finally:
            os.close(done)
        if orders.die == "after effect":
            die()
        await asyncio.sleep(0)
        return {"rang": context.call_id, "attempt": context.attempt}

    def rang(arguments: Mapping[str, object], context: ToolContext) -> object:
        if file.exists() and context.call_id in file.read_text().split():
            return {"rang": context.call_id, "attempt": context.attempt}
        raise NoEffect("the bell did not ring")

    return runnable(
        ring,
        "Doorbell.Ring@1.0.0",
        on_crash=orders.on_crash,
        probe=rang if orders.on_crash == "probe" else None,
    )


@asynccontextmanager
async def ready(
    orders: Instructions,
) -> AsyncIterator[tuple[ToolExecutor, Callable[[str], ToolCall]]]:
    """The executor of a child, and a function that makes a call."""
    tool = bell(orders)
    async with ToolExecutor(Deadly(make(orders), orders.die)) as executor:
        yield executor, lambda id: ToolCall(tool=tool, input={"door": 1}, call_id=id, principal="p")


# --- acts -----------------------------------------------------------------------------------------


async def call(orders: Instructions) -> None:
    """Call each id once, one after the other."""
    async with ready(orders) as (executor, ask):
        for id in orders.ids:
            say(report_of(await executor.execute(ask(id))))


async def many(orders: Instructions) -> None:
    """Call all ids in a random order, twenty at a time; report each result at once."""
    ids = orders.ids[:]
    random.Random(orders.seed).shuffle(ids)
    async with ready(orders) as (executor, ask):

        async def caller() -> None:
            while ids:
                say(report_of(await executor.execute(ask(ids.pop()))))

        await asyncio.gather(*(caller() for _ in range(20)))


async def hold(orders: Instructions) -> None:
    """Open the ledger, report that, and keep it open until killed."""
    async with ready(orders):
        say(Report(note="open"))
        await asyncio.sleep(600)


async def full(orders: Instructions) -> None:
    """Make calls while the disk is full, from the run of the first id's tool on, and after there is
    room again."""
    folder = Path(orders.effects).parent
    tool = bell(orders)

    def fill() -> None:
        most = max(file.stat().st_size for file in folder.glob("ledger.db*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    first, *others = orders.ids
    ask = ToolCall(
        tool=afterwards(tool, fill, padding=100_000),
        input={"door": 1},
        call_id=first,
        principal="p",
    )
    ledger = make(orders)
    async with ToolExecutor(ledger) as executor:
        for id in (first, first, *others):
            say(report_of(await executor.execute(replace(ask, call_id=id))))
        say(Report(note="room"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for _ in range(200):
            await asyncio.sleep(0.05)
            record = await ledger.get(key_of("p", None, first))
            if record is not None and record.recorded:
                break
        say(report_of(await executor.execute(ask)))
        for id in others:
            say(report_of(await executor.execute(replace(ask, tool=tool, call_id=id))))


def afterwards(tool: Runnable, work: Callable[[], None], *, padding: int = 0) -> Runnable:
    """A tool after whose effect something else happens, before its result is recorded."""
    body = tool.body

    async def longer(arguments: Mapping[str, object], context: ToolContext) -> object:
        done = body(arguments, context)
        value = await done if isinstance(done, Awaitable) else done
        work()
        return [value, "x" * padding]

    return replace(tool, body=longer)


async def sick(orders: Instructions) -> None:
    """Call the first id, the second one with an fsync that fails, then all with a disk that works
    again."""
    async with ready(orders) as (executor, ask):
        first, second, *others = orders.ids
        say(report_of(await executor.execute(ask(first))))
        Path(orders.disk, "fail").touch()
        say(report_of(await executor.execute(ask(second))))
        Path(orders.disk, "fail").unlink()
        for id in (*others, second, first):
            say(report_of(await executor.execute(ask(id))))


async def sick_at_the_end(orders: Instructions) -> None:
    """Let fsync fail when a result is recorded; then kill the process."""
    tool = afterwards(bell(orders), Path(orders.disk, "fail").touch)
    executor = ToolExecutor(make(orders))
    await executor.open()
    first, second = orders.ids
    for id in (first, first, second):
        say(
            report_of(
                await executor.execute(
                    ToolCall(tool=tool, input={"door": 1}, call_id=id, principal="p")
                )
            )
        )
    die()


async def crowd(orders: Instructions) -> None:
    """Call all ids at once, on a slow disk that counts fsyncs; report the number of batches."""
    ledger = SqliteLedger(orders.ledger.removeprefix("sqlite:"))

    async def nothing(arguments: Mapping[str, object], context: ToolContext) -> object:
        return context.call_id

    tool = runnable(nothing, "Nothing.Do@1.0.0")
    async with ToolExecutor(ledger) as executor:
        count = Path(orders.disk, "count")
        count.touch()
        writer = ledger._writer
        assert writer is not None
        before = writer.batches
        asks = [
            ToolCall(tool=tool, input={"door": 1}, call_id=id, principal="p") for id in orders.ids
        ]
        for answer in await asyncio.gather(*(executor.execute(one) for one in asks)):
            say(report_of(answer))
        say(Report(note="batches", value=[writer.batches - before, count.stat().st_size]))


def hook_disk(folder: Path) -> None:
    """Make commits fail by the files of a folder, where fsync itself cannot be made to fail."""
    commit = SqliteStore.commit

    def faulty(self: SqliteStore) -> None:
        if self._writing:
            if (folder / "fail").exists():
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise error
            if (folder / "delay").exists():
                time.sleep(float((folder / "delay").read_text()) / 1000)
            if (folder / "count").exists():
                with (folder / "count").open("a") as file:
                    file.write(".")
        commit(self)

    SqliteStore.commit = faulty  # type: ignore[method-assign]


ACTS = {one.__name__: one for one in (call, many, hold, full, sick, sick_at_the_end, crowd)}


def obey(orders: Instructions) -> None:
    """Follow the instructions, with the output going to their file."""
    out = os.open(orders.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    if orders.hooked:
        hook_disk(Path(orders.disk))
    try:
        asyncio.run(ACTS[orders.act](orders))
    except LedgerFileError as error:
        say(Report(note=str(error)))


def nursery() -> None:
    """Fork a child for each line of orders, until there are no more. Prints the process
    id of each.
    """
    with suppress(ImportError):
        import_module("toolwire.execution.ledger.postgres.ledger")
    outs: dict[int, str] = {}

    def reap() -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                code = Path(f"{outs.pop(pid)}.code")
                code.with_suffix(".part").write_text(str(os.waitstatus_to_exitcode(status)))
                code.with_suffix(".part").rename(code)

    while True:
        while not select([0], [], [], 0.005)[0]:
            reap()
        line = sys.stdin.buffer.readline()
        if not line:
            return
        orders = msgspec.json.decode(line, type=Instructions)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                obey(orders)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        outs[pid] = orders.out
        os.write(1, f"{pid}\n".encode())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        obey(msgspec.json.decode(sys.argv[1], type=Instructions))
    else:
        nursery()
