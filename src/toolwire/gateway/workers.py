"""Several processes behind one port.

The parent process listens and serves nothing: its workers accept connections from its socket.
SIGTERM lets all of them finish their requests, and SIGHUP is passed on. A worker that dies is
replaced, unless workers die as soon as they start. Each worker writes a heartbeat to a pipe from
its event loop; a worker that hangs writes none and is killed, and its stack goes to the log.
"""

from __future__ import annotations

import faulthandler
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

from msgspec import Struct

from toolwire.server.asgi import App
from toolwire.server.process import raise_file_limit
from toolwire.server.run import ConnectionLimits, Server, StartupFailure, config, url_of

MIN_LIFETIME = 5.0
"""Seconds that a worker must live to count as started."""
MAX_EARLY_EXITS = 3
"""Early exits for each worker before the parent gives up."""
STARTUP_TIMEOUT = 60.0
"""Seconds in which the first workers must serve."""
HEARTBEAT_INTERVAL = 1
"""Seconds between two heartbeats of a worker, and between two checks of the parent."""
_HEARTBEAT = b"."
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = logging.getLogger("toolwire.gateway")


class _Worker(Struct):
    """A worker process as its parent sees it."""

    pid: int
    pipe: int
    """Where its heartbeats arrive; the first one means that it is ready."""
    started_at: float
    last_heartbeat: float | None = None
    stack_requested_at: float | None = None
    """When a hanging worker was asked for its stack; it is killed a moment later."""


class Workers:
    """Worker processes, each with an application of its own."""

    def __init__(
        self,
        make_app: Callable[[], App],
        listener: socket.socket,
        count: int,
        *,
        hang_timeout: float = 30.0,
    ) -> None:
        self._make_app = make_app
        self._listener = listener
        self._count = count
        self._limits = ConnectionLimits()
        self._hang_timeout = hang_timeout
        self._workers: dict[int, _Worker] = {}
        """By process id."""
        self._stopped_at: float | None = None
        self._early_exits = 0
        self._exit_code = 0

    def run(self, ready: Callable[[str], None]) -> int:
        """Serve until SIGTERM or SIGINT and return the exit code. `ready` gets the address once all
        workers serve."""
        before = {number: signal.signal(number, self._signal) for number in _SIGNALS}
        try:
            for _ in range(self._count):
                self._start()
            started = self._wait_for_startup()
            if not started:
                self._stop()
            elif self._stopped_at is None:
                ready(url_of(self._listener))
            self._supervise()
            return self._exit_code if started else (self._exit_code or 1)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._send_signal(signal.SIGHUP)
        else:
            self._stop()

    def _stop(self) -> None:
        self._stopped_at = monotonic()
        self._send_signal(signal.SIGTERM)

    def _send_signal(self, number: signal.Signals) -> None:
        for pid in list(self._workers):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    # --- one worker ---

    def _start(self) -> None:
        """Start a worker."""
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal for the worker must not meet the handlers of its parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            os.close(writer)
            self._workers[pid] = _Worker(pid, reader, started_at=monotonic())
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            if self._stopped_at is not None:  # the signal came just before the worker
                os.kill(pid, signal.SIGTERM)
            return
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

    def _run_worker(self, heartbeats: int) -> int:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL if number != signal.SIGHUP else signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        os.set_blocking(heartbeats, False)  # a parent that hangs must not block its workers
        raise_file_limit()
        app = self._make_app()

        def beat() -> None:
            try:
                os.write(heartbeats, _HEARTBEAT)
            except BlockingIOError:
                pass  # the parent has not read for a long time
            except BrokenPipeError:  # the parent is gone
                server.should_exit = True

        async def notify() -> None:
            beat()

        settings = config(app, self._limits)
        settings.callback_notify = notify
        settings.timeout_notify = HEARTBEAT_INTERVAL
        server = Server(
            settings, app, limits=self._limits, url=url_of(self._listener), ready=lambda _: beat()
        )
        try:
            server.run(sockets=[self._listener])
        except SystemExit:
            reason = app.failure if isinstance(app, StartupFailure) else None
            print(f"toolwire: {reason or 'the gateway could not be opened'}", file=sys.stderr)
            return 1
        return 0

    # --- all workers ---

    def _wait_for_startup(self) -> bool:
        """True once every worker serves; False if one exits first or takes too long."""
        deadline = monotonic() + STARTUP_TIMEOUT
        waiting = list(self._workers.values())
        while waiting and monotonic() < deadline:
            if not all(self._read_heartbeats()):
                return False
            waiting = [worker for worker in waiting if worker.last_heartbeat is None]
        return not waiting

    def _supervise(self) -> None:
        """Replace workers that die and kill workers that hang, until all have stopped."""
        while self._workers:
            self._read_heartbeats()
            for worker in list(self._workers.values()):
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
                if pid:
                    self._remove(worker, os.waitstatus_to_exitcode(status))
                elif self._stopped_at is None:
                    self._check_heartbeat(worker)
                elif monotonic() > self._stopped_at + self._limits.grace + self._hang_timeout:
                    os.kill(worker.pid, signal.SIGKILL)

    def _read_heartbeats(self) -> list[bool]:
        """Wait a moment for heartbeats. Each item is one pipe with news, False at its end."""
        pipes = {worker.pipe: worker for worker in self._workers.values() if worker.pipe >= 0}
        readable, _, _ = select.select(list(pipes), [], [], HEARTBEAT_INTERVAL)
        news: list[bool] = []
        for pipe in readable:
            alive = bool(os.read(pipe, 4096))
            if alive:
                pipes[pipe].last_heartbeat = monotonic()
                pipes[pipe].stack_requested_at = None
            else:
                os.close(pipe)
                pipes[pipe].pipe = -1
            news.append(alive)
        return news

    def _remove(self, worker: _Worker, code: int) -> None:
        """Forget a worker that exited, and start another if the gateway goes on."""
        del self._workers[worker.pid]
        if worker.pipe >= 0:
            os.close(worker.pipe)
        if self._stopped_at is not None:
            stopped = code in (0, -signal.SIGTERM)  # the latter before it could handle the signal
            self._exit_code = self._exit_code or int(not stopped)
            return
        lived_long = monotonic() - worker.started_at >= MIN_LIFETIME
        self._early_exits = 1 if lived_long else self._early_exits + 1
        _log.error("a worker exited with code %d and is replaced", code)
        if self._early_exits > MAX_EARLY_EXITS * self._count:
            _log.error("workers exit as soon as they start; the reason is above")
            self._stop()
            self._exit_code = 1
        else:
            self._start()

    def _check_heartbeat(self, worker: _Worker) -> None:
        """Kill a worker that hangs; ask it for its stack first."""
        if worker.last_heartbeat is None:  # it has not started yet
            return
        silence = monotonic() - worker.last_heartbeat
        if silence < self._hang_timeout:
            return
        if worker.stack_requested_at is None:
            _log.error("worker %d hangs: no heartbeat for %.0f s", worker.pid, silence)
            worker.stack_requested_at = monotonic()
            os.kill(worker.pid, signal.SIGUSR1)
        elif monotonic() - worker.stack_requested_at >= HEARTBEAT_INTERVAL:
            os.kill(worker.pid, signal.SIGKILL)
