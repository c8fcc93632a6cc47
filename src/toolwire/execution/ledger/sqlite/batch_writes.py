"""Write many claims and finishes of a batch in one statement.

One statement for many rows takes less time than many statements, and it releases the interpreter
lock once instead of once per row: the event loop runs meanwhile. A row that is not as expected (the
id exists already, the row has another owner) is left to the single-row code. Only rows whose key
occurs once in the batch are written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeAlias

from toolwire.execution.ledger.base import CallKey

SIZES = (64, 32, 16, 8, 4)
"""Rows in one statement. There are few sizes, so that SQLite keeps all statements compiled; the
remaining rows are written one by one."""
Values: TypeAlias = tuple[object, ...]
Write: TypeAlias = Callable[[str, Sequence[object]], sqlite3.Cursor]
_ROWS_AFTER = "SELECT id, created_at, tenant, call_id FROM call WHERE id>?"
_IS_FINISHED = (
    "SELECT 1 FROM call WHERE id=? AND attempt=? AND token=? AND state IN('done', 'failed')"
)


class BatchWrites:
    """The announced writes of a batch, and those that were written."""

    def __init__(self) -> None:
        self._claims: dict[CallKey, Values | None] = {}
        self._finishes: dict[CallKey, Values | None] = {}
        self._touched: set[CallKey] = set()
        self.inserted: dict[CallKey, tuple[int, int]] = {}
        """The new rows: id and creation time by key."""
        self.finished: dict[CallKey, int] = {}
        """The end times of the calls whose rows were updated."""

    def claim(self, key: CallKey, values: Values | None) -> None:
        """Announce a claim; `values` is None if it cannot be written in a batch."""
        self._claims[key] = None if self._is_repeated(key) else values

    def finish(self, key: CallKey, values: Values | None) -> None:
        """Announce a finish."""
        self._finishes[key] = None if self._is_repeated(key) else values

    def _is_repeated(self, key: CallKey) -> bool:
        if key in self._touched:  # their order matters
            self._claims.pop(key, None)
            self._finishes.pop(key, None)
            return True
        self._touched.add(key)
        return False

    def clear(self) -> None:
        """Forget everything: the batch is rolled back."""
        for buffer in (self._claims, self._finishes, self._touched, self.inserted, self.finished):
            buffer.clear()

    def write(self, write: Write | None) -> None:
        """Write the announced rows; with None, forget them. Raises the errors of SQLite."""
        claims, self._claims = self._claims, {}
        finishes, self._finishes = self._finishes, {}
        self._touched.clear()
        if write is None:
            return
        with suppress(UnicodeEncodeError):  # the job of that key reports it
            for chunk in _chunks(
                [(key, values) for key, values in claims.items() if values is not None]
            ):
                self._insert(chunk, write)
        for chunk in _chunks(
            [(key, values) for key, values in finishes.items() if values is not None]
        ):
            self._update(chunk, write)

    def _insert(self, chunk: Sequence[tuple[CallKey, Values]], write: Write) -> None:
        written = write(
            _insert_statement(len(chunk)), [value for _, values in chunk for value in values]
        )
        count, last = written.rowcount, written.lastrowid or 0
        if count == len(chunk):  # the ids are consecutive
            for id, (key, values) in enumerate(chunk, last - count + 1):
                self.inserted[key] = id, _integer(values[-1])
        elif count > 0:
            for id, created_at, tenant, call_id in write(_ROWS_AFTER, (last - count,)).fetchall():
                self.inserted[CallKey(tenant, call_id)] = id, created_at

    def _update(self, chunk: Sequence[tuple[CallKey, Values]], write: Write) -> None:
        written = write(
            _update_statement(len(chunk)), [value for _, values in chunk for value in values]
        )
        all_updated = written.rowcount == len(chunk)
        for key, values in chunk:
            if all_updated or write(_IS_FINISHED, values[:3]).fetchone():
                self.finished[key] = _integer(values[4])


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _chunks(rows: Sequence[tuple[CallKey, Values]]) -> Iterator[Sequence[tuple[CallKey, Values]]]:
    start = 0
    for size in SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@cache
def _insert_statement(rows: int) -> str:
    row = "(?, ?, ?, ?, 'running', 1, ?, ?, ?, ?)"
    columns = "tenant, call_id, tool, fp, state, attempt, owner, token, on_crash, created_at"
    return f"INSERT INTO call({columns}) VALUES {', '.join([row] * rows)} ON CONFLICT DO NOTHING"


@cache
def _update_statement(rows: int) -> str:
    values = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)
    return (
        "UPDATE call SET state=new.column4, ended_at=new.column5, expires_at=new.column6,"
        f" outcome=new.column7 FROM (VALUES {values}) AS new WHERE call.id=new.column1 AND"
        " call.attempt=new.column2 AND call.token=new.column3 AND call.state IN('running', 'lost')"
    )
