"""The types in signatures of the public API, for annotations.

    from toolwire.types import JSON, Ledger, Model

Each is imported on first use.
"""

import typing

from toolwire.lazy_imports import import_on_first_use as _import_on_first_use

if typing.TYPE_CHECKING:
    from toolwire.agent.approvals import Approve, Decision
    from toolwire.agent.events import (
        AgentEvent,
        Model,
        ModelReply,
        ModelRequest,
        Retry,
        ToolFinished,
        ToolStarted,
    )
    from toolwire.agent.phases import Phase
    from toolwire.agent.session_store import Store
    from toolwire.agent.thread import Thread
    from toolwire.codec import IdMapInput
    from toolwire.conversation.id_map import CallForm, ResultForm
    from toolwire.conversation.json import JSON, Body, JsonPath, Object
    from toolwire.conversation.lazy_json import LazyJson
    from toolwire.conversation.model import (
        BodySource,
        Fix,
        Kind,
        LossSeverity,
        Setting,
        Severity,
        WebSearch,
    )
    from toolwire.conversation.parts import (
        Approval,
        Executor,
        Origin,
        Output,
        PairedBy,
        Role,
        Source,
    )
    from toolwire.execution.call_metrics import CallMetrics
    from toolwire.execution.executor import AnyTool
    from toolwire.execution.ledger.base import (
        CallKey,
        Claim,
        Ledger,
        Outcome,
        Record,
        Runner,
        Sweep,
    )
    from toolwire.execution.ledger.postgres.transaction import FinishResult, PgTransactionScope
    from toolwire.execution.tool_call import ToolCall, ToolCallResult
    from toolwire.gateway.app import Service
    from toolwire.gateway.config.model_table import ModelTable
    from toolwire.gateway.keys import KeyConfig
    from toolwire.gateway.observe.observer import Observer
    from toolwire.gateway.tools.gateway_tools import GatewayTools
    from toolwire.lint import Input
    from toolwire.oxp.call_context import Secrets, Tokens
    from toolwire.oxp.client import RequestFormat, Runnables
    from toolwire.oxp.dialects import CallResponse, ToolDefinition
    from toolwire.oxp.responses import AuthChallenge
    from toolwire.oxp.server import Challenges
    from toolwire.oxp.transport import Credentials
    from toolwire.providers.endpoints import ModelEndpoint
    from toolwire.providers.table import AuthScheme, Fields
    from toolwire.server.asgi import App, BodyLimits
    from toolwire.server.auth import Auth
    from toolwire.streaming.events import Chunk, Event
    from toolwire.streaming.restream import StreamSource
    from toolwire.streaming.stream_input import Item
    from toolwire.streaming.stream_translator import StreamTranslator
    from toolwire.tool_server import ContextFactory
    from toolwire.tools.client import CallingClient, Elicitation, LogLevel
    from toolwire.tools.function import Function
    from toolwire.tools.options import Options
    from toolwire.tools.registry import ToolSource
    from toolwire.tools.runnable import OnCrash, Runnable, Transaction
    from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy
    from toolwire.wires.engine.encode_context import RequestInfo
    from toolwire.wires.engine.server_tools import ServerToolPolicy
    from toolwire.wires.engine.specs import CatalogueEntry

__all__ = [
    "JSON",
    "AgentEvent",
    "AnyTool",
    "App",
    "Approval",
    "Approve",
    "Auth",
    "AuthChallenge",
    "AuthScheme",
    "Body",
    "BodyLimits",
    "BodySource",
    "BreakpointPolicy",
    "CallForm",
    "CallKey",
    "CallMetrics",
    "CallResponse",
    "CallingClient",
    "CatalogueEntry",
    "Challenges",
    "Chunk",
    "Claim",
    "ContextFactory",
    "Credentials",
    "Decision",
    "Elicitation",
    "Event",
    "Executor",
    "Fields",
    "FinishResult",
    "Fix",
    "Function",
    "GatewayTools",
    "IdMapInput",
    "Input",
    "Item",
    "JsonPath",
    "KeyConfig",
    "Kind",
    "LazyJson",
    "Ledger",
    "LogLevel",
    "LossSeverity",
    "Model",
    "ModelEndpoint",
    "ModelReply",
    "ModelRequest",
    "ModelTable",
    "Object",
    "Observer",
    "OnCrash",
    "Options",
    "Origin",
    "Outcome",
    "Output",
    "PairedBy",
    "PgTransactionScope",
    "Phase",
    "Record",
    "RequestFormat",
    "RequestInfo",
    "ResultForm",
    "Retry",
    "Role",
    "Runnable",
    "Runnables",
    "Runner",
    "Secrets",
    "ServerToolPolicy",
    "Service",
    "Setting",
    "Severity",
    "Source",
    "Store",
    "StreamSource",
    "StreamTranslator",
    "Sweep",
    "Thread",
    "Tokens",
    "ToolCall",
    "ToolCallResult",
    "ToolDefinition",
    "ToolFinished",
    "ToolSource",
    "ToolStarted",
    "Transaction",
    "WebSearch",
]

_MODULES = {
    "toolwire.agent.approvals": "Approve Decision",
    "toolwire.agent.events": "AgentEvent Model ModelReply"
    " ModelRequest Retry ToolFinished ToolStarted",
    "toolwire.agent.phases": "Phase",
    "toolwire.agent.session_store": "Store",
    "toolwire.agent.thread": "Thread",
    "toolwire.codec": "IdMapInput",
    "toolwire.conversation.id_map": "CallForm ResultForm",
    "toolwire.conversation.json": "JSON Body JsonPath Object",
    "toolwire.conversation.lazy_json": "LazyJson",
    "toolwire.conversation.model": "BodySource Fix Kind LossSeverity Setting Severity WebSearch",
    "toolwire.conversation.parts": "Approval Executor Origin Output PairedBy Role Source",
    "toolwire.execution.call_metrics": "CallMetrics",
    "toolwire.execution.executor": "AnyTool",
    "toolwire.execution.ledger.base": "CallKey Claim Ledger Outcome Record Runner Sweep",
    "toolwire.execution.ledger.postgres.transaction": "FinishResult PgTransactionScope",
    "toolwire.execution.tool_call": "ToolCall ToolCallResult",
    "toolwire.gateway.app": "Service",
    "toolwire.gateway.config.model_table": "ModelTable",
    "toolwire.gateway.keys": "KeyConfig",
    "toolwire.gateway.observe.observer": "Observer",
    "toolwire.gateway.tools.gateway_tools": "GatewayTools",
    "toolwire.lint": "Input",
    "toolwire.oxp.call_context": "Secrets Tokens",
    "toolwire.oxp.client": "RequestFormat Runnables",
    "toolwire.oxp.dialects": "CallResponse ToolDefinition",
    "toolwire.oxp.responses": "AuthChallenge",
    "toolwire.oxp.server": "Challenges",
    "toolwire.oxp.transport": "Credentials",
    "toolwire.providers.endpoints": "ModelEndpoint",
    "toolwire.providers.table": "AuthScheme Fields",
    "toolwire.server.asgi": "App BodyLimits",
    "toolwire.server.auth": "Auth",
    "toolwire.streaming.events": "Chunk Event",
    "toolwire.streaming.restream": "StreamSource",
    "toolwire.streaming.stream_input": "Item",
    "toolwire.streaming.stream_translator": "StreamTranslator",
    "toolwire.tool_server": "ContextFactory",
    "toolwire.tools.client": "CallingClient Elicitation LogLevel",
    "toolwire.tools.function": "Function",
    "toolwire.tools.options": "Options",
    "toolwire.tools.registry": "ToolSource",
    "toolwire.tools.runnable": "OnCrash Runnable Transaction",
    "toolwire.wires.engine.cache_breakpoints": "BreakpointPolicy",
    "toolwire.wires.engine.encode_context": "RequestInfo",
    "toolwire.wires.engine.server_tools": "ServerToolPolicy",
    "toolwire.wires.engine.specs": "CatalogueEntry",
}
if not typing.TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = _import_on_first_use(globals(), _MODULES)
