"""Tool calls that keep their identity on every wire: every result finds its call.

What only some programs need (the rules, tools, the agent) is imported when somebody asks for it.
"""

import importlib
import typing

from toolwire.codec import Encoded, decode, encode
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.model import Change, Choice, Conversation, Format, Loss, Tool, Usage
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Pair,
    Part,
    Reasoning,
    Result,
    Text,
)
from toolwire.errors import ConfigError, DecodeError, InputError, ToolwireError, UsageError
from toolwire.streaming.restream import AsyncTranslatedStream, TranslatedStream, fold, restream
from toolwire.translate import catalogue, detect, profiles, translate, wires

if typing.TYPE_CHECKING:
    from toolwire.agent.driver import Agent
    from toolwire.agent.events import Limits
    from toolwire.agent.http_model import HttpModel
    from toolwire.agent.session_store import FileStore
    from toolwire.conversation.model import Finding
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.ledger.postgres.ledger import PostgresLedger
    from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
    from toolwire.history import abandon, cut, pending, resume
    from toolwire.lint import Repaired, check, repair
    from toolwire.lint.explain import Explanation, explain
    from toolwire.mcp.client import McpClient
    from toolwire.oxp.client import OxpClient
    from toolwire.tools import NoEffect, RetryableToolError, ToolContext, ToolError, Tools, tool

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AsyncTranslatedStream",
    "Call",
    "Change",
    "Choice",
    "ConfigError",
    "Conversation",
    "DecodeError",
    "Encoded",
    "Explanation",
    "FileStore",
    "Finding",
    "Format",
    "HttpModel",
    "IdMap",
    "InputError",
    "Limits",
    "Loss",
    "McpClient",
    "Media",
    "Message",
    "NoEffect",
    "Opaque",
    "OxpClient",
    "Pair",
    "Part",
    "PostgresLedger",
    "Reasoning",
    "Repaired",
    "Result",
    "RetryableToolError",
    "SqliteLedger",
    "Text",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolExecutor",
    "Tools",
    "ToolwireError",
    "TranslatedStream",
    "Usage",
    "UsageError",
    "abandon",
    "catalogue",
    "check",
    "cut",
    "decode",
    "detect",
    "encode",
    "explain",
    "fold",
    "pending",
    "profiles",
    "repair",
    "restream",
    "resume",
    "tool",
    "translate",
    "wires",
]

_LATE = {
    **dict.fromkeys(("abandon", "cut", "pending", "resume"), "toolwire.history"),
    **dict.fromkeys(("Repaired", "check", "repair"), "toolwire.lint"),
    "Finding": "toolwire.conversation.model",
    **dict.fromkeys(("Explanation", "explain"), "toolwire.lint.explain"),
    **dict.fromkeys(
        ("NoEffect", "RetryableToolError", "ToolContext", "ToolError", "Tools", "tool"),
        "toolwire.tools",
    ),
    "Agent": "toolwire.agent.driver",
    "ToolExecutor": "toolwire.execution.executor",
    "FileStore": "toolwire.agent.session_store",
    "HttpModel": "toolwire.agent.http_model",
    "Limits": "toolwire.agent.events",
    "McpClient": "toolwire.mcp.client",
    "OxpClient": "toolwire.oxp.client",
    "PostgresLedger": "toolwire.execution.ledger.postgres.ledger",
    "SqliteLedger": "toolwire.execution.ledger.sqlite.ledger",
}


def __getattr__(name: str) -> object:
    """One of the names that are imported when somebody asks for them."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = found
    return found
