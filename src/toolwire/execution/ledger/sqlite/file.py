"""The file of a SQLite ledger: its tables and settings, and the reasons to reject a file.

The processes of one machine may share it. Outcomes larger than `LARGE` are in a table of their own,
in the same transaction: there is one file to back up, and the rows of calls stay small.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from errno import EISDIR
from pathlib import Path
from time import monotonic, sleep

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.network_filesystem import network_filesystem

LARGE = 256_000
"""The maximum size of an outcome in the row of its call, in bytes."""
VERSION = 1
APPLICATION = 0x746F6F6C  # "tool"
MIN_VERSION = (3, 37, 0)  # STRICT tables
MEMORY = ":memory:"

SETTINGS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # one fdatasync for each commit
    "PRAGMA wal_autocheckpoint=2000",
    (  # in kB: the leaves of the key index are read again and again, in random order
        "PRAGMA cache_size=-32768"
    ),
)
# `free`: released, or a repeatable call of a dead owner; only the attempt number is still used. A
# released call has an empty fingerprint. `expires_at`: when the result is deleted, and later the
# row.
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
    """The file cannot be used as a ledger. The text gives the reason and the remedy."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


def open_database(path: str, lock_timeout: float) -> sqlite3.Connection:
    """Open the file, and write nothing yet.

    Raises LedgerFileError if it is not that of a ledger, and the errors of SQLite.
    """
    if sqlite3.sqlite_version_info < MIN_VERSION:
        raise LedgerFileError(path, f"SQLite {sqlite3.sqlite_version} is too old, 3.37 is needed")
    if path != MEMORY:
        _prepare(path)
    db = sqlite3.connect(path, timeout=lock_timeout, isolation_level=None)
    try:
        db.execute("BEGIN")  # another process may be creating the tables
        _is_new(db, path)
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def create_lock_folder(path: str) -> Path | None:
    """Create the folder of the lock files; None for a ledger in memory. Raises OSError.

    It is beside the file itself, not beside a symbolic link to it, so that all processes find it.
    """
    if path == MEMORY:
        return None
    folder = Path(f"{os.path.realpath(path)}-locks")
    folder.mkdir(0o700, exist_ok=True)
    return folder


def create_tables(db: sqlite3.Connection, path: str, lock_timeout: float) -> None:
    """Apply the settings, and create the tables in a new file. Raises the errors of SQLite."""
    for setting in SETTINGS:
        _execute(db, setting, lock_timeout)
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA if _is_new(db, path) else ():
        db.execute(statement)
    db.execute("COMMIT")


def _execute(db: sqlite3.Connection, setting: str, lock_timeout: float) -> None:
    """Apply a setting, repeatedly if needed: SQLite does not wait for a process that opens a new
    file."""
    deadline = monotonic() + lock_timeout
    while True:
        try:
            db.execute(setting)
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or monotonic() >= deadline:
                raise
        sleep(0.01)


def key_of(db: sqlite3.Connection, path: str, given: bytes | None) -> bytes:
    """The key of the fingerprints: the given one, or a random one that is stored in the file.

    Raises LedgerFileError if the file was written with another key: no fingerprint in it would
    match.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        key = _key_of(db, path, given)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
    return key


def _key_of(db: sqlite3.Connection, path: str, given: bytes | None) -> bytes:
    meta = dict(db.execute("SELECT name, held FROM meta"))
    key: bytes = given if given is not None else meta.get("key") or secrets.token_bytes(32)
    check = hashlib.sha256(b"toolwire ledger key" + key).digest()
    if meta.get("key_check", check) != check:
        raise LedgerFileError(
            path,
            "its fingerprints were made with another key: pass the same key, or use a new file",
        )
    if "key_check" not in meta:
        rows = [("key_check", check), *([] if given is not None else [("key", key)])]
        db.executemany("INSERT INTO meta VALUES(?, ?)", rows)
    return key


def _prepare(path: str) -> None:
    file = Path(path)
    try:
        kind = network_filesystem(Path(os.path.realpath(file)).parent)
        if not file.exists():
            # Results may be private, so only the owner may read the file; the WAL gets its mode. An
            # existing file is not opened here: closing it would drop the locks of another ledger in
            # this process (fcntl(2)).
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        elif file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    except FileExistsError:
        pass  # another process has just created it
    if kind is not None:
        why = (
            f"is on a network file system ({kind}), whose locks cannot be trusted: use a local"
            " disk, or PostgreSQL"
        )
        raise LedgerFileError(path, why)


def _is_new(db: sqlite3.Connection, path: str) -> bool:
    """True if the file is empty. Raises LedgerFileError, before any change, if it is not a
    ledger."""
    ((application,),) = db.execute("PRAGMA application_id")
    ((version,),) = db.execute("PRAGMA user_version")
    ((tables,),) = db.execute("SELECT count(*) FROM sqlite_schema")
    if (application, version, tables) == (0, 0, 0):
        return True
    if application != APPLICATION:
        raise LedgerFileError(path, "is another database: use a separate file for the ledger")
    if version != VERSION:
        raise LedgerFileError(
            path,
            f"was written by another version of toolwire (layout {version}, this one knows"
            f" {VERSION})",
        )
    return False


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def file_error(path: str, error: sqlite3.Error | OSError) -> LedgerFileError:
    """The error for a file that cannot be used."""
    if isinstance(error, OSError):
        return LedgerFileError(path, error.strerror or str(error))
    if _is_busy(error):
        why = (
            "another process has locked it: wait for it, or stop it if it hangs, is paused,"
            " or is an older version of toolwire, which does not share its ledger"
        )
        return LedgerFileError(path, why)
    return LedgerFileError(path, str(error))
