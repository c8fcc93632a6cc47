"""Tools over stdin and stdout until the other side leaves, or until somebody says stop.

The thread that waits for the next line of stdin cannot be called back, so that a signal ends the
process itself, once what is under way has been answered. Knows no verb.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from toolwire.cli.framework.signals import CTRL_C
from toolwire.cli.services.lazy_import import part

if TYPE_CHECKING:
    from toolwire.execution.executor import ToolExecutor
    from toolwire.tools.registry import Tools

SETTLE = 0.1
"""Seconds for the last answers to be written."""


async def serve(tools: Tools, calls: ToolExecutor) -> None:
    """Serve. Ctrl-C and SIGTERM finish what is under way and exit with 0; a second one does not
    wait."""
    module = part("toolwire.mcp.server")
    ending: list[asyncio.Task[None]] = []

    def stop() -> None:
        if ending:
            os._exit(CTRL_C)
        ending.append(asyncio.create_task(_end(calls, module.DRAIN_TIMEOUT)))

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    await module.serve_stdio(tools, executor=calls)


async def _end(calls: ToolExecutor, seconds: float) -> None:
    try:
        await calls.drain(seconds)
        await asyncio.sleep(SETTLE)
        await calls.close()
    finally:
        os._exit(0)
