"""An agent whose process dies in the middle of its calls, and another one that continues.

The store keeps the conversation, the ledger the calls: a call that ran is not run again.

Prints:
    process 1: charged order-1
    process 1: killed
    process 2: charged order-2
    Shop_Charge(order="order-1") gave: charged order-1
    Shop_Charge(order="order-2") gave: charged order-2
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from toolwire import Agent, FileStore, Limits, SqliteLedger, ToolExecutor, tool

QUESTION = '[[call Shop_Charge {"order": "order-1"}]] [[call Shop_Charge {"order": "order-2"}]]'


@tool(id="Shop.Charge@1.0.0", on_crash="retry")
def charge(order: str) -> str:
    """Charge an order.

    Args:
        order: The id of the order.
    """
    process = 1 if "--first" in sys.argv else 2
    if process == 1 and order == "order-2":
        print("process 1: killed", flush=True)
        os._exit(9)
    print(f"process {process}: charged {order}", flush=True)
    return f"charged {order}"


async def main(folder: Path, question: str | None) -> None:
    async with ToolExecutor(SqliteLedger(folder / "calls.db")) as executor:
        store = FileStore(folder / "session.json")
        agent = Agent("demo:", charge, executor=executor, store=store, limits=Limits(parallel=1))
        await agent.resume()
        print((await agent.run(question)).text)
        await agent.model.close()


if "--first" in sys.argv:
    asyncio.run(main(Path(sys.argv[-1]), QUESTION))
else:
    with TemporaryDirectory() as temporary:
        os.spawnl(os.P_WAIT, sys.executable, sys.executable, __file__, "--first", temporary)
        asyncio.run(main(Path(temporary), None))
