"""The Model Context Protocol: a client, a server, and the protocol as pure functions.

`McpClient` makes the tools of a server local tools. `McpApp` and `serve_stdio` serve tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.mcp.client import McpClient
    from toolwire.mcp.credentials import CredentialSource
    from toolwire.mcp.server import McpApp
    from toolwire.mcp.stdio import serve_stdio

__all__ = ["CredentialSource", "McpApp", "McpClient", "serve_stdio"]
_MODULES = {
    "toolwire.mcp.client": "McpClient",
    "toolwire.mcp.credentials": "CredentialSource",
    "toolwire.mcp.server": "McpApp",
    "toolwire.mcp.stdio": "serve_stdio",
}
"""Imported on first use: the SDK of MCP takes long to import."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
