"""Pay an order once, although a model asks twice and the process dies in between.

The key of a payment is its order number. The probe finds out whether a payment happened.

Prints:
    paying order 7
    the process dies
    call_2: done, replayed: True, result: receipt 7
    call_3: done, replayed: True, result: receipt 7
"""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

from toolwire import SqliteLedger, ToolExecutor, tool


def find_receipt(order: str) -> str:
    """Ask the bank for the receipt. Raise NoEffect here if an order was not paid."""
    return f"receipt {order}"


@tool(id="Shop.Pay@1.0.0", key=["order"], on_crash="probe", probe=find_receipt)
async def pay(order: str, note: str = "") -> str:
    """Pay an order.

    Args:
        order: The order number.
        note: A text for the receipt.
    """
    print(f"paying order {order}\nthe process dies", flush=True)
    os._exit(1)


async def main(path: Path, call_ids: list[str]) -> None:
    async with ToolExecutor(SqliteLedger(path)) as executor:
        for call_id in call_ids:
            result = await executor.run(pay, {"order": "7", "note": call_id}, call_id=call_id)
            print(f"{call_id}: {result.state}, replayed: {result.replayed}, result: {result.value}")


if len(sys.argv) > 1:
    asyncio.run(main(Path(sys.argv[1]), ["call_1"]))
else:
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "calls.db"
        print(
            run([sys.executable, __file__, ledger], capture_output=True, text=True).stdout, end=""
        )
        asyncio.run(main(ledger, ["call_2", "call_3"]))
