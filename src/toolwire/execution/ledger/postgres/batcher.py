"""Questions to the PostgreSQL ledger, answered many at a time: what waits goes as one statement,
then the losers are read.

Every question may be asked twice, so a broken connection is answered by asking again. A batch is
sorted, so that two replicas take their locks in the same order. Knows the database and the
questions; not what a call is for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import ceil
from operator import attrgetter
from typing import TypeAlias
from uuid import UUID

from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallIdTooOld, Claim, LedgerUnavailable
from toolwire.execution.ledger.postgres.binary import Texts, word
from toolwire.execution.ledger.postgres.connection import (
    BROKEN,
    PgConnection,
    contended,
    passing,
    told,
)
from toolwire.execution.ledger.postgres.operations import (
    ClaimOperation,
    ClaimRow,
    FinishOperation,
    Look,
    ReadOperation,
    ReleaseOperation,
    answer,
    found,
)
from toolwire.execution.ledger.postgres.parameters import (
    claim_of,
    claims_of,
    end_of,
    ends_of,
    keys_of,
    whole_of,
)
from toolwire.execution.ledger.postgres.sql import Statements
from toolwire.execution.ledger.uuid7_expiry import TOLERANCE

Question: TypeAlias = ClaimOperation | ReleaseOperation | ReadOperation | FinishOperation
Place: TypeAlias = tuple[bytes, bytes]
MOST = 512
MOST_BYTES = 8_000_000
_LONG = 8
_SLOWEST = 1.0
_AGAIN = 0.05
_place = attrgetter("place")
_ENDED = ("done", "failed")
_REPEATS = {"done": _ENDED, "failed": _ENDED, "free": ("free",), "lost": ("lost",)}
"""What a call is by then if its end was recorded before and only the answer was lost."""


class LedgerOptions:
    """What every statement is told: who asks, and how long things are kept."""

    def __init__(self, me: UUID, *, lease: float, result_ttl: float, tombstone_ttl: float) -> None:
        self.me = me
        self.lease = lease
        self.horizon = round(tombstone_ttl * 1000) + TOLERANCE
        self.params: dict[str, object] = {
            "me": me,
            "lease": timedelta(seconds=lease),
            "kept": timedelta(seconds=result_ttl),
            "tombstone": timedelta(seconds=tombstone_ttl),
            "horizon": self.horizon,
            "tolerance": TOLERANCE,
        }


class Batcher:
    """A queue, and a few connections that empty it.

    `ended` is told which call may have ended, `lapsed` that the lease of this replica ran out;
    `held` says whether a claim of which nobody took the answer is in use all the same.
    """

    def __init__(
        self,
        links: Sequence[PgConnection],
        sql: Statements,
        terms: LedgerOptions,
        *,
        ended: Callable[[Place], None],
        lapsed: Callable[[], None],
        held: Callable[[ClaimOperation], bool],
    ) -> None:
        self._sql = sql
        self._terms = terms
        self._ended = ended
        self._lapsed = lapsed
        self._held = held
        self._links = links
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Question] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._asked: dict[PgConnection, list[Question]] = {}
        """What each busy connection is about."""
        self._put_off: dict[Question, asyncio.TimerHandle] = {}
        self.debts: dict[bytes, FinishOperation] = {}
        """By token: claims that are to be undone, in case they were made."""
        self.most = MOST
        """Questions in a statement."""
        self.down_since: float | None = None
        self.why = ""
        self.statements = 0
        self._tasks = [asyncio.create_task(self._lane(link)) for link in links]
        self._tasks.append(asyncio.create_task(self._expire()))

    def put(self, op: Question) -> None:
        """In the queue; its future is answered."""
        self._queue.append(op)
        if len(self._queue) == 1:
            self._call()

    def back(self) -> None:
        """The database answers again, whoever asked it."""
        self.down_since = None

    def _call(self) -> None:
        while self._idle:
            waiting = self._idle.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return

    def _later(self, op: Question, seconds: float) -> None:
        self._put_off[op] = self._loop.call_later(seconds, self._now, op)

    def _now(self, op: Question) -> None:
        self._put_off.pop(op).cancel()
        self.put(op)

    async def stop(self, patience: float) -> None:
        """What was asked is still done, if the database is there; then no more. Results wait for
        one that is away."""
        end = self._loop.time() + patience
        for op in [*self._put_off]:
            self._now(op)
        while (
            (self._queue or self._asked)
            and self._loop.time() < end
            and (self.down_since is None or self._to_record())
        ):
            await asyncio.sleep(0.005)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in self._links:
            await link.drop()
        for op in self._queue:
            op.fail(LedgerUnavailable("the ledger was closed"))
        self._queue.clear()

    def _to_record(self) -> bool:
        return any(
            isinstance(op, ReleaseOperation)
            for ops in (self._queue, *self._asked.values())
            for op in ops
        )

    async def _lane(self, link: PgConnection) -> None:
        pause = 0.0
        while True:
            while not self._queue:
                waiting = self._loop.create_future()
                self._idle.append(waiting)
                await waiting
            batch: list[Question] = []
            self._asked[link] = batch
            try:
                if not link.up:
                    self._call()  # another one may be faster than a new connection
                await link.ready()
                batch = self._asked[link] = self._taken()
                await self._answer(link, batch)
                pause, self.down_since = 0.0, None
            except BROKEN as error:
                self._back(batch, error)
                pause = 0.0 if contended(error) else min(_SLOWEST, pause * 2 or 0.02)
            except asyncio.CancelledError:
                for op in batch:
                    op.fail(LedgerUnavailable("the ledger was closed"))
                raise
            except Exception as error:  # a lane that died would leave everybody waiting
                for op in batch:
                    op.fail(LedgerUnavailable(f"could not be asked: {error!r}"))
                    if isinstance(op, ClaimOperation):
                        self.left(op)
            finally:
                del self._asked[link]
            if pause:
                await asyncio.sleep(pause)

    def _taken(self) -> list[Question]:
        """The next batch, without what nobody asks any more. A long queue is shared with the lanes
        that rest.

        Whoever asks in turns would else wait all at once, and be answered all at once, while the
        database waits for them.
        """
        batch: list[Question] = []
        size, most = 0, self.most
        if len(self._queue) >= _LONG:
            most = min(most, ceil(len(self._queue) / (len(self._links) - len(self._asked) + 1)))
        while self._queue and len(batch) < most and size < MOST_BYTES:
            op = self._queue.popleft()
            if op.future.done() and isinstance(op, ClaimOperation | ReadOperation):
                self._drop(op)
                continue
            if isinstance(op, ReleaseOperation) and op.outcome is not None:
                size += len(op.outcome)
            op.sent = True
            batch.append(op)
        if self._queue:
            self._call()
        batch.sort(key=_place)
        return batch

    # --- what goes wrong --------------------------------------------------------------------------

    def _back(self, batch: list[Question], error: Exception) -> None:
        """What a broken connection left unanswered is asked again, until its time is over."""
        now = self._loop.time()
        if passing(error) and not contended(error):
            self.down_since = self.down_since or now
            self.why = told(error)
        for op in batch:
            if op.over:
                continue
            if op.future.done() and isinstance(op, ClaimOperation | ReadOperation):
                self._drop(op)
            elif op.deadline <= now or not passing(error):
                self._refuse(op, f"the database failed: {told(error)}")
            else:
                self.put(op)

    def _drop(self, op: ClaimOperation | ReadOperation) -> None:
        """Nobody waits for this answer, and the database is done with the question."""
        op.over = True
        if isinstance(op, ClaimOperation):
            self.left(op)

    def _refuse(self, op: Question, why: str) -> None:
        """Told to whoever asked. What must be known in the end is asked for as long as it takes."""
        error = LedgerUnavailable(why)
        if isinstance(op, FinishOperation):
            self._later(op, _SLOWEST)
        elif isinstance(op, ReleaseOperation):
            before, op.future = op.future, self._loop.create_future()
            op.deadline = float("inf")
            if not before.done():
                before.set_exception(error)
            self._later(op, _SLOWEST)
        else:
            op.fail(error)
            if isinstance(op, ClaimOperation):
                self.left(op)

    def left(self, op: ClaimOperation) -> None:
        """Whoever asked has gone: in case this claim was made, it was not. Nobody may make it anew
        before that is settled."""
        if not op.sent or self._held(op):
            return
        debt = self.debts.get(op.token)
        if debt is None:
            self.debts[op.token] = debt = FinishOperation(op, self._loop.create_future())
        if op.over and not debt.due:  # while it is under way it may come after what undoes it
            debt.due = True
            self.put(debt)
            self._loop.call_later(self._terms.lease, self._undo_again, debt)

    def _undo_again(self, debt: FinishOperation) -> None:
        """A statement on a connection that was given up may come late. Not later than this."""
        if self.debts.get(debt.claiming.token) is debt:
            if not debt.over:
                self._loop.call_later(self._terms.lease, self._undo_again, debt)
                return
            del self.debts[debt.claiming.token]
            self.put(FinishOperation(debt.claiming, self._loop.create_future()))

    async def _expire(self) -> None:
        """Nobody waits longer than they said, even while no connection can be made."""
        while True:
            await asyncio.sleep(0.1)
            now = self._loop.time()
            if any(op.deadline <= now for op in self._queue):
                late = [op for op in self._queue if op.deadline <= now]
                self._queue = deque(op for op in self._queue if op.deadline > now)
                for op in late:
                    self._refuse(op, f"the database failed: {self.why or 'no answer in time'}")

    # --- one batch --------------------------------------------------------------------------------

    async def _answer(self, link: PgConnection, batch: list[Question]) -> None:
        try:
            await self._ask(link, batch)
        except BROKEN as error:
            if passing(error):
                raise
            left = [op for op in batch if not op.over]
            if len(left) < 2:
                self._back(left, error)
                return
            for op in left:  # one of them is what the database does not take
                await self._answer(link, [op])

    async def _ask(self, link: PgConnection, batch: list[Question]) -> None:
        claims: list[ClaimOperation] = []
        endings: list[ReleaseOperation] = []
        look: list[Look] = []
        flags: list[Look] = []
        afar: list[Place] = []
        for op in batch:
            if isinstance(op, ClaimOperation):
                claims.append(op)
            elif isinstance(op, ReleaseOperation):
                endings.append(op)
            elif isinstance(op, ReadOperation):
                look.append(op)
                if op.flag:
                    flags.append(op)
            else:
                await self._settle(link, op, afar)
        if claims or endings:
            look += await self._write(link, claims, endings, afar)
        if flags:
            await self._run(link, self._sql.flag, keys_of(flags))
        if look:
            await self._look(link, look, afar)
        if afar:
            await self._run(
                link, self._sql.notify, {"words": Texts([word(*place).encode() for place in afar])}
            )

    async def _run(
        self, link: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        self.statements += 1
        return await link.run(query, {**self._terms.params, **params})

    async def _write(
        self,
        link: PgConnection,
        claims: list[ClaimOperation],
        endings: list[ReleaseOperation],
        afar: list[Place],
    ) -> list[Look]:
        """Claims and endings in one statement; those that changed nothing come back."""
        sql = self._sql
        made: dict[Place, tuple[bytes, int]] = {}
        over: dict[int, bool] = {}
        if not endings:
            query, params = (
                (sql.claim, claim_of(claims[0]))
                if len(claims) == 1
                else (sql.claims, claims_of(claims))
            )
            made = {
                (tenant, call_id): (token, ms)
                for tenant, call_id, token, ms in await self._run(link, query, params)
            }
        elif not claims:
            query, params = (
                (sql.end, end_of(endings[0])) if len(endings) == 1 else (sql.ends, ends_of(endings))
            )
            over = dict(await self._run(link, query, params))
        else:
            for tenant, call_id, token, ms, i, waiters in await self._run(
                link, sql.both, claims_of(claims) | ends_of(endings)
            ):
                if i is None:
                    made[tenant, call_id] = (token, ms)
                else:
                    over[i] = waiters
        lost: list[Look] = []
        for op in claims:
            token, ms = made.get(op.place, (b"", 0))
            if token == op.token:
                self._won(op, 1, ms)
            else:
                lost.append(op)
        for i, end in enumerate(endings, 1):
            if i in over:
                end.give("recorded")
                self._tell(end.place, over[i], afar)
            else:
                lost.append(end)
        return lost

    def _tell(self, place: Place, waiters: bool, afar: list[Place]) -> None:
        self._ended(place)
        if waiters:
            afar.append(place)

    def _won(self, op: ClaimOperation, attempt: int, started: int) -> None:
        op.started = started
        if op.future.done():
            self._drop(op)
        else:
            op.give(Claim("new", op.key, op.token, attempt))

    async def _settle(self, link: PgConnection, op: FinishOperation, afar: list[Place]) -> None:
        claim = op.claiming
        if not self._held(claim):
            for (waiters,) in await self._run(link, self._sql.settle, whole_of(claim)):
                self._tell(op.place, waiters, afar)
        op.give(None)

    async def _look(self, link: PgConnection, look: list[Look], afar: list[Place]) -> None:
        for line in await self._run(link, self._sql.read, keys_of(look)):
            op = look[line[0] - 1]
            seen = found(line)
            if seen.row is not None and seen.row.dead and not seen.row.rerunnable:
                seen = await self._bury(link, op, afar)
            row = seen.row
            if isinstance(op, ReadOperation):
                op.give(row)
            elif isinstance(op, ClaimOperation) and op.future.done():
                self._drop(op)
            elif isinstance(op, ClaimOperation):
                await self._decide(link, op, seen)
            elif (
                row is not None
                and (row.token, row.attempt) == (op.token, op.attempt)
                and row.state in _REPEATS[op.state]
            ):
                op.give("recorded")  # for the second time
            else:
                op.give("fenced")

    async def _bury(self, link: PgConnection, op: Look, afar: list[Place]) -> ClaimRow:
        """Its owner is dead and it must not run again: nobody will ever know. Looked at again, it
        may have ended after all."""
        for (waiters,) in await self._run(
            link, self._sql.bury, {"tenant": op.tenant, "call_id": op.call_id}
        ):
            self._tell(op.place, waiters, afar)
        return found((await self._run(link, self._sql.read, keys_of([op])))[0])

    async def _decide(self, link: PgConnection, op: ClaimOperation, seen: ClaimRow) -> None:
        row = seen.row
        if row is None:
            if op.born is not None and op.born < seen.now - self._terms.horizon:
                op.fail(CallIdTooOld(f"{op.key.call_id} is older than what this ledger remembers"))
            else:
                self._changed(op, seen)
            return
        claim = answer(op, row)
        if claim is not None and claim.state == "new":
            self._won(op, row.attempt, row.started)
        elif claim is not None:
            op.give(claim)
        elif rows := await self._run(link, self._sql.take, whole_of(op) | {"attempt": row.attempt}):
            self._won(op, *rows[0])
        else:
            self._changed(op, seen)

    def _changed(self, op: ClaimOperation, seen: ClaimRow) -> None:
        """The row changed under the eyes, or the lease ran out: asked again in a moment."""
        if not seen.alive:
            self._lapsed()
        if op.deadline <= self._loop.time():
            self._refuse(op, "this replica could not renew its lease")
        else:
            self._later(op, _AGAIN)
