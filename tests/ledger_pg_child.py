"""Replicas that the fault tests of the PostgreSQL ledger kill and stop: processes that make calls
through a real `ToolExecutor`.

Forked from a process that has imported everything, so that a new one takes milliseconds. Effects are
lines of a file, each with an fsync, or rows of the database for a transactional tool, so that they
survive the process.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path

import pytest
from msgspec import Struct
from psycopg.rows import TupleRow
from runnables import runnable

from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Claim, Outcome
from toolwire.execution.ledger.postgres.connection import PgConnection
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.execution.ledger.postgres.transaction import PgTransactionScope
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext

LEASE = 1.0


class Instructions(Struct, frozen=True):
    """The task of a replica, and the point at which it dies."""

    dsn: str
    effects: str
    ids: tuple[str, ...] = ("call-1",)
    on_crash: OnCrash = "report"
    die: str = ""
    act: str = "call"
    tasks: int = 20
    seed: int = 0
    lease: float = LEASE

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.dsn, lease=self.lease, sweep_interval=self.lease / 2)


class Report(Struct, frozen=True):
    """The result of a call."""

    call_id: str
    state: str
    value: object = None
    attempt: int = 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def bell(orders: Instructions, *, inside: Callable[[ToolContext], None] | None = None) -> Runnable:
    """A tool whose effect can be counted from outside, and a probe that looks there. `inside` is
    called after the effect."""
    file = Path(orders.effects)

    async def ring(arguments: Mapping[str, object], context: ToolContext) -> object:
        if orders.die == "in body":
            die()
        if context.transaction is None:
            done = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(done, f"{context.call_id}\n".encode())
            os.fsync(done)
            os.close(done)
        else:
            await context.transaction.execute("INSERT INTO effect VALUES (%s)", [context.call_id])
        if orders.die == "after effect":
            die()
        if inside is not None:
            inside(context)
        return {"rang": context.call_id}

    def rang(arguments: Mapping[str, object], context: ToolContext) -> object:
        if file.exists() and context.call_id in file.read_text().split():
            return {"rang": context.call_id}
        raise NoEffect("the bell did not ring")

    return runnable(
        ring,
        "Doorbell.Ring@1.0.0",
        on_crash=orders.on_crash,
        probe=rang if orders.on_crash == "probe" else None,
    )


def report_of(answer: ToolCallResult) -> Report:
    return Report(
        answer.call_id, answer.state, answer.outcome and answer.outcome.value, answer.attempt
    )


def call_of(tool: Runnable, id: str) -> ToolCall:
    return ToolCall(tool=tool, input={"door": 1}, call_id=id, principal="p")


def arm(point: str) -> None:
    """Make the process die at one point of a call."""
    claim, finish, transact, run = (
        PostgresLedger.claim,
        PostgresLedger.finish,
        PgTransactionScope.finish,
        PgConnection.run,
    )

    async def deadly_claim(self: PostgresLedger, *args: object, **options: object) -> Claim:
        if point == "before claim":
            die()
        made = await claim(self, *args, **options)  # type: ignore[arg-type]
        if point == "after claim" and made.state == "new":
            die()
        return made

    async def deadly_run(
        self: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        if point == "before commit" and params.get("e_outcome") is not None:
            die()
        rows = await run(self, query, params)
        if point == "after commit" and params.get("e_outcome") is not None:
            die()
        return rows

    async def deadly_finish(self: PostgresLedger, made: Claim, outcome: Outcome) -> str:
        done = await finish(self, made, outcome)
        if point == "after record":
            die()
        return done

    async def deadly_transaction(self: PgTransactionScope, outcome: Outcome) -> str:
        if point == "before commit":
            die()
        done = await transact(self, outcome)
        if point in ("after commit", "after record"):
            die()
        return done

    PostgresLedger.claim = deadly_claim  # type: ignore[method-assign]
    PostgresLedger.finish = deadly_finish  # type: ignore[assignment, method-assign]
    PgTransactionScope.finish = deadly_transaction  # type: ignore[assignment, method-assign]
    PgConnection.run = deadly_run  # type: ignore[method-assign]


async def call(orders: Instructions, say: Connection) -> None:
    """Call each id once, one after the other."""
    arm(orders.die)
    async with ToolExecutor(orders.ledger()) as executor:
        for id in orders.ids:
            say.send(report_of(await executor.execute(call_of(bell(orders), id))))


async def many(orders: Instructions, say: Connection) -> None:
    """Call all ids in a random order, some at a time; report each result at once."""
    ids = list(orders.ids)
    random.Random(orders.seed).shuffle(ids)
    tool = bell(orders)
    async with ToolExecutor(orders.ledger()) as executor:

        async def caller() -> None:
            while ids:
                say.send(report_of(await executor.execute(call_of(tool, ids.pop()))))

        await asyncio.gather(*(caller() for _ in range(orders.tasks)))


async def storm(orders: Instructions, say: Connection) -> None:
    """Let every task call every id, each with its own executor on one ledger, so that duplicates are
    not joined in this process."""
    tool = bell(orders)
    ledger = orders.ledger()
    await ledger.open()

    async def caller(n: int) -> list[Report]:
        ids = list(orders.ids)
        random.Random(orders.seed + n).shuffle(ids)
        executor = ToolExecutor(ledger, sweep_interval=None)
        return [report_of(await executor.execute(call_of(tool, id))) for id in ids]

    answers = await asyncio.gather(*(caller(n) for n in range(orders.tasks)))
    for answer in {(one.call_id, one.state, str(one.value)) for part in answers for one in part}:
        say.send(Report(*answer))
    await ledger.close()


async def pause_after_effect(orders: Instructions, say: Connection) -> None:
    """Make one call that reports its effect and then pauses until it is woken."""

    def stop(context: ToolContext) -> None:
        say.send(Report(context.call_id, "effect"))
        os.kill(os.getpid(), signal.SIGSTOP)

    async with ToolExecutor(orders.ledger()) as executor:
        say.send(
            report_of(await executor.execute(call_of(bell(orders, inside=stop), orders.ids[0])))
        )


ACTS = {act.__name__: act for act in (call, many, storm, pause_after_effect)}


def play(orders: Instructions, say: Connection) -> None:
    asyncio.run(ACTS[orders.act](orders, say))
    say.close()


class Replica:
    """A replica in its own process."""

    def __init__(self, orders: Instructions) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(["ledger_pg_child"])
        with pytest.MonkeyPatch.context() as patch:  # what it imports, it finds here
            patch.setenv("PYTHONPATH", str(Path(__file__).parent))
            ensure_running()
        self.ear, mouth = context.Pipe(duplex=False)
        self._process: ForkServerProcess = context.Process(
            target=play, args=(orders, mouth), daemon=True
        )
        self._process.start()
        mouth.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def hear(self) -> Report:
        assert self.ear.poll(60), "a replica says nothing"
        said = self.ear.recv()
        assert isinstance(said, Report)
        return said

    def rest(self) -> list[Report]:
        """The remaining reports until the replica ends. One that was cut off by a kill is dropped."""
        heard = []
        try:
            while True:
                heard.append(self.hear())
        except (EOFError, OSError):
            pass
        self._process.join(60)
        self.ear.close()
        return heard

    @property
    def died(self) -> bool:
        return self._process.exitcode == -signal.SIGKILL

    def kill(self) -> None:
        self._process.kill()


def count_effects(effects: str) -> Counter[str]:
    """How often the effect of each call happened."""
    file = Path(effects)
    return Counter(file.read_text().split() if file.exists() else ())
