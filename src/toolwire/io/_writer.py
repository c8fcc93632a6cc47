"""One thread that owns a store, and the jobs it does for any number of event loops: natural group commit.

It takes one job, then whatever else has come meanwhile, does them all in one transaction and wakes each event loop once. There is
no timer: while the disk is busy the next batch grows. A storage error undoes the whole batch, and nobody in it is told that
something was done. Knows no table and no call.
"""

from __future__ import annotations

import sqlite3
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import getpid
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, Protocol, TypeVar

from toolwire.tools.ledger import LedgerUnavailable

MOST = 512
"""Jobs in one transaction at most."""
STORAGE_ERRORS = (sqlite3.Error, MemoryError)


class Store(Protocol):
    """What the thread owns. Only the thread calls it."""

    def begin(self) -> None:
        """A batch begins; what is overdue may be done first. Raises nothing."""

    def commit(self) -> None: ...

    def undo(self, error: BaseException) -> None:
        """The batch did not happen. Raises nothing."""

    def woken(self) -> Sequence[Pending]:
        """Who else has to be told something after this batch."""

    def patience(self) -> float | None:
        """Seconds after which a batch should begin even if nobody asks for anything."""

    def close(self) -> Exception | None: ...


S = TypeVar("S", bound=Store)
S_contra = TypeVar("S_contra", bound=Store, contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Pending:
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


class Job(Pending, Generic[S_contra, R_co]):
    """Something that the thread does with its store."""

    __slots__ = ()

    def run(self, store: S_contra) -> R_co:
        """The answer, if the batch can be committed. May raise what its asker should get; then it has written nothing."""
        raise NotImplementedError

    def refused(self, store: S_contra, error: BaseException) -> R_co:
        """The answer if the batch was undone."""
        raise LedgerUnavailable(f"the ledger could not write: {error}") from error

    def unheard(self) -> Job[S_contra, object] | None:
        """The answer came, and whoever asked had gone: a job to do about that."""
        return None


class _Stop(Job[Store, None]):
    __slots__ = ()


class Writer(Generic[S]):
    """The thread. What cannot be opened gives its error to every job."""

    def __init__(self, opening: Callable[[], S], *, name: str = "toolwire-ledger") -> None:
        self._opening = opening
        self._queue: SimpleQueue[Job[S, object]] = SimpleQueue()
        self._gate = Lock()  # nothing is put behind the stop
        self._closed = False
        self._pid = getpid()
        self.batches = 0
        self._thread = Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    async def do(self, job: Job[S, R]) -> R:
        """The answer to a job. Gives up waiting when cancelled; the job is done all the same."""
        future = job.expect()
        self.put(job)
        answer: R = await future  # type: ignore[assignment]  # a future of R, seen from a queue of all kinds
        return answer

    def put(self, job: Job[S, object]) -> None:
        """Have a job done without waiting for it."""
        if self._pid != getpid():
            raise LedgerUnavailable("this process was forked from the one that opened the ledger: open one of its own")
        self._push(job)

    def _push(self, job: Job[S, object]) -> None:
        with self._gate:
            if self._closed:
                raise LedgerUnavailable("the ledger is closed")
            self._closed = isinstance(job, _Stop)
            self._queue.put(job)

    async def stop(self) -> None:
        """Everything asked before is done, then the store is closed."""
        stop = _Stop()
        future = stop.expect()
        self.put(stop)
        try:
            await future
        finally:
            if future.done() and not future.cancelled():
                self._thread.join()

    # --- in the thread ---------------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            store = self._opening()
        except Exception as error:
            self._mourn(error)
            return
        stop: Pending | None = None
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
        try:
            taken = [queue.get(timeout=patience)]
        except Empty:
            return []
        while len(taken) < MOST and not queue.empty() and not isinstance(taken[-1], _Stop):
            taken.append(queue.get())  # the only reader: what is there stays there
        return taken

    def _batch(self, store: S, jobs: Sequence[Job[S, object]]) -> None:
        self.batches += 1
        try:
            store.begin()
            for job in jobs:
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

    def _wake(self, answered: Sequence[Pending]) -> None:
        by_loop: dict[AbstractEventLoop, list[Pending]] = {}
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
        while True:
            job = self._queue.get()
            job.error = None if isinstance(job, _Stop) else error
            self._wake([job])
            if isinstance(job, _Stop):
                return

    # --- in the event loop -------------------------------------------------------------------------------------------

    def _tell(self, answered: Sequence[Pending]) -> None:
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

    def _unheard(self, answered: Sequence[Pending]) -> None:
        for one in answered:
            job = one.unheard() if isinstance(one, Job) else None
            if job is not None:
                with suppress(LedgerUnavailable):  # closed: the next to open it finds what is left
                    self._push(job)
