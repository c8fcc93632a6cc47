"""Stores for the thread of an agent: a JSON file, or a row in an SQLite file.

A save is atomic and durable. A save that was cancelled never overwrites a newer one.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar, runtime_checkable

from toolwire.agent.session_format import dump_thread, load_thread
from toolwire.agent.thread import Thread
from toolwire.atomic_write import write_copy
from toolwire.conversation.json import dump
from toolwire.errors import InputError, UsageError, describe_os_error
from toolwire.execution.call_ids import uuid7

Out = TypeVar("Out")


@runtime_checkable
class Store(Protocol):
    """Stores one thread."""

    async def load(self) -> Thread | None:
        """Return the stored thread; None if there is none. Raises UsageError if it is invalid."""

    async def save(self, thread: Thread) -> None:
        """Store a thread. It is durable when this returns."""


class _OrderedWriter:
    """Drops a write that is older than the last one: the worker thread of a cancelled save may
    finish late."""

    def __init__(self) -> None:
        self._requested = 0
        self._written = 0
        self._lock = Lock()

    async def save(self, thread: Thread) -> None:
        """Store a thread. It is durable when this returns."""
        self._requested += 1
        await asyncio.to_thread(self._write_newer, self._requested, dump(dump_thread(thread)))

    def _write_newer(self, number: int, body: bytes) -> None:
        with self._lock:
            if number > self._written:
                self._write(body)
                self._written = number

    def _write(self, body: bytes) -> None:
        raise NotImplementedError


class FileStore(_OrderedWriter):
    """A thread in a JSON file. If the file is a history of any wire, it starts a new thread.

    A new file is readable only by its owner; an existing file keeps its mode.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)

    async def load(self) -> Thread | None:
        """Return the stored thread; None if there is none."""
        try:
            body = await asyncio.to_thread(self.path.read_bytes)
            return load_thread(body, thread_id=uuid7())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{self.path}: {describe_os_error(error)}") from None
        except InputError as error:
            raise UsageError(f"{self.path}: {error}") from None

    def _write(self, body: bytes) -> None:
        write_copy(self.path, self.path, body)


class SqliteStore(_OrderedWriter):
    """Threads in an SQLite file, by name."""

    def __init__(self, path: str | Path, name: str) -> None:
        super().__init__()
        self.path = Path(path)
        self.name = name

    async def load(self) -> Thread | None:
        """Return the stored thread; None if there is none."""
        return await asyncio.to_thread(self._with, self._read)

    def _write(self, body: bytes) -> None:
        def write(file: sqlite3.Connection) -> None:
            file.execute(
                "INSERT OR REPLACE INTO tw_thread(name, body) VALUES(?, ?)", (self.name, body)
            )

        self._with(write)

    def _read(self, file: sqlite3.Connection) -> Thread | None:
        row = file.execute("SELECT body FROM tw_thread WHERE name = ?", (self.name,)).fetchone()
        return None if row is None else load_thread(row[0], thread_id=uuid7())

    def _with(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        try:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self.path, timeout=30)) as file, file:
                file.execute("PRAGMA synchronous=FULL")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS tw_thread(name TEXT PRIMARY KEY, body BLOB NOT"
                    " NULL) STRICT"
                )
                return work(file)
        except (OSError, sqlite3.Error, InputError) as error:
            raise UsageError(f"{self.path}: {error}") from None
