"""The processes that the fault tests on Temporal kill: a replica that makes calls, or a worker that
runs the tool.

Run as `python temporal_child.py '<WorkerInstructions as JSON>'`. A replica writes one JSON line for
each result to `WorkerInstructions.out`. The effects of the tool are lines of a file that the
arguments name, each with an fsync and the id of the process.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from ledger_child import Deadly, Report, die, report_of, say
from ledger_child import Instructions as LedgerInstructions
from ledger_child import make as make_ledger
from msgspec import Struct
from runnables import runnable
from temporalio.client import ActivityHandle, Client

from toolwire.conversation.json import Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Claim, Outcome
from toolwire.execution.temporal.runner import TemporalRunner, worker
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext

STEPS = ("before claim", "after claim", "after start", "after result", "after record")
"""Where a replica dies."""


class WorkerInstructions(Struct, frozen=True):
    """The task of a child."""

    role: str
    target: str
    queue: str
    ledger: str = ""
    effects: str = ""
    ids: list[str] = []
    on_crash: OnCrash = "report"
    die: str | None = None
    pause: float = 0.0
    """Seconds that the tool takes after its effect."""
    heartbeat_timeout: float = 2.0
    timeout: float = 55.0
    options: dict[str, float | str] = {}
    out: str = ""


class DeadlyRunner(TemporalRunner):
    """A runner that kills the process after one step."""

    point: str | None = None

    async def _start(self, claim: Claim, tool: Runnable, sent: bytes) -> ActivityHandle[bytes]:
        handle = await super()._start(claim, tool, sent)
        if self.point == "after start":
            die()
        return handle

    async def _outcome(self, handle: ActivityHandle[bytes], tool: Runnable, mark: str) -> Outcome:
        outcome = await super()._outcome(handle, tool, mark)
        if self.point == "after result":
            die()
        return outcome


def bell(on_crash: OnCrash = "report", timeout: float = 55.0) -> Runnable:
    """A tool whose effect can be counted from outside. It does what its arguments say."""

    async def ring(arguments: Mapping[str, object], context: ToolContext) -> object:
        file, pause = Path(str(arguments["file"])), arguments["pause"]
        with file.open("a") as done:
            done.write(f"{context.call_id} {os.getpid()}\n")
            done.flush()
            os.fsync(done.fileno())
        assert isinstance(pause, int | float)
        if context.attempt == 1:
            await asyncio.sleep(pause)
        return {"rang": context.call_id, "attempt": context.attempt}

    def rang(arguments: Mapping[str, object], context: ToolContext) -> object:
        file = Path(str(arguments["file"]))
        if file.exists() and context.call_id in file.read_text():
            return {"rang": context.call_id, "probed": True}
        raise NoEffect("the bell did not ring")

    return runnable(
        ring,
        f"Doorbell.{on_crash.title()}@1.0.0",
        on_crash=on_crash,
        timeout=timeout,
        probe=rang if on_crash == "probe" else None,
    )


async def work(orders: WorkerInstructions) -> None:
    """Run tools until killed."""
    client = await Client.connect(orders.target)
    async with worker(
        client, [bell(one) for one in ("report", "retry", "probe")], queue=orders.queue
    ):
        say(Report(note="working"))
        await asyncio.sleep(600)


async def replicate(orders: WorkerInstructions) -> None:
    """Call all ids at once, each twice. The engine need not be available yet."""
    client = await Client.connect(orders.target, lazy=True)
    ledger = make_ledger(LedgerInstructions(orders.ledger, "", options=orders.options))  # type: ignore[arg-type]
    runner = DeadlyRunner(
        client, queue=orders.queue, heartbeat_timeout=orders.heartbeat_timeout, scope=orders.queue
    )
    runner.point = orders.die
    tool = bell(orders.on_crash, orders.timeout)
    input: Object = {"file": orders.effects, "pause": orders.pause}
    async with ToolExecutor(Deadly(ledger, orders.die), runner=runner) as executor:
        say(Report(note="ready"))

        async def ask(id: str) -> None:
            what = ToolCall(tool=tool, input=input, call_id=id, principal="p")
            while (
                answer := await executor.execute(what)
            ).state == "unavailable":  # a busy machine may miss its short lease
                await asyncio.sleep(0.2)
            say(report_of(answer))

        await asyncio.gather(*(ask(id) for id in orders.ids * 2))


ROLES = {"worker": work, "replica": replicate}

if __name__ == "__main__":
    orders = msgspec.json.decode(sys.argv[1], type=WorkerInstructions)
    os.dup2(os.open(orders.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
    asyncio.run(ROLES[orders.role](orders))
    os._exit(
        0
        # the SDK's core now and then crashes while the interpreter is taken down, long after everything
        # was said
    )
