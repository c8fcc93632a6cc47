"""The process that the tests of interruption kill: an agent with a doorbell, which dies at a given
point.

It reads orders line by line and forks a child for each, which saves the imports; it prints the exit
code of each child. A ring is a line in a file, written with an fsync, so that it survives the
process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from toolwire.agent.agent import Agent
from toolwire.agent.approvals import Allow, Decision
from toolwire.agent.events import RunResult, ToolFinished
from toolwire.agent.http_model import HttpModel
from toolwire.agent.session_store import FileStore, SqliteStore, Store
from toolwire.agent.thread import Thread
from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Call
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.tools import tool
from toolwire.tools.runnable import Runnable


class Orders(Struct, frozen=True):
    """The task of a child."""

    model: str
    url: str
    folder: str
    question: str | None = None
    store: str = "file"
    die: str = ""
    """Where to die: `save`, `saved`, `event`, `ring`, `rung`, `asked`, or `interrupt`."""
    n: int = 0
    """At which occurrence of that point to die."""
    ledger: bool = True


class AgentReport(Struct):
    """The outcome of a run."""

    phase: str = ""
    why: str | None = None
    text: str = ""
    done: list[tuple[int, str, bool, str]] = []
    asked: int = 0


class _Fate:
    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.counts: dict[str, int] = {}

    def passes(self, place: str) -> None:
        """Die if this is the point and the occurrence of the orders."""
        self.counts[place] = self.counts.get(place, 0) + 1
        if self.orders.die == place and self.counts[place] == self.orders.n:
            os.kill(os.getpid(), signal.SIGKILL)


class _Deadly:
    """A store that may kill the process before or after a save."""

    def __init__(self, inner: Store, fate: _Fate) -> None:
        self.inner, self.fate = inner, fate

    async def load(self) -> Thread | None:
        return await self.inner.load()

    async def save(self, thread: Thread) -> None:
        self.fate.passes("save")
        await self.inner.save(thread)
        self.fate.passes("saved")


async def go(orders: Orders) -> AgentReport:
    folder, fate, report = Path(orders.folder), _Fate(orders), AgentReport()

    @tool(id="Door.Ring@1.0.0")
    async def ring(n: int) -> str:
        """Ring the door.

        Args:
            n: which door
        """
        fate.passes("ring")
        with (folder / "rings").open("a") as file:
            file.write(f"{n}\n")
            file.flush()
            os.fsync(file.fileno())
        fate.passes("rung")
        if orders.die == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(30)
        return f"rang {n}"

    def approve(call: Call, tool: Runnable) -> Decision:
        report.asked += 1
        fate.passes("asked")
        return Allow()

    inner: Store = (
        FileStore(folder / "thread.json")
        if orders.store == "file"
        else SqliteStore(folder / "threads.db", "one")
    )
    model = HttpModel(orders.model, base_url=orders.url, api_key="k" * 20)
    calls = ToolExecutor(SqliteLedger(folder / "calls.db")) if orders.ledger else ToolExecutor()
    async with calls, model:
        agent = Agent(model, [ring], executor=calls, store=_Deadly(inner, fate), approve=approve)
        await agent.resume()
        async for seen in agent.watch(orders.question):
            fate.passes("event")
            if isinstance(seen, ToolFinished):
                report.done.append((seen.number, seen.state, seen.replayed, seen.result.text))
            elif isinstance(seen, RunResult):
                report.phase, report.why, report.text = str(seen.phase), seen.stop, seen.text
    return report


def main() -> None:
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background process ignores it, and so do its children
    for line in sys.stdin:
        orders = msgspec.json.decode(line, type=Orders)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                report = asyncio.run(go(orders))
                (Path(orders.folder) / "report.json").write_bytes(msgspec.json.encode(report))
                code = 0
            except KeyboardInterrupt:
                code = 130
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        answer: JSON = os.waitstatus_to_exitcode(status)
        print(msgspec.json.encode(answer).decode(), flush=True)


if __name__ == "__main__":
    main()
