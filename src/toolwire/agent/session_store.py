"""Where the thread of an agent is kept: a JSON file, or a row of an SQLite file.

A save is whole or it is not there: the file is written beside, synced and put in place. A save that
nobody waits for any more never comes after a newer one. Knows nothing of the loop.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar

from toolwire.agent.thread import Thread
from toolwire.conversation.json import dump
from toolwire.errors import InputError, UsageError
from toolwire.execution.call_ids import uuid7

Out = TypeVar("Out")


class Store(Protocol):
    """Keeps one thread."""

    async def load(self) -> Thread | None:
        """What was kept; None if nothing was. Raises UsageError if it cannot be read."""

    async def save(self, thread: Thread) -> None:
        """Durable when it returns."""


class _SerialQueue:
    """Saves one after the other, as they were asked for: whoever is cancelled leaves a thread
    behind that still writes."""

    def __init__(self) -> None:
        self._asked = 0
        self._written = 0
        self._lock = Lock()

    async def save(self, thread: Thread) -> None:
        """Durable when it returns."""
        self._asked += 1
        await asyncio.to_thread(self._in_turn, self._asked, dump(thread.to_json()))

    def _in_turn(self, n: int, body: bytes) -> None:
        with self._lock:
            if n > self._written:
                self._write(body)
                self._written = n

    def _write(self, body: bytes) -> None:
        raise NotImplementedError


class FileStore(_SerialQueue):
    """A thread in a JSON file. Another history may be put there: the thread goes on from it."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)

    async def load(self) -> Thread | None:
        try:
            return Thread.of(await asyncio.to_thread(self.path.read_bytes), id=uuid7())
        except FileNotFoundError:
            return None
        except (OSError, InputError) as error:
            raise UsageError(f"{self.path}: {error}") from None

    def _write(self, body: bytes) -> None:
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        try:
            with beside.open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise UsageError(f"{self.path}: {error}") from None


class SqliteStore(_SerialQueue):
    """Threads in an SQLite file, by name."""

    def __init__(self, path: str | Path, name: str) -> None:
        super().__init__()
        self.path = Path(path)
        self.name = name

    async def load(self) -> Thread | None:
        return await asyncio.to_thread(self._with, self._read)

    def _write(self, body: bytes) -> None:
        def write(file: sqlite3.Connection) -> None:
            file.execute(
                "INSERT OR REPLACE INTO tw_thread(name, body) VALUES(?, ?)", (self.name, body)
            )

        self._with(write)

    def _read(self, file: sqlite3.Connection) -> Thread | None:
        row = file.execute("SELECT body FROM tw_thread WHERE name = ?", (self.name,)).fetchone()
        return None if row is None else Thread.of(row[0], id=uuid7())

    def _with(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        try:
            with closing(sqlite3.connect(self.path, timeout=30)) as file, file:
                file.execute("PRAGMA synchronous=FULL")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS tw_thread(name TEXT PRIMARY KEY, body BLOB NOT"
                    " NULL) STRICT"
                )
                return work(file)
        except (sqlite3.Error, InputError) as error:
            raise UsageError(f"{self.path}: {error}") from None
