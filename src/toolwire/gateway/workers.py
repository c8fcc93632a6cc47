"""Several processes behind one port.

The parent process listens and serves nothing: its workers accept connections from its socket.
SIGTERM lets all of them finish their requests, SIGHUP is passed on, and a worker that dies is
replaced, unless workers die as soon as they start.
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
from time import monotonic
from types import FrameType

from toolwire.gateway.observe.observer import Observer
from toolwire.server.asgi import App
from toolwire.server.process import raise_file_limit
from toolwire.server.run import ConnectionLimits, Server, StartupFailure, config, url_of

MIN_LIFETIME = 5.0
"""Seconds that a worker must live to count as started."""
MAX_EARLY_EXITS = 3
"""Early exits for each worker before the parent gives up."""
_log = logging.getLogger("toolwire.gateway")


class Workers:
    """Worker processes, each with an application of its own."""

    def __init__(
        self,
        make_app: Callable[[], App],
        listener: socket.socket,
        count: int,
        *,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._make_app = make_app
        self._listener = listener
        self._count = count
        self._limits = limits or ConnectionLimits()
        self._started_at: dict[int, float] = {}
        self._stopping = False
        self._early_exits = 0

    def run(self, ready: Callable[[str], None]) -> int:
        """Serve until SIGTERM or SIGINT and return the exit code. `ready` gets the address once all
        workers serve."""
        handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._signal) for number in handled}
        try:
            pipes = [self._start() for _ in range(self._count)]
            started = all(_has_started(pipe) for pipe in pipes)
            if not started:
                self._stop()
            elif not self._stopping:
                ready(url_of(self._listener))
            code = self._watch()
            return code if started else (code or 1)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._send_signal(signal.SIGHUP)
        else:
            self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self._send_signal(signal.SIGTERM)

    def _send_signal(self, number: signal.Signals) -> None:
        for pid in list(self._started_at):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def _start(self) -> int:
        """Start a worker; return the end of a pipe on which it reports that it serves."""
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            os.close(writer)
            self._started_at[pid] = monotonic()
            return reader
        os.close(reader)
        code = 1
        try:
            code = self._run_worker(writer)
        except BaseException as error:  # a worker must never return into the code of its parent
            print(f"toolwire: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _run_worker(self, writer: int) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL if number != signal.SIGHUP else signal.SIG_IGN)
        raise_file_limit()
        app = self._make_app()

        def listening(url: str) -> None:
            with suppress(OSError):  # the parent does not wait for a worker that replaces another
                os.write(writer, b"!")
            os.close(writer)

        server = Server(
            config(app, self._limits), app, self._limits, url_of(self._listener), listening
        )
        try:
            server.run(sockets=[self._listener])
        except SystemExit:
            reason = app.failure if isinstance(app, StartupFailure) else None
            print(f"toolwire: {reason or 'the gateway could not be opened'}", file=sys.stderr)
            return 1
        return 0

    def _watch(self) -> int:
        """Wait for the workers; replace those that die."""
        worst = 0
        while self._started_at:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            started_at = self._started_at.pop(pid, None)
            if started_at is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                worst = worst or int(code != 0)
                continue
            lived_long = monotonic() - started_at >= MIN_LIFETIME
            self._early_exits = 1 if lived_long else self._early_exits + 1
            _log.error("a worker exited with code %d and is replaced", code)
            if self._early_exits > MAX_EARLY_EXITS * self._count:
                _log.error("workers exit as soon as they start")
                self._stop()
                worst = 1
            else:
                os.close(self._start())
        return worst


def _has_started(pipe: int) -> bool:
    """True if a worker reports that it serves before it exits."""
    try:
        select.select([pipe], [], [], 60.0)
        return os.read(pipe, 1) == b"!"
    finally:
        os.close(pipe)


def is_alive(process: str) -> bool:
    """True if a process with this id runs."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


class WorkerMetrics:
    """Writes the metrics of a process where the other workers find them."""

    def __init__(self, observer: Observer, *, seconds: float = 1.0) -> None:
        self._observer = observer
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Write the metrics from now on."""
        self._task = asyncio.get_running_loop().create_task(self._write_regularly())

    async def _write_regularly(self) -> None:
        while True:
            self._write()
            await asyncio.sleep(self._seconds)

    def _write(self) -> None:
        try:
            self._observer.share_metrics()
        except OSError as error:
            _log.warning("the metrics could not be shared: %s", error.strerror)

    async def close(self) -> None:
        """Write the metrics for the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._write()
