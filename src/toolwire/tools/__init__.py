"""Tools that can be run: made from typed Python functions or from JSON Schemas, kept by id and
version.

`tool` makes one, `Tools` keeps them, `offer` shows them to a model, `collect` finds those of a
module.
"""

from __future__ import annotations

from toolwire.tools.discovery import collect
from toolwire.tools.errors import (
    InvalidInput,
    NoEffect,
    RetryableToolError,
    ToolDefinitionError,
    ToolError,
    UnknownTool,
)
from toolwire.tools.export import ExportedTools, offer
from toolwire.tools.function import Function, tool
from toolwire.tools.options import ToolWarning
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import (
    Authorization,
    Requirements,
    Runnable,
    ToolContext,
    ToolId,
    Version,
)

__all__ = [
    "Authorization",
    "ExportedTools",
    "Function",
    "InvalidInput",
    "NoEffect",
    "Requirements",
    "RetryableToolError",
    "Runnable",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolId",
    "ToolWarning",
    "Tools",
    "UnknownTool",
    "Version",
    "collect",
    "offer",
    "tool",
]
