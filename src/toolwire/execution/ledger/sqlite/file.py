"""The file of a SQLite ledger: its tables, its settings, and why a file may be refused.

One connection holds the file for itself (`locking_mode=EXCLUSIVE`), so whoever could open it knows
that every other owner is dead. Results beyond `LARGE` lie in a table of their own, in the same
transaction: one file to back up, nothing to clean up after a crash, and the rows that are looked at
stay small. Knows the columns, not what happens in them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from errno import EISDIR
from pathlib import Path

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.network_filesystem import networked

LARGE = 256_000
"""Bytes of an outcome that still stand in its row."""
VERSION = 1
APPLICATION = 0x746F6F6C  # "tool"
OLDEST = (3, 37, 0)  # STRICT tables
MEMORY = ":memory:"

ALONE = (  # before the first access, so that WAL needs no shared memory
    "PRAGMA locking_mode=EXCLUSIVE"
)
SETTINGS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # one fdatasync for each commit
    "PRAGMA wal_autocheckpoint=2000",
    (  # kB: the leaves of the index of keys are needed again and again, each at any time
        "PRAGMA cache_size=-32768"
    ),
)
# `free`: released, or of a dead owner and fit to run again; only the number of the attempt is left
# of it. A released one has an empty fingerprint. `expires_at`: when a result is dropped, later when
# the id is forgotten.
SCHEMA = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, held BLOB NOT NULL) STRICT",
    (
        "CREATE TABLE call( id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, call_id TEXT NOT NULL,"
        " tool TEXT NOT NULL, fp BLOB NOT NULL, state TEXT NOT NULL CHECK(state"
        " IN('running','done','failed','lost','gone','free')), attempt INTEGER NOT NULL, owner BLOB"
        " NOT NULL, token BLOB NOT NULL, on_crash TEXT NOT NULL, created_at INTEGER NOT NULL,"
        " ended_at INTEGER, expires_at INTEGER, outcome BLOB) STRICT"
    ),
    "CREATE UNIQUE INDEX call_key ON call(tenant, call_id)",
    "CREATE INDEX call_running ON call(owner) WHERE state='running'",
    "CREATE INDEX call_expires ON call(expires_at) WHERE expires_at IS NOT NULL",
    "CREATE TABLE large(call INTEGER PRIMARY KEY, outcome BLOB NOT NULL) STRICT",
    f"PRAGMA application_id={APPLICATION}",
    f"PRAGMA user_version={VERSION}",
)


class LedgerFileError(UsageError, LedgerUnavailable):
    """This file cannot be the ledger: which one, why, and what to do."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


def opened(path: str, patience: float) -> sqlite3.Connection:
    """The connection that holds the file, with all its tables.

    Raises LedgerFileError.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise LedgerFileError(path, f"SQLite {sqlite3.sqlite_version} is too old, 3.37 is needed")
    if path != MEMORY:
        _prepare(path)
    try:
        db = sqlite3.connect(path, timeout=patience, isolation_level=None)
    except sqlite3.Error as error:
        raise LedgerFileError(path, str(error)) from error
    try:
        db.execute(ALONE)
        new = _is_new(db, path)
        for setting in SETTINGS:
            db.execute(setting)
        db.execute("BEGIN EXCLUSIVE")
        for statement in SCHEMA if new else ():
            db.execute(statement)
        db.execute("COMMIT")
    except sqlite3.Error as error:
        db.close()
        raise LedgerFileError(path, _refusal(error)) from error
    except BaseException:
        db.close()
        raise
    return db


def key_of(db: sqlite3.Connection, path: str, given: bytes | None) -> bytes:
    """The key of the fingerprints in this file: the given one, or a random one that the file keeps.

    Raises LedgerFileError if the file was written with another key: every call in it would be taken
    for a different one.
    """
    held = dict(db.execute("SELECT name, held FROM meta"))
    key: bytes = given if given is not None else held.get("key") or secrets.token_bytes(32)
    check = hashlib.sha256(b"toolwire ledger key" + key).digest()
    if held.get("key_check", check) != check:
        raise LedgerFileError(
            path,
            "its fingerprints were made with another key: give the same one, or use a new file",
        )
    if "key_check" not in held:
        rows = [("key_check", check), *([] if given is not None else [("key", key)])]
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO meta VALUES(?, ?)", rows)
        db.execute("COMMIT")
    return key


def _prepare(path: str) -> None:
    file = Path(path)
    try:
        kind = networked(file.absolute().parent)
        if not file.exists():
            # Results may be private: nobody else may read the file, and the WAL takes over its
            # mode. One that is there is not opened here: closing it again would drop the locks that
            # another ledger of this process has on it (fcntl(2)).
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        elif file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except FileExistsError:
        pass  # somebody else has just made it: they will hold it, or we
    except OSError as error:
        raise LedgerFileError(path, error.strerror or str(error)) from error
    if kind is not None:
        why = (
            f"lies on a network file system ({kind}), whose locks cannot be trusted: use a local"
            " disk, or PostgreSQL"
        )
        raise LedgerFileError(path, why)


def _is_new(db: sqlite3.Connection, path: str) -> bool:
    """Whether a file is still empty. Raises LedgerFileError, before anything is changed, if it is
    not for us."""
    ((application,),) = db.execute("PRAGMA application_id")
    ((version,),) = db.execute("PRAGMA user_version")
    ((tables,),) = db.execute("SELECT count(*) FROM sqlite_schema")
    if (application, version, tables) == (0, 0, 0):
        return True
    if application != APPLICATION:
        raise LedgerFileError(
            path, "is a database of something else: give the ledger a file of its own"
        )
    if version != VERSION:
        raise LedgerFileError(
            path,
            f"was written by another version of toolwire (layout {version}, this one knows"
            f" {VERSION})",
        )
    return False


def _refusal(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            "another process has this ledger open: a SQLite ledger belongs to one process, use"
            " PostgreSQL for several"
        )
    return str(error)
