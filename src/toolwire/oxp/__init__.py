"""The Open eXecution Protocol: a client, the server side, and the protocol as pure functions.

`OxpClient` calls tools of a server; `toolwire.tool_server.ToolServer` serves tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwire.oxp.client import OxpClient, RequestFormat, Secrets, Tokens
    from toolwire.oxp.dialects import CallResponse, ToolDefinition
    from toolwire.oxp.errors import (
        AuthenticationError,
        BadRequest,
        InvalidInput,
        InvalidResponse,
        MissingRequirements,
        OxpError,
        ServerUnavailable,
        ToolCallFailed,
        ToolNotFound,
    )
    from toolwire.oxp.responses import AuthChallenge
    from toolwire.oxp.server import Challenges, OxpHandler
    from toolwire.oxp.transport import ApiKey, Bearer, Credentials, Jwt

__all__ = [
    "ApiKey",
    "AuthChallenge",
    "AuthenticationError",
    "BadRequest",
    "Bearer",
    "CallResponse",
    "Challenges",
    "Credentials",
    "InvalidInput",
    "InvalidResponse",
    "Jwt",
    "MissingRequirements",
    "OxpClient",
    "OxpError",
    "OxpHandler",
    "RequestFormat",
    "Secrets",
    "ServerUnavailable",
    "Tokens",
    "ToolCallFailed",
    "ToolDefinition",
    "ToolNotFound",
]

_SERVER = ("Challenges", "OxpHandler")


def __getattr__(name: str) -> object:
    """Import a name on first use: a client needs no server, and a server no HTTP client."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'server' if name in _SERVER else 'client'}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
