"""Several processes behind one port.

The first process listens and serves nothing: its children take the connections from its socket.
SIGTERM lets all of them finish, SIGHUP is handed on, and one that dies is replaced, unless they die
as soon as they start. Knows no app.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import FrameType

from toolwire.gateway.observer import Observer
from toolwire.server.asgi import App
from toolwire.server.run import (
    ConnectionLimits,
    Server,
    StartupFailure,
    config,
    raise_file_limit,
    url_of,
)

SHORT = 5.0
"""Seconds that a child must live to be one that was started well."""
TRIES = 3
"""So many may die sooner in a row."""
_log = logging.getLogger("toolwire.gateway")


class Workers:
    """Children that serve what `make` makes, each its own."""

    def __init__(
        self,
        make: Callable[[], App],
        listener: socket.socket,
        many: int,
        *,
        bounds: ConnectionLimits | None = None,
    ) -> None:
        self._make = make
        self._listener = listener
        self._many = many
        self._bounds = bounds or ConnectionLimits()
        self._born: dict[int, float] = {}
        self._stopping = False
        self._early = 0

    def run(self, ready: Callable[[str], None]) -> int:
        """Serve until SIGTERM or SIGINT; the exit code. `ready` is told the address once all of
        them serve."""
        handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._signal) for number in handled}
        try:
            pipes = [self._start() for _ in range(self._many)]
            told = all(_began(pipe) for pipe in pipes)
            if not told:
                self._stop()
            elif not self._stopping:
                ready(url_of(self._listener))
            return self._watch() if told else (self._watch() or 1)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._tell(signal.SIGHUP)
        else:
            self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self._tell(signal.SIGTERM)

    def _tell(self, number: signal.Signals) -> None:
        for pid in list(self._born):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def _start(self) -> int:
        """Start a child; the end of a pipe on which it says that it serves."""
        hears, says = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            os.close(says)
            self._born[pid] = monotonic()
            return hears
        os.close(hears)
        code = 1
        try:
            code = self._child(says)
        except (
            BaseException
        ) as error:  # nothing of a child may come back into the code of its parent
            print(f"toolwire: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _child(self, says: int) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL if number != signal.SIGHUP else signal.SIG_IGN)
        raise_file_limit()
        app = self._make()

        def listening(url: str) -> None:
            with suppress(OSError):  # of one that takes another's place nobody waits to hear
                os.write(says, b"!")
            os.close(says)

        server = Server(
            config(app, self._bounds), app, self._bounds, url_of(self._listener), listening
        )
        try:
            server.run(sockets=[self._listener])
        except SystemExit:
            why = app.failure if isinstance(app, StartupFailure) else None
            print(f"toolwire: {why or 'the gateway could not be opened'}", file=sys.stderr)
            return 1
        return 0

    def _watch(self) -> int:
        """Wait for the children; replace those that die."""
        worst = 0
        while self._born:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            born = self._born.pop(pid, None)
            if born is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                worst = worst or int(code != 0)
                continue
            self._early = self._early + 1 if monotonic() - born < SHORT else 1
            _log.error("a worker ended (%d); another one takes its place", code)
            if self._early > TRIES * self._many:
                _log.error("workers end as soon as they start")
                self._stop()
                worst = 1
            else:
                os.close(self._start())
        return worst


def _began(pipe: int) -> bool:
    """Whether a child says that it serves, before it ends."""
    try:
        select.select([pipe], [], [], 60.0)
        return os.read(pipe, 1) == b"!"
    finally:
        os.close(pipe)


def lives(process: str) -> bool:
    """Whether a process is there."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


class WorkerMetrics:
    """Puts the numbers of a process where its siblings find them."""

    def __init__(self, watch: Observer, folder: Path, *, every: float = 1.0) -> None:
        self._watch = watch
        self._folder = folder
        self._every = every
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Do so from now on."""
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            self._once()
            await asyncio.sleep(self._every)

    def _once(self) -> None:
        try:
            self._watch.keep()
        except OSError as error:
            _log.warning("numbers could not be shared: %s", error.strerror)

    async def close(self) -> None:
        """For the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._once()
