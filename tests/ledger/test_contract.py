"""The contract of every ledger, whatever stores it. The kinds are rows of `ledger_kinds.KINDS`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from ledger_calls import (
    FAILURE,
    KEY,
    OTHER,
    VALUE,
    abandon_call,
    claim,
    open_ledger,
    run,
    state,
    token,
    with_ledger,
)
from ledger_kinds import DAY, KINDS, Kind

from toolwire.conversation.json import JSON
from toolwire.execution.ledger.base import (
    CallKey,
    Claim,
    Failure,
    Ledger,
    LedgerUnavailable,
    Outcome,
    Record,
)
from toolwire.tools.runnable import OnCrash

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


# --- one call -------------------------------------------------------------------------------------


def test_the_first_claim_is_new_and_the_second_gets_running(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        first, second = await claim(ledger), await claim(ledger)
        assert (first.state, first.attempt, first.key, first.record) == ("new", 1, KEY, None)
        assert (second.state, state(second.record)) == ("running", "running")
        assert second.record and second.record.started_at > 1_600_000_000_000
        assert state(await ledger.get(KEY)) == "running"

    with_ledger(kind, tmp_path, work)


def test_a_claim_repeated_with_its_own_token_is_recognised(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        by = token()
        first, again = await claim(ledger, by=by), await claim(ledger, by=by)
        assert (first.state, again.state) == ("new", "new")
        assert first.attempt == again.attempt == 1
        assert await ledger.finish(again, VALUE) == "recorded"
        assert (await claim(ledger, by=by)).state == "done"

    with_ledger(kind, tmp_path, work)


@pytest.mark.parametrize("outcome", [VALUE, FAILURE], ids=["done", "failed"])
def test_every_later_claim_gets_the_recorded_outcome_also_after_a_restart(
    kind: Kind, tmp_path: Path, outcome: Outcome
) -> None:
    async def work() -> None:
        async with open_ledger(kind.make(tmp_path)) as ledger:
            mine = await claim(ledger)
            assert await ledger.finish(mine, outcome) == "recorded"
            await assert_outcome(ledger)
        async with open_ledger(kind.make(tmp_path)) as ledger:
            await assert_outcome(ledger)

    async def assert_outcome(ledger: Ledger) -> None:
        wanted = "done" if outcome.failure is None else "failed"
        answer = await claim(ledger)
        assert answer.state == wanted
        for record in (answer.record, await ledger.get(KEY), await ledger.wait(KEY, 0)):
            assert record is not None
            assert (record.state, record.outcome, record.recorded, record.tool) == (
                wanted,
                outcome,
                True,
                "Doorbell.Ring@1.0.0",
            )
            assert record.ended_at is not None
            assert record.ended_at >= record.started_at

    run(work())


VALUES: dict[str, JSON] = {
    "null": None,
    "false": False,
    "zero": 0,
    "negative zero": -0.0,
    "a float": 0.1,
    "a whole float": 1.0,
    "beyond 64 bits": 2**70,
    "empty text": "",
    "text with a zero byte": "a\x00b",
    "emoji and signs": '🔔 \u2028 \\ " é e\u0301',
    "lone surrogate": "cut \ud83d",
    "nested": {"": [{}, [], [[]], {"a": None}], "1": 1},
    "large": "x" * 700_000,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_is_returned_verbatim(kind: Kind, tmp_path: Path, value: JSON) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.finish(await claim(ledger), Outcome(value))
        failed = CallKey("alice", "call-2")
        await ledger.finish(
            await claim(ledger, failed), Outcome(None, Failure("no", extra={"why": value}))
        )
        back, why = await ledger.get(KEY), await ledger.get(failed)
        assert back and back.outcome and why and why.outcome and why.outcome.failure
        for found in (back.outcome.value, why.outcome.failure.extra["why"]):
            assert (found, type(found), str(found)) == (value, type(value), str(value))

    with_ledger(kind, tmp_path, work)


IDS = [
    "",
    " ",
    "a" * 5000,
    "a\x00b",
    "a\x00c",
    "é",
    "e\u0301",
    "'; DROP TABLE call; --",
    "call-1 ",
    "CALL-1",
    "🔔",
    "%",
    "_",
]


def test_ids_and_tenants_are_compared_verbatim(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        keys = [CallKey(tenant, id) for tenant in ("alice", "bob") for id in ["call-1", *IDS]]
        keys += [CallKey(tenant, "call-1") for tenant in IDS if tenant]
        if (
            kind.name == "postgres"
        ):  # its text has no zero byte: the reader of a call id has to refuse it before
            keys = [key for key in keys if "\x00" not in key.tenant + key.call_id]
        for n, key in enumerate(keys):
            mine = await claim(ledger, key)
            assert mine.state == "new", key
            await ledger.finish(mine, Outcome(n))
        for n, key in enumerate(keys):
            record = await ledger.get(key)
            assert record and record.outcome and record.outcome.value == n

    with_ledger(kind, tmp_path, work)


def test_another_input_under_the_same_id_is_rejected_and_learns_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        mine = await claim(ledger)
        running = await claim(ledger, fp=OTHER)
        await ledger.finish(mine, VALUE)
        done = await claim(ledger, fp=OTHER)
        await kind.later(ledger, DAY + 60)
        gone = await claim(ledger, fp=OTHER)
        assert [one.state for one in (running, done, gone)] == ["mismatch"] * 3
        assert [one.record for one in (running, done, gone)] == [None] * 3

    with_ledger(kind, tmp_path, work)


def test_finishing_twice_keeps_the_first_outcome_and_harms_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        mine = await claim(ledger)
        assert await ledger.finish(mine, VALUE) == "recorded"
        assert await ledger.finish(mine, FAILURE) == "recorded"
        await ledger.release(mine)
        record = await ledger.get(KEY)
        assert record is not None
        assert record.outcome == VALUE

    with_ledger(kind, tmp_path, work)


def test_only_the_holder_of_a_claim_can_finish_or_release_it(kind: Kind, tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        mine = await claim(ledger)
        follower = await claim(ledger)
        assert await ledger.finish(follower, FAILURE) == "fenced"
        assert await ledger.finish(Claim("new", KEY, token()), FAILURE) == "fenced"
        assert (
            await ledger.finish(Claim("new", CallKey("alice", "never"), token()), FAILURE)
            == "fenced"
        )
        assert await ledger.finish(Claim("new", KEY, mine.token, 2), FAILURE) == "fenced"
        await ledger.release(follower)
        await ledger.release(Claim("new", KEY, token()))
        assert state(await ledger.get(KEY)) == "running"
        assert await ledger.finish(mine, VALUE) == "recorded"

    with_ledger(kind, tmp_path, work)


def test_a_released_call_may_run_again_as_the_next_attempt_and_the_first_is_fenced(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        first = await claim(ledger)
        await ledger.release(first)
        await ledger.release(first)
        assert await ledger.get(KEY) is None
        assert await ledger.wait(KEY, 0) is None
        second = await claim(
            ledger, fp=OTHER
        )  # nothing happened, so nothing binds the id to its first payload
        assert (second.state, second.attempt) == ("new", 2)
        assert await ledger.finish(first, FAILURE) == "fenced"
        await ledger.release(first)
        assert await ledger.finish(second, VALUE) == "recorded"
        record = await ledger.get(KEY)
        assert record is not None
        assert (record.attempt, record.outcome) == (2, VALUE)

    with_ledger(kind, tmp_path, work)


# --- waiting --------------------------------------------------------------------------------------


def test_waiters_get_the_end_of_a_call_and_a_cancelled_one_does_not_affect_the_others(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        mine = await claim(ledger)
        waiting = [asyncio.create_task(ledger.wait(KEY, 50)) for _ in range(20)]
        impatient = asyncio.create_task(ledger.wait(KEY, 0.01))
        assert await impatient is None
        for one in waiting[::2]:
            one.cancel()
        await asyncio.sleep(0.01)
        await ledger.finish(mine, VALUE)
        for one in waiting[1::2]:
            record = await one
            assert record is not None
            assert (record.state, record.outcome) == ("done", VALUE)
        assert all(one.cancelled() for one in waiting[::2])

    with_ledger(kind, tmp_path, work)


def test_waiting_ends_with_nothing_for_an_unknown_or_released_call_or_when_the_time_is_over(
    kind: Kind, tmp_path: Path
) -> None:
    async def work(ledger: Ledger) -> None:
        assert await ledger.wait(KEY, 50) is None
        mine = await claim(ledger)
        assert await ledger.wait(KEY, 0) is None
        waiting = asyncio.create_task(ledger.wait(KEY, 50))
        await asyncio.sleep(0.02)
        await ledger.release(mine)
        assert await waiting is None

    with_ledger(kind, tmp_path, work)


# --- owners that die ------------------------------------------------------------------------------


@pytest.mark.parametrize("on_crash", ["report", "probe"])
def test_a_call_of_a_dead_owner_is_lost_for_everybody(
    kind: Kind, tmp_path: Path, on_crash: OnCrash
) -> None:
    async def work() -> None:
        await abandon_call(kind, tmp_path, on_crash)
        async with open_ledger(kind.make(tmp_path)) as ledger:
            for _ in range(3):
                answer = await claim(ledger, on_crash=on_crash)
                assert (answer.state, answer.attempt, state(answer.record)) == ("lost", 1, "lost")
            assert state(await ledger.get(KEY)) == "lost"
            assert state(await ledger.wait(KEY, 50)) == "lost"
            assert (await claim(ledger, fp=OTHER)).state == "mismatch"

    run(work())


@pytest.mark.parametrize("on_crash", ["retry", "transactional"])
def test_the_next_claim_takes_over_a_rerunnable_call_of_a_dead_owner(
    kind: Kind, tmp_path: Path, on_crash: OnCrash
) -> None:
    async def work() -> None:
        first = await abandon_call(kind, tmp_path, on_crash)
        async with open_ledger(kind.make(tmp_path)) as ledger:
            assert (await claim(ledger, fp=OTHER, on_crash=on_crash)).state == "mismatch"
            second = await claim(ledger, on_crash=on_crash)
            assert (second.state, second.attempt) == ("new", 2)
            assert (await claim(ledger, on_crash=on_crash)).state == "running"
            assert await ledger.finish(first, FAILURE) == "fenced"
            await ledger.release(first)
            assert await ledger.finish(second, VALUE) == "recorded"
            assert await ledger.finish(first, FAILURE) == "fenced"
            record = await ledger.get(KEY)
            assert record is not None
            assert (record.attempt, record.outcome) == (2, VALUE)

    run(work())


@pytest.mark.parametrize("looked", [False, True])
def test_a_late_finish_with_the_first_token_still_counts_for_a_lost_call(
    kind: Kind, tmp_path: Path, looked: bool
) -> None:
    async def work() -> None:
        mine = await abandon_call(kind, tmp_path, "report")
        async with open_ledger(kind.make(tmp_path)) as ledger:
            if looked:
                assert (await claim(ledger)).state == "lost"
            assert await ledger.finish(mine, VALUE) == "recorded"
            answer = await claim(ledger)
            assert answer.state == "done"
            assert answer.record and answer.record.outcome == VALUE

    run(work())


def test_a_claim_that_reported_a_lost_call_may_finish_it_once(kind: Kind, tmp_path: Path) -> None:
    async def work() -> None:
        mine = await abandon_call(kind, tmp_path, "probe")
        async with open_ledger(kind.make(tmp_path)) as ledger:
            one, two = await claim(ledger, on_crash="probe"), await claim(ledger, on_crash="probe")
            assert (one.state, two.state) == ("lost", "lost")
            assert await ledger.finish(one, VALUE) == "recorded"
            await ledger.finish(two, FAILURE)
            await ledger.finish(mine, FAILURE)
            await ledger.release(two)
            record = await ledger.get(KEY)
            assert record is not None
            assert (record.state, record.outcome) == ("done", VALUE)

    run(work())


def test_a_lost_call_that_never_happened_may_run_again_and_the_first_is_fenced(
    kind: Kind, tmp_path: Path
) -> None:
    async def work() -> None:
        first = await abandon_call(kind, tmp_path, "probe")
        async with open_ledger(kind.make(tmp_path)) as ledger:
            one, two = await claim(ledger, on_crash="probe"), await claim(ledger, on_crash="probe")
            await ledger.release(one)
            second = await claim(ledger, on_crash="probe")
            assert (second.state, second.attempt) == ("new", 2)
            await ledger.release(two)
            assert await ledger.finish(two, FAILURE) == "fenced"
            assert await ledger.finish(first, FAILURE) == "fenced"
            assert await ledger.finish(second, VALUE) == "recorded"

    run(work())


def test_a_sweep_marks_only_calls_of_dead_owners(kind: Kind, tmp_path: Path) -> None:
    async def work() -> None:
        policies: tuple[OnCrash, ...] = ("report", "probe", "retry", "transactional")
        keys = {on_crash: CallKey("alice", on_crash) for on_crash in policies}
        ledger = kind.make(tmp_path)
        await ledger.open()
        for on_crash, key in keys.items():
            await claim(ledger, key, on_crash=on_crash)
        await kind.die(ledger)
        async with open_ledger(kind.make(tmp_path)) as ledger:
            mine = await claim(ledger)
            await ledger.sweep()
            assert [state(await ledger.get(key)) for key in keys.values()] == [
                "lost",
                "lost",
                None,
                None,
            ]
            assert (await ledger.sweep()).lost == 0
            after = [
                (await claim(ledger, key, on_crash=on_crash)).state
                for on_crash, key in keys.items()
            ]
            assert after == ["lost", "lost", "new", "new"]
            assert await ledger.finish(mine, VALUE) == "recorded"

    run(work())


# --- the ledger itself ----------------------------------------------------------------------------


def test_the_key_is_random_and_stays_or_is_the_one_that_was_given(
    kind: Kind, tmp_path: Path
) -> None:
    async def work() -> None:
        for name in ("one", "two", "given"):
            (tmp_path / name).mkdir()
        keys = []
        for name in ("one", "one", "two"):
            async with open_ledger(kind.make(tmp_path / name)) as ledger:
                keys.append(ledger.key)
        assert keys[0] == keys[1] != keys[2]
        assert [len(key) for key in keys] == [32] * 3
        async with open_ledger(kind.make(tmp_path / "given", key=b"k" * 32)) as ledger:
            assert ledger.key == b"k" * 32

    run(work())


def test_a_ledger_that_is_not_open_refuses_everything(kind: Kind, tmp_path: Path) -> None:
    async def refuses(ledger: Ledger) -> None:
        mine = Claim("new", KEY, token())
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: claim(ledger),
            lambda: ledger.finish(mine, VALUE),
            lambda: ledger.release(mine),
            lambda: ledger.wait(KEY, 1),
            lambda: ledger.get(KEY),
            ledger.sweep,
        ]
        for ask in asked:
            with pytest.raises(LedgerUnavailable):
                await ask()

    async def work() -> None:
        ledger = kind.make(tmp_path)
        await refuses(ledger)
        await ledger.open()
        await ledger.open()
        assert (await claim(ledger)).state == "new"
        await ledger.close()
        await ledger.close()
        await refuses(ledger)

    run(work())


def test_closing_waits_for_submitted_operations(kind: Kind, tmp_path: Path) -> None:
    async def work() -> None:
        ledger = kind.make(tmp_path)
        await ledger.open()
        keys = [CallKey("alice", str(n)) for n in range(100)]
        claims = await asyncio.gather(*(claim(ledger, key) for key in keys))
        ends = [asyncio.create_task(ledger.finish(mine, VALUE)) for mine in claims]
        await asyncio.sleep(0)
        await ledger.close()
        assert await asyncio.gather(*ends) == ["recorded"] * 100
        async with open_ledger(kind.make(tmp_path)) as ledger:
            assert [state(await ledger.get(key)) for key in keys] == ["done"] * 100

    run(work())


def test_of_many_concurrent_claims_one_runs_and_all_get_its_result(
    kind: Kind, tmp_path: Path
) -> None:
    ran: list[str] = []

    async def ask(ledger: Ledger, key: CallKey) -> Record | None:
        mine = await claim(ledger, key)
        if mine.state != "new":
            return await ledger.wait(key, 50)
        ran.append(key.call_id)
        await asyncio.sleep(0.001)
        await ledger.finish(mine, Outcome(key.call_id))
        return await ledger.get(key)

    async def work(ledger: Ledger) -> None:
        keys = [CallKey("alice", str(n % 40)) for n in range(400)]
        records = await asyncio.gather(*(ask(ledger, key) for key in keys))
        assert sorted(ran) == sorted({key.call_id for key in keys})
        assert all(one and one.state == "done" and one.outcome for one in records)
        assert [one.outcome.value for one in records if one and one.outcome] == [
            key.call_id for key in keys
        ]

    with_ledger(kind, tmp_path, work)
