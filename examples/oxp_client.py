"""Call the tools of an OXP server, which may be any process: `toolwire serve examples/tools.py`.

    python examples/oxp_client.py http://127.0.0.1:8765

Prints:
    Calculator.Add@1.0.0, Doorbell.Ring@0.1.0, Gmail.GetEmails@1.2.0, SMS.Send@0.1.2, \
System.GetTimestamp@1.0.0
    10 + 5 = 15
    the doorbell: The doorbell was not found.
"""

import asyncio
import sys

from toolwire import OxpClient
from toolwire.oxp import ToolCallFailed


async def main(url: str) -> None:
    async with OxpClient(url) as client:
        print(", ".join(sorted(str(tool.id) for tool in await client.list())))
        print("10 + 5 =", await client.call("Calculator.Add", {"a": 10, "b": 5}))
        try:
            await client.call("Doorbell.Ring", {"doorbell_id": "nowhere"}, call_id="call-1")
        except ToolCallFailed as error:  # it ran and failed: a retry needs a new call id
            print("the doorbell:", error)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765"))
