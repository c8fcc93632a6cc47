"""The offline model on a real socket of this machine, for as long as somebody needs it.

    async with served("anthropic") as (base, model): ...

It is the strict mock of that wire. Listens on loopback only.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from toolwire.errors import UsageError
from toolwire.mock.server import MockProvider
from toolwire.providers.table import ROWS
from toolwire.server.run import ConnectionLimits, config

_BELOW_V1 = "/v1"


@asynccontextmanager
async def served(profile: str) -> AsyncIterator[tuple[str, str]]:
    """The address and the name of a model that speaks a wire or profile. Raises UsageError if no
    model's server speaks it."""
    row = next((one for one in ROWS if profile in (one.name, one.profile)), None)
    if row is None:
        raise UsageError(
            f"there is no demo of this; there are {', '.join(one.name for one in ROWS)}",
            wire=profile,
        )
    server = _QuietServer(config(MockProvider(row.profile), ConnectionLimits(grace=1)))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        try:
            below = (
                _BELOW_V1 if row.base.endswith(_BELOW_V1) or row.path == "/chat/completions" else ""
            )
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{below}", f"{row.name}:demo"
        finally:
            server.should_exit = True
            await task


class _QuietServer(uvicorn.Server):
    """A server beside a program that handles its own signals."""

    def install_signal_handlers(self) -> None:
        """None: Ctrl-C is the program's."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await self._serve(sockets)
