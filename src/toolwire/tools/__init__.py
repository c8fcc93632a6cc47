"""Tools: made from typed Python functions or from JSON Schemas, and kept by id and version.

`tool` makes one, `Tools` holds them, `export_tools` writes their definitions for a wire, `collect`
finds the tools of a module. `prompt` and `resource` make prompts and resources for MCP clients.
"""

from __future__ import annotations

from toolwire.tools.client import CallingClient, ClientUnsupported, Elicitation, LogLevel
from toolwire.tools.discovery import collect
from toolwire.tools.errors import (
    InvalidInput,
    InvalidResult,
    NoEffect,
    RetryableToolError,
    ToolDefinitionError,
    ToolError,
    UnknownTool,
)
from toolwire.tools.export import ExportedTools, export_tools
from toolwire.tools.function import FromSchema, Function, tool
from toolwire.tools.names import tool_names
from toolwire.tools.options import Behaviour, Options, ToolWarning
from toolwire.tools.prompts import Prompt, prompt
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.resources import Resource, resource
from toolwire.tools.runnable import (
    Authorization,
    Body,
    OnCrash,
    Requirements,
    Runnable,
    ToolContext,
    ToolId,
    Transaction,
    Version,
)

__all__ = [
    "Authorization",
    "Behaviour",
    "Body",
    "CallingClient",
    "ClientUnsupported",
    "Elicitation",
    "ExportedTools",
    "FromSchema",
    "Function",
    "InvalidInput",
    "InvalidResult",
    "LogLevel",
    "NoEffect",
    "OnCrash",
    "Options",
    "Prompt",
    "Requirements",
    "Resource",
    "RetryableToolError",
    "Runnable",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolId",
    "ToolSource",
    "ToolWarning",
    "Tools",
    "Transaction",
    "UnknownTool",
    "Version",
    "collect",
    "export_tools",
    "prompt",
    "resource",
    "tool",
    "tool_names",
]
