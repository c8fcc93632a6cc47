"""Let one process at a time write to the file of a ledger.

SQLite has a lock for writers, but runs checkpoints outside of it. Up to version 3.51.2, a
checkpoint that overlaps with the commit of another process may lose transactions
(https://www.sqlite.org/wal.html#walresetbug). This lock is held from the start of a transaction
until its commit and the checkpoint that may follow have ended.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import monotonic, sleep

from toolwire.execution.ledger.sqlite.lock_file import LockFile

INTERVAL = 0.001
"""Seconds between two attempts to lock."""


class WriteLock:
    """The lock as one connection uses it.

    Args:
        path: the file to lock; None for a ledger in memory, to which no other process writes.
        timeout: seconds to wait for another process.

    Raises OSError if the file cannot be opened.
    """

    def __init__(self, path: Path | None, timeout: float) -> None:
        self._file = None if path is None else LockFile(path)
        self._timeout = timeout

    def acquire(self) -> None:
        """Lock the file. Raises sqlite3.OperationalError, as SQLite does, if that is impossible."""
        if self._file is None:
            return
        deadline = monotonic() + self._timeout
        try:
            while not self._file.try_lock():
                if monotonic() >= deadline:
                    raise _busy_error()
                sleep(INTERVAL)
        except OSError as error:
            raise sqlite3.OperationalError(f"the ledger cannot be locked: {error}") from error

    def release(self) -> None:
        """Unlock the file."""
        if self._file is not None:
            self._file.unlock()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _busy_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("another process has locked the ledger")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error
