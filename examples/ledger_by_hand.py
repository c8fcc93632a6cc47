"""Run a tool through a ledger by hand: a call that is repeated under its call id runs once.

Prints:
    ding dong at front
    done, replayed: False, result: rang 1 times
    done, replayed: True, result: rang 1 times
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolwire import SqliteLedger, ToolExecutor, tool

RINGS: list[str] = []


@tool(id="Doorbell.Ring@1.0.0")
def ring(doorbell: str) -> str:
    """Ring a doorbell.

    Args:
        doorbell: The name of the doorbell.
    """
    print(f"ding dong at {doorbell}")
    RINGS.append(doorbell)
    return f"rang {len(RINGS)} times"


async def main(folder: str) -> None:
    async with ToolExecutor(SqliteLedger(Path(folder) / "calls.db")) as executor:
        for _ in range(2):
            answer = await executor.run(ring, {"doorbell": "front"}, call_id="call-1")
            assert answer.outcome is not None
            print(f"{answer.state}, replayed: {answer.replayed}, result: {answer.outcome.value}")


with TemporaryDirectory() as temporary:
    asyncio.run(main(temporary))
