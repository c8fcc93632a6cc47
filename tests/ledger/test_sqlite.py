"""Behaviour of the SQLite ledger alone: batches, threads, a full disk, and sweeps."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import threading
from collections.abc import Awaitable
from pathlib import Path

import pytest
from cases import DEEP
from ledger_kinds import DAY, LedgerClock
from ledger_sqlite import KEY, VALUE, Ask, Hold, Look, ahead, claim, with_ledger

from toolwire.conversation.json import JSON
from toolwire.errors import UsageError
from toolwire.execution.ledger.base import CallKey, Claim, LedgerUnavailable, Outcome, Record
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.ledger.sqlite.rows import SweepStep
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.ledger.store_thread import MAX_BATCH

# --- batches --------------------------------------------------------------------------------------


def test_concurrent_writes_share_one_commit_and_reads_need_none(tmp_path: Path) -> None:
    async def work(ledger: SqliteLedger) -> None:
        book = await ledger._submit(Look())

        async def together(*asked: Awaitable[object]) -> int:
            """The number of commits if all operations wait when the writer becomes free."""
            hold = Hold()
            holding = asyncio.create_task(ledger._submit(hold))
            await asyncio.to_thread(hold.begun.wait, 30)
            tasks = [holding, *map(asyncio.ensure_future, asked)]
            await asyncio.sleep(0)
            before = book.commits
            hold.gate.set()
            await asyncio.gather(*tasks)
            return book.commits - before

        ids = [str(n) for n in range(MAX_BATCH)]
        tokens = {id: os.urandom(16) for id in ids}
        assert await together(*(claim(ledger, id, by=tokens[id]) for id in ids)) == 1
        claims = [await claim(ledger, id, by=tokens[id]) for id in ids]
        assert await together(*(ledger.finish(one, VALUE) for one in claims)) == 1
        assert await together(*(ledger.get(one.key) for one in claims)) == 0
        assert await together(*(claim(ledger, id, by=b"x" * 16) for id in ids)) <= 1
        assert await together(*(claim(ledger, f"more-{n}") for n in range(2 * MAX_BATCH))) == 2

    with_ledger(work, tmp_path / "ledger.db")


def test_an_error_in_one_job_does_not_affect_the_others_of_its_batch() -> None:
    async def work(ledger: SqliteLedger) -> None:
        asked = [
            claim(ledger, "a"),
            claim(ledger, "\ud800"),
            claim(ledger, "b"),
            ledger.get(CallKey("\udc00", "c")),
        ]
        first, second, third, fourth = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(second, UsageError)
        assert isinstance(fourth, UsageError)
        assert [one.state for one in (first, third) if isinstance(one, Claim)] == ["new", "new"]

    with_ledger(work)


@pytest.mark.parametrize(
    ("value", "why"),
    [("x" * 2000, "bytes"), (object(), "object"), ({"a": {1, 2, object()}}, "object")],
    ids=["large", "odd", "set"],
)
def test_a_result_that_cannot_be_kept_ends_its_call_as_a_failure(
    monkeypatch: pytest.MonkeyPatch, value: JSON, why: str
) -> None:
    monkeypatch.setattr("toolwire.execution.ledger.sqlite.ledger.MAX_OUTCOME_BYTES", 1000)

    async def work(ledger: SqliteLedger) -> None:
        mine = await claim(ledger)
        waiting = asyncio.create_task(ledger.wait(KEY, 50))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match=why):
            await ledger.finish(mine, Outcome(value))
        for record in (await waiting, (await claim(ledger)).record):
            assert record and record.outcome and record.outcome.failure
            assert (record.state, record.outcome.failure.kind) == ("failed", "result_not_kept")

    with_ledger(work)


def failing(
    monkeypatch: pytest.MonkeyPatch, code: int = sqlite3.SQLITE_IOERR_WRITE
) -> threading.Event:
    """An event that makes commits fail while it is set."""
    full = threading.Event()
    commit = SqliteStore.commit

    def faulty(self: SqliteStore) -> None:
        if full.is_set() and self._writing:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error
        commit(self)

    monkeypatch.setattr(SqliteStore, "commit", faulty)
    return full


def test_a_storage_error_fails_every_job_of_the_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = failing(monkeypatch)

    async def work(ledger: SqliteLedger) -> None:
        done, mine = await claim(ledger, "done"), await claim(ledger, "mine")
        await ledger.finish(done, VALUE)
        waiting = asyncio.create_task(ledger.wait(mine.key, 50))
        await asyncio.sleep(0.01)
        full.set()
        asked = [
            ledger.finish(mine, VALUE),
            claim(ledger, "new"),
            claim(ledger, "new"),
            claim(ledger, "done"),
            claim(ledger, "mine"),
        ]
        finished, new, follower, known, duplicate = await asyncio.gather(
            *asked, return_exceptions=True
        )
        assert [type(one) for one in (finished, new, follower)] == [LedgerUnavailable] * 3
        assert isinstance(known, Claim) and known.state == "done"
        assert isinstance(duplicate, Claim)
        assert duplicate.state in ("running", "done")
        record = await waiting
        assert record is not None
        assert (record.state, record.outcome, record.recorded) == ("done", VALUE, False)
        memory = await claim(ledger, "mine")
        assert memory.state == "done"
        assert (
            memory.record == await ledger.get(mine.key) == await ledger.wait(mine.key, 0) == record
        )
        assert (await claim(ledger, "mine", fp=b"other")).state == "mismatch"
        with pytest.raises(LedgerUnavailable):
            await ledger.finish(mine, VALUE)
        full.clear()
        for _ in range(500):
            await asyncio.sleep(0.01)
            healed = await ledger.get(mine.key)
            if healed and healed.recorded:
                break
        assert healed is not None
        assert (healed.state, healed.outcome, healed.recorded) == ("done", VALUE, True)
        assert await ledger.finish(mine, VALUE) == "recorded"
        again = await claim(ledger, "new")
        assert (again.state, again.attempt) == ("new", 1)

    with_ledger(work, tmp_path / "ledger.db")


def test_a_release_that_could_not_be_written_is_written_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = failing(monkeypatch)

    async def work(ledger: SqliteLedger) -> None:
        mine = await claim(ledger)
        waiting = asyncio.create_task(ledger.wait(KEY, 50))
        await asyncio.sleep(0.01)
        full.set()
        with pytest.raises(LedgerUnavailable):
            await ledger.release(mine)
        assert await waiting is None
        with pytest.raises(LedgerUnavailable):
            await claim(ledger)
        full.clear()
        again: Claim | None = None
        for _ in range(500):
            await asyncio.sleep(0.01)
            try:
                again = await claim(ledger)
                break
            except LedgerUnavailable:
                continue
        assert again is not None
        assert (again.state, again.attempt) == ("new", 2)

    with_ledger(work)


def test_closing_with_results_that_cannot_be_written_raises_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = failing(monkeypatch)

    async def work() -> None:
        ledger = SqliteLedger(tmp_path / "ledger.db")
        await ledger.open()
        mine = await claim(ledger)
        full.set()
        with pytest.raises(LedgerUnavailable):
            await ledger.finish(mine, VALUE)
        with pytest.raises(LedgerUnavailable, match="1 results could not be written"):
            await ledger.close()
        full.clear()
        await ledger.open()
        assert (await claim(ledger)).state == "lost"
        await ledger.close()

    asyncio.run(work())


def test_a_database_that_may_not_grow_refuses_claims_keeps_results_and_heals(
    tmp_path: Path,
) -> None:
    async def work(ledger: SqliteLedger) -> None:
        claims = [await claim(ledger, f"old-{n}") for n in range(20)]
        (pages,) = await ledger._submit(Ask("PRAGMA page_count"))
        await ledger._submit(Ask(f"PRAGMA max_page_count={pages}"))
        ends = await asyncio.gather(
            *(ledger.finish(one, Outcome("x" * 5000)) for one in claims), return_exceptions=True
        )
        assert {type(one) for one in ends} == {LedgerUnavailable}
        refused = await asyncio.gather(
            *(claim(ledger, f"new-{n}") for n in range(200)), return_exceptions=True
        )
        assert {type(one) for one in refused} == {LedgerUnavailable}
        old_claims = await asyncio.gather(*(claim(ledger, f"old-{n}") for n in range(20)))
        assert {one.state for one in old_claims} == {"done"}
        await ledger._submit(Ask("PRAGMA max_page_count=1000000"))
        records: list[Record | None] = []
        for _ in range(500):
            await asyncio.sleep(0.01)
            records = [await ledger.get(one.key) for one in claims]
            if all(one and one.recorded for one in records):
                break
        assert all(one and one.recorded and one.outcome == Outcome("x" * 5000) for one in records)
        assert {(await claim(ledger, f"new-{n}")).state for n in range(200)} == {"new"}
        assert await ledger._submit(Ask("PRAGMA integrity_check")) == ["ok"]

    with_ledger(work, tmp_path / "ledger.db")


def test_a_claim_records_the_loss_of_a_call_that_a_failed_sweep_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def leave(ledger: SqliteLedger) -> None:
        await claim(ledger)

    async def work(ledger: SqliteLedger) -> None:
        assert await ledger._submit(Ask("SELECT state FROM call")) == ["running"]
        assert (await claim(ledger)).state == "lost"
        assert await ledger._submit(Ask("SELECT state FROM call")) == ["lost"]

    def fail(store: SqliteStore) -> SweepStep:
        raise sqlite3.OperationalError("disk I/O error")

    with_ledger(leave, tmp_path / "ledger.db")
    monkeypatch.setattr(SqliteStore, "sweep", fail)
    with_ledger(work, tmp_path / "ledger.db")


# --- cancelled callers, threads, forks ------------------------------------------------------------


def test_a_claim_whose_caller_was_cancelled_is_released_and_one_repeated_with_its_token_is_not() -> (
    None
):
    async def work(ledger: SqliteLedger) -> None:
        for n in range(50):
            asking = asyncio.create_task(claim(ledger, f"alone-{n}"))
            await asyncio.sleep(0)
            asking.cancel()
            by = os.urandom(16)
            twice = asyncio.create_task(claim(ledger, f"twice-{n}", by=by))
            await asyncio.sleep(0)
            twice.cancel()
            assert (await claim(ledger, f"twice-{n}", by=by)).state == "new"
        await asyncio.sleep(0.05)
        for n in range(50):
            assert (await claim(ledger, f"alone-{n}")).state == "new"
            assert (await claim(ledger, f"twice-{n}")).state == "running"

    with_ledger(work)


def test_a_claim_of_an_event_loop_that_was_closed_is_released() -> None:
    async def work(ledger: SqliteLedger) -> None:
        hold = Hold()

        async def leaves() -> None:
            asking = asyncio.create_task(claim(ledger))
            await asyncio.sleep(0.01)
            asking.cancel()

        holding = asyncio.create_task(ledger._submit(hold))
        await asyncio.to_thread(hold.begun.wait, 30)
        await asyncio.to_thread(asyncio.run, leaves())
        hold.gate.set()
        await holding
        await asyncio.sleep(0.05)
        assert (await claim(ledger)).state == "new"

    with_ledger(work)


def test_many_threads_with_event_loops_of_their_own_share_one_ledger(tmp_path: Path) -> None:
    """The duplicate storm of one process: 4 loops, 50 tasks each, on one id and then on many."""
    ran: list[str] = []
    values: list[tuple[str, object]] = []
    clock = LedgerClock()
    ledger = SqliteLedger(tmp_path / "ledger.db", clock=clock)
    dice = random.Random(6)

    async def ask(id: str) -> None:
        mine = await claim(ledger, id)
        clock.ahead = dice.choice((-3_600_000, 0, 3_600_000))  # clocks never decide who runs
        if mine.state == "new":
            ran.append(id)
            await asyncio.sleep(0)
            assert await ledger.finish(mine, Outcome(id)) == "recorded"
        record = await ledger.wait(mine.key, 50)
        assert record is not None
        assert record.state == "done"
        assert record.outcome is not None
        values.append((id, record.outcome.value))

    async def loop(ids: list[str]) -> None:
        await asyncio.gather(*(ask(id) for id in ids))

    rounds = [["one"] * 50, [str(n) for n in range(2000 if DEEP else 200)]]
    asyncio.run(ledger.open())
    for ids in rounds:
        threads = [threading.Thread(target=asyncio.run, args=(loop(ids),)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(120)
    asyncio.run(ledger.close())
    assert sorted(ran) == sorted({id for ids in rounds for id in ids})
    assert len(values) == 4 * sum(map(len, rounds))
    assert all(id == value for id, value in values)


def test_a_forked_process_must_open_its_own_ledger() -> None:
    async def work(ledger: SqliteLedger) -> None:
        writer = ledger._writer
        assert writer is not None
        writer._pid += 1  # as a child would see it
        with pytest.raises(LedgerUnavailable, match="forked"):
            await claim(ledger)
        writer._pid -= 1

    with_ledger(work)


def test_waiting_that_races_with_finishing_never_misses_the_end() -> None:
    rounds = 20_000 if DEEP else 1000

    async def chain(ledger: SqliteLedger, first: int) -> None:
        for n in range(first, rounds, 20):
            mine = await claim(ledger, str(n))
            waits = [asyncio.create_task(ledger.wait(mine.key, 60)) for _ in range(3)]
            if n % 3:
                await asyncio.sleep(0)
            end = asyncio.create_task(ledger.finish(mine, VALUE))
            waits += [asyncio.create_task(ledger.wait(mine.key, 60)) for _ in range(2)]
            waits[n % 5].cancel()
            records = await asyncio.gather(*waits, return_exceptions=True)
            assert await end == "recorded"
            assert [one.state for one in records if isinstance(one, Record)] == ["done"] * 4

    async def work(ledger: SqliteLedger) -> None:
        await asyncio.gather(*(chain(ledger, first) for first in range(20)))

    with_ledger(work, timeout=600)


def test_waiters_that_timed_out_are_released_before_the_call_ends() -> None:
    async def work(ledger: SqliteLedger) -> None:
        await claim(ledger)
        for _ in range(1000):
            await ledger.wait(KEY, 0)
        book = await ledger._submit(Look())
        assert len(book.claimed[KEY].waiters) < 200

    with_ledger(work)


# --- time -----------------------------------------------------------------------------------------


def test_a_large_result_is_stored_separately_and_deleted_when_it_expires() -> None:
    async def work(ledger: SqliteLedger) -> None:
        small, large = await claim(ledger, "small"), await claim(ledger, "large")
        await ledger.finish(small, VALUE)
        await ledger.finish(large, Outcome("x" * 300_000))
        assert await ledger._submit(Ask("SELECT count(*) FROM large")) == [1]
        assert await ledger._submit(Ask("SELECT max(length(outcome)) < 1000 FROM call")) == [1]
        ahead(ledger, DAY + 1)
        assert (await ledger.sweep()).expired == 2
        assert await ledger._submit(Ask("SELECT count(*) FROM large")) == [0]
        assert await ledger._submit(Ask("SELECT count(outcome) FROM call")) == [0]

    with_ledger(work)


def test_old_results_are_swept_automatically() -> None:
    async def work(ledger: SqliteLedger) -> None:
        await ledger.finish(await claim(ledger), VALUE)
        ahead(ledger, DAY + 1)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if await ledger._submit(Ask("SELECT state FROM call")) == ["gone"]:
                return
        raise AssertionError("never swept")

    with_ledger(work, sweep_interval=0.05)


def test_a_sweep_of_very_many_lets_others_come_in_between() -> None:
    async def work(ledger: SqliteLedger) -> None:
        await asyncio.gather(*(ends(ledger, str(n)) for n in range(1300)))
        ahead(ledger, DAY + 1)
        sweeping = asyncio.create_task(ledger.sweep())
        await claim(ledger, "in between")
        assert not sweeping.done()
        found = await sweeping
        assert (found.expired, found.forgotten) == (1300, 0)

    async def ends(ledger: SqliteLedger, id: str) -> None:
        await ledger.finish(await claim(ledger, id), VALUE)

    with_ledger(work)


def test_a_late_finish_that_races_with_the_sweep_is_recorded_or_fenced_and_never_half(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        ledger = SqliteLedger(tmp_path / "ledger.db", sweep_interval=DAY)
        await ledger.open()
        claims = [await claim(ledger, str(n)) for n in range(200)]
        await ledger.close()
        clock = LedgerClock()
        late = SqliteLedger(tmp_path / "ledger.db", sweep_interval=DAY, clock=clock)
        await late.open()  # all of them are lost now
        clock.ahead += int((DAY + 1) * 1000)  # and about to be gone
        sweeps = [asyncio.create_task(late.sweep()) for _ in range(3)]
        ends = await asyncio.gather(*(late.finish(one, VALUE) for one in claims))
        await asyncio.gather(*sweeps)
        for one, end in zip(claims, ends, strict=True):
            record = await late.get(one.key)
            assert record is not None
            wanted = ("done", VALUE) if end == "recorded" else ("gone", None)
            assert (record.state, record.outcome) == wanted
        await late.close()

    asyncio.run(work())
