"""Agents: a model, its tools, and the loop that runs them.

`machine.py` decides the next step without I/O; `driver.py` carries it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.agent.agent import Agent
    from toolwire.agent.approvals import Allow, Approve, Decision, Deny, Edit
    from toolwire.agent.events import (
        AgentError,
        AgentEvent,
        Limits,
        Model,
        ModelError,
        ModelReply,
        ModelRequest,
        Retry,
        RunResult,
        ToolFinished,
        ToolStarted,
    )
    from toolwire.agent.http_model import HttpModel
    from toolwire.agent.session_store import FileStore, SqliteStore, Store
    from toolwire.agent.stream import AgentStream
    from toolwire.agent.thread import Thread

__all__ = [
    "Agent",
    "AgentError",
    "AgentEvent",
    "AgentStream",
    "Allow",
    "Approve",
    "Decision",
    "Deny",
    "Edit",
    "FileStore",
    "HttpModel",
    "Limits",
    "Model",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "Retry",
    "RunResult",
    "SqliteStore",
    "Store",
    "Thread",
    "ToolFinished",
    "ToolStarted",
]
_MODULES = {
    "toolwire.agent.agent": "Agent",
    "toolwire.agent.approvals": "Allow Approve Decision Deny Edit",
    "toolwire.agent.events": "AgentError AgentEvent Limits Model ModelError ModelReply"
    " ModelRequest Retry RunResult ToolFinished ToolStarted",
    "toolwire.agent.http_model": "HttpModel",
    "toolwire.agent.session_store": "FileStore SqliteStore Store",
    "toolwire.agent.stream": "AgentStream",
    "toolwire.agent.thread": "Thread",
}
"""Imported on first use: a program that reads sessions needs no HTTP client."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
