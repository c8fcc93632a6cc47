"""The server side of OXP 1.0 as pure functions: read requests, write responses and tool lists.

    request = read_call(body, version)                            # OxpRequest or OxpRejection
    call_response(result, enveloped=request.enveloped)            # status, headers, body

Where published sources disagree, a comment in the code says which one is followed.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.oxp.requests import OxpRequest, check_list_request, read_call
from toolwire.oxp.responses import (
    REJECTIONS,
    SCHEMA,
    AuthChallenge,
    OxpRejection,
    OxpResponse,
    RejectionReason,
    authorization,
    call_response,
    invalid_input,
    missing_requirements,
    reject,
)
from toolwire.tools.runnable import Requirements, Runnable

VERSION = "1.0"
HEADER = "OXP-Version"
PATHS = {"health": "/health", "list": "/tools", "call": "/tools/call", "call-alias": "/call"}
"""The examples in the specification use `/call`."""

__all__ = [
    "HEADER",
    "PATHS",
    "REJECTIONS",
    "SCHEMA",
    "VERSION",
    "AuthChallenge",
    "OxpRejection",
    "OxpRequest",
    "OxpResponse",
    "RejectionReason",
    "call_response",
    "check_list_request",
    "invalid_input",
    "missing_requirements",
    "read_call",
    "reject",
    "tool_definition",
    "tool_list",
]


def tool_list(tools: Iterable[Runnable]) -> Object:
    """The body of the tool list, sorted by id and version. Each version is an entry."""
    return {
        "$schema": SCHEMA,
        "items": [tool_definition(tool) for tool in sorted(tools, key=lambda tool: tool.id)],
    }


def tool_definition(tool: Runnable) -> Object:
    """A tool as OXP lists it.

    The definition is a closed object, so hints for which it has no field go into the input schema.
    """
    definition: Object = {
        "id": str(tool.id),
        "name": tool.name,
        "description": tool.description,
        "version": str(tool.id.version),
        "input_schema": _input_schema(tool),
        "output_schema": tool.output_schema,
    }
    if tool.needs:
        definition["requirements"] = requirements(tool.needs)
    return definition


def _input_schema(tool: Runnable) -> JSON:
    """The input schema with the tool's hints as annotations."""
    hints: Object = {}
    if tool.deprecated is not None:
        hints = {"deprecated": True, "x-deprecated": tool.deprecated}
    if tool.read_only:
        hints["x-read-only"] = True
    if tool.idempotent:
        hints["x-idempotent"] = True
    return {**tool.input_schema, **hints} if hints else tool.input_schema


def requirements(needs: Requirements) -> Object:
    """The requirements of a tool as its definition lists them."""
    fields: Object = {}
    if needs.authorization:
        fields["authorization"] = [authorization(need) for need in needs.authorization]
    if needs.secrets:
        fields["secrets"] = [{"id": id} for id in needs.secrets]
    if needs.user_id:
        fields["user_id"] = True
    return fields
