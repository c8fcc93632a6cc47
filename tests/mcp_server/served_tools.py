"""Tools that an MCP server is tested with, and the program that serves them over stdio.

Every run writes a line to a file, so that runs are counted across processes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from toolwire.conversation.json import JSON, Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.mcp.stdio import serve_stdio
from toolwire.tools.errors import RetryableToolError, ToolError
from toolwire.tools.from_schema import from_schema
from toolwire.tools.function import tool
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import ToolContext


class Sum(TypedDict):
    """A sum."""

    total: int


def tools(folder: Path) -> Tools:
    """The tools; each run is recorded in the folder."""

    def record_run(name: str) -> None:
        with (folder / "effects").open("a") as file:
            file.write(f"{name}\n")

    @tool(id="Calculator.Add@1.0.0", read_only=True)
    def old(a: Annotated[int, "The first."], b: Annotated[int, "The second."]) -> Sum:
        """Add two numbers, the old way."""
        record_run("add-1")
        return {"total": a + b}

    @tool(id="Calculator.Add@1.10.0", idempotent=True)
    def add(a: Annotated[int, "The first."], b: Annotated[int, "The second."]) -> Sum:
        """Add two numbers."""
        record_run("add")
        return {"total": a + b}

    @tool(id="Doorbell.Ring@0.1.0")
    async def ring(doorbell_id: Annotated[str, "Which doorbell."]) -> None:
        """Ring a doorbell."""
        record_run("ring")
        if doorbell_id != "doorbell42":
            raise RetryableToolError(
                "There is no such doorbell.",
                developer_message="looked in the hall",
                additional_prompt_content="Doorbells: doorbell42",
                retry_after_ms=50,
            )

    @tool(id="Slow.Run@1.0.0")
    async def slow(seconds: Annotated[float, "How long."]) -> str:
        """Take a while."""
        record_run("slow")
        await asyncio.sleep(seconds)
        record_run("slow-done")
        return "done"

    @tool(id="Bad.Boom@1.0.0")
    def boom() -> None:
        """Fail."""
        record_run("boom")
        raise ToolError("It went off.", kind="bang", developer_message="fuse", extra={"yield": 3})

    @tool(id="Sms.Send@0.1.2", secrets=["TWILIO_API_KEY"], authorization=["phone"], user_id=True)
    def send(context: ToolContext, to: Annotated[str, "Whom."]) -> list[str]:
        """Send a message."""
        record_run("send")
        return [to, context.secret("TWILIO_API_KEY"), context.token("phone"), context.user_id or ""]

    def echo_value(arguments: Mapping[str, JSON]) -> JSON:
        record_run("echo")
        return arguments["value"]

    schema: Object = {
        "type": "object",
        "properties": {"value": {"description": "Anything."}},
        "required": ["value"],
    }
    echo = from_schema("Echo.Any@1.0.0", "Give it back.", schema, echo_value)

    return Tools(old, add, ring, slow, boom, send, echo)


def effects(folder: Path, name: str) -> int:
    """How often a tool ran."""
    file = folder / "effects"
    return file.read_text().split().count(name) if file.exists() else 0


if __name__ == "__main__":
    where = Path(sys.argv[1])
    asyncio.run(
        serve_stdio(
            tools(where),
            executor=ToolExecutor(SqliteLedger(where / "calls.db"), wait=float(sys.argv[2])),
            drain_timeout=1.0,
        )
    )
