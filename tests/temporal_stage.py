"""Ledger, Temporal, workers and replicas for one fault test, and checks of their outcomes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import postgres
import temporal_server
from ledger_child import Report
from temporal_child import WorkerInstructions
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from toolwire.execution.call_key import key_of
from toolwire.execution.ledger.base import Claim
from toolwire.execution.temporal.runner import activity_id
from toolwire.tools.runnable import OnCrash

Book: TypeAlias = Literal["sqlite", "postgres"]
BOOKS: tuple[Book, ...] = ("sqlite", "postgres")
CHILD = Path(__file__).parent / "temporal_child.py"
LEASE = 3.0


class Child:
    """A replica or a worker in a process of its own."""

    def __init__(self, orders: WorkerInstructions) -> None:
        self._out = Path(orders.out)
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), msgspec.json.encode(orders).decode()]
        )

    def reports(self) -> list[Report]:
        lines = self._out.read_bytes().splitlines(keepends=True) if self._out.exists() else []
        return [msgspec.json.decode(line, type=Report) for line in lines if line.endswith(b"\n")]

    def answers(self) -> list[Report]:
        """The reports of a replica that has ended normally."""
        assert self.process.wait(120) == 0, self.reports()[-3:]
        return [one for one in self.reports() if not one.note]

    def speaks(self) -> None:
        until(lambda: bool(self.reports()) or self.process.poll() is not None)
        assert self.process.poll() is None, "it ended before it said anything"

    def dies(self) -> None:
        """Wait until the child has killed itself, as instructed."""
        assert self.process.wait(120) == -signal.SIGKILL, self.reports()[-3:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


class Stage:
    """One ledger, one task queue, one file of effects."""

    def __init__(
        self, folder: Path, book: Book, server: temporal_server.Server | None = None
    ) -> None:
        self.folder = folder
        self.server = server or temporal_server.common_server()
        self.queue = sha256(str(folder).encode()).hexdigest()[:16]
        self.effects_file = folder / "effects"
        self.book = book
        self.ledger = f"sqlite:{folder / 'ledger.db'}" if book == "sqlite" else postgres.dsn()
        self.options: dict[str, float | str] = (
            {} if book == "sqlite" else {"schema": f"t{self.queue}", "lease": LEASE}
        )
        self._children: list[Child] = []

    @property
    def effects(self) -> Counter[str]:
        """How often the bell rang, by call id."""
        return Counter(line.split()[0] for line in self._lines())

    @property
    def ringers(self) -> set[int]:
        """The ids of the processes in which the tool ran."""
        return {int(line.split()[1]) for line in self._lines()}

    def _lines(self) -> list[str]:
        return self.effects_file.read_text().splitlines() if self.effects_file.exists() else []

    def wait_for_end(self, call_id: str) -> None:
        """Wait until Temporal knows how a call ended."""

        async def end() -> None:
            client = await Client.connect(self.server.target)
            await client.get_activity_handle(self._id(call_id)).result()

        asyncio.run(end())

    def knows_call(self, call_id: str) -> bool:
        """True if Temporal has an activity of this call."""

        async def look() -> bool:
            client = await Client.connect(self.server.target)
            try:
                await client.get_activity_handle(self._id(call_id)).describe()
            except RPCError as error:
                assert error.status == RPCStatusCode.NOT_FOUND
                return False
            return True

        return asyncio.run(look())

    def _id(self, call_id: str) -> str:
        return activity_id(Claim("new", key_of("p", None, call_id), b""), self.queue)

    def worker(self) -> Child:
        """Start a worker and wait until it is ready."""
        child = self._start("worker", {})
        child.speaks()
        return child

    def replica(
        self,
        *ids: str,
        die: str | None = None,
        on_crash: OnCrash = "report",
        pause: float = 0.0,
        heartbeat_timeout: float = 2.0,
    ) -> Child:
        """Start a replica."""
        return self._start(
            "replica",
            {
                "ids": ids,
                "die": die,
                "on_crash": on_crash,
                "pause": pause,
                "heartbeat_timeout": heartbeat_timeout,
            },
        )

    def _start(self, role: str, more: Mapping[str, object]) -> Child:
        orders = {
            "role": role,
            "target": self.server.target,
            "queue": self.queue,
            "ledger": self.ledger,
            "effects": str(self.effects_file),
            "options": self.options,
            "out": str(self.folder / f"said-{len(self._children)}"),
        }
        child = Child(msgspec.convert(orders | dict(more), WorkerInstructions))
        self._children.append(child)
        return child

    def close(self) -> None:
        for child in self._children:
            if child.process.poll() is None:
                child.kill()


@contextmanager
def open_stage(
    folder: Path, book: Book, server: temporal_server.Server | None = None
) -> Iterator[Stage]:
    """A stage whose processes are ended afterwards."""
    stage = Stage(folder, book, server)
    try:
        yield stage
    finally:
        stage.close()


def outcomes(answers: list[Report]) -> set[tuple[str, str]]:
    """The distinct pairs of state and value."""
    return {(one.state, msgspec.json.encode(one.value, order="sorted").decode()) for one in answers}
