"""A SQLite ledger that several processes of one machine share: which are alive, which runs a call,
and which waits for it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from cases import DEEP
from ledger_faults import Stage, chaos
from ledger_kinds import DAY
from ledger_sqlite import KEY, VALUE, Ask, claim

from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.sqlite import owners
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.ledger.sqlite.lock_file import LockFile
from toolwire.execution.ledger.sqlite.owners import OwnerFiles
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.ledger.sqlite.write_lock import WriteLock
from toolwire.execution.ledger.store_thread import Job

HOLD_OWNER = """
import os, sys, time
from toolwire.execution.ledger.sqlite.owners import OwnerFiles
from pathlib import Path
owner = OwnerFiles(Path(sys.argv[1]))
owner.enter()
if sys.argv[2] == "fork" and os.fork() != 0:
    time.sleep(600)  # the forked process prints
print(owner.id.hex(), flush=True)
time.sleep(600)
"""


def share(
    folder: Path, work: Callable[[SqliteLedger, SqliteLedger], Awaitable[None]], *, count: int = 2
) -> None:
    """Run a test with two ledgers on one file."""

    async def run() -> None:
        ledgers = [SqliteLedger(folder / "ledger.db", sweep_interval=DAY) for _ in range(count)]
        await asyncio.gather(*(ledger.open() for ledger in ledgers))
        try:
            await asyncio.wait_for(work(*ledgers), 60)
        finally:
            for ledger in ledgers:
                await ledger.close()

    asyncio.run(run())


# --- calls of another process ---------------------------------------------------------------------


def test_a_call_that_runs_elsewhere_is_waited_for_and_its_result_is_shared(tmp_path: Path) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        assert first.key == second.key
        mine = await claim(first)
        other = await claim(second)
        assert other.state == "running" and other.record and other.record.state == "running"
        assert (await claim(second, fp=b"x" * 32)).state == "mismatch"
        waiting = [asyncio.create_task(second.wait(KEY, 50)) for _ in range(3)]
        assert await second.wait(KEY, 0.1) is None
        waiting.pop().cancel()
        await first.finish(mine, VALUE)
        for record in await asyncio.gather(*waiting):
            assert record and (record.state, record.outcome) == ("done", VALUE)
        assert (await claim(second)).state == "done"

    share(tmp_path, work)


def test_waiting_ends_when_the_call_is_released_or_its_owner_dies(tmp_path: Path) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        released, lost = await claim(first, "released"), await claim(first, "lost")
        waiting = [
            asyncio.create_task(second.wait(released.key, 50)),
            asyncio.create_task(second.wait(lost.key, 50)),
        ]
        await asyncio.sleep(0.05)
        await first.release(released)
        assert await waiting[0] is None
        again = await claim(second, "released")
        assert (again.state, again.attempt) == ("new", 2)
        await first.close()
        record = await waiting[1]
        assert record and record.state == "lost"

    share(tmp_path, work)


def test_waiting_that_races_with_the_end_of_a_call_elsewhere_never_misses_it(
    tmp_path: Path,
) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        async def chain(start: int) -> None:
            for n in range(start, 2000 if DEEP else 100, 10):
                mine = await claim(first, str(n))
                waiting = asyncio.create_task(second.wait(mine.key, 50))
                await asyncio.sleep(n % 3 / 1000)
                await first.finish(mine, VALUE)
                record = await waiting
                assert record and record.state == "done"

        await asyncio.gather(*(chain(start) for start in range(10)))

    share(tmp_path, work)


def test_a_sweep_leaves_the_calls_of_other_processes_alone(tmp_path: Path) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        alive, dead = SqliteLedger(first.path), SqliteLedger(first.path)
        await alive.open()
        await dead.open()
        await claim(alive, "alive")
        await claim(dead, "dead")
        await dead.close()
        found = await asyncio.gather(first.sweep(), second.sweep())
        assert sum(sweep.lost for sweep in found) == 1
        assert await first._submit(Ask("SELECT state FROM call ORDER BY call_id")) == [
            "running",
            "lost",
        ]
        await alive.close()

    share(tmp_path, work)


# --- who is alive ---------------------------------------------------------------------------------


def hold_owner(folder: Path, how: str) -> tuple[subprocess.Popen[str], bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD_OWNER, str(folder), how],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, bytes.fromhex(process.stdout.readline().strip())


def test_a_paused_owner_is_alive_and_a_killed_one_is_dead(tmp_path: Path) -> None:
    process, owner = hold_owner(tmp_path, "alone")
    with process:
        mine = OwnerFiles(tmp_path)
        assert mine.is_alive(owner) and mine.is_alive(mine.id)
        process.send_signal(signal.SIGSTOP)
        assert mine.is_alive(owner)
        process.kill()
        process.wait()
        assert not mine.is_alive(owner)
        assert not list(tmp_path.iterdir())


def test_a_forked_process_does_not_keep_a_dead_owner_alive(tmp_path: Path) -> None:
    process, owner = hold_owner(tmp_path, "fork")
    try:
        process.kill()
        process.wait()
        assert not OwnerFiles(tmp_path).is_alive(owner)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout and process.stdout.close()


def test_files_of_dead_owners_are_removed_and_other_files_are_not(tmp_path: Path) -> None:
    (tmp_path / os.urandom(16).hex()).touch()
    (tmp_path / "notes.txt").touch()
    first, second = (OwnerFiles(tmp_path) for _ in range(2))
    first.enter()
    second.enter()
    assert {file.name for file in tmp_path.iterdir()} == {
        first.id.hex(),
        second.id.hex(),
        "notes.txt",
    }
    first.leave()
    assert second.is_alive(second.id) and not second.is_alive(first.id)
    second.leave()
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_an_owner_whose_new_file_was_taken_for_that_of_a_dead_one_gets_another_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [letter * 16 for letter in (b"a", b"b", b"c", b"d")]
    monkeypatch.setattr(owners, "token_bytes", lambda size: ids.pop(0))
    observer, owner = OwnerFiles(tmp_path), OwnerFiles(tmp_path)
    real = LockFile.try_lock

    def lock_late(file: LockFile) -> bool:
        monkeypatch.setattr(LockFile, "try_lock", real)
        assert not observer.is_alive(b"c" * 16), "the file exists, and is not locked yet"
        return real(file)

    monkeypatch.setattr(LockFile, "try_lock", lock_late)
    owner.enter()
    assert owner.id == b"d" * 16
    assert observer.is_alive(b"d" * 16)
    owner.leave()


def test_an_owner_is_alive_while_its_file_cannot_be_locked_for_any_other_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, observer = OwnerFiles(tmp_path), OwnerFiles(tmp_path)
    owner.enter()

    def fail(file: LockFile) -> bool:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(LockFile, "try_lock", fail)
    assert observer.is_alive(owner.id)
    owner.leave()


def test_a_file_is_shared_under_a_symbolic_link_too(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")

    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        link = SqliteLedger(tmp_path / "link.db")
        await link.open()
        await claim(first)
        assert (await claim(link)).state == "running"
        await link.close()

    share(tmp_path, work)


# --- one writes at a time -------------------------------------------------------------------------


def test_no_process_writes_while_another_one_commits_and_runs_its_checkpoint(
    tmp_path: Path,
) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        other = WriteLock(tmp_path / "ledger.db-locks" / "write", 0)
        begun: list[bool] = []
        ended: list[bool] = []

        def trace(sql: str) -> None:
            for statement, held in (("BEGIN IMMEDIATE", begun), ("COMMIT", ended)):
                if sql == statement:
                    held.append(is_locked(other))

        await first._submit(Trace(trace))
        mine = await claim(first)
        await first.finish(mine, VALUE)
        assert begun == ended == [True, True]
        assert not is_locked(other)
        other.close()

    share(tmp_path, work)


class Trace(Job[SqliteStore, None]):
    """Report every statement."""

    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__()
        self.report = report

    def run(self, store: SqliteStore) -> None:
        store.db.set_trace_callback(self.report)


def is_locked(lock: WriteLock) -> bool:
    try:
        lock.acquire()
    except sqlite3.OperationalError:
        return True
    lock.release()
    return False


def test_a_ledger_that_cannot_write_in_time_rejects_calls_and_writes_again_afterwards(
    tmp_path: Path,
) -> None:
    async def work(first: SqliteLedger, second: SqliteLedger) -> None:
        impatient = SqliteLedger(first.path, lock_timeout=0.05, sweep_interval=DAY)
        await impatient.open()
        mine = await claim(impatient, "mine")
        other = WriteLock(tmp_path / "ledger.db-locks" / "write", 5)
        other.acquire()
        with pytest.raises(LedgerUnavailable, match="another process has locked the ledger"):
            await claim(impatient, "new")
        with pytest.raises(LedgerUnavailable):
            await impatient.finish(mine, VALUE)
        record = await impatient.get(mine.key)
        assert record and (record.state, record.recorded) == ("done", False)
        other.close()
        record = await first.wait(mine.key, 50)
        assert record and record.state == "done"
        assert (await claim(impatient, "new")).state == "new"
        await impatient.close()

    share(tmp_path, work)


# --- many processes -------------------------------------------------------------------------------


def test_processes_that_create_the_file_at_once_share_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    children = [stage.start(ids=["one", f"own-{n}"]) for n in range(6)]
    assert [child.wait() for child in children] == [0] * 6
    reports = [report for child in children for report in child.reports()]
    assert [report.state or report.note for report in reports] == ["done"] * 12
    assert stage.effects == {"one": 1} | {f"own-{n}": 1 for n in range(6)}


def test_a_storm_of_duplicates_from_four_processes_has_one_effect_for_each_id(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    ids = [f"call-{n}" for n in range(2000 if DEEP else 200)]
    children = [stage.start("many", ids=ids, seed=seed) for seed in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    reports = [report for child in children for report in child.reports()]
    assert Counter(report.state or report.note for report in reports) == {"done": 4 * len(ids)}
    assert all(report.value == {"rang": report.call_id, "attempt": 1} for report in reports)
    assert stage.effects == Counter(ids)


def test_of_processes_killed_at_random_none_rings_twice_or_forgets_what_it_acknowledged(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    ids = [f"call-{n}" for n in range(3000 if DEEP else 300)]
    reports = chaos(stage, ids, kills=40 if DEEP else 8, processes=3)
    assert max(stage.effects.values()) == 1
    final = {report.call_id: report for report in stage.run(ids=ids)}
    assert {report.state for report in final.values()} <= {"done", "lost"}
    for report in reports:
        if report.state == "done":
            assert (final[report.call_id].state, final[report.call_id].value) == (
                "done",
                report.value,
            )
