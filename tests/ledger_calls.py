"""Helpers for tests of ledgers: a claim with the usual arguments, an abandoned claim, and a ledger
that is closed at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from ledger_kinds import Kind

from toolwire.execution.ledger.base import CallKey, Claim, Failure, Ledger, Outcome, Record, State
from toolwire.tools.runnable import OnCrash

T = TypeVar("T")
FP = b"f" * 32
OTHER = b"o" * 32
KEY = CallKey("alice", "call-1")
VALUE = Outcome({"rang": True}, None, 1.5)
FAILURE = Outcome(
    None,
    Failure(
        "no such bell",
        "bell 7 of 6",
        False,
        250,
        "try bell 6",
        "no_bell",
        {"bells": [1, 2], "of": {"house": None}},
    ),
    0.25,
)


def token() -> bytes:
    return os.urandom(16)


async def claim(
    ledger: Ledger,
    key: CallKey = KEY,
    *,
    fp: bytes = FP,
    on_crash: OnCrash = "report",
    by: bytes | None = None,
) -> Claim:
    return await ledger.claim(
        key, fp, tool="Doorbell.Ring@1.0.0", on_crash=on_crash, token=by or token()
    )


@asynccontextmanager
async def open_ledger(ledger: Ledger) -> AsyncIterator[Ledger]:
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.close()


def run(work: Coroutine[object, object, T]) -> T:
    async def soon() -> T:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(soon())


def with_ledger(kind: Kind, place: Path, work: Callable[[Ledger], Awaitable[None]]) -> None:
    """Run a test with one ledger."""

    async def all_of_it() -> None:
        async with open_ledger(kind.make(place)) as ledger:
            await work(ledger)

    run(all_of_it())


def state(record: Record | None) -> State | None:
    return None if record is None else record.state


async def abandon_call(kind: Kind, place: Path, on_crash: OnCrash, key: CallKey = KEY) -> Claim:
    """Leave a call whose owner died in the middle of it."""
    ledger = kind.make(place)
    await ledger.open()
    mine = await claim(ledger, key, on_crash=on_crash)
    assert mine.state == "new"
    await kind.die(ledger)
    return mine
