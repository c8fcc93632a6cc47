"""Create the tables of the PostgreSQL ledger, and check those that exist."""

from __future__ import annotations

import asyncio
from secrets import token_bytes

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.postgres.connection import connect
from toolwire.execution.ledger.postgres.sql import CREATE_LOCK, VERSION, Statements

_MIN_TIMEOUT = 30.0


async def prepare_tables(dsn: str, sql: Statements, *, key: bytes | None, timeout: float) -> bytes:
    """Create missing tables, check their version, and return the key of the fingerprints.

    Raises LedgerUnavailable if the database does not commit durably, or if its tables were written
    by another version or with another key.
    """
    connection = await connect(dsn, timeout)
    async with connection, asyncio.timeout(max(_MIN_TIMEOUT, timeout)):
        ((durable,),) = await (await connection.execute(sql.durable)).fetchall()
        if durable == "off":
            raise LedgerUnavailable(
                "synchronous_commit is off, so commits may be lost: turn it on for the role or the"
                " database of the ledger"
            )
        ((exists,),) = await (await connection.execute(sql.table_exists, [sql.tw_meta])).fetchall()
        meta = await _read_meta(connection, sql) if exists else {}
        if "version" not in meta:
            meta = await _create_tables(connection, sql, key or token_bytes(32))
    if meta["version"] != str(VERSION).encode():
        version = meta["version"].decode(errors="replace")
        raise LedgerUnavailable(
            f"the tables have version {version}, and this program needs version {VERSION}: use the"
            " version of toolwire that created them, or another schema"
        )
    if key is not None and key != meta["key"]:
        raise LedgerUnavailable(
            "the ledger was written with another key, so no fingerprint would match: pass that"
            " key, or use another schema"
        )
    return meta["key"]


async def _create_tables(
    connection: AsyncConnection[TupleRow], sql: Statements, key: bytes
) -> dict[str, bytes]:
    """Create the tables, one replica at a time. The key of the first replica stays."""
    async with connection.transaction():
        await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", [CREATE_LOCK])
        for statement in sql.create:
            await connection.execute(statement)
        await connection.execute(sql.write_meta, ["version", str(VERSION).encode()])
        await connection.execute(sql.write_meta, ["key", key])
        return await _read_meta(connection, sql)


async def _read_meta(connection: AsyncConnection[TupleRow], sql: Statements) -> dict[str, bytes]:
    return dict(await (await connection.execute(sql.read_meta)).fetchall())
