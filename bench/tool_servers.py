"""The same trivial tool on three servers, each in its own process: `python bench/tool_servers.py
toolwire calls.db`.

The server of toolwire records every call durably before and after it runs; the other two record
nothing. All run under uvicorn with uvloop and httptools, without an access log. Each prints its
address once it listens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from fastapi import FastAPI
from mcp.server import MCPServer
from plain import plain
from pydantic import BaseModel

from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.server import run
from toolwire.tool_server import ToolServer
from toolwire.tools import Tools, tool


def toolwire(ledger: str) -> None:
    """Serve the tool over OXP, with the ledger in a file."""

    @tool(id="Calculator.Add@1.0.0")
    async def add(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return a + b

    run.serve(
        ToolServer(Tools(add), executor=ToolExecutor(SqliteLedger(ledger))),
        "127.0.0.1",
        0,
        ready=lambda url: print(url, flush=True),
    )


class Arguments(BaseModel):
    """The body of a request to the route."""

    call_id: str
    a: int
    b: int


def fastapi(_: str) -> None:
    """Serve the tool as a route with a pydantic model of its arguments."""

    app = FastAPI()

    @app.post("/tools/call")
    async def add(given: Arguments) -> dict[str, object]:
        return {"call_id": given.call_id, "success": True, "value": given.a + given.b}

    plain(app)


def mcp(_: str) -> None:
    """Serve the tool with the official SDK at its fastest: no sessions, JSON instead of streams."""
    server = MCPServer("bench", log_level="ERROR")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    plain(server.streamable_http_app(stateless_http=True, json_response=True))


SERVERS: dict[str, Callable[[str], None]] = {"toolwire": toolwire, "fastapi": fastapi, "mcp": mcp}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](sys.argv[2])
