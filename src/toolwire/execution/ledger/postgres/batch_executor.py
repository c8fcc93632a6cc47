"""Execute a batch of operations of the PostgreSQL ledger, with one statement for many of them.

An operation may be executed twice, since it is sent again after a lost connection: the statements
recognize a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallIdTooOld, Claim
from toolwire.execution.ledger.postgres.binary import Texts, notification_name
from toolwire.execution.ledger.postgres.connection import PgConnection
from toolwire.execution.ledger.postgres.operations import (
    BatchedOperation,
    ClaimOperation,
    EndOperation,
    KeyBytes,
    LookupResult,
    ReadOperation,
    RowOperation,
    UndoClaimOperation,
    decide_claim,
    read_row,
)
from toolwire.execution.ledger.postgres.options import LedgerOptions
from toolwire.execution.ledger.postgres.parameters import (
    claim_parameters,
    claims_parameters,
    end_parameters,
    ends_parameters,
    key_parameters,
    row_parameters,
)
from toolwire.execution.ledger.postgres.sql import Statements

_FINAL = ("done", "failed")
_REPEATED_ENDS = {"done": _FINAL, "failed": _FINAL, "free": ("free",), "lost": ("lost",)}
"""The states of a call whose end was recorded, while only the result of the statement was lost."""


class BatchExecutor:
    """Executes batches and gives each operation its result.

    Args:
        on_end: called with the key of a call that may have ended.
        on_lapse: called when the lease of this replica has ended.
        is_held: True if a claim whose caller was cancelled is in use by another caller.
        discard_claim: called with a granted claim whose caller was cancelled.
        retry_claim: called with a claim that has to be executed again.
    """

    def __init__(
        self,
        sql: Statements,
        options: LedgerOptions,
        *,
        on_end: Callable[[KeyBytes], None],
        on_lapse: Callable[[], None],
        is_held: Callable[[ClaimOperation], bool],
        discard_claim: Callable[[ClaimOperation], None],
        retry_claim: Callable[[ClaimOperation], None],
    ) -> None:
        self._sql = sql
        self._options = options
        self._on_end = on_end
        self._on_lapse = on_lapse
        self._is_held = is_held
        self._discard_claim = discard_claim
        self._retry_claim = retry_claim
        self.statements = 0
        """How many statements were executed."""

    async def execute(self, connection: PgConnection, batch: list[BatchedOperation]) -> None:
        """Execute a batch that is sorted by key."""
        claims: list[ClaimOperation] = []
        ends: list[EndOperation] = []
        reads: list[RowOperation] = []
        flagged: list[RowOperation] = []
        remote_keys: list[KeyBytes] = []
        for op in batch:
            if isinstance(op, ClaimOperation):
                claims.append(op)
            elif isinstance(op, EndOperation):
                ends.append(op)
            elif isinstance(op, ReadOperation):
                reads.append(op)
                if op.flag:
                    flagged.append(op)
            else:
                await self._undo_claim(connection, op, remote_keys)
        if claims or ends:
            reads += await self._write(connection, claims, ends, remote_keys)
        if flagged:
            await self._run(connection, self._sql.flag, key_parameters(flagged))
        if reads:
            await self._read_rows(connection, reads, remote_keys)
        if remote_keys:
            names = Texts([notification_name(*key_bytes).encode() for key_bytes in remote_keys])
            await self._run(connection, self._sql.notify, {"names": names})

    async def _run(
        self, connection: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        self.statements += 1
        return await connection.run(query, {**self._options.params, **params})

    # --- claims and ends --------------------------------------------------------------------------

    async def _write(
        self,
        connection: PgConnection,
        claims: list[ClaimOperation],
        ends: list[EndOperation],
        remote_keys: list[KeyBytes],
    ) -> list[RowOperation]:
        """Execute claims and ends in one statement; return those that changed nothing."""
        granted: dict[KeyBytes, tuple[bytes, int]] = {}
        recorded: dict[int, bool] = {}
        if not ends:
            granted = await self._write_claims(connection, claims)
        elif not claims:
            recorded = await self._write_ends(connection, ends)
        else:
            params = claims_parameters(claims) | ends_parameters(ends)
            rows = await self._run(connection, self._sql.both, params)
            for tenant, call_id, token, ms, number, waiters in rows:
                if number is None:
                    granted[tenant, call_id] = (token, ms)
                else:
                    recorded[number] = waiters
        unchanged: list[RowOperation] = []
        for op in claims:
            token, ms = granted.get(op.key_bytes, (b"", 0))
            if token == op.token:
                self._grant(op, 1, ms)
            else:
                unchanged.append(op)
        for number, end in enumerate(ends, 1):
            if number in recorded:
                end.resolve("recorded")
                self._notify(end.key_bytes, recorded[number], remote_keys)
            else:
                unchanged.append(end)
        return unchanged

    async def _write_claims(
        self, connection: PgConnection, claims: list[ClaimOperation]
    ) -> dict[KeyBytes, tuple[bytes, int]]:
        """Execute claims; return the token and the start time of each key that they inserted."""
        if len(claims) == 1:
            rows = await self._run(connection, self._sql.claim, claim_parameters(claims[0]))
        else:
            rows = await self._run(connection, self._sql.claims, claims_parameters(claims))
        return {(tenant, call_id): (token, ms) for tenant, call_id, token, ms in rows}

    async def _write_ends(
        self, connection: PgConnection, ends: list[EndOperation]
    ) -> dict[int, bool]:
        """Execute ends; return by number, from 1, whether a replica waits for a recorded one."""
        if len(ends) == 1:
            rows = await self._run(connection, self._sql.end, end_parameters(ends[0]))
        else:
            rows = await self._run(connection, self._sql.ends, ends_parameters(ends))
        return dict(rows)

    def _notify(self, key_bytes: KeyBytes, waiters: bool, remote_keys: list[KeyBytes]) -> None:
        self._on_end(key_bytes)
        if waiters:
            remote_keys.append(key_bytes)

    def _grant(self, op: ClaimOperation, attempt: int, started: int) -> None:
        op.started = started
        if op.future.done():
            self._discard_claim(op)
        else:
            op.resolve(Claim("new", op.key, op.token, attempt))

    async def _undo_claim(
        self, connection: PgConnection, op: UndoClaimOperation, remote_keys: list[KeyBytes]
    ) -> None:
        if not self._is_held(op.claim):
            params = row_parameters(op.claim)
            for (waiters,) in await self._run(connection, self._sql.undo_claim, params):
                self._notify(op.key_bytes, waiters, remote_keys)
        op.resolve(None)

    # --- rows that exist --------------------------------------------------------------------------

    async def _read_rows(
        self, connection: PgConnection, reads: list[RowOperation], remote_keys: list[KeyBytes]
    ) -> None:
        """Read the rows of operations that changed nothing, and give them their results."""
        for columns in await self._run(connection, self._sql.read, key_parameters(reads)):
            op = reads[columns[0] - 1]
            lookup = read_row(columns)
            if lookup.row is not None and lookup.row.dead and not lookup.row.rerunnable:
                lookup = await self._mark_lost(connection, op, remote_keys)
            row = lookup.row
            if isinstance(op, ReadOperation):
                op.resolve(row)
            elif isinstance(op, ClaimOperation) and op.future.done():
                self._discard_claim(op)
            elif isinstance(op, ClaimOperation):
                await self._decide_claim(connection, op, lookup)
            elif (
                row is not None
                and (row.token, row.attempt) == (op.token, op.attempt)
                and row.state in _REPEATED_ENDS[op.state]
            ):
                op.resolve("recorded")  # a repetition
            else:
                op.resolve("fenced")

    async def _mark_lost(
        self, connection: PgConnection, op: RowOperation, remote_keys: list[KeyBytes]
    ) -> LookupResult:
        """Mark a call of a dead owner as lost, and read it again: it may have ended meanwhile."""
        params = {"tenant": op.tenant, "call_id": op.call_id}
        for (waiters,) in await self._run(connection, self._sql.mark_lost, params):
            self._notify(op.key_bytes, waiters, remote_keys)
        return read_row((await self._run(connection, self._sql.read, key_parameters([op])))[0])

    async def _decide_claim(
        self, connection: PgConnection, op: ClaimOperation, lookup: LookupResult
    ) -> None:
        row = lookup.row
        if row is None:
            if op.created is not None and op.created < lookup.now - self._options.horizon:
                op.fail(
                    CallIdTooOld(f"{op.key.call_id} is older than the retention of this ledger")
                )
            else:
                self._repeat_claim(op, lookup)
            return
        claim = decide_claim(op, row)
        if claim is not None and claim.state == "new":
            self._grant(op, row.attempt, row.started)
        elif claim is not None:
            op.resolve(claim)
        elif rows := await self._run(
            connection, self._sql.take_over, row_parameters(op) | {"attempt": row.attempt}
        ):
            self._grant(op, *rows[0])
        else:
            self._repeat_claim(op, lookup)

    def _repeat_claim(self, op: ClaimOperation, lookup: LookupResult) -> None:
        """Repeat a claim whose row changed meanwhile, or whose lease has ended."""
        if not lookup.alive:
            self._on_lapse()
        self._retry_claim(op)
