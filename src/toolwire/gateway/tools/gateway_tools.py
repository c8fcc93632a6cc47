"""The tools of a gateway, open for as long as it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from time import monotonic

from toolwire.agent.toolset import Toolset
from toolwire.execution.executor import ToolExecutor
from toolwire.gateway.config.schema import ToolsConfig
from toolwire.tools.registry import ToolSource
from toolwire.tools.runnable import Runnable

DRAIN_SECONDS = 60.0
"""Seconds that requests have to end before their tools are closed."""
NAME_PREFIX = "gateway_"
"""The prefix of a tool whose own name the client uses."""
MAX_NAME_LENGTH = 64
_log = logging.getLogger("toolwire.gateway")


class GatewayTools:
    """The tools of a gateway and the executor that runs them."""

    def __init__(
        self,
        open_tools: Callable[[AsyncExitStack], Awaitable[Collection[ToolSource]]],
        executor: Callable[[], ToolExecutor],
        config: ToolsConfig,
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare the tools.

        Args:
            open_tools: returns the tools; everything that it opens is closed with the stack.
            executor: makes the executor.
            config: the table `[tools]`.
            secrets: the secrets that tools of this process may get, by name.
        """
        self.config = config
        self.toolset = Toolset(())
        self.secrets = dict(secrets or {})
        self.executor = executor()
        self.in_progress = 0
        """Requests that may run tools."""
        self._open_tools = open_tools
        self._owns_executor = True
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def open(self, previous: GatewayTools | None = None) -> None:
        """Open all tool servers.

        Args:
            previous: open tools that these replace. If they have the same ledger, their executor
                stays open and runs the calls of these tools from now on: a ledger in a file belongs
                to one executor.

        Raises:
            Exception: the reason why a tool server cannot be opened; `previous` stays open.
        """
        if previous is not None and previous.config.ledger != self.config.ledger:
            previous = None
        if previous is not None:
            self.executor = previous.executor
            self._owns_executor = False
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._stop = asyncio.Event()
        # What some clients of tool servers open must be closed by the same task.
        self._task = loop.create_task(self._hold_open(opened))
        await opened
        if previous is not None:
            previous._owns_executor, self._owns_executor = False, True

    async def _hold_open(self, opened: asyncio.Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                self.toolset = Toolset(await self._open_tools(stack))
                self.executor.check_tools(self.toolset.names.values())
                stack.push_async_callback(self._close_executor)
                await self.executor.open()
                opened.set_result(None)
                await self._stop.wait()
        except Exception as error:  # tools are user code: whatever it raises is reported
            if opened.done():
                _log.warning("closing the tools failed: %s", type(error).__name__)
            else:
                opened.set_exception(error)

    async def _close_executor(self) -> None:
        if self._owns_executor:
            await self.executor.close()

    async def close(self) -> None:
        """Wait for requests in progress, and close all tool servers."""
        if self._task is None:
            return
        deadline = monotonic() + DRAIN_SECONDS
        while self.in_progress and monotonic() < deadline:
            await asyncio.sleep(0.05)
        if self._owns_executor:
            await self.executor.drain(5.0)
        self._stop.set()
        await self._task
        self._task = None

    def by_free_name(self, client_names: Collection[str]) -> dict[str, Runnable]:
        """The tools by names that differ from those of the client."""
        tools: dict[str, Runnable] = {}
        for name, tool in self.toolset.names.items():
            free, attempt = name, 1
            while free in client_names or free in tools:
                number = attempt if attempt > 1 else ""
                free = f"{NAME_PREFIX}{number}{name}"[:MAX_NAME_LENGTH]
                attempt += 1
            tools[free] = tool
        return tools


def from_python_tools(tools: Collection[ToolSource], config: ToolsConfig) -> GatewayTools:
    """Tools of this process, recorded in its memory."""

    async def open_tools(stack: AsyncExitStack) -> Collection[ToolSource]:
        return tools

    return GatewayTools(open_tools, ToolExecutor, config)
