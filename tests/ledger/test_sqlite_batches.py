"""Batches of the SQLite ledger: rows that are written many at a time have the same results as rows
that are written one by one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest
from ledger_sqlite import VALUE, Ask, Hold, claim, with_ledger

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import CallKey, Claim
from toolwire.execution.ledger.sqlite import batch_writes as _sqlite_ahead
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger

SIZES = pytest.mark.parametrize("sizes", [(64, 32, 16, 8, 4), ()], ids=["together", "one-by-one"])


async def together(ledger: SqliteLedger, *asked: Awaitable[object]) -> list[object]:
    """The results of operations that wait for the writer in one batch."""
    hold = Hold()
    holding = asyncio.create_task(ledger._submit(hold))
    await asyncio.to_thread(hold.begun.wait, 30)
    tasks = [asyncio.ensure_future(one) for one in asked]
    await asyncio.sleep(0.01)
    hold.gate.set()
    await holding
    return await asyncio.gather(*tasks, return_exceptions=True)


def states(answers: Sequence[object]) -> list[str]:
    return [one.state if isinstance(one, Claim) else type(one).__name__ for one in answers]


@SIZES
def test_every_claim_of_a_batch_gets_its_own_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr(_sqlite_ahead, "SIZES", sizes)
    file = tmp_path / "ledger.db"

    async def before(ledger: SqliteLedger) -> None:
        await ledger.finish(await claim(ledger, "done"), VALUE)
        await claim(ledger, "left")

    async def work(ledger: SqliteLedger) -> None:
        await claim(ledger, "mine")
        ids = [str(n) for n in range(40)]
        asked = ["done", "left", "mine", "twice", "\ud800", *ids, "twice"]
        answers = await together(ledger, *(claim(ledger, id, by=os.urandom(16)) for id in asked))
        state_by_call = dict(zip(asked[:-1], states(answers), strict=False))
        assert state_by_call["done"] == "done"
        assert state_by_call["left"] == "lost"
        assert state_by_call["mine"] == "running"
        assert [states(answers)[3], states(answers)[-1]] == ["new", "running"]
        assert isinstance(answers[4], UsageError)
        assert {state_by_call[id] for id in ids} == {"new"}
        rows = await ledger._submit(
            Ask("SELECT call_id FROM call WHERE state='running' ORDER BY id")
        )
        assert sorted(map(str, rows)) == sorted(["mine", "twice", *ids])

    with_ledger(before, file)
    with_ledger(work, file)


@SIZES
def test_a_batch_of_finishes_records_only_calls_of_this_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr(_sqlite_ahead, "SIZES", sizes)

    async def work(ledger: SqliteLedger) -> None:
        claims = [await claim(ledger, str(n)) for n in range(40)]
        await ledger._submit(
            Ask("UPDATE call SET attempt=2 WHERE call_id='7'")
        )  # as this library never does
        answers = await together(ledger, *(ledger.finish(one, VALUE) for one in claims))
        assert [n for n, one in enumerate(answers) if one != "recorded"] == [7]
        assert answers[7] == "fenced"
        for n in range(40):
            record = await ledger.get(CallKey(claims[n].key.tenant, str(n)))
            assert record is not None and (record.outcome == VALUE) == (n != 7)

    with_ledger(work, tmp_path / "ledger.db")


@SIZES
def test_a_batch_keeps_its_order_where_it_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr(_sqlite_ahead, "SIZES", sizes)

    async def work(ledger: SqliteLedger) -> None:
        held = [await claim(ledger, f"held-{n}") for n in range(8)]
        answers = await together(
            ledger,
            *(ledger.finish(one, VALUE) for one in held),
            *(claim(ledger, f"held-{n}", by=os.urandom(16)) for n in range(8)),
            *(claim(ledger, f"new-{n}") for n in range(8)),
            ledger.get(CallKey(held[0].key.tenant, "new-0")),
            ledger.get(CallKey(held[0].key.tenant, "later-0")),
            *(claim(ledger, f"later-{n}") for n in range(8)),
        )
        assert answers[:8] == ["recorded"] * 8
        assert states(answers[8:16]) == ["done"] * 8
        assert states(answers[16:24]) == ["new"] * 8
        assert getattr(answers[24], "state", None) == "running"
        assert answers[25] is None
        assert states(answers[26:]) == ["new"] * 8

    with_ledger(work, tmp_path / "ledger.db")


def test_jobs_that_were_submitted_at_the_end_of_an_event_loop_are_done(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    held: list[SqliteLedger] = []

    async def lose_finish() -> None:
        ledger = SqliteLedger(file)
        await ledger.open()
        held.append(ledger)
        mine = await asyncio.gather(
            *(claim(ledger, f"{n}") for n in range(8))
        )  # many ask, so that it gathers
        asking = asyncio.create_task(ledger.finish(mine[0], VALUE))
        await asyncio.sleep(0)
        assert not asking.done()

    async def after() -> None:
        record = await held[0].get(CallKey("alice", "0"))
        await held[0].close()
        assert record is not None and record.state == "done"

    asyncio.run(lose_finish())
    asyncio.run(after())
