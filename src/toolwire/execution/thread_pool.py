"""Threads for functions that block: started on demand, kept for a while, and never in the way of
the end of the process.

The pool does not limit the number of threads; its caller does. (The standard pool waits for its
threads at exit, and so for ever if one of them hangs.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

IDLE = 30.0
"""Seconds that an idle thread waits for the next job."""


class ThreadPool:
    """A pool of daemon threads. A job must not raise."""

    def __init__(self, name: str = "toolwire-tool") -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def start(self, job: Callable[[], None]) -> None:
        """Run a job in an idle thread, or in a new one."""
        with self._lock:
            if waiting := self._idle > 0:
                self._idle -= 1
        if waiting:
            self._jobs.put(job)
        else:
            threading.Thread(target=self._work, args=(job,), name=self._name, daemon=True).start()

    def _work(self, job: Callable[[], None]) -> None:
        while True:
            job()
            del job  # an idle thread must not keep its objects alive
            with self._lock:
                self._idle += 1
            following = self._next()
            if following is None:
                return
            job = following
            del following

    def _next(self) -> Callable[[], None] | None:
        while True:
            try:
                return self._jobs.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return None
                # `start` has just counted this thread as the one for its job, which is on its way
