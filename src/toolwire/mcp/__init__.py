"""The Model Context Protocol: a client, a server, and the protocol as pure functions.

`McpClient` makes the tools of a server local tools. `McpApp` and `serve_stdio` serve tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwire.mcp.client import McpClient
    from toolwire.mcp.server import CredentialSource, McpApp, serve_stdio

__all__ = ["CredentialSource", "McpApp", "McpClient", "serve_stdio"]


def __getattr__(name: str) -> object:
    """Import a name on first use: the SDK of MCP takes long to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'client' if name == 'McpClient' else 'server'}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
