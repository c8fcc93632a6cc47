"""Run tool calls, and record them in a ledger by call id.

`ToolExecutor` runs calls; `MemoryLedger`, `SqliteLedger` and `PostgresLedger` record them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwire.execution.call_ids import uuid7
    from toolwire.execution.call_metrics import CallMetrics
    from toolwire.execution.errors import ExecutorClosed, MissingRequirements
    from toolwire.execution.executor import AnyTool, ToolExecutor
    from toolwire.execution.failures import ExecutorBusy
    from toolwire.execution.ledger.base import (
        CallIdTooOld,
        CallKey,
        Claim,
        Engine,
        Failure,
        Ledger,
        LedgerUnavailable,
        Outcome,
        OutcomeUnknown,
        Record,
        Runner,
        Sweep,
        Transactions,
        TransactionScope,
    )
    from toolwire.execution.ledger.memory import MemoryLedger
    from toolwire.execution.ledger.postgres.ledger import PostgresLedger
    from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
    from toolwire.execution.local_runner import LocalRunner
    from toolwire.execution.log_redaction import RedactionFilter, redact_all_logs
    from toolwire.execution.tool_call import ToolCall, ToolCallResult

__all__ = [
    "AnyTool",
    "CallIdTooOld",
    "CallKey",
    "CallMetrics",
    "Claim",
    "Engine",
    "ExecutorBusy",
    "ExecutorClosed",
    "Failure",
    "Ledger",
    "LedgerUnavailable",
    "LocalRunner",
    "MemoryLedger",
    "MissingRequirements",
    "Outcome",
    "OutcomeUnknown",
    "PostgresLedger",
    "Record",
    "RedactionFilter",
    "Runner",
    "SqliteLedger",
    "Sweep",
    "ToolCall",
    "ToolCallResult",
    "ToolExecutor",
    "TransactionScope",
    "Transactions",
    "redact_all_logs",
    "uuid7",
]

_MODULES = {
    "AnyTool": "executor",
    "CallMetrics": "call_metrics",
    "ExecutorBusy": "failures",
    "ExecutorClosed": "errors",
    "LocalRunner": "local_runner",
    "MemoryLedger": "ledger.memory",
    "MissingRequirements": "errors",
    "PostgresLedger": "ledger.postgres.ledger",
    "RedactionFilter": "log_redaction",
    "SqliteLedger": "ledger.sqlite.ledger",
    "ToolCall": "tool_call",
    "ToolCallResult": "tool_call",
    "ToolExecutor": "executor",
    "redact_all_logs": "log_redaction",
    "uuid7": "call_ids",
}
"""The modules of the names. All other names are in `ledger.base`."""


def __getattr__(name: str) -> object:
    """Import a name on first use: the ledgers need packages that not every program has."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'ledger.base')}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
