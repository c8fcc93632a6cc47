"""The response to a host's first request, `initialize` or (since version 2026-07-28)
`server/discover`. It is made without the SDK, which takes longer to import than hosts wait."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

from msgspec import DecodeError, Struct, ValidationError, field
from msgspec.json import Decoder

from toolwire.conversation.json import Object, dump
from toolwire.tools.registry import Tools

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of MCP with a handshake, the newest last."""
STATELESS_VERSIONS = ("2026-07-28",)
"""The versions of MCP without a handshake: each request names its version."""
PREFIX = "io.modelcontextprotocol/"
"""The prefix of the protocol's own names in `_meta`."""


class _ClientInfo(Struct):
    name: str
    version: str


class _InitializeParams(Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, object]
    client_info: _ClientInfo


class _Initialize(Struct, tag_field="method", tag="initialize"):
    id: int | str
    params: _InitializeParams

    def result(self, name: str, capabilities: Object) -> Object:
        """What a server with this name and these capabilities answers."""
        requested = self.params.protocol_version
        return {
            "capabilities": capabilities,
            "protocolVersion": requested if requested in VERSIONS else VERSIONS[-1],
            "serverInfo": _server_info(name),
        }


class _Meta(Struct):
    version: Literal["2026-07-28"] = field(name=f"{PREFIX}protocolVersion")
    capabilities: dict[str, object] = field(name=f"{PREFIX}clientCapabilities")
    client: _ClientInfo | None = field(name=f"{PREFIX}clientInfo", default=None)


class _DiscoverParams(Struct):
    meta: _Meta = field(name="_meta")


class _Discover(Struct, tag_field="method", tag="server/discover"):
    id: int | str
    params: _DiscoverParams

    def result(self, name: str, capabilities: Object) -> Object:
        """What a server with this name and these capabilities answers."""
        return {
            "cacheScope": "private",
            "capabilities": capabilities,
            "resultType": "complete",
            "supportedVersions": [*STATELESS_VERSIONS],
            "ttlMs": 0,
            "_meta": {f"{PREFIX}serverInfo": _server_info(name)},
        }


_REQUEST = Decoder(_Initialize | _Discover)


class Handshake(Struct, frozen=True):
    """A response to the first request of a host."""

    id: int | str
    response: bytes


def capabilities_of(tools: Tools) -> Object:
    """The capabilities that the SDK would declare for these tools, prompts and resources."""
    capabilities: Object = {"logging": {}, "tools": {"listChanged": False}}
    if tools.prompts:
        capabilities["prompts"] = {"listChanged": False}
    if tools.resources:
        capabilities["resources"] = {"subscribe": False, "listChanged": False}
    if tools.prompts or tools.resources:
        capabilities["completions"] = {}
    return capabilities


def answer_first_request(line: bytes, name: str, capabilities: Object) -> Handshake | None:
    """The response to `initialize` or `server/discover`; None for any other message."""
    try:
        request = _REQUEST.decode(line)
    except (DecodeError, ValidationError, RecursionError):
        return None
    result = request.result(name, capabilities)
    message: Object = {"jsonrpc": "2.0", "id": request.id, "result": result}
    return Handshake(request.id, dump(message))


def _server_info(name: str) -> Object:
    return {"name": name, "version": version("toolwire")}
