"""Tool calls that keep their identity on every wire: every result finds its call.

Names that only some programs need (streams, rules, tools, agents, servers) are imported on first
use. `toolwire.types` has the types of their signatures.
"""

import typing

from toolwire.codec import Encoded, decode, encode
from toolwire.codec.known_wires import catalogue, detect, profiles, wires
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
from toolwire.lazy_imports import import_on_first_use as _import_on_first_use
from toolwire.providers.table import Provider, providers
from toolwire.translate import translate

if typing.TYPE_CHECKING:
    from toolwire.agent.agent import Agent
    from toolwire.agent.approvals import Allow, Deny, Edit
    from toolwire.agent.events import AgentError, Limits, ModelError, RunResult
    from toolwire.agent.http_model import HttpModel
    from toolwire.agent.session_store import FileStore, SqliteStore
    from toolwire.agent.stream import AgentStream
    from toolwire.conversation.model import Finding
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.ledger.postgres.ledger import PostgresLedger
    from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
    from toolwire.gateway.app import Gateway
    from toolwire.history import abandon, cut, pending, resume
    from toolwire.lint import Repaired, check, repair
    from toolwire.lint.explain import Explanation, explain
    from toolwire.mcp.client import McpClient
    from toolwire.oxp.client import OxpClient
    from toolwire.providers.http.policy import RetryPolicy, Timeouts
    from toolwire.sessions.session import Session, open_session
    from toolwire.streaming.restream import AsyncTranslatedStream, TranslatedStream, fold, restream
    from toolwire.tool_server import ToolServer
    from toolwire.tools import (
        NoEffect,
        RetryableToolError,
        ToolContext,
        ToolDefinitionError,
        ToolError,
        Tools,
        tool,
    )

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentError",
    "AgentStream",
    "Allow",
    "AsyncTranslatedStream",
    "Call",
    "Change",
    "Choice",
    "ConfigError",
    "Conversation",
    "DecodeError",
    "Deny",
    "Edit",
    "Encoded",
    "Explanation",
    "FileStore",
    "Finding",
    "Format",
    "Gateway",
    "HttpModel",
    "IdMap",
    "InputError",
    "Limits",
    "Loss",
    "McpClient",
    "Media",
    "Message",
    "ModelError",
    "NoEffect",
    "Opaque",
    "OxpClient",
    "Pair",
    "Part",
    "PostgresLedger",
    "Provider",
    "Reasoning",
    "Repaired",
    "Result",
    "RetryPolicy",
    "RetryableToolError",
    "RunResult",
    "Session",
    "SqliteLedger",
    "SqliteStore",
    "Text",
    "Timeouts",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolExecutor",
    "ToolServer",
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
    "open_session",
    "pending",
    "profiles",
    "providers",
    "repair",
    "restream",
    "resume",
    "tool",
    "translate",
    "wires",
]

_MODULES = {
    "toolwire.agent.agent": "Agent",
    "toolwire.agent.approvals": "Allow Deny Edit",
    "toolwire.agent.events": "AgentError Limits ModelError RunResult",
    "toolwire.agent.http_model": "HttpModel",
    "toolwire.agent.session_store": "FileStore SqliteStore",
    "toolwire.agent.stream": "AgentStream",
    "toolwire.conversation.model": "Finding",
    "toolwire.execution.executor": "ToolExecutor",
    "toolwire.execution.ledger.postgres.ledger": "PostgresLedger",
    "toolwire.execution.ledger.sqlite.ledger": "SqliteLedger",
    "toolwire.gateway.app": "Gateway",
    "toolwire.history": "abandon cut pending resume",
    "toolwire.lint": "Repaired check repair",
    "toolwire.lint.explain": "Explanation explain",
    "toolwire.mcp.client": "McpClient",
    "toolwire.oxp.client": "OxpClient",
    "toolwire.providers.http.policy": "RetryPolicy Timeouts",
    "toolwire.sessions.session": "Session open_session",
    "toolwire.streaming.restream": "AsyncTranslatedStream TranslatedStream fold restream",
    "toolwire.tool_server": "ToolServer",
    "toolwire.tools": "NoEffect RetryableToolError ToolContext ToolDefinitionError ToolError"
    " Tools tool",
}
if not typing.TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__ = _import_on_first_use(globals(), _MODULES)[0]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
