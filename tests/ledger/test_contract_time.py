"""The contract of every ledger about time: when a result is deleted, when an id is forgotten, and
which ids are too old to run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from ledger_calls import KEY, VALUE, claim, state, with_ledger
from ledger_kinds import DAY, KINDS, Kind

from toolwire.execution.ledger.base import CallIdTooOld, CallKey, Ledger, Outcome, Sweep

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


@pytest.mark.parametrize("swept", [False, True])
def test_a_result_is_replayed_until_it_expires_and_the_id_never_runs_again(
    kind: Kind, tmp_path: Path, swept: bool
) -> None:
    async def work(ledger: Ledger) -> None:
        mine = await claim(ledger)
        await ledger.finish(mine, Outcome("x" * 300_000))
        await kind.later(ledger, DAY - 60)
        if swept:
            assert await ledger.sweep() == Sweep()
        assert (await claim(ledger)).state == "done"
        for _ in range(2):
            await kind.later(ledger, 120 if _ == 0 else 28 * DAY)
            if swept:
                assert await ledger.sweep() == Sweep(0, 1 - _, 0)
            answer = await claim(ledger)
            assert (answer.state, answer.attempt) == ("gone", 1)
            assert answer.record is None or answer.record.outcome is None
            assert state(await ledger.get(KEY)) == "gone"
            assert await ledger.finish(mine, VALUE) == "fenced" or not swept
            assert (await claim(ledger)).state == "gone"

    with_ledger(kind, tmp_path, work)


def test_an_id_is_forgotten_after_the_time_of_tombstones_and_only_then(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.finish(await claim(ledger), VALUE)
        running = CallKey("alice", "still at it")
        await claim(ledger, running)
        await kind.later(ledger, 30 * DAY - 60)
        assert (await ledger.sweep()).forgotten == 0
        assert (await claim(ledger)).state == "gone"
        await kind.later(ledger, 3600)
        assert (await ledger.sweep()).forgotten == 1
        assert await ledger.get(KEY) is None
        assert (await claim(ledger)).state == "new"
        assert state(await ledger.get(running)) == "running"

    with_ledger(kind, tmp_path, work)


@pytest.mark.parametrize("days", [31, 400, 20_000])
def test_a_clock_that_jumps_ahead_and_back_makes_no_call_run_again(
    kind: Kind, tmp_path: Path, days: int
) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.finish(await claim(ledger), VALUE)
        await ledger.sweep()
        await kind.jump(ledger, days * DAY)
        for _ in range(3):  # the result expires, and the id stays
            assert (await ledger.sweep()).forgotten == 0
        await kind.jump(ledger, -days * DAY)
        await ledger.sweep()
        assert (await claim(ledger)).state in ("done", "gone")

    with_ledger(kind, tmp_path, work)


def test_a_clock_that_was_slow_makes_no_call_run_again(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await kind.jump(ledger, -20_000 * DAY)  # a machine without a battery starts in 1970
        await ledger.finish(await claim(ledger), VALUE)
        await ledger.sweep()
        await kind.jump(ledger, 20_000 * DAY)
        await ledger.sweep()
        await ledger.sweep()
        assert (await claim(ledger)).state in ("done", "gone")

    with_ledger(kind, tmp_path, work)


def uuid7(at: float) -> str:
    """A UUIDv7 of a time in seconds since 1970."""
    text = f"{int(at * 1000):012x}7{os.urandom(2).hex()[:3]}a{os.urandom(8).hex()[:15]}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def test_an_id_older_than_the_ledger_is_rejected_without_a_row(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        record = await ledger.get(KEY)
        assert record is None
        await ledger.finish(await claim(ledger), VALUE)
        known = await ledger.get(KEY)
        assert known is not None
        now = known.started_at / 1000
        for ago, fresh in (
            (30 * DAY + 600, False),
            (30 * DAY + 200, True),
            (0.0, True),
            (-250.0, True),
        ):
            id = uuid7(now - ago)
            for spelt in (id, id.upper()):
                key = CallKey("alice", spelt)
                if fresh:
                    assert (await claim(ledger, key)).state == "new"
                else:
                    with pytest.raises(CallIdTooOld):
                        await claim(ledger, key)
                    assert await ledger.get(key) is None
        bare = uuid7(now - 300 * DAY).replace("-", "")  # any random digits could look like this
        for other in (bare, "0000-not-a-uuid"):
            assert (await claim(ledger, CallKey("alice", other))).state == "new"

    with_ledger(kind, tmp_path, work)


def test_an_id_with_its_time_in_it_never_runs_twice_however_long_one_waits(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.finish(await claim(ledger), VALUE)
        known = await ledger.get(KEY)
        assert known is not None
        now = known.started_at / 1000
        keys = [CallKey("alice", uuid7(now + ahead)) for ahead in (-299, 0, 299)]
        for key in keys:
            await ledger.finish(await claim(ledger, key), VALUE)
        await kind.later(ledger, 30 * DAY - 400)
        for _ in range(16):
            await kind.later(ledger, 100)
            await ledger.sweep()
            for key in keys:
                with suppress(CallIdTooOld):
                    assert (await claim(ledger, key)).state == "gone"
        assert [await ledger.get(key) for key in keys] == [None] * 3

    with_ledger(kind, tmp_path, work)
