"""Whatever is done to a call, in any order: its record changes only as the table MOVES allows."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import DEEP
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_kinds import DAY, KINDS, Kind

from toolwire.execution.ledger.base import (
    MOVES,
    CallKey,
    Claim,
    Event,
    Failure,
    Ledger,
    Outcome,
    State,
)

KEY = CallKey("alice", "call-1")
FP = b"f" * 32
ACTS: tuple[str, ...] = (
    "claim",
    "claim other",
    "succeed",
    "fail",
    "release",
    "late succeed",
    "late release",
    "crash",
    "expire",
)
ENDS: dict[str, tuple[Event, Outcome]] = {
    "succeed": ("succeed", Outcome(1)),
    "fail": ("fail", Outcome(None, Failure("no"))),
}


class LedgerModel:
    """One call by the table, and the ledger to compare it with."""

    def __init__(self, kind: Kind, place: Path) -> None:
        self.kind = kind
        self.place = place
        self.state: State | None = None
        self.attempt = 0
        self.fp: bytes | None = None
        self.claims: list[Claim] = []
        self.ledger: Ledger = kind.make(place)

    def move(self, event: Event) -> None:
        self.state = MOVES[self.state, event]

    async def claim(self, fp: bytes) -> None:
        token = os.urandom(16)
        claim = await self.ledger.claim(
            KEY, fp, tool="Doorbell.Ring@1.0.0", on_crash="report", token=token
        )
        if self.fp not in (None, fp):
            assert claim.state == "mismatch"
            return
        if self.state is None:
            self.move("claim")
            self.attempt += 1
            self.fp = fp
            assert (claim.state, claim.attempt) == ("new", self.attempt)
            self.claims.append(claim)
            return
        assert (claim.state, claim.attempt) == (self.state, self.attempt)

    async def end(self, claim: Claim, act: str) -> None:
        mine = claim is self.claims[-1]
        open_ = mine and claim.attempt == self.attempt and self.state in ("running", "lost")
        if act == "release":
            await self.ledger.release(claim)
            if open_:
                self.move("release")
                self.fp = None
            return
        event, outcome = ENDS[act]
        done = await self.ledger.finish(claim, outcome)
        if open_:
            assert done == "recorded"
            self.move(event)
        elif not mine or self.state is None or self.state == "gone":
            assert done == "fenced"
        else:
            assert done == "recorded", "for the second time, which changes nothing"

    async def crash(self) -> None:
        await self.kind.die(self.ledger)
        self.ledger = self.kind.make(self.place)
        await self.ledger.open()
        await self.ledger.sweep()
        if self.state == "running":
            self.move("die")

    async def expire(self) -> None:
        """Let the results expire."""
        await self.kind.later(self.ledger, DAY + 60)
        await self.ledger.sweep()
        if (self.state, "expire") in MOVES:
            self.move("expire")

    async def look(self) -> None:
        record = await self.ledger.get(KEY)
        wanted = self.state
        if wanted is None:
            assert record is None
            return
        assert record is not None
        assert (record.state, record.attempt) == (wanted, self.attempt)
        assert (record.outcome is not None) == (wanted in ("done", "failed"))


async def walk(kind: Kind, place: Path, acts: list[str]) -> None:
    model = LedgerModel(kind, place)
    await model.ledger.open()
    try:
        expired = 0
        for act in acts:
            word = act.split()[-1]
            if act in ("claim", "claim other"):
                await model.claim(FP if act == "claim" else b"o" * 32)
            elif act == "crash":
                await model.crash()
            elif act == "expire" and expired < 5:
                expired += 1
                await model.expire()
            elif word in ("succeed", "fail", "release") and model.claims:
                await model.end(model.claims[0 if act.startswith("late") else -1], word)
            await model.look()
    finally:
        await model.ledger.close()


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
@settings(max_examples=150 if DEEP else 8)
@given(acts=st.lists(st.sampled_from(ACTS), min_size=4, max_size=14))
def test_a_record_changes_state_only_as_the_table_allows(kind: Kind, acts: list[str]) -> None:
    with TemporaryDirectory(prefix="toolwire-moves-") as place:
        asyncio.run(walk(kind, Path(place), ["claim", *acts]))
