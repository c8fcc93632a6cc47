"""Claims and finishes of a batch written many at a time, before each of them is looked at.

A statement for many rows takes less time than one for each, and above all it lets go of the
interpreter once and not for every row: the event loop runs meanwhile. What is not as expected (an
id that is there already, a row that is no longer ours) is left to the way of one by one. Only rows
whose key nothing else in the same stretch of the batch touches are written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeAlias

from toolwire.execution.ledger.base import CallKey

SIZES = (64, 32, 16, 8, 4)
"""Rows in one statement. There are few sizes, so that SQLite keeps all of them compiled; what is
left is written one by one."""
Values: TypeAlias = tuple[object, ...]
Write: TypeAlias = Callable[[str, Sequence[object]], sqlite3.Cursor]
_SINCE = "SELECT id, created_at, tenant, call_id FROM call WHERE id>?"
_STATE = "SELECT 1 FROM call WHERE id=? AND attempt=? AND token=? AND state IN('done', 'failed')"


class BatchWrites:
    """What was foretold of a stretch of a batch, and what of it is written."""

    def __init__(self) -> None:
        self._claims: dict[CallKey, Values | None] = {}
        self._finishes: dict[CallKey, Values | None] = {}
        self._touched: set[CallKey] = set()
        self.taken: dict[CallKey, tuple[int, int]] = {}
        """Rows that were not there before: their numbers, and when it was."""
        self.ended: dict[CallKey, int] = {}
        """When calls ended whose rows say so now."""

    def claim(self, key: CallKey, values: Values | None) -> None:
        """A claim will come; None if it is not one that can be written ahead."""
        self._claims[key] = None if self._again(key) else values

    def finish(self, key: CallKey, values: Values | None) -> None:
        """A finish will come."""
        self._finishes[key] = None if self._again(key) else values

    def _again(self, key: CallKey) -> bool:
        if key in self._touched:  # in which order matters then
            self._claims.pop(key, None)
            self._finishes.pop(key, None)
            return True
        self._touched.add(key)
        return False

    def clear(self) -> None:
        """Forget everything: the batch is undone."""
        for one in (self._claims, self._finishes, self._touched, self.taken, self.ended):
            one.clear()

    def write(self, write: Write | None) -> None:
        """Write what was foretold, or forget it. Raises what SQLite raises."""
        claims, self._claims = self._claims, {}
        finishes, self._finishes = self._finishes, {}
        self._touched.clear()
        if write is None:
            return
        with suppress(
            UnicodeEncodeError
        ):  # of one key: its statement was not begun, and whoever asks for it will be told
            for some in _stretches(
                [(key, values) for key, values in claims.items() if values is not None]
            ):
                self._insert(some, write)
        for some in _stretches(
            [(key, values) for key, values in finishes.items() if values is not None]
        ):
            self._update(some, write)

    def _insert(self, some: Sequence[tuple[CallKey, Values]], write: Write) -> None:
        written = write(_inserting(len(some)), [value for _, values in some for value in values])
        count, last = written.rowcount, written.lastrowid or 0
        if count == len(some):  # each row has the number after the largest
            for id, (key, values) in enumerate(some, last - count + 1):
                self.taken[key] = id, _whole(values[-1])
        elif count > 0:
            for id, created_at, tenant, call_id in write(_SINCE, (last - count,)).fetchall():
                self.taken[CallKey(tenant, call_id)] = id, created_at

    def _update(self, some: Sequence[tuple[CallKey, Values]], write: Write) -> None:
        written = write(_updating(len(some)), [value for _, values in some for value in values])
        all_of_them = written.rowcount == len(some)
        for key, values in some:
            if all_of_them or write(_STATE, values[:3]).fetchone():
                self.ended[key] = _whole(values[4])


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _stretches(
    rows: Sequence[tuple[CallKey, Values]],
) -> Iterator[Sequence[tuple[CallKey, Values]]]:
    at = 0
    for size in SIZES:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


@cache
def _inserting(rows: int) -> str:
    row = "(?, ?, ?, ?, 'running', 1, ?, ?, ?, ?)"
    columns = "tenant, call_id, tool, fp, state, attempt, owner, token, on_crash, created_at"
    return f"INSERT INTO call({columns}) VALUES {', '.join([row] * rows)} ON CONFLICT DO NOTHING"


@cache
def _updating(rows: int) -> str:
    values = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)
    return (
        "UPDATE call SET state=new.column4, ended_at=new.column5, expires_at=new.column6,"
        f" outcome=new.column7 FROM (VALUES {values}) AS new WHERE call.id=new.column1 AND"
        " call.attempt=new.column2 AND call.token=new.column3 AND call.state IN('running', 'lost')"
    )
