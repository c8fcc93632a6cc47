"""Run tool calls, and record them in a ledger by call id.

`ToolExecutor` runs calls; `MemoryLedger`, `SqliteLedger` and `PostgresLedger` record them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

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
    "toolwire.execution.call_ids": "uuid7",
    "toolwire.execution.call_metrics": "CallMetrics",
    "toolwire.execution.errors": "ExecutorClosed MissingRequirements",
    "toolwire.execution.executor": "AnyTool ToolExecutor",
    "toolwire.execution.failures": "ExecutorBusy",
    "toolwire.execution.ledger.base": "CallIdTooOld CallKey Claim Engine Failure Ledger"
    " LedgerUnavailable Outcome OutcomeUnknown Record Runner Sweep Transactions"
    " TransactionScope",
    "toolwire.execution.ledger.memory": "MemoryLedger",
    "toolwire.execution.ledger.postgres.ledger": "PostgresLedger",
    "toolwire.execution.ledger.sqlite.ledger": "SqliteLedger",
    "toolwire.execution.local_runner": "LocalRunner",
    "toolwire.execution.log_redaction": "RedactionFilter redact_all_logs",
    "toolwire.execution.tool_call": "ToolCall ToolCallResult",
}
"""Imported on first use: the ledgers need packages that not every program has."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
