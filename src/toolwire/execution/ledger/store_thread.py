"""One thread that owns a store, and the jobs it does for any number of event loops: natural group
commit.

It takes what one turn of an event loop asked for, then whatever else has come meanwhile, does it
all in one transaction and wakes each event loop once. There is no timer: while the disk is busy the
next batch grows, and where many ask, an event loop hands over when a few turns brought nothing new.
A storage error undoes the whole batch, and nobody in it is told that something was done. Knows no
table and no call.
"""

from __future__ import annotations

import sqlite3
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from os import getpid
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import ClassVar, Generic, Protocol, TypeVar

from toolwire.execution.ledger.base import LedgerUnavailable

_together = attrgetter("together")
MOST = 512
"""Jobs in one transaction at most."""
QUIET = 16
"""Turns of an event loop without a new job after which it hands over what it has, if it is not
alone: a turn takes microseconds, and a commit costs as much as some ten calls."""
TURNS = 256
"""So many turns at most."""
STORAGE_ERRORS = (sqlite3.Error, MemoryError)


class StoreBackend(Protocol):
    """What the thread owns. Only the thread calls it."""

    def begin(self) -> None:
        """A batch begins; what is overdue may be done first. Raises nothing."""

    def ahead(self) -> None:
        """Jobs were foretold and will be run next: as much of it as possible may be done
        at once.
        """

    def commit(self) -> None: ...

    def undo(self, error: BaseException) -> None:
        """The batch did not happen. Raises nothing."""

    def woken(self) -> Sequence[PendingJobs]:
        """Who else has to be told something after this batch."""

    def patience(self) -> float | None:
        """Seconds after which a batch should begin even if nobody asks for anything."""

    def close(self) -> Exception | None: ...


S = TypeVar("S", bound=StoreBackend)
S_contra = TypeVar("S_contra", bound=StoreBackend, contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class PendingJobs:
    """An answer on its way to an event loop."""

    __slots__ = ("answer", "error", "future", "loop")

    def __init__(self) -> None:
        self.answer: object = None
        self.error: Exception | None = None
        self.loop: AbstractEventLoop | None = None
        self.future: Future[object] | None = None

    def expect(self) -> Future[object]:
        """From now on somebody in the running event loop waits for the answer."""
        self.loop = get_running_loop()
        self.future = self.loop.create_future()
        return self.future


class Job(PendingJobs, Generic[S_contra, R_co]):
    """Something that the thread does with its store."""

    __slots__ = ()
    together: ClassVar = False
    """Whether it foretells itself, so that it can be done together with its neighbours of the same
    kind."""

    def foretell(self, store: S_contra) -> None:
        """Tell the store what will be asked of it."""

    def run(self, store: S_contra) -> R_co:
        """The answer, if the batch can be committed. May raise what its asker should get; then it
        has written nothing."""
        raise NotImplementedError

    def refused(self, store: S_contra, error: BaseException) -> R_co:
        """The answer if the batch was undone."""
        raise LedgerUnavailable(f"the ledger could not write: {error}") from error

    def unheard(self) -> Job[S_contra, object] | None:
        """The answer came, and whoever asked had gone: a job to do about that."""
        return None


class _Stop(Job[StoreBackend, None]):
    __slots__ = ()


def _left(job: Job[S, object]) -> bool:
    """Whether nobody waits for it any more: when an event loop ends, all who wait are cancelled,
    and it has few turns left."""
    return job.future is not None and job.future.done()


class StoreThread(Generic[S]):
    """The thread. What cannot be opened gives its error to every job."""

    def __init__(self, opening: Callable[[], S], *, name: str = "toolwire-ledger") -> None:
        self._opening = opening
        self._queue: SimpleQueue[list[Job[S, object]]] = SimpleQueue()
        self._left: list[Job[S, object]] = []
        """Taken from the queue, and too many for the batch."""
        self._gathered: dict[AbstractEventLoop, list[Job[S, object]]] = {}
        self._gate = Lock()  # nothing is put behind the stop
        self._closed = False
        self._crowd = 0
        """Jobs in the last batch: whether somebody else is asking too."""
        self._pid = getpid()
        self.batches = 0
        self._thread = Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def do(self, job: Job[S, R]) -> Future[R]:
        """The answer to a job. Whoever is cancelled gives up waiting; the job is done all
        the same.
        """
        future = job.expect()
        loop = job.loop
        assert loop is not None
        gathered = self._gathered.get(loop)
        if gathered is None:
            # Whatever else this turn of the event loop asks for goes with it: one lock and one
            # wake-up for all
            self._gathered[loop] = [job]
            loop.call_soon(self._gather, loop, 1, QUIET if self._crowd > 1 else 0, TURNS)
        else:
            gathered.append(job)
        return future  # type: ignore[return-value]  # a future of R, seen from a queue of all kinds

    def _gather(self, loop: AbstractEventLoop, size: int, quiet: int, turns: int) -> None:
        """Let what comes in the next turns go along: `quiet` turns in which nothing comes are
        waited for."""
        jobs = self._gathered.get(loop)
        if jobs is not None and quiet and turns and not _left(jobs[-1]):
            more = len(jobs) > size
            loop.call_soon(self._gather, loop, len(jobs), QUIET if more else quiet - 1, turns - 1)
        else:
            self._hand_over(loop)

    def _hand_over(self, loop: AbstractEventLoop) -> None:
        jobs = self._gathered.pop(loop, None)
        if jobs is None:
            return
        try:
            if self._pid != getpid():
                raise LedgerUnavailable(
                    "this process was forked from the one that opened the ledger: open one of"
                    " its own"
                )
            self._push(jobs)
        except LedgerUnavailable as error:
            for job in jobs:
                if job.future is not None and not job.future.done():
                    job.future.set_exception(error)

    def _push(self, jobs: list[Job[S, object]]) -> None:
        with self._gate:
            if self._closed:
                raise LedgerUnavailable("the ledger is closed")
            self._closed = isinstance(jobs[-1], _Stop)
            self._queue.put(jobs)

    async def stop(self) -> None:
        """Everything asked before is done, then the store is closed."""
        stop = _Stop()
        future = stop.expect()
        assert stop.loop is not None
        self._gathered.setdefault(stop.loop, []).append(stop)
        self._hand_over(stop.loop)
        try:
            await future
        finally:
            if future.done() and not future.cancelled():
                self._thread.join()

    # --- in the thread ----------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            store = self._opening()
        except Exception as error:
            self._mourn(error)
            return
        stop: PendingJobs | None = None
        while stop is None:
            jobs = self._take(store.patience())
            if jobs and isinstance(jobs[-1], _Stop):
                stop = jobs.pop()
            self._batch(store, jobs)
            self._wake([*jobs, *store.woken()])
        stop.error = store.close()
        self._wake([*store.woken(), stop])

    def _take(self, patience: float | None) -> list[Job[S, object]]:
        queue = self._queue
        taken, self._left = self._left, []
        try:
            if not taken:
                taken = queue.get(timeout=patience)
        except Empty:
            return []
        while len(taken) < MOST and not queue.empty() and not isinstance(taken[-1], _Stop):
            taken += queue.get()  # the only reader: what is there stays there
        if len(taken) > MOST:
            taken, self._left = taken[:MOST], taken[MOST:]
        return taken

    def _batch(self, store: S, jobs: Sequence[Job[S, object]]) -> None:
        self.batches += 1
        self._crowd = len(jobs)
        try:
            store.begin()
            for together, group in groupby(jobs, _together):
                some = list(group)
                if together and len(some) > 1:
                    for job in some:
                        job.foretell(store)
                    store.ahead()
                for job in some:
                    try:
                        job.answer = job.run(store)
                    except STORAGE_ERRORS:
                        raise
                    except Exception as error:
                        job.error = error
            store.commit()
        except Exception as error:
            store.undo(error)
            for job in jobs:
                job.answer = job.error = None
                try:
                    job.answer = job.refused(store, error)
                except LedgerUnavailable as refusal:
                    job.error = refusal
                except Exception as other:
                    job.error = LedgerUnavailable(f"the ledger could not even read: {other}")

    def _wake(self, answered: Sequence[PendingJobs]) -> None:
        by_loop: dict[AbstractEventLoop, list[PendingJobs]] = {}
        for one in answered:
            if one.loop is not None:
                by_loop.setdefault(one.loop, []).append(one)
        for loop, some in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._tell, some)
            except RuntimeError:  # that loop has been closed
                self._unheard(some)

    def _mourn(self, error: Exception) -> None:
        """Nothing was opened: every job hears why, until the stop."""
        jobs: list[Job[S, object]] = []
        while not jobs or not isinstance(jobs[-1], _Stop):
            jobs = self._queue.get()
            for job in jobs:
                job.error = None if isinstance(job, _Stop) else error
            self._wake(jobs)

    # --- in the event loop ------------------------------------------------------------------------

    def _tell(self, answered: Sequence[PendingJobs]) -> None:
        gone = []
        for one in answered:
            future = one.future
            if future is None or future.done():
                gone.append(one)
            elif one.error is not None:
                future.set_exception(one.error)
            else:
                future.set_result(one.answer)
        if gone:
            self._unheard(gone)

    def _unheard(self, answered: Sequence[PendingJobs]) -> None:
        for one in answered:
            job = one.unheard() if isinstance(one, Job) else None
            if job is not None:
                with suppress(LedgerUnavailable):  # closed: the next to open it finds what is left
                    self._push([job])
