"""An owner can mark its call as lost, and a record shows whether an engine has the call. On every
ledger."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from ledger_kinds import KINDS, Kind

from toolwire.execution.ledger.base import CallKey, Claim, Ledger, Outcome
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.tools.runnable import OnCrash

KEY = CallKey("t", "c")
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


async def claim_call(ledger: Ledger, on_crash: OnCrash = "report") -> Claim:
    return await ledger.claim(KEY, b"f" * 32, tool="T", on_crash=on_crash, token=os.urandom(16))


def with_ledger(kind: Kind, place: Path, act: Callable[[Ledger], Awaitable[None]]) -> None:
    async def main() -> None:
        ledger = kind.make(place)
        await ledger.open()
        try:
            await act(ledger)
        finally:
            await ledger.close()

    asyncio.run(main())


async def _loses(ledger: Ledger) -> None:
    mine = await claim_call(ledger)
    waiting = asyncio.create_task(ledger.wait(KEY, 30))
    await asyncio.sleep(0.05)
    await ledger.lose(mine)
    await ledger.lose(mine)
    record = await waiting
    assert record is not None and record.state == "lost" and record.ended_at is not None
    again = await claim_call(ledger)
    assert (again.state, again.attempt) == ("lost", 1)


@each_kind
def test_a_call_that_its_owner_loses_is_lost_at_once_and_for_every_waiter(
    kind: Kind, tmp_path: Path
) -> None:
    with_ledger(kind, tmp_path, _loses)


def test_a_call_that_its_owner_abandons_is_lost_also_in_memory() -> None:
    asyncio.run(_loses(MemoryLedger()))


@each_kind
def test_a_lost_call_can_be_finished_with_the_claim_that_reported_it(
    kind: Kind, tmp_path: Path
) -> None:
    async def act(ledger: Ledger) -> None:
        await ledger.lose(await claim_call(ledger))
        claim = await claim_call(ledger)
        assert await ledger.finish(claim, Outcome("known")) == "recorded"
        done = await claim_call(ledger)
        assert done.record is not None and done.record.outcome == Outcome("known")

    with_ledger(kind, tmp_path, act)


@each_kind
def test_a_call_that_has_ended_cannot_become_lost(kind: Kind, tmp_path: Path) -> None:
    async def act(ledger: Ledger) -> None:
        mine = await claim_call(ledger)
        await ledger.finish(mine, Outcome(1))
        await ledger.lose(mine)
        assert (await claim_call(ledger)).state == "done"

    with_ledger(kind, tmp_path, act)


@each_kind
@pytest.mark.parametrize(("on_crash", "resumable"), [("report", False), ("resume", True)])
def test_the_record_of_a_dead_owner_shows_whether_an_engine_has_the_call(
    kind: Kind, tmp_path: Path, on_crash: OnCrash, resumable: bool
) -> None:
    async def main() -> None:
        dying = kind.make(tmp_path)
        await dying.open()
        await claim_call(dying, on_crash)
        await kind.die(dying)
        ledger = kind.make(tmp_path)
        await ledger.open()
        found = await claim_call(ledger, on_crash)
        assert found.state == "lost"
        assert found.record is not None and found.record.resumable is resumable
        await ledger.close()

    asyncio.run(main())
