"""An MCP server over stdin and stdout.

    await serve_stdio([add], SqliteLedger("calls.db"))

Hosts start many servers at once and wait for each. The SDK takes long to import, so a thread
answers their first request meanwhile: `initialize`, or `server/discover`. The SDK then gets the
same request, and its response is dropped.

Secrets that a request lacks are read from environment variables, where hosts put them.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from toolwire.conversation.json import Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Ledger
from toolwire.mcp.credentials import CredentialSource, environment
from toolwire.mcp.handshake import Handshake, answer_first_request, capabilities_of
from toolwire.tools.registry import Tools, ToolSource

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

DRAIN_TIMEOUT = 60.0
_STDIN, _STDOUT = 0, 1


class SdkServer(Protocol):
    """The signature of `server.sdk_server`."""

    def __call__(
        self,
        tools: Tools,
        executor: ToolExecutor,
        *,
        name: str,
        tokens: CredentialSource | None,
        secrets: CredentialSource | None,
    ) -> Server[dict[str, object]]: ...


class Serve(Protocol):
    """The signature of `stdio_transport.serve`."""

    async def __call__(self, server: Server[dict[str, object]], opening: Opening) -> None: ...


class Opening:
    """The first line of stdin; a thread answers it if it is the first request of a host."""

    def __init__(self, name: str, capabilities: Object) -> None:
        self._name = name
        self._capabilities = capabilities
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Future[None] = self._loop.create_future()
        self.line = b""
        self.handshake: Handshake | None = None
        threading.Thread(target=self._answer, daemon=True).start()

    async def wait(self) -> None:
        """Wait until the line is read and, if necessary, answered."""
        await self._read

    def _answer(self) -> None:
        self.line = _read_line()
        self.handshake = answer_first_request(self.line, self._name, self._capabilities)
        if self.handshake is not None:
            _write(self.handshake.response + b"\n")
        self._loop.call_soon_threadsafe(self._read.set_result, None)


def _read_line() -> bytes:
    """Read one line and not a byte more: the SDK reads the rest."""
    line = bytearray()
    while (byte := os.read(_STDIN, 1)) and byte != b"\n":
        line += byte
    return bytes(line)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]


async def serve_stdio(
    tools: ToolSource | Iterable[ToolSource],
    ledger: Ledger | None = None,
    *,
    executor: ToolExecutor | None = None,
    name: str = "toolwire",
    tokens: CredentialSource | None = None,
    secrets: CredentialSource | None = environment,
    drain_timeout: float = DRAIN_TIMEOUT,
) -> None:
    """Serve the client at stdin and stdout until it disconnects; then finish the calls in
    progress."""
    registry = Tools.of(tools)
    opening = Opening(name, capabilities_of(registry))
    sdk_server, serve = await asyncio.to_thread(_import_sdk)
    executor = executor or ToolExecutor(ledger)
    server = sdk_server(registry, executor, name=name, tokens=tokens, secrets=secrets)
    await opening.wait()
    await executor.open()
    try:
        await serve(server, opening)
        await executor.drain(drain_timeout)
    finally:
        await executor.close()


def _import_sdk() -> tuple[SdkServer, Serve]:
    sdk_server: SdkServer = import_module("toolwire.mcp.server").sdk_server
    serve: Serve = import_module("toolwire.mcp.stdio_transport").serve
    return sdk_server, serve
