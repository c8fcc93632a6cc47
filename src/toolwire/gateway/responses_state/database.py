"""Keep responses in SQLite, which the processes of one machine may share, or in PostgreSQL, which
all replicas of a gateway may share."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable
from typing import TypeVar

from toolwire.gateway.database import Database
from toolwire.gateway.responses_state.history import ResponseHistory
from toolwire.gateway.responses_state.store import StoreLimits, StoreUnavailable

_SCHEMA = (
    "create table if not exists toolwire_responses ("
    " owner text not null, id text not null, saved_at double precision not null,"
    " items {bytes} not null, primary key (owner, id))",
    "create index if not exists toolwire_responses_saved_at on toolwire_responses (saved_at)",
)
_SAVE = (
    "insert into toolwire_responses values (?, ?, ?, ?) on conflict (owner, id)"
    " do update set saved_at = excluded.saved_at, items = excluded.items"
)
_FIND = "select items from toolwire_responses where owner = ? and id = ? and saved_at >= ?"
_REMOVE = "delete from toolwire_responses where owner = ? and id = ?"
_REMOVE_OLD = "delete from toolwire_responses where saved_at < ?"
_REMOVE_BEYOND_SIZE = (
    "delete from toolwire_responses where (owner, id) in (select owner, id from ("
    " select owner, id, sum(length(items)) over (order by saved_at desc, owner, id) as total"
    " from toolwire_responses) as newest_first where total > ?)"
)
_TRIM_EVERY = 64
"""Saves after which the table is trimmed in any case: each trim reads the sizes of all rows."""
_TRIM_SHARE = 16
"""The table is also trimmed when this fraction of its size was written."""
_CHECK = "check that the database is running, and the address in the configuration"
_T = TypeVar("_T")


class DatabaseStore:
    """Keeps responses in a table, compressed. A lost connection is opened again."""

    def __init__(
        self, url: str, limits: StoreLimits, *, clock: Callable[[], float] = time.time
    ) -> None:
        """Prepare the store: `sqlite:///FILE` or `postgresql://HOST/DATABASE`."""
        self._database = Database(url)
        self._limits = limits
        self._clock = clock
        self._lock = asyncio.Lock()
        self._saves = 0
        self._bytes = 0

    async def open(self) -> None:
        try:
            await self._in_thread(self._connect)
        except StoreUnavailable as error:
            raise StoreUnavailable(f"[responses] store: {error}; {_CHECK}") from None

    async def close(self) -> None:
        async with self._lock:
            await asyncio.to_thread(self._database.close)

    async def save(self, owner: str, history: ResponseHistory) -> None:
        def write() -> None:
            # JSON that was written here has no line break: the first line holds the items.
            data = zlib.compress(history.items + b"\n" + history.response, 1)
            self._database.run(_SAVE, (owner, history.response_id, self._clock(), data))
            if self._trim_is_due(len(data)):
                self._trim()

        await self._in_thread(write)

    async def find(self, owner: str, response_id: str) -> ResponseHistory | None:
        def read() -> ResponseHistory | None:
            oldest = self._clock() - self._limits.age
            rows = self._database.run(_FIND, (owner, response_id, oldest))
            if not rows:
                return None
            (items,) = rows[0]
            assert isinstance(items, bytes)
            history, _, response = zlib.decompress(items).partition(b"\n")
            return ResponseHistory(response_id, history, response)

        return await self._in_thread(read)

    async def remove(self, owner: str, response_id: str) -> None:
        await self._in_thread(lambda: self._database.run(_REMOVE, (owner, response_id)))

    # --- in a thread ---

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """Do work in a thread; once more if the connection was open and is lost."""
        async with self._lock:
            was_open = self._database.is_open
            try:
                return await asyncio.to_thread(self._transact, work)
            except StoreUnavailable:
                if not was_open:
                    raise
                return await asyncio.to_thread(self._transact, work)

    def _transact(self, work: Callable[[], _T]) -> _T:
        try:
            self._connect()
            result = work()
            self._database.commit()
        except self._database.errors as error:
            self._database.close()
            # The text of an error may hold the address of the database with its password.
            database = self._database.file or "PostgreSQL"
            raise StoreUnavailable(f"{database}: {type(error).__name__}") from None
        return result

    def _connect(self) -> None:
        if self._database.is_open:
            return
        self._database.open()
        kind = "blob" if self._database.file is not None else "bytea"
        self._database.create_tables([statement.format(bytes=kind) for statement in _SCHEMA])
        self._trim()
        self._database.commit()

    def _trim_is_due(self, size: int) -> bool:
        self._saves += 1
        self._bytes += size
        return self._saves >= _TRIM_EVERY or self._bytes * _TRIM_SHARE >= self._limits.size

    def _trim(self) -> None:
        self._saves = self._bytes = 0
        self._database.run(_REMOVE_OLD, (self._clock() - self._limits.age,))
        self._database.run(_REMOVE_BEYOND_SIZE, (self._limits.size,))
