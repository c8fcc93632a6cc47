"""Serve tools as an MCP server over stdin and stdout.

The thread that waits for the next line of stdin cannot be interrupted. So a signal ends the process
itself, after the running calls are answered.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from toolwire.cli.framework.signals import CTRL_C

if TYPE_CHECKING:
    from toolwire.execution.executor import ToolExecutor
    from toolwire.tools.registry import Tools

FLUSH_SECONDS = 0.1
"""Seconds for the last responses to be written."""


async def serve_stdio(tools: Tools, executor: ToolExecutor) -> None:
    """Serve until the client closes stdin.

    SIGINT and SIGTERM finish the running calls and exit with 0; a second signal exits at once.
    """
    from toolwire.mcp import stdio

    shutdowns: list[asyncio.Task[None]] = []

    def stop() -> None:
        if shutdowns:
            os._exit(CTRL_C)
        shutdowns.append(asyncio.create_task(_shut_down(executor, stdio.DRAIN_TIMEOUT)))

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    await stdio.serve_stdio(tools, executor=executor)


async def _shut_down(executor: ToolExecutor, seconds: float) -> None:
    try:
        await executor.drain(seconds)
        await asyncio.sleep(FLUSH_SECONDS)
        await executor.close()
    finally:
        os._exit(0)
