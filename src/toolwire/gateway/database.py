"""A connection to SQLite or PostgreSQL, for the stores of a gateway.

SQL is written with `?` for values. Methods block, so a server calls them in a thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from toolwire.errors import ConfigError
from toolwire.extras import explain_missing_module

FORMS = "expected sqlite:///FILE or postgresql://HOST/DATABASE"
_POSTGRES = "a store in PostgreSQL"
_SECONDS = 10
"""Seconds to wait for a connection, or for a lock of SQLite."""
_CREATE_LOCK = 0x746F6F6C67617465
"""The advisory lock of PostgreSQL under which tables are created."""


class _DatabaseCursor(Protocol):
    def execute(self, sql: str, values: Sequence[object] = (), /) -> object: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[object]], /) -> object: ...
    def fetchall(self) -> list[tuple[object, ...]]: ...
    def close(self) -> None: ...


class _DatabaseConnection(Protocol):
    def cursor(self) -> _DatabaseCursor: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class Database:
    """One connection with one transaction at a time. After `close` it can be opened again."""

    def __init__(self, url: str) -> None:
        """Prepare a connection to `sqlite:///FILE` or `postgresql://…`.

        Raises:
            ConfigError: the URL names no database.
        """
        scheme, _, rest = url.partition("://")
        file = rest.removeprefix("/")
        self.file: Path | None = None
        """The file of SQLite; None for PostgreSQL."""
        self.errors: tuple[type[Exception], ...] = (OSError, sqlite3.Error)
        """The exceptions that the database raises."""
        if scheme == "sqlite" and rest.startswith("/") and file:
            self.file = Path(file)
        elif scheme not in ("postgresql", "postgres"):
            raise ConfigError(FORMS)
        self._url = url
        self._connection: _DatabaseConnection | None = None

    @property
    def is_open(self) -> bool:
        """True between `open` and `close`."""
        return self._connection is not None

    def open(self, *, create: bool = True) -> None:
        """Connect. A file is created so that only its owner can read it.

        Raises:
            FileNotFoundError: the file is missing and `create` is False.
            ModuleNotFoundError: the package for PostgreSQL is missing.
        """
        if self.file is not None:
            if create:
                self.file.touch(mode=0o600)
            elif not self.file.exists():
                raise FileNotFoundError(2, "no such file")
            self._connection = sqlite3.connect(self.file, timeout=_SECONDS, check_same_thread=False)
        else:
            try:
                import psycopg

                from toolwire.execution.ledger.postgres.connection import INVALID_ADDRESS
            except ModuleNotFoundError as error:
                raise explain_missing_module(error, name=_POSTGRES, home=__name__) from None
            self.errors = (OSError, psycopg.Error)
            try:
                self._connection = psycopg.connect(self._url, connect_timeout=_SECONDS)
            except psycopg.ProgrammingError:
                raise psycopg.ProgrammingError(INVALID_ADDRESS) from None

    def close(self) -> None:
        """Disconnect; uncommitted changes are rolled back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def create_tables(self, statements: Iterable[str]) -> None:
        """Create the tables and indexes that are missing, and commit.

        Replicas that start at the same time take turns: `if not exists` does not prevent that two
        transactions of PostgreSQL create the same table, and one of them fails.
        """
        if self.file is None:
            self.run("select pg_advisory_xact_lock(?)", (_CREATE_LOCK,))
        for statement in statements:
            self.run(statement)
        self.commit()

    def run(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""
        assert self._connection is not None
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(self._with_marks(sql), values)
            return cursor.fetchall() if sql.startswith("select") else []

    def run_many(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Run a statement for each row of values, in the order of the values.

        Two processes that write the same rows in different orders would wait for each other.
        """
        assert self._connection is not None
        if rows:
            with closing(self._connection.cursor()) as cursor:
                cursor.executemany(self._with_marks(sql), sorted(rows, key=str))

    def commit(self) -> None:
        """End the transaction."""
        assert self._connection is not None
        self._connection.commit()

    def _with_marks(self, sql: str) -> str:
        return sql if self.file is not None else sql.replace("?", "%s")
