"""The PostgreSQL ledger when replicas are killed or stopped, and when the database is unavailable:
at most one effect for a call, and nothing that was acknowledged is lost. A few rounds in every run,
many with TOOLWIRE_DEEP=1."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, get_args

import postgres
import psycopg
import pytest
from cases import DEEP
from ledger.test_postgres import set_timeout
from ledger_pg_child import Instructions, Replica, bell, call_of, count_effects, report_of
from postgres_proxy import How, Proxy
from runnables import runnable

from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim, LedgerUnavailable, Outcome
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.tools.runnable import OnCrash, ToolContext

T = TypeVar("T")
DONE = Outcome({"rang": True})
LONG = 30.0
"""A timeout in seconds that is never reached, however busy the machine is."""
POINTS = (
    "before claim",
    "after claim",
    "in body",
    "after effect",
    "before commit",
    "after commit",
    "after record",
)
PLACES = "ABBCCDD"
# A: nothing claimed. B: claimed, no effect. C: an effect, no record. D: recorded, no answer sent.
AFTER: dict[OnCrash, dict[str, tuple[str, int]]] = {
    "report": {"A": ("done", 1), "B": ("lost", 0), "C": ("lost", 1), "D": ("done", 1)},
    "retry": {"A": ("done", 1), "B": ("done", 1), "C": ("done", 2), "D": ("done", 1)},
    "probe": {"A": ("done", 1), "B": ("done", 1), "C": ("done", 1), "D": ("done", 1)},
    "transactional": {"A": ("done", 1), "B": ("done", 1), "C": ("done", 1), "D": ("done", 1)},
}
"""The state of the repeated call, and how often its effect has happened by then."""


def run(work: Coroutine[object, object, T]) -> T:
    async def soon() -> T:
        return await asyncio.wait_for(work, 1200 if DEEP else 300)

    return asyncio.run(soon())


@pytest.fixture
def orders(tmp_path: Path) -> Instructions:
    dsn = postgres.database()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE effect(call_id text)")
    return Instructions(dsn, str(tmp_path / "effects"))


def with_changes(orders: Instructions, **changes: object) -> Instructions:
    return Instructions(
        **{name: getattr(orders, name) for name in orders.__struct_fields__} | changes
    )


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


@pytest.fixture
def own() -> Iterator[postgres.PostgresServer]:
    """A server that may be killed."""
    server = postgres.PostgresServer()
    try:
        yield server
    finally:
        server.remove()


# --- replicas that die ----------------------------------------------------------------------------


@pytest.mark.parametrize("on_crash", AFTER)
def test_a_call_of_a_killed_replica_ends_by_the_crash_policy_of_its_tool(
    orders: Instructions, on_crash: OnCrash
) -> None:
    replicas = [
        Replica(with_changes(orders, on_crash=on_crash, die=point, ids=(point.replace(" ", "-"),)))
        for point in POINTS
    ]
    for replica in replicas:
        assert replica.rest() == [], "it was to die before it could answer"
        assert replica.died

    async def again() -> dict[str, tuple[str, int]]:
        mine = with_changes(orders, on_crash=on_crash)
        async with ToolExecutor(mine.ledger()) as executor:
            ids = [point.replace(" ", "-") for point in POINTS]
            answers = await asyncio.gather(
                *(executor.execute(call_of(bell(mine), id)) for id in ids)
            )
            replayed = await asyncio.gather(
                *(executor.execute(call_of(bell(mine), id)) for id in ids)
            )
        assert [report_of(one) for one in replayed] == [report_of(one) for one in answers]
        rung = count_effects(orders.effects) + Counter(
            str(id) for (id,) in rows(orders.dsn, "SELECT call_id FROM effect")
        )
        return {
            point: (answer.state, rung[id])
            for point, id, answer in zip(POINTS, ids, answers, strict=True)
        }

    assert run(again()) == {
        point: AFTER[on_crash][place] for point, place in zip(POINTS, PLACES, strict=True)
    }


@pytest.mark.parametrize("count", [1, 200 if DEEP else 20])
def test_a_storm_of_duplicates_from_four_processes_has_one_effect_for_each_id(
    orders: Instructions, count: int
) -> None:
    ids = tuple(f"call-{n}" for n in range(count))
    tasks = 50 if DEEP or count == 1 else 10
    replicas = [
        Replica(
            with_changes(orders, act="storm", ids=ids, tasks=tasks, seed=seed * 1000, lease=30.0)
        )
        for seed in range(4)
    ]
    reports = [report for replica in replicas for report in replica.rest()]
    assert {(report.call_id, report.state, report.value) for report in reports} == {
        (id, "done", str({"rang": id})) for id in ids
    }
    assert count_effects(orders.effects) == Counter(ids)


def test_replicas_killed_at_random_never_ring_twice_and_forget_nothing_they_acknowledged(
    orders: Instructions,
) -> None:
    ids = tuple(f"call-{n}" for n in range(3000 if DEEP else 300))
    dice = random.Random(7)
    reports = []

    def another() -> Replica:
        return Replica(with_changes(orders, act="many", ids=ids, seed=dice.randrange(1 << 30)))

    alive = [another() for _ in range(3)]
    for _ in range(30 if DEEP else 8):
        victim = alive.pop(0)
        if victim.ear.poll(30):
            time.sleep(dice.random() * 0.1)
        victim.kill()
        reports += victim.rest()
        alive.append(another())
    for replica in alive:
        reports += replica.rest()

    async def after() -> None:
        async with ToolExecutor(orders.ledger()) as executor:
            answers = await asyncio.gather(
                *(executor.execute(call_of(bell(orders), id)) for id in ids)
            )
        states = {
            answer.call_id: (answer.state, answer.outcome and answer.outcome.value)
            for answer in answers
        }
        assert {state for state, _ in states.values()} <= {"done", "lost"}
        for report in reports:
            if report.state == "done":
                assert states[report.call_id] == ("done", report.value), (
                    "an acknowledged result is gone"
                )

    run(after())
    assert max(count_effects(orders.effects).values()) == 1
    assert rows(orders.dsn, "SELECT count(*) FROM tw_call WHERE state = 'running'") == [(0,)]


@pytest.mark.parametrize("on_crash", ["report", "retry"])
def test_an_owner_paused_past_its_lease_records_its_result_unless_the_call_ran_again(
    orders: Instructions, on_crash: OnCrash
) -> None:
    orders = with_changes(orders, on_crash=on_crash)
    sleeper = Replica(with_changes(orders, act="pause_after_effect"))
    assert sleeper.hear().state == "effect"

    async def meanwhile() -> None:
        async with ToolExecutor(orders.ledger()) as executor:
            answer = report_of(await executor.execute(call_of(bell(orders), "call-1")))
            assert (answer.state, answer.attempt) == (
                ("lost", 1) if on_crash == "report" else ("done", 2)
            )
            os.kill(sleeper.pid, signal.SIGCONT)
            (woken,) = await asyncio.to_thread(sleeper.rest)
            later = report_of(await executor.execute(call_of(bell(orders), "call-1")))
            assert (later.state, later.value) == ("done", {"rang": "call-1"})
            assert (woken.state, woken.value) == ("done", {"rang": "call-1"})
            assert later.attempt == answer.attempt

    run(meanwhile())
    assert count_effects(orders.effects) == {"call-1": 1 if on_crash == "report" else 2}


def test_two_replicas_that_batch_the_same_ids_in_any_order_never_deadlock(
    orders: Instructions,
) -> None:
    for turn in range(20 if DEEP else 2):
        ids = tuple(f"{turn}-{n}" for n in range(500))
        pair = [
            Replica(
                with_changes(orders, act="many", ids=ids, tasks=250, seed=turn * 2 + n, lease=30.0)
            )
            for n in (0, 1)
        ]
        for replica in pair:
            assert {report.state for report in replica.rest()} == {"done"}
    assert set(count_effects(orders.effects).values()) == {1}
    assert rows(
        orders.dsn, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ) == [(0,)]


# --- responses that are lost ----------------------------------------------------------------------


@asynccontextmanager
async def behind_a_door(**options: float) -> AsyncIterator[tuple[PostgresLedger, Proxy]]:
    schema = postgres.fresh()
    with TemporaryDirectory(prefix="twpx-", dir="/tmp") as folder:
        async with Proxy(Path(folder), postgres.server().socket_file) as proxy:
            ledger = PostgresLedger(proxy.dsn, schema=schema, **options)  # type: ignore[arg-type]
            await ledger.open()
            try:
                yield ledger, proxy
            finally:
                await ledger.close()


async def claim(
    ledger: PostgresLedger, id: str = "call-1", *, on_crash: OnCrash = "report"
) -> Claim:
    return await ledger.claim(
        CallKey("p", id), b"f" * 32, tool="T.T@1.0.0", on_crash=on_crash, token=os.urandom(16)
    )


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.parametrize("count", [1, 30])
def test_a_claim_whose_commit_got_no_response_is_recognised_by_its_token(
    how: How, count: int
) -> None:
    async def work() -> None:
        async with behind_a_door() as (ledger, proxy):
            proxy.cut(b"INSERT INTO", how)
            claims = await asyncio.gather(*(claim(ledger, f"call-{n}") for n in range(count)))
            assert proxy.cuts == 1
            assert {(one.state, one.attempt) for one in claims} == {("new", 1)}
            assert (await claim(ledger, "call-0")).state == "running"

    run(work())


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.parametrize("count", [1, 30])
def test_a_result_whose_commit_was_not_answered_is_recorded_once(how: How, count: int) -> None:
    async def work() -> None:
        async with behind_a_door() as (ledger, proxy):
            claims = await asyncio.gather(*(claim(ledger, f"call-{n}") for n in range(count)))
            proxy.cut(b"UPDATE", how)
            ends = await asyncio.gather(*(ledger.finish(one, DONE) for one in claims))
            assert proxy.cuts == 1
            assert set(ends) == {"recorded"}
            assert (
                record := await ledger.get(claims[-1].key)
            ) is not None and record.outcome == DONE

    run(work())


@pytest.mark.parametrize("how", get_args(How))
def test_a_transaction_whose_commit_was_not_answered_is_done_or_free_never_both(how: How) -> None:
    async def work() -> None:
        async with behind_a_door() as (ledger, proxy):
            table = f"{ledger._sql.schema}.effect"
            rows_of = f"SELECT count(*) FROM {table}"
            with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
                connection.execute(f"CREATE TABLE {table}(n int)".encode())
            mine = await claim(ledger, on_crash="transactional")
            try:
                async with ledger.transaction(mine) as scope:
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (1)")
                    proxy.cut(b"COMMIT", how)
                    assert await scope.finish(DONE) == "recorded"
                assert how != "never sent"
            except LedgerUnavailable:
                assert how != "answered"
                again = await claim(ledger, on_crash="transactional")
                assert (again.state, again.attempt) == ("new", 2)
                async with ledger.transaction(again) as scope:
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (1)")
                    assert await scope.finish(DONE) == "recorded"
            assert proxy.cuts == 1
            assert rows(postgres.dsn(), rows_of) == [(1,)]
            assert (record := await ledger.get(mine.key)) is not None and record.state == "done"

    run(work())


# --- a database that is unavailable ---------------------------------------------------------------


class Load:
    """Callers on two replicas that repeat each call until it has a result, and count the effects."""

    def __init__(self, dsn: str, *, lease: float = 30.0) -> None:
        self.ledgers = [PostgresLedger(dsn, lease=lease, timeout=1.0) for _ in range(2)]
        self.rung: Counter[str] = Counter()
        self.answers: dict[str, str] = {}
        self.over = False
        self.tool = runnable(self._ring, "Doorbell.Ring@1.0.0")

    async def _ring(self, arguments: Mapping[str, object], context: ToolContext) -> object:
        self.rung[context.call_id] += 1
        return {"rang": context.call_id}

    async def __aenter__(self) -> Load:
        self._executors = [ToolExecutor(ledger) for ledger in self.ledgers]
        for executor in self._executors:
            await executor.open()
        self._callers = [asyncio.create_task(self._caller(n)) for n in range(40)]
        return self

    async def _caller(self, n: int) -> None:
        turn = 0
        while not self.over:
            turn += 1
            id = f"{n // 2}-{turn}"  # two ask for the same, each at another replica
            while (
                answer := await self._executors[n % 2].execute(call_of(self.tool, id))
            ).state in ("unavailable", "running"):
                await asyncio.sleep(0.01)
            self.answers[id] = answer.state

    async def __aexit__(self, *exc: object) -> None:
        self.over = True
        await asyncio.gather(*self._callers)
        for ledger in self.ledgers:
            set_timeout(ledger, LONG)
        again = await asyncio.gather(
            *(self._executors[0].execute(call_of(self.tool, id)) for id in self.answers)
        )
        for executor in self._executors:
            await executor.close()
        assert set(self.answers.values()) == {"done"}
        assert {(one.state, one.replayed) for one in again} == {("done", True)}, (
            "an acknowledged result is gone"
        )
        assert max(self.rung.values()) == 1
        assert len(self.answers) > 40


async def wait_for_recovery(load: Load, more: int = 60) -> None:
    """Wait until calls succeed again."""
    goal = len(load.answers) + more
    end = time.monotonic() + LONG
    while len(load.answers) < goal:
        assert time.monotonic() < end, "it does not heal"
        await asyncio.sleep(0.02)


def restart(server: postgres.PostgresServer) -> None:
    server.stop()
    server.start()


def crash(server: postgres.PostgresServer) -> None:
    server.kill()
    server.start()


def kill_backends(server: postgres.PostgresServer) -> None:
    """Kill a backend, upon which the postmaster ends all backends and recovers."""
    for (pid,) in rows(
        server.dsn, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
    ):
        assert isinstance(pid, int)
        if pid in server.backends():
            os.kill(pid, signal.SIGKILL)
            break
    server.wait()


def terminate(server: postgres.PostgresServer) -> None:
    rows(
        server.dsn,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
    )


def test_calls_survive_restarts_crashes_and_lost_connections_of_the_database(
    own: postgres.PostgresServer,
) -> None:
    async def work() -> None:
        async with Load(own.dsn) as load:
            await wait_for_recovery(load)
            for fault in (restart, crash, kill_backends, terminate) * (5 if DEEP else 1):
                await asyncio.to_thread(fault, own)
                await wait_for_recovery(load)

    run(work())


def test_an_outage_longer_than_the_lease_stops_new_calls_and_runs_nothing_again(
    own: postgres.PostgresServer,
) -> None:
    lease = 3.0

    async def work() -> None:
        ledgers = [
            PostgresLedger(own.dsn, lease=lease, sweep_interval=lease / 4, timeout=LONG)
            for _ in range(2)
        ]
        for ledger in ledgers:
            await ledger.open()
        a, b = ledgers
        under_way = [await claim(a, "retried", on_crash="retry"), await claim(a, "reported")]
        await asyncio.to_thread(own.stop)
        for ledger in ledgers:
            set_timeout(ledger, 0.5)
        for turn in range(3):
            with pytest.raises(LedgerUnavailable):
                await claim(b, f"new-{turn}")
            await asyncio.sleep(lease / 2)
        with pytest.raises(LedgerUnavailable):
            await a.finish(under_way[1], DONE)
        known = await a.get(under_way[1].key)
        assert known is not None and (known.state, known.recorded) == ("done", False), (
            "told from memory meanwhile"
        )
        mine = await claim(a, "reported")
        assert mine.state == "done" and mine.record == known
        assert a._open is not None
        async with (
            a._open.heartbeat._lock
        ):  # a is cut off a little longer; b must not take it for dead
            await asyncio.to_thread(own.start)
            states: set[str] = set()
            end = time.monotonic() + lease * 0.6
            while time.monotonic() < end:
                try:
                    states.add((await claim(b, "retried", on_crash="retry")).state)
                except LedgerUnavailable:
                    states.add("unavailable")
                await asyncio.sleep(0.03)
        for ledger in ledgers:
            set_timeout(ledger, LONG)
        assert states <= {"running", "unavailable"} and "running" in states
        assert await a.finish(under_way[0], DONE) == "recorded"
        for id in ("retried", "reported"):
            record = await b.wait(CallKey("p", id), 20)
            assert record is not None and (record.state, record.attempt, record.recorded) == (
                "done",
                1,
                True,
            )
        assert (await claim(b, "new-0")).state == "new"
        for ledger in ledgers:
            await ledger.close()

    run(work())


FILL = """INSERT INTO tw_call(tenant, call_id, tool, fp, state, attempt, owner, token, on_crash, outcome)
SELECT 'fill', gen_random_uuid()::text::bytea, '', '', 'gone', 1, gen_random_uuid(), '', 'report', repeat('x', {size})::bytea
FROM generate_series(1, {count})"""


def fill(dsn: str) -> None:
    """Insert rows until the table is full."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE tw_call ALTER outcome SET STORAGE PLAIN")
        for size, count in ((7000, 200), (7000, 1), (500, 1), (1, 1)):
            with pytest.raises(psycopg.Error, match="File too large"):
                while True:
                    connection.execute(FILL.format(size=size, count=count).encode())
        connection.execute("ALTER TABLE tw_call ALTER outcome SET STORAGE EXTENDED")


def test_a_full_table_rejects_calls_and_recovers_without_a_restart() -> None:
    server = postgres.PostgresServer("autovacuum=off", largest=17 << 20)
    ran: list[str] = []

    async def ring(arguments: Mapping[str, object], context: ToolContext) -> object:
        ran.append(context.call_id)
        return True

    async def work() -> None:
        tool = runnable(ring, "Doorbell.Ring@1.0.0")
        ledger = PostgresLedger(server.dsn, timeout=LONG)
        async with ToolExecutor(ledger) as executor:
            mine = await asyncio.gather(*(claim(ledger, f"early-{n}") for n in range(8)))
            set_timeout(ledger, 0.5)
            await asyncio.to_thread(fill, server.dsn)
            refused = await asyncio.gather(
                *(executor.execute(call_of(tool, f"{n}")) for n in range(30))
            )
            assert {answer.state for answer in refused} == {"unavailable"}
            assert ran == []
            big = Outcome("x" * 1600)  # beyond 2 kB a row is compressed, or goes elsewhere
            ends = await asyncio.gather(
                *(ledger.finish(one, big) for one in mine), return_exceptions=True
            )
            late = [
                one.key
                for one, end in zip(mine, ends, strict=True)
                if isinstance(end, LedgerUnavailable)
            ]
            assert late, "eight times 1.6 kB do not fit into a page"
            known = [await ledger.get(key) for key in late]
            assert {(one.state, one.recorded) for one in known if one is not None} == {
                ("done", False)
            }
            rows(server.dsn, "DELETE FROM tw_call WHERE tenant = 'fill' RETURNING 1")
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute("VACUUM tw_call")
            for key in late:
                for _ in range(400):
                    record = await ledger.get(key)
                    if record is not None and record.recorded:
                        break
                    await asyncio.sleep(0.05)
                assert record is not None and (record.state, record.recorded) == ("done", True)
            set_timeout(ledger, LONG)
            answers = await asyncio.gather(
                *(executor.execute(call_of(tool, f"{n}")) for n in range(30))
            )
            assert {answer.state for answer in answers} == {"done"}
            assert sorted(ran) == sorted(f"{n}" for n in range(30))

    try:
        run(work())
    finally:
        server.remove()
