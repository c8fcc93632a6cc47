"""A thread that owns a store and runs jobs for any number of event loops, with group commit.

The thread runs all jobs that have arrived in one transaction, and wakes each event loop once. There
is no timer: while the disk is busy, the next batch grows. Under load, an event loop collects jobs
for a few turns before it submits them. A storage error rolls back the whole batch, and no job in it
reports success.
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

_batchable = attrgetter("batchable")
MAX_BATCH = 512
"""The maximum number of jobs in one transaction."""
QUIET_TURNS = 16
"""Under load, turns of an event loop without a new job after which it submits the collected jobs:
a turn takes microseconds, and a commit costs as much as about ten calls."""
MAX_TURNS = 256
"""The maximum number of turns in which jobs are collected."""
STORAGE_ERRORS = (sqlite3.Error, MemoryError)


class StoreBackend(Protocol):
    """The store of the thread. Only the thread calls it."""

    def begin(self) -> None:
        """Start a batch; overdue work may be done first. Raises nothing."""

    def write_prepared(self) -> None:
        """Write the rows that the following jobs have prepared, as many as possible at once."""

    def commit(self) -> None: ...

    def rollback(self, error: BaseException) -> None:
        """Undo the batch. Raises nothing."""

    def take_waiters(self) -> Sequence[Waiter]:
        """Further waiters that have a result after this batch."""

    def idle_timeout(self) -> float | None:
        """Seconds after which a batch starts without any job."""

    def close(self) -> Exception | None: ...


S = TypeVar("S", bound=StoreBackend)
S_contra = TypeVar("S_contra", bound=StoreBackend, contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Waiter:
    """A future in an event loop, and its result."""

    __slots__ = ("error", "future", "loop", "result")

    def __init__(self) -> None:
        self.result: object = None
        self.error: Exception | None = None
        self.loop: AbstractEventLoop | None = None
        self.future: Future[object] | None = None

    def create_future(self) -> Future[object]:
        """Create the future of the result in the running event loop."""
        self.loop = get_running_loop()
        self.future = self.loop.create_future()
        return self.future


class Job(Waiter, Generic[S_contra, R_co]):
    """Work for the thread."""

    __slots__ = ()
    batchable: ClassVar = False
    """True if the job implements `prepare`, so that it can be written together with its
    neighbours."""

    def prepare(self, store: S_contra) -> None:
        """Announce the job to the store."""

    def run(self, store: S_contra) -> R_co:
        """Return the result, valid if the batch is committed. A job that raises an error for its
        caller must have written nothing."""
        raise NotImplementedError

    def fallback(self, store: S_contra, error: BaseException) -> R_co:
        """The result if the batch was rolled back."""
        raise LedgerUnavailable(f"the ledger could not write: {error}") from error

    def on_abandoned(self) -> Job[S_contra, object] | None:
        """A job to run if the caller was cancelled before it got the result."""
        return None


class _Stop(Job[StoreBackend, None]):
    __slots__ = ()


def _is_abandoned(job: Job[S, object]) -> bool:
    """True if the caller was cancelled, as happens when an event loop ends and has few turns
    left."""
    return job.future is not None and job.future.done()


class StoreThread(Generic[S]):
    """The thread. If its store cannot be opened, every job gets the error."""

    def __init__(self, open_store: Callable[[], S]) -> None:
        self._open_store = open_store
        self._queue: SimpleQueue[list[Job[S, object]]] = SimpleQueue()
        self._remaining: list[Job[S, object]] = []
        """Jobs from the queue that did not fit into the batch."""
        self._collected: dict[AbstractEventLoop, list[Job[S, object]]] = {}
        self._gate = Lock()  # no job is queued behind the stop
        self._closed = False
        self._last_batch_size = 0
        """The number of jobs in the last batch; more than one means load."""
        self._pid = getpid()
        self.batches = 0
        self._thread = Thread(target=self._main, name="toolwire-ledger", daemon=True)
        self._thread.start()

    def submit(self, job: Job[S, R]) -> Future[R]:
        """Submit a job and return the future of its result. The job runs even if its caller is
        cancelled."""
        future = job.create_future()
        loop = job.loop
        assert loop is not None
        collected = self._collected.get(loop)
        if collected is None:
            # Further jobs of this turn go with it: one lock and one wake-up for all
            self._collected[loop] = [job]
            loop.call_soon(
                self._collect, loop, 1, QUIET_TURNS if self._last_batch_size > 1 else 0, MAX_TURNS
            )
        else:
            collected.append(job)
        return future  # type: ignore[return-value]  # a future of R, seen from a queue of all kinds

    def _collect(self, loop: AbstractEventLoop, size: int, quiet: int, turns: int) -> None:
        """Collect the jobs of the next turns, until `quiet` turns bring no new one."""
        jobs = self._collected.get(loop)
        if jobs is not None and quiet and turns and not _is_abandoned(jobs[-1]):
            more = len(jobs) > size
            loop.call_soon(
                self._collect, loop, len(jobs), QUIET_TURNS if more else quiet - 1, turns - 1
            )
        else:
            self._submit_collected(loop)

    def _submit_collected(self, loop: AbstractEventLoop) -> None:
        jobs = self._collected.pop(loop, None)
        if jobs is None:
            return
        try:
            if self._pid != getpid():
                raise LedgerUnavailable(
                    "this process was forked from the one that opened the ledger: open a new ledger"
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
        """Finish all submitted jobs, then close the store."""
        stop = _Stop()
        future = stop.create_future()
        assert stop.loop is not None
        self._collected.setdefault(stop.loop, []).append(stop)
        self._submit_collected(stop.loop)
        try:
            await future
        finally:
            if future.done() and not future.cancelled():
                self._thread.join()

    # --- in the thread ----------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            store = self._open_store()
        except Exception as error:
            self._fail_all(error)
            return
        stop: Waiter | None = None
        while stop is None:
            jobs = self._take(store.idle_timeout())
            if jobs and isinstance(jobs[-1], _Stop):
                stop = jobs.pop()
            self._batch(store, jobs)
            self._wake([*jobs, *store.take_waiters()])
        stop.error = store.close()
        self._wake([*store.take_waiters(), stop])

    def _take(self, idle_timeout: float | None) -> list[Job[S, object]]:
        queue = self._queue
        jobs, self._remaining = self._remaining, []
        try:
            if not jobs:
                jobs = queue.get(timeout=idle_timeout)
        except Empty:
            return []
        while len(jobs) < MAX_BATCH and not queue.empty() and not isinstance(jobs[-1], _Stop):
            jobs += queue.get()  # this thread is the only reader
        if len(jobs) > MAX_BATCH:
            jobs, self._remaining = jobs[:MAX_BATCH], jobs[MAX_BATCH:]
        return jobs

    def _batch(self, store: S, jobs: Sequence[Job[S, object]]) -> None:
        self.batches += 1
        self._last_batch_size = len(jobs)
        try:
            store.begin()
            for batchable, neighbours in groupby(jobs, _batchable):
                group = list(neighbours)
                if batchable and len(group) > 1:
                    for job in group:
                        job.prepare(store)
                    store.write_prepared()
                for job in group:
                    try:
                        job.result = job.run(store)
                    except STORAGE_ERRORS:
                        raise
                    except Exception as error:
                        job.error = error
            store.commit()
        except Exception as error:
            store.rollback(error)
            for job in jobs:
                job.result = job.error = None
                try:
                    job.result = job.fallback(store, error)
                except LedgerUnavailable as refusal:
                    job.error = refusal
                except Exception as other:
                    job.error = LedgerUnavailable(f"the ledger could not be read: {other}")

    def _wake(self, waiters: Sequence[Waiter]) -> None:
        by_loop: dict[AbstractEventLoop, list[Waiter]] = {}
        for waiter in waiters:
            if waiter.loop is not None:
                by_loop.setdefault(waiter.loop, []).append(waiter)
        for loop, group in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._deliver, group)
            except RuntimeError:  # that loop has been closed
                self._handle_abandoned(group)

    def _fail_all(self, error: Exception) -> None:
        """Fail every job until the stop, because the store could not be opened."""
        jobs: list[Job[S, object]] = []
        while not jobs or not isinstance(jobs[-1], _Stop):
            jobs = self._queue.get()
            for job in jobs:
                job.error = None if isinstance(job, _Stop) else error
            self._wake(jobs)

    # --- in the event loop ------------------------------------------------------------------------

    def _deliver(self, waiters: Sequence[Waiter]) -> None:
        abandoned = []
        for waiter in waiters:
            future = waiter.future
            if future is None or future.done():
                abandoned.append(waiter)
            elif waiter.error is not None:
                future.set_exception(waiter.error)
            else:
                future.set_result(waiter.result)
        if abandoned:
            self._handle_abandoned(abandoned)

    def _handle_abandoned(self, waiters: Sequence[Waiter]) -> None:
        for waiter in waiters:
            job = waiter.on_abandoned() if isinstance(waiter, Job) else None
            if job is not None:
                with suppress(LedgerUnavailable):  # closed: the next owner finds the claim
                    self._push([job])
