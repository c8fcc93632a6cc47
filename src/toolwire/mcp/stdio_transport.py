"""The SDK's server on stdin and stdout, after the first line was read and perhaps answered."""

from __future__ import annotations

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from toolwire.mcp.handshake import Handshake
from toolwire.mcp.stdio import Opening


async def serve(server: Server[dict[str, object]], opening: Opening) -> None:
    """Serve until the client closes stdin."""
    to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    write, from_server = anyio.create_memory_object_stream[SessionMessage](1)

    async def forward_input() -> None:
        async with to_server:
            if opening.line.strip():
                await to_server.send(_parse(opening.line))
            async for message in stdin:
                await to_server.send(message)

    async def forward_output() -> None:
        handshake = opening.handshake
        async with stdout:
            async for message in from_server:
                if handshake is not None and _is_response(message, handshake):
                    handshake = None
                else:
                    await stdout.send(message)

    async with stdio_server() as (stdin, stdout), anyio.create_task_group() as group:
        group.start_soon(forward_input)
        group.start_soon(forward_output)
        async with write:
            await server.run(read, write, server.create_initialization_options())


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:  # the SDK reports it
        return error


def _is_response(message: SessionMessage, handshake: Handshake) -> bool:
    return isinstance(message.message, JSONRPCResponse) and message.message.id == handshake.id
