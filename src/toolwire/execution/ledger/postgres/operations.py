"""What is asked of the PostgreSQL ledger, one object per question, and how a row answers it. Asks
nothing itself."""

from __future__ import annotations

from asyncio import Future
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallKey, Claim, Record, State
from toolwire.execution.ledger.outcome_codec import unpack
from toolwire.execution.ledger.postgres.binary import indexed, text
from toolwire.tools.runnable import OnCrash

T = TypeVar("T")
Ended = Literal["recorded", "fenced"]


class Operation(Generic[T]):
    """A question about one call; `deadline` in the time of the event loop."""

    __slots__ = ("call_id", "deadline", "future", "key", "over", "place", "sent", "tenant")

    def __init__(self, key: CallKey, future: Future[T], deadline: float) -> None:
        self.key = key
        self.tenant = indexed(key.tenant)
        self.call_id = indexed(key.call_id)
        self.place = (self.tenant, self.call_id)
        self.future = future
        self.deadline = deadline
        self.sent = False
        """Whether the database may have seen it."""
        self.over = False
        """Whether it is answered; whoever asked may have left before."""

    def give(self, value: T) -> None:
        self.over = True
        if not self.future.done():
            self.future.set_result(value)

    def fail(self, error: Exception) -> None:
        self.over = True
        if not self.future.done():
            self.future.set_exception(error)


class ClaimOperation(Operation[Claim]):
    """May I run this? `started` is when it was allowed to, by the database."""

    __slots__ = ("born", "fp", "on_crash", "started", "token", "tool")

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
        born: int | None,
    ) -> None:
        super().__init__(key, future, deadline)
        self.fp = fp
        self.tool = tool
        self.on_crash = on_crash
        self.token = token
        self.born = born
        self.started = 0


class FinishOperation(Operation[None]):
    """Nobody runs this: a claim whose answer never came, or whose asker left."""

    __slots__ = ("claiming", "due")

    def __init__(self, claiming: ClaimOperation, future: Future[None]) -> None:
        super().__init__(claiming.key, future, float("inf"))
        self.claiming = claiming
        self.due = False
        """Whether the claim is no longer under way, so that this may be asked."""


class ReleaseOperation(Operation[Ended]):
    """It ran, or it was released, or nobody knows."""

    __slots__ = ("attempt", "outcome", "probed", "state", "token")

    def __init__(
        self,
        claim: Claim,
        future: Future[Ended],
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
    """What is there? With `flag`: and tell me when it ends."""

    __slots__ = ("flag",)

    def __init__(
        self, key: CallKey, future: Future[LedgerRow | None], deadline: float, *, flag: bool
    ) -> None:
        super().__init__(key, future, deadline)
        self.flag = flag


Look: TypeAlias = ClaimOperation | ReleaseOperation | ReadOperation
"""What a row answers."""


class LedgerRow(Struct, frozen=True):
    """A call as it was found; `dead`: it is running, and its owner is not."""

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
        """As the ledger tells it; None of a call that was released."""
        if self.state == "free":
            return None
        outcome = None if self.outcome is None else unpack(self.outcome)
        return Record(
            key,
            text(self.tool),
            self.state,
            self.attempt,
            self.started,
            self.ended,
            outcome,
            resumable=self.resumable,
        )


class ClaimRow(Struct, frozen=True):
    """What a look into the table told: the call, if there is one, whether this replica holds its
    lease, and the time."""

    row: LedgerRow | None
    alive: bool
    now: int


def found(line: TupleRow) -> ClaimRow:
    """A line of the statement that reads."""
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
        over,
        rerunnable,
        dead,
        alive,
        now,
        resumable,
    ) = line
    if state is None:
        return ClaimRow(None, alive, now)
    if over and state in ("done", "failed", "lost"):
        state, outcome = "gone", None
    return ClaimRow(
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


def answer(op: ClaimOperation, row: LedgerRow) -> Claim | None:
    """What a call that is there means for a claim; None if it may be taken over."""
    if row.state == "running" and row.token == op.token:
        return Claim(
            "new", op.key, op.token, row.attempt
        )  # this very claim: its first answer was lost
    if row.state == "free":
        return None
    if row.fp != op.fp:
        return Claim("mismatch", op.key, op.token)
    if row.state == "running" and row.dead:
        return None
    return Claim(row.state, op.key, op.token, row.attempt, row.record(op.key))
