"""Behaviour of the PostgreSQL ledger alone: several replicas, batches, leases, notifications,
transactions."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import postgres
import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import (
    CallKey,
    Claim,
    Failure,
    Ledger,
    LedgerUnavailable,
    Outcome,
    Transactions,
)
from toolwire.execution.ledger.postgres import connection as _pg_link
from toolwire.execution.ledger.postgres import notifications as _pg_watch
from toolwire.execution.ledger.postgres.binary import Bytes, Ints, Longs, Texts, notification_name
from toolwire.execution.ledger.postgres.connection import PgConnection, connect
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.execution.ledger.postgres.sql import CHANNEL
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import OnCrash

T = TypeVar("T")
KEY = CallKey("alice", "call-1")
DONE = Outcome({"rang": True})
LINK_RUN = PgConnection.run
LONG = 30.0
"""A timeout in seconds that is never reached, however busy the machine is."""


def run(work: Coroutine[object, object, T]) -> T:
    async def soon() -> T:
        return await asyncio.wait_for(work, 10 * LONG)

    return asyncio.run(soon())


def keys(count: int) -> list[CallKey]:
    return [CallKey("alice", f"call-{n}") for n in range(count)]


async def claim(
    ledger: Ledger, key: CallKey = KEY, *, on_crash: OnCrash = "report", by: bytes | None = None
) -> Claim:
    return await ledger.claim(
        key, b"f" * 32, tool="Doorbell.Ring@1.0.0", on_crash=on_crash, token=by or os.urandom(16)
    )


@asynccontextmanager
async def replicas(
    count: int = 2, schema: str | None = None, **options: float
) -> AsyncIterator[list[PostgresLedger]]:
    schema = schema or postgres.fresh()
    ledgers = [PostgresLedger(postgres.dsn(), schema=schema, **options) for _ in range(count)]  # type: ignore[arg-type]
    await asyncio.gather(*(ledger.open() for ledger in ledgers))
    try:
        yield ledgers
    finally:
        await asyncio.gather(*(ledger.close() for ledger in ledgers))


async def sql(query: str, *params: object) -> list[TupleRow]:
    async with await AsyncConnection.connect(postgres.dsn(), autocommit=True) as connection:
        cursor = await connection.execute(query.encode(), params)
        return await cursor.fetchall() if cursor.description else []


def set_timeout(ledger: PostgresLedger, seconds: float) -> None:
    """Change the timeout of an open ledger: a test needs a short one only where it must expire."""
    assert ledger._open is not None
    ledger._timeout = seconds
    for connection in ledger._open.batcher._connections:
        connection._timeout = seconds


def schema_of(ledger: PostgresLedger) -> str:
    return ledger._sql.schema


async def has_waiters(ledger: PostgresLedger, key: CallKey) -> bool:
    found = await sql(
        f"SELECT waiters FROM {schema_of(ledger)}.tw_call WHERE call_id = %s", key.call_id.encode()
    )
    return found == [(True,)]


async def eventually(look: Callable[[], Awaitable[bool]], why: str) -> None:
    end = time.monotonic() + LONG
    while not await look():
        assert time.monotonic() < end, why
        await asyncio.sleep(0.02)


# --- opening --------------------------------------------------------------------------------------


def test_replicas_that_open_at_the_same_time_make_the_tables_once_and_share_the_key() -> None:
    async def work() -> None:
        async with replicas(8) as ledgers:
            assert len({ledger.key for ledger in ledgers}) == 1
            answers = await asyncio.gather(*(claim(ledger) for ledger in ledgers))
            assert sorted(answer.state for answer in answers) == ["new"] + ["running"] * 7

    run(work())


def test_tables_of_another_version_are_not_changed() -> None:
    async def work() -> None:
        schema = postgres.fresh()
        async with replicas(1, schema):
            pass
        await sql(f"UPDATE {schema}.tw_meta SET value = '2' WHERE name = 'version'")
        with pytest.raises(
            LedgerUnavailable, match="version 2, and this program needs version 1: use"
        ):
            await PostgresLedger(postgres.dsn(), schema=schema).open()

    run(work())


def test_a_database_without_synchronous_commit_is_rejected() -> None:
    async def work() -> None:
        with pytest.raises(LedgerUnavailable, match="synchronous_commit is off"):
            await PostgresLedger(
                f"{postgres.dsn()} options='-c synchronous_commit=off'", schema=postgres.fresh()
            ).open()

    run(work())


def test_a_database_that_is_not_there_is_an_unavailable_ledger() -> None:
    async def work() -> None:
        with pytest.raises(LedgerUnavailable, match="cannot be reached"):
            await PostgresLedger("host=/nowhere/at/all dbname=x", timeout=1.0).open()

    run(work())


@pytest.mark.parametrize(
    "options",
    [
        {"lease": 0},
        {"connections": 0},
        {"result_ttl": 20, "tombstone_ttl": 10},
        {"key": b"short"},
        {"schema": ""},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused_at_once(options: Mapping[str, object]) -> None:
    with pytest.raises(UsageError, match="expected"):
        PostgresLedger("", **options)  # type: ignore[arg-type]


def test_a_ledger_used_from_another_event_loop_raises_an_error() -> None:
    async def work() -> None:
        async with replicas(1) as (ledger,):

            def elsewhere() -> None:
                with pytest.raises(UsageError, match="belongs to the event loop that opened it"):
                    asyncio.run(claim(ledger))

            await asyncio.to_thread(elsewhere)
            assert (await claim(ledger)).state == "new"

    run(work())


# --- batches --------------------------------------------------------------------------------------


def test_concurrent_operations_share_a_statement() -> None:
    async def work() -> None:
        async with replicas(1) as (ledger,):
            assert ledger._open is not None
            batcher = ledger._open.batcher
            claims = await asyncio.gather(*(claim(ledger, key) for key in keys(200)))
            assert batcher.executor.statements <= 4
            assert {one.state for one in claims} == {"new"}
            more = [CallKey("bob", key.call_id) for key in keys(200)]
            ends = asyncio.gather(*(ledger.finish(one, DONE) for one in claims))
            begins = asyncio.gather(*(claim(ledger, key) for key in more))
            assert set(await ends) == {"recorded"}
            assert {one.state for one in await begins} == {"new"}
            assert batcher.executor.statements <= 8

    run(work())


def test_the_same_call_many_times_in_one_batch_is_new_for_one_of_them() -> None:
    async def work() -> None:
        async with replicas(1) as (ledger,):
            answers = await asyncio.gather(*(claim(ledger) for _ in range(100)))
            assert sorted(answer.state for answer in answers) == ["new"] + ["running"] * 99

    run(work())


def test_one_operation_that_the_database_rejects_does_not_fail_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = PgConnection.run

    async def picky(
        self: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        for value in params.values():
            if b"poison" in (
                value.data
                if isinstance(value, Bytes)
                else value
                if isinstance(value, bytes)
                else b""
            ):
                raise psycopg.DataError("I do not take that")
        return await whole(self, query, params)

    async def work() -> None:
        async with replicas(1) as (ledger,):
            monkeypatch.setattr(PgConnection, "run", picky)
            names = [*keys(20), CallKey("alice", "poison")]
            *others, poisoned = await asyncio.gather(
                *(claim(ledger, key) for key in names), return_exceptions=True
            )
            assert isinstance(poisoned, LedgerUnavailable)
            assert [one.state for one in others if isinstance(one, Claim)] == ["new"] * 20
            monkeypatch.undo()

    run(work())


def test_arrays_arrive_as_they_were_packed() -> None:
    async def work() -> None:
        sent = [b"", b"\0", None, b"x" * 5000, "é\udc00".encode("utf-8", "surrogatepass")]
        async with await connect(postgres.dsn(), 10) as connection:
            query = b"SELECT %b::bytea[], %b::text[], %b::bigint[], %b::int[]"
            params = [
                Bytes(sent),
                Texts([b"a", "é".encode()]),
                Longs([1, None, -(2**62)]),
                Ints([0, -1, 2**31 - 1]),
            ]
            rows = await (await connection.execute(query, params)).fetchall()
        assert rows == [(sent, ["a", "é"], [1, None, -(2**62)], [0, -1, 2**31 - 1])]

    run(work())


def test_ids_too_long_for_an_index_stay_distinct() -> None:
    async def work() -> None:
        async with replicas() as (a, b):
            first, second = (
                CallKey("t" * 5000, "x" * 9000 + "1"),
                CallKey("t" * 5000, "x" * 9000 + "2"),
            )
            assert (await claim(a, first)).state == "new"
            assert (await claim(b, second)).state == "new"
            assert (await claim(b, first)).state == "running"

    run(work())


async def run_through_pooler(
    link: PgConnection, query: bytes, params: Mapping[str, object]
) -> list[TupleRow]:
    """Run a statement, after which the pooler gives the session to another client."""
    rows = await LINK_RUN(link, query, params)
    if not link._may_prepare:
        assert await LINK_RUN(link, b"SELECT name FROM pg_prepared_statements", {}) == []
    await LINK_RUN(link, b"DISCARD ALL", {})
    return rows


@pytest.mark.parametrize("seen", [True, False])
def test_nothing_is_kept_in_a_session_so_a_pooler_may_hand_out_another_one_each_time(
    monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    async def is_direct(connection: AsyncConnection[TupleRow]) -> bool:
        return not seen

    runs: Counter[PgConnection] = Counter()

    async def count_run(
        link: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        rows = await run_through_pooler(link, query, params)
        runs[link] += 1
        return rows

    async def work() -> None:
        monkeypatch.setattr(_pg_link, "is_direct", is_direct)
        monkeypatch.setattr(PgConnection, "run", count_run)
        async with replicas() as (a, b):
            mine = await asyncio.gather(*(claim(a, key) for key in keys(30)))
            assert {
                one.state for one in await asyncio.gather(*(claim(b, key) for key in keys(30)))
            } == {"running"}
            waiting = asyncio.create_task(b.wait(KEY, 30))
            for _ in range(8):  # more often than a driver would wait before it prepares a statement
                await a.get(KEY)
            assert a._open is not None
            # A connection notices the pooler when a statement that it prepared is gone, so it has
            # to have run something twice; one that opened late still expects a direct connection.
            links = [link for link in a._open.batcher._connections if link.up and runs[link] > 1]
            assert links and not any(link._may_prepare for link in links)
            assert set(await asyncio.gather(*(a.finish(one, DONE) for one in mine))) == {"recorded"}
            assert (record := await waiting) is not None and record.outcome == DONE
            await a.sweep()

    run(work())


def test_a_connection_that_breaks_while_it_is_made_ready_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[AsyncConnection[TupleRow]] = []
    is_direct = _pg_link.is_direct

    async def breaks(connection: AsyncConnection[TupleRow]) -> bool:
        made.append(connection)
        if len(made) == 1:
            raise psycopg.OperationalError("gone")
        return await is_direct(connection)

    async def work() -> None:
        monkeypatch.setattr(_pg_link, "is_direct", breaks)
        link = PgConnection(postgres.dsn(), 5.0)
        with pytest.raises(psycopg.OperationalError):
            await link.ready()
        assert made[0].closed and not link.up
        assert await link.run(b"SELECT 1", {}) == [(1,)]
        await link.drop()

    run(work())


def test_statements_are_prepared_where_nothing_stands_between() -> None:
    async def work() -> None:
        async with replicas(1, connections=1) as (a,):
            for key in keys(5):
                await claim(a, key)
            assert a._open is not None
            (link,) = a._open.batcher._connections
            assert await link.run(
                b"SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%INSERT"
                b" INTO%%'",
                {},
            ) == [(1,)]

    run(work())


def test_a_statement_that_was_prepared_on_an_empty_table_reads_no_more_than_its_rows_from_a_full_one() -> (
    None
):
    async def work() -> None:
        async with replicas(1, connections=1) as (a,):
            for n in range(8):  # so often that the database has decided how to do it
                mine = await asyncio.gather(
                    *(claim(a, CallKey(f"{n}", key.call_id)) for key in keys(10))
                )
                await asyncio.gather(*(a.finish(one, DONE) for one in mine))
            await sql(
                f"INSERT INTO {schema_of(a)}.tw_call(tenant, call_id, tool, fp, state, attempt,"
                " owner, token, on_crash, outcome) SELECT 'fill', n::text::bytea, '', '', 'gone',"
                " 1, gen_random_uuid(), '', 'report', ''::bytea FROM generate_series(1, 20000)"
                " AS n"
            )
            await asyncio.gather(*(claim(a, key) for key in keys(10)))
            assert a._open is not None
            (link,) = a._open.batcher._connections
            await link.run(b"SELECT pg_stat_force_next_flush()", {})
            before = await sql(
                "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = %s::regclass",
                f"{schema_of(a)}.tw_call",
            )
            mine = await asyncio.gather(
                *(claim(a, CallKey("more", key.call_id)) for key in keys(10))
            )
            await asyncio.gather(*(a.finish(one, DONE) for one in mine))
            await link.run(b"SELECT pg_stat_force_next_flush()", {})
            assert before == await sql(
                "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = %s::regclass",
                f"{schema_of(a)}.tw_call",
            )

    run(work())


# --- leases ---------------------------------------------------------------------------------------


def test_a_replica_whose_lease_is_over_claims_nothing_until_it_is_renewed() -> None:
    async def work() -> None:
        async with replicas(lease=30.0, timeout=LONG) as (a, b):
            assert a._open is not None
            keeper, owner = a._open.heartbeat, a._options.me
            await keeper._lock.acquire()  # it cannot renew
            await sql(
                f"UPDATE {schema_of(a)}.tw_owner SET lease_until = clock_timestamp() WHERE owner"
                " = %s",
                owner,
            )
            set_timeout(a, 0.5)
            with pytest.raises(LedgerUnavailable, match="renew"):
                await claim(a)
            set_timeout(a, LONG)
            assert await b.get(KEY) is None, "nothing was claimed"
            keeper._lock.release()
            await asyncio.sleep(0)
            mine = await claim(a)
            assert mine.state == "new"

    run(work())


def test_the_clock_of_a_replica_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    real, real_ns = time.time, time.time_ns
    shift = [3600.0]

    async def work() -> None:
        async with replicas(lease=30.0, sweep_interval=0.2) as ledgers:
            monkeypatch.setattr(time, "time", lambda: real() + shift[0])
            monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(shift[0] * 1e9))
            for shift[0] in (3600.0, -3600.0, 7200.0):
                names = [CallKey(f"{shift[0]}", key.call_id) for key in keys(50)]
                answers = await asyncio.gather(
                    *(claim(ledger, key) for key in names for ledger in ledgers)
                )
                assert [answer.state for answer in answers].count("new") == 50
                assert {answer.state for answer in answers} == {"new", "running"}
                await asyncio.sleep(0.3)
                assert (await ledgers[1].sweep()).lost == 0

    run(work())


def test_an_owner_that_closes_is_dead_at_once_and_a_killed_one_after_its_lease() -> None:
    async def work() -> None:
        schema = postgres.fresh()
        async with replicas(1, schema, lease=1.0, sweep_interval=999) as (survivor,):
            async with replicas(1, schema, lease=30.0) as (leaver,):
                assert (await claim(leaver)).state == "new"
                assert (await claim(survivor)).state == "running"
            assert (await claim(survivor)).state == "lost"
            await sql(
                f"UPDATE {schema}.tw_call SET owner = gen_random_uuid(), state = 'running'"
            )  # as if it had never been here

            async def is_lost() -> bool:
                return (await claim(survivor)).state == "lost"

            await eventually(is_lost, "the call of an unknown owner stays running for ever")

    run(work())


# --- waiting --------------------------------------------------------------------------------------


def test_a_waiter_on_another_replica_is_woken_without_polling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_pg_watch, "POLL", 600.0)
    monkeypatch.setattr(_pg_watch, "_RETRY_DELAY", 600.0)

    async def work() -> None:
        async with replicas() as (a, b):
            for key in keys(10):
                mine = await claim(a, key)
                waiting = [asyncio.create_task(b.wait(key, 30)) for _ in range(3)]
                await eventually(
                    lambda key=key: has_waiters(a, key),  # type: ignore[misc]
                    "the database does not know that a caller waits",
                )
                waiting.pop().cancel()
                assert await a.finish(mine, DONE) == "recorded"
                for record in await asyncio.gather(*waiting):
                    assert record is not None and record.outcome == DONE

    run(work())


def test_a_finish_that_races_a_waiter_is_never_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pg_watch, "POLL", 600.0)

    async def work() -> None:
        async with replicas() as (a, b):

            async def round(key: CallKey) -> None:
                mine = await claim(a, key)
                record, ended = await asyncio.gather(b.wait(key, 30), a.finish(mine, DONE))
                assert ended == "recorded"
                assert record is not None and record.state == "done"

            for n in range(10):
                await asyncio.gather(*(round(CallKey(f"{n}", key.call_id)) for key in keys(50)))

    run(work())


def test_without_a_way_for_notifications_polling_finds_the_end() -> None:
    async def work() -> None:
        async with replicas(1) as (a,):
            b = PostgresLedger(
                postgres.dsn(),
                schema=schema_of(a).strip('"'),
                direct_dsn="host=/nowhere/at/all",
                timeout=LONG,
            )
            await b.open()
            mine = await claim(a)
            waiting = asyncio.create_task(b.wait(KEY, 30))
            await asyncio.sleep(0.1)
            await a.finish(mine, DONE)
            assert (record := await waiting) is not None and record.outcome == DONE
            await b.close()

    run(work())


def test_a_call_without_waiters_sends_no_notification() -> None:
    async def work() -> None:
        async with (
            replicas(1) as (ledger,),
            await AsyncConnection.connect(postgres.dsn(), autocommit=True) as ear,
        ):
            await ear.execute(ledger._sql.listen)
            mine = await asyncio.gather(*(claim(ledger, key) for key in keys(20)))
            waiting = asyncio.create_task(ledger.wait(KEY, 30))
            await eventually(lambda: has_waiters(ledger, KEY), "no call has a waiter")
            await asyncio.gather(*(ledger.finish(one, DONE) for one in mine))
            await waiting
            await sql(f"SELECT pg_notify('{CHANNEL}', 'the last one')")
            expected = notification_name(b"alice", b"call-1")
            ours = {notification_name(b"alice", key.call_id.encode()) for key in keys(20)}
            payloads = []
            async for notice in ear.notifies(timeout=LONG):
                payloads.append(notice.payload)
                if notice.payload == "the last one":
                    break
            assert [payload for payload in payloads if payload in ours] == [expected]

    run(work())


# --- cancelled callers ----------------------------------------------------------------------------


def test_a_claim_whose_caller_was_cancelled_before_its_result_is_free_again() -> None:
    async def work() -> None:
        async with replicas(lease=30.0) as (a, b):
            for turns in range(6):  # cancelled at another moment each time
                key = CallKey("left", f"{turns}")
                asking = asyncio.create_task(claim(a, key))
                for _ in range(turns * 3):
                    await asyncio.sleep(0.0004)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    mine = await asking
                    await a.release(mine)  # it came before it could leave

                async def new(key: CallKey = key) -> bool:
                    return (await claim(b, key)).state == "new"

                await eventually(new, "no replica runs it, and none may")

    run(work())


def test_a_claim_released_and_repeated_with_the_same_token_is_kept() -> None:
    async def work() -> None:
        async with replicas(sweep_interval=999.0) as (a, b):
            a._options.lease = 0.3  # its undos come soon; the database knows its real lease
            mine = []
            for n in range(40):  # given up at another moment each time
                key, token = CallKey("again", f"{n}"), os.urandom(16)
                asking = asyncio.create_task(claim(a, key, by=token))
                for _ in range(n % 10):
                    await asyncio.sleep(0.0002)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
                mine.append(await claim(a, key, by=token))
            assert {one.state for one in mine} == {"new"}
            await asyncio.sleep(0.6)  # what was to be undone a lease later is not undone
            assert [(await claim(b, one.key)).state for one in mine] == ["running"] * 40
            assert {await a.finish(one, DONE) for one in mine} == {"recorded"}

    run(work())


def test_a_claim_abandoned_while_another_one_is_settled_is_settled() -> None:
    async def work() -> None:
        async with replicas(1, connections=1) as (a,):
            async with await AsyncConnection.connect(postgres.dsn()) as blocking:
                await blocking.execute(
                    f"LOCK TABLE {schema_of(a)}.tw_call IN EXCLUSIVE MODE".encode()
                )
                asking = [asyncio.create_task(claim(a, key)) for key in keys(30)]
                await asyncio.sleep(0.05)
                for one in asking:
                    one.cancel()
                more = [
                    asyncio.create_task(claim(a, CallKey("zoe", key.call_id))) for key in keys(30)
                ]
                await asyncio.sleep(0.05)
                await blocking.rollback()
                await asyncio.sleep(0.001)
                for one in more:
                    one.cancel()
            left = await asyncio.gather(*asking, *more, return_exceptions=True)
            assert sum(isinstance(one, asyncio.CancelledError) for one in left) >= 30

            async def free() -> bool:
                running = await sql(
                    f"SELECT count(*) FROM {schema_of(a)}.tw_call WHERE state = 'running'"
                )
                return running == [(sum(isinstance(one, Claim) for one in left),)]

            await eventually(free, "a claim without an owner is kept")

    run(work())


def test_closing_records_results_that_could_not_be_recorded_earlier() -> None:
    async def work() -> None:
        schema = postgres.fresh()
        async with replicas(1, schema, timeout=LONG) as (a,):
            mine = await asyncio.gather(*(claim(a, key) for key in keys(4)))
            set_timeout(a, 0.3)
            async with await AsyncConnection.connect(postgres.dsn()) as blocking:
                await blocking.execute(
                    f"LOCK TABLE {schema_of(a)}.tw_call IN EXCLUSIVE MODE".encode()
                )
                ends = await asyncio.gather(
                    *(a.finish(one, DONE) for one in mine), return_exceptions=True
                )
                assert {type(end) for end in ends} == {LedgerUnavailable}
        async with replicas(1, schema) as (b,):
            for one in mine:
                record = await b.get(one.key)
                assert record is not None and (record.state, record.outcome) == ("done", DONE)

    run(work())


def test_closing_reports_the_number_of_unrecorded_results() -> None:
    async def work() -> None:
        a = PostgresLedger(postgres.dsn(), schema=postgres.fresh(), timeout=LONG)
        await a.open()
        mine = await asyncio.gather(*(claim(a, key) for key in keys(4)))
        set_timeout(a, 0.3)
        async with await AsyncConnection.connect(postgres.dsn()) as blocking:
            await blocking.execute(f"LOCK TABLE {schema_of(a)}.tw_call IN EXCLUSIVE MODE".encode())
            await asyncio.gather(*(a.finish(one, DONE) for one in mine), return_exceptions=True)
            with pytest.raises(LedgerUnavailable, match=r"^4 results could not be recorded before"):
                await a.close()

    run(work())


# --- sweeps ---------------------------------------------------------------------------------------


def test_a_late_finish_that_races_the_sweeper_is_recorded_or_fenced_and_the_record_agrees() -> None:
    async def work() -> None:
        async with replicas(sweep_interval=999.0) as (a, b):
            mine = await asyncio.gather(*(claim(a, key) for key in keys(200)))
            await sql(
                f"UPDATE {schema_of(a)}.tw_call SET state = 'lost', ended_at = now(), expires_at ="
                " now()"
            )
            ends = asyncio.gather(*(a.finish(one, DONE) for one in mine))
            _, ended = await asyncio.gather(b.sweep(), ends)
            for one, end in zip(mine, ended, strict=True):
                record = await b.get(one.key)
                assert record is not None
                assert (record.state, record.outcome) == (
                    ("done", DONE) if end == "recorded" else ("gone", None)
                )

    run(work())


# --- transactions ---------------------------------------------------------------------------------


@asynccontextmanager
async def with_effects(count: int = 1) -> AsyncIterator[tuple[list[PostgresLedger], str]]:
    async with replicas(count) as ledgers:
        table = f"{schema_of(ledgers[0])}.effect"
        await sql(
            f"CREATE TABLE {table}(n int PRIMARY KEY, other int REFERENCES {table} DEFERRABLE"
            " INITIALLY DEFERRED)"
        )
        yield ledgers, table


async def effects(table: str) -> list[int]:
    return [n for (n,) in await sql(f"SELECT n FROM {table} ORDER BY n")]


def test_effect_and_record_are_committed_together_and_waiters_are_notified() -> None:
    async def work() -> None:
        async with with_effects(2) as ((a, b), table):
            assert isinstance(a, Transactions)
            mine = await claim(a, on_crash="transactional")
            waiting = asyncio.create_task(b.wait(KEY, 30))
            await asyncio.sleep(0.1)
            async with a.transaction(mine) as scope:
                await scope.connection.execute(f"INSERT INTO {table} VALUES (%s)", [1])
                assert await effects(table) == []
                assert await scope.finish(DONE) == "recorded"
            assert await effects(table) == [1]
            assert (record := await waiting) is not None and record.outcome == DONE

    run(work())


def test_a_tool_that_fails_leaves_no_effect_and_its_failure_can_be_recorded() -> None:
    async def work() -> None:
        async with with_effects() as ((ledger,), table):
            mine = await claim(ledger, on_crash="transactional")
            with pytest.raises(ZeroDivisionError):
                async with ledger.transaction(mine) as scope:
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (1)")
                    raise ZeroDivisionError
            assert await effects(table) == []
            assert await ledger.finish(mine, Outcome(failure=Failure("no"))) == "recorded"

    run(work())


def test_a_transaction_of_a_call_with_a_new_owner_is_fenced_and_rolled_back() -> None:
    async def work() -> None:
        async with with_effects() as ((ledger,), table):
            mine = await claim(ledger, on_crash="transactional")
            async with ledger.transaction(mine) as scope:
                await scope.connection.execute(f"INSERT INTO {table} VALUES (1)")
                await sql(f"UPDATE {schema_of(ledger)}.tw_call SET attempt = 2, token = 'another'")
                assert await scope.finish(DONE) == "fenced"
            assert await effects(table) == []
            assert (record := await ledger.get(KEY)) is not None and record.state == "running"

    run(work())


@pytest.mark.parametrize("query", ["COMMIT", "SELECT 1/0", "INSERT INTO {table} VALUES (2, 99)"])
def test_a_transaction_that_the_tool_spoilt_records_nothing(query: str) -> None:
    async def work() -> None:
        async with with_effects() as ((ledger,), table):
            mine = await claim(ledger, on_crash="transactional")
            async with ledger.transaction(mine) as scope:
                with suppress(psycopg.errors.DivisionByZero):
                    await scope.connection.execute(query.format(table=table))
                with pytest.raises((UsageError, psycopg.Error)):
                    await scope.finish(DONE)
            assert await effects(table) == []
            assert (record := await ledger.get(KEY)) is not None and record.state == "running"
            await ledger.release(mine)
            again = await claim(ledger, on_crash="transactional")
            assert (again.state, again.attempt) == ("new", 2)
            async with ledger.transaction(again) as scope:
                await scope.connection.execute(f"INSERT INTO {table} VALUES (3)")
                assert await scope.finish(DONE) == "recorded"
            assert await effects(table) == [3]

    run(work())


def test_more_transactions_than_connections_take_turns() -> None:
    async def work() -> None:
        async with with_effects() as ((ledger,), table):

            async def one(n: int) -> None:
                mine = await claim(ledger, CallKey("many", f"{n}"), on_crash="transactional")
                async with ledger.transaction(mine) as scope:
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (%(n)s)", {"n": n})
                    assert await scope.finish(Outcome(n)) == "recorded"

            await asyncio.gather(*(one(n) for n in range(40)))
            assert await effects(table) == list(range(40))

    run(work())


def test_a_tool_that_loses_its_database_in_a_transaction_has_no_effect() -> None:
    async def work() -> None:
        async with with_effects() as ((ledger,), table):
            mine = await claim(ledger, on_crash="transactional")
            with pytest.raises(NoEffect):
                async with ledger.transaction(mine) as scope:
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (1)")
                    cursor = await scope.connection.execute("SELECT pg_backend_pid()")
                    assert isinstance(cursor, psycopg.AsyncCursor)
                    ((pid,),) = await cursor.fetchall()
                    await sql("SELECT pg_terminate_backend(%s, 10000)", pid)
                    await scope.connection.execute(f"INSERT INTO {table} VALUES (2)")
            assert await effects(table) == []
            await ledger.release(mine)
            assert (await claim(ledger, on_crash="transactional")).attempt == 2

    run(work())
