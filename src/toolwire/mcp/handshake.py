"""The response to `initialize`, without the SDK, which takes longer to import than hosts wait."""

from __future__ import annotations

from importlib.metadata import version

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder

from toolwire.conversation.json import Object, dump

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of MCP with a handshake, the newest last."""
CAPABILITIES: Object = {"logging": {}, "tools": {"listChanged": False}}


class _ClientInfo(Struct):
    name: str
    version: str


class _Params(Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, object]
    client_info: _ClientInfo


class _Initialize(Struct, tag_field="method", tag="initialize"):
    id: int | str
    params: _Params


_INITIALIZE = Decoder(_Initialize)


class Handshake(Struct, frozen=True):
    """A response to `initialize`."""

    id: int | str
    response: bytes


def answer_initialize(line: bytes, name: str) -> Handshake | None:
    """The response to an `initialize` request; None for any other message."""
    try:
        request = _INITIALIZE.decode(line)
    except (DecodeError, ValidationError, RecursionError):
        return None
    asked = request.params.protocol_version
    result: Object = {
        "capabilities": CAPABILITIES,
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "serverInfo": {"name": name, "version": version("toolwire")},
    }
    return Handshake(request.id, dump({"jsonrpc": "2.0", "id": request.id, "result": result}))
