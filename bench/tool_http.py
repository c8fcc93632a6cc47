"""How many calls of a trivial tool the tool server answers over HTTP, compared with two servers that
record nothing, in the same run.

The tool server speaks OXP and records every call in SQLite, durably, before and after it runs. The
others are a bare MCP server of the official SDK and a FastAPI route. ASGI server, client and rounds
are the same for all three, and they take turns.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from load import Order
from processes import Turns, client, in_turns, server
from progress import report

CONNECTIONS = (1, 32, 128)
CONNECTIONS_WITH_LIMIT = 32
"""The number of connections at which the tool server must be faster than the others."""
LIMIT = 1.0
REQUESTS = {1: 300, 32: 1600, 128: 1920}
SHARES = {"mcp": 4}
"""A server that takes several times as long as the others gets this part of the requests of a turn,
so that the turns are about equally long."""
OTHERS = ("mcp", "fastapi")
OURS = "toolwire"
HEADERS = {
    "mcp": {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
}


def rows(rounds: int = 9) -> dict[int, Turns]:
    """Measure with 1, 32 and 128 connections; return the measurements by that number."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-bench-"))
        file = str(Path(folder) / "calls.db")
        servers = {
            name: stack.enter_context(server("tool_servers.py", name, file))
            for name in (OURS, *OTHERS)
        }
        load = stack.enter_context(client())

        def orders(connections: int, requests: int) -> dict[str, Order]:
            return {
                name: Order(
                    name,
                    one.port,
                    connections,
                    requests // SHARES.get(name, 1),
                    headers=HEADERS.get(name, {}),
                )
                for name, one in servers.items()
            }

        in_turns(load, servers, orders(8, 800), 1)
        found: dict[int, Turns] = {}
        for many in CONNECTIONS:
            report(f"tools over {many} connections")
            found[many] = in_turns(load, servers, orders(many, REQUESTS[many]), rounds)
        return found


if __name__ == "__main__":
    for found in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 9).items():
        print(*found)
