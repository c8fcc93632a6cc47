"""The Open eXecution Protocol: a client, the server side, and the protocol as pure functions.

`OxpClient` calls tools of a server; `toolwire.tool_server.ToolServer` serves tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.oxp.call_context import Secrets, Tokens
    from toolwire.oxp.client import OxpClient, RequestFormat
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

_MODULES = {
    "toolwire.oxp.call_context": "Secrets Tokens",
    "toolwire.oxp.client": "OxpClient RequestFormat",
    "toolwire.oxp.dialects": "CallResponse ToolDefinition",
    "toolwire.oxp.errors": "AuthenticationError BadRequest InvalidInput InvalidResponse"
    " MissingRequirements OxpError ServerUnavailable ToolCallFailed ToolNotFound",
    "toolwire.oxp.responses": "AuthChallenge",
    "toolwire.oxp.server": "Challenges OxpHandler",
    "toolwire.oxp.transport": "ApiKey Bearer Credentials Jwt",
}
"""Imported on first use: a client needs no server, and a server no HTTP client."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
