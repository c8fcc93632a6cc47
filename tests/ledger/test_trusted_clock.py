"""The time by which ids are forgotten: which jumps of a clock it follows, and when."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from ledger_calls import VALUE, claim
from ledger_kinds import DAY, LedgerClock

from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.ledger.trusted_clock import BELIEF, TrustedTime, read_time, write_time

HOUR = 3_600_000


def test_a_clock_that_agrees_with_the_timer_or_goes_back_is_trusted() -> None:
    trusted = TrustedTime(1_000 * HOUR)
    assert trusted.advance(1_001 * HOUR, HOUR).time == 1_001 * HOUR
    assert trusted.advance(900 * HOUR, HOUR) == TrustedTime(900 * HOUR)


def test_a_clock_that_is_ahead_is_believed_after_a_week_of_running_and_not_before() -> None:
    trusted = TrustedTime(0)
    for hour in range(1, BELIEF // HOUR):
        trusted = read_time(write_time(trusted.advance((10_000 + hour) * HOUR, HOUR)))
        assert trusted == TrustedTime(hour * HOUR, hour * HOUR)
    assert trusted.advance(20_000 * HOUR, HOUR) == TrustedTime(20_000 * HOUR)


def test_a_clock_that_was_ahead_for_days_starts_again_when_it_is_right() -> None:
    ahead = TrustedTime(0).advance(900 * HOUR, BELIEF - 1)
    assert ahead.advance(BELIEF, 1) == TrustedTime(BELIEF)


def test_one_start_with_a_wrong_clock_forgets_nothing_in_the_file(tmp_path: Path) -> None:
    clock = LedgerClock()

    async def start(ahead: float) -> str:
        clock.ahead = int(ahead * 1000)
        path = tmp_path / "ledger.db"
        ledger = SqliteLedger(path, sweep_interval=DAY, clock=clock, timer=clock.timer)
        await ledger.open()
        try:
            found = await claim(ledger)
            if found.state == "new":
                await ledger.finish(found, VALUE)
            for _ in range(2):
                await ledger.sweep()
            return found.state
        finally:
            await ledger.close()

    states = [asyncio.run(start(ahead)) for ahead in (0, 31 * DAY, 0)]
    assert states == ["new", "gone", "gone"]


def test_a_ledger_in_memory_does_not_follow_the_clock_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def act() -> None:
        ledger = MemoryLedger()
        await ledger.finish(await claim(ledger), VALUE)
        ahead = time.time_ns() + int(31 * DAY * 1e9)
        monkeypatch.setattr(time, "time_ns", lambda: ahead)
        await ledger.sweep()
        assert (await claim(ledger)).state == "done"

    asyncio.run(act())
