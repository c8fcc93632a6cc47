"""The ledger in memory: bounded by time, count and bytes."""

from __future__ import annotations

import asyncio

import pytest

from toolwire.execution.ledger.base import CallKey, Claim, Ledger, LedgerUnavailable, Outcome, Sweep
from toolwire.execution.ledger.memory import MemoryLedger

FP = b"f" * 32


async def claim_call(ledger: MemoryLedger, name: str, token: bytes = b"t", fp: bytes = FP) -> Claim:
    return await ledger.claim(
        CallKey("p", name), fp, tool="Test.Tool@1.0.0", on_crash="report", token=token
    )


async def finish_call(ledger: MemoryLedger, name: str, value: str = "v") -> None:
    assert await ledger.finish(await claim_call(ledger, name), Outcome(value)) == "recorded"


def test_it_is_a_ledger() -> None:
    assert isinstance(MemoryLedger(), Ledger)
    assert MemoryLedger().key != MemoryLedger().key


def test_a_claim_and_a_finish_may_be_repeated_with_their_token() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        claim = await claim_call(ledger, "a")
        assert claim == await claim_call(ledger, "a")
        assert (await claim_call(ledger, "a", b"u")).state == "running"
        for _ in range(2):
            assert await ledger.finish(claim, Outcome(1)) == "recorded"
        await ledger.release(claim)  # too late
        assert (await claim_call(ledger, "a", b"u")).state == "done"
        other = Claim("new", claim.key, b"z")
        assert await ledger.finish(other, Outcome(2)) == "fenced"

    asyncio.run(main())


def test_an_outcome_that_was_read_is_independent_of_the_original() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        value: list[object] = [1]
        claim = await claim_call(ledger, "a")
        await ledger.finish(claim, Outcome([1, 10**30, "\ud800"]))
        value.append(2)
        record = await ledger.get(claim.key)
        assert record is not None and record.outcome == Outcome([1, 10**30, "\ud800"])

    asyncio.run(main())


def test_results_go_first_then_ids() -> None:
    async def main() -> None:
        now = [0]
        ledger = MemoryLedger(result_ttl=10, tombstone_ttl=100, clock=lambda: now[0])
        await finish_call(ledger, "a")
        now[0] = 9_999
        assert (await claim_call(ledger, "a")).state == "done"
        now[0] = 10_000
        assert await ledger.sweep() == Sweep(0, 1, 0)
        assert (await claim_call(ledger, "a")).state == "gone"
        assert (await claim_call(ledger, "a", fp=b"g" * 32)).state == "mismatch"
        now[0] = 100_000
        assert await ledger.sweep() == Sweep(0, 0, 1)
        assert (await claim_call(ledger, "a")).state == "new"

    asyncio.run(main())


def test_bytes_are_bounded() -> None:
    async def main() -> None:
        ledger = MemoryLedger(max_bytes=10_000)
        for n in range(20):
            await finish_call(ledger, f"c{n}", "x" * 1000)
        states = [(await claim_call(ledger, f"c{n}")).state for n in range(20)]
        assert states == sorted(states, reverse=True) and set(states) == {"gone", "done"}
        assert states.count("done") == 9

    asyncio.run(main())


def test_the_number_of_calls_is_bounded_and_calls_in_progress_are_never_deleted() -> None:
    async def main() -> None:
        ledger = MemoryLedger(max_calls=3)
        running = await claim_call(ledger, "r")
        for n in range(5):
            await finish_call(ledger, f"c{n}")
        assert len(ledger) == 3
        assert (await claim_call(ledger, "r", b"u")).state == "running"
        for name in ("s", "t"):
            assert (await claim_call(ledger, name)).state == "new"
        with pytest.raises(LedgerUnavailable):
            await claim_call(ledger, "v")
        await ledger.release(running)
        assert (await claim_call(ledger, "v")).state == "new"

    asyncio.run(main())


def test_a_released_call_is_the_next_attempt_and_may_be_another_call() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        await ledger.release(await claim_call(ledger, "a"))
        assert await ledger.get(CallKey("p", "a")) is None
        again = await claim_call(ledger, "a", b"u", b"g" * 32)
        assert (again.state, again.attempt) == ("new", 2)

    asyncio.run(main())


def test_waiters_are_woken_and_do_not_pile_up() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        claim = await claim_call(ledger, "a")
        assert await ledger.wait(claim.key, 0.001) is None
        gone = asyncio.create_task(ledger.wait(claim.key, 30))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        stays = asyncio.create_task(ledger.wait(claim.key, 30))
        await asyncio.sleep(0)
        await ledger.finish(claim, Outcome(1))
        record = await stays
        assert record is not None and record.state == "done"
        assert await ledger.wait(CallKey("p", "unknown"), 30) is None

    asyncio.run(main())
