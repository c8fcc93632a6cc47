"""The operations of the PostgreSQL ledger: one object per request, and the result for it."""

from __future__ import annotations

from asyncio import Future
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallKey, Claim, Record, State
from toolwire.execution.ledger.outcome_codec import unpack
from toolwire.execution.ledger.postgres.binary import decode_text, index_bytes
from toolwire.tools.runnable import OnCrash

T = TypeVar("T")
EndResult = Literal["recorded", "fenced"]
KeyBytes: TypeAlias = tuple[bytes, bytes]
"""The tenant and the call id, as they are stored."""


class Operation(Generic[T]):
    """An operation on one call. `deadline` is a time of the event loop."""

    __slots__ = ("answered", "call_id", "deadline", "future", "key", "key_bytes", "sent", "tenant")

    def __init__(self, key: CallKey, future: Future[T], deadline: float) -> None:
        self.key = key
        self.tenant = index_bytes(key.tenant)
        self.call_id = index_bytes(key.call_id)
        self.key_bytes = (self.tenant, self.call_id)
        self.future = future
        self.deadline = deadline
        self.sent = False
        """True if the database may have executed it."""
        self.answered = False
        """True if it has a result, even if its caller was cancelled."""

    def resolve(self, value: T) -> None:
        self.answered = True
        if not self.future.done():
            self.future.set_result(value)

    def fail(self, error: Exception) -> None:
        self.answered = True
        if not self.future.done():
            self.future.set_exception(error)


class ClaimOperation(Operation[Claim]):
    """Claim a call. `started` is the start time, by the clock of the database."""

    __slots__ = ("created", "fp", "on_crash", "started", "token", "tool")

    def __init__(
        self,
        key: CallKey,
        future: Future[Claim],
        deadline: float,
        *,
        fp: bytes,
        tool: bytes,
        on_crash: OnCrash,
        token: bytes,
        created: int | None,
    ) -> None:
        super().__init__(key, future, deadline)
        self.fp = fp
        self.tool = tool
        self.on_crash = on_crash
        self.token = token
        self.created = created
        self.started = 0


class UndoClaimOperation(Operation[None]):
    """Undo a claim whose result never arrived, or whose caller was cancelled."""

    __slots__ = ("claim", "due")

    def __init__(self, claim: ClaimOperation, future: Future[None]) -> None:
        super().__init__(claim.key, future, float("inf"))
        self.claim = claim
        self.due = False
        """True if the claim can no longer be executed, so that it can be undone."""


class EndOperation(Operation[EndResult]):
    """End a claim: with an outcome, released, or lost."""

    __slots__ = ("attempt", "outcome", "probed", "state", "token")

    def __init__(
        self,
        claim: Claim,
        future: Future[EndResult],
        deadline: float,
        *,
        state: Literal["done", "failed", "free", "lost"],
        outcome: bytes | None,
    ) -> None:
        super().__init__(claim.key, future, deadline)
        self.token = claim.token
        self.attempt = claim.attempt if claim.record is None else claim.record.attempt
        self.probed = claim.state == "lost"
        self.state = state
        self.outcome = outcome


class ReadOperation(Operation["LedgerRow | None"]):
    """Read a call. With `flag`, request a notification when it ends."""

    __slots__ = ("flag",)

    def __init__(
        self, key: CallKey, future: Future[LedgerRow | None], deadline: float, *, flag: bool
    ) -> None:
        super().__init__(key, future, deadline)
        self.flag = flag


RowOperation: TypeAlias = ClaimOperation | EndOperation | ReadOperation
"""Operations whose result depends on the row."""
BatchedOperation: TypeAlias = RowOperation | UndoClaimOperation
"""Operations that are executed in batches."""


class LedgerRow(Struct, frozen=True):
    """A row. `dead` means that the call is running and its owner is dead."""

    state: State | Literal["free"]
    attempt: int
    token: bytes
    fp: bytes
    tool: bytes
    started: int
    ended: int | None
    outcome: bytes | None
    waiters: bool
    rerunnable: bool
    dead: bool
    resumable: bool = False

    def record(self, key: CallKey) -> Record | None:
        """The record of the row; None if the call was released."""
        if self.state == "free":
            return None
        outcome = None if self.outcome is None else unpack(self.outcome)
        return Record(
            key,
            decode_text(self.tool),
            self.state,
            self.attempt,
            self.started,
            self.ended,
            outcome,
            resumable=self.resumable,
        )


class LookupResult(Struct, frozen=True):
    """The row of a call, whether this replica holds its lease, and the time of the database."""

    row: LedgerRow | None
    alive: bool
    now: int


def read_row(columns: TupleRow) -> LookupResult:
    """Read the columns of the `read` statement."""
    (
        _,
        state,
        attempt,
        token,
        fp,
        tool,
        started,
        ended,
        outcome,
        waiters,
        answered,
        rerunnable,
        dead,
        alive,
        now,
        resumable,
    ) = columns
    if state is None:
        return LookupResult(None, alive, now)
    if answered and state in ("done", "failed", "lost"):
        state, outcome = "gone", None
    return LookupResult(
        LedgerRow(
            state,
            attempt,
            token,
            fp,
            tool,
            started,
            ended,
            outcome,
            waiters,
            rerunnable,
            dead,
            resumable,
        ),
        alive,
        now,
    )


def decide_claim(op: ClaimOperation, row: LedgerRow) -> Claim | None:
    """The result of a claim for an existing row; None if the call may be taken over."""
    if row.state == "running" and row.token == op.token:
        # The same claim again: its first result was lost
        return Claim("new", op.key, op.token, row.attempt)
    if row.state == "free":
        return None
    if row.fp != op.fp:
        return Claim("mismatch", op.key, op.token)
    if row.state == "running" and row.dead:
        return None
    return Claim(row.state, op.key, op.token, row.attempt, row.record(op.key))
