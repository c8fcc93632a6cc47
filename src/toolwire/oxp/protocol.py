"""OXP 1.0 without a socket: requests in, replies out, and tools as it defines them.

    request = read_call(body, version)          # a Request, or a Refused reply(answer,
    enveloped=request.enveloped)  # status, headers, body

Where the published sources disagree, the choice stands beside the code. Runs nothing and keeps
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.oxp.requests import OxpRequest, read_call, read_list
from toolwire.oxp.responses import (
    CAUSES,
    SCHEMA,
    AuthChallenge,
    OxpRejection,
    OxpResponse,
    authorization,
    invalid,
    lacking,
    refused,
    reply,
)
from toolwire.tools.runnable import Requirements, Runnable

VERSION = "1.0"
HEADER = "OXP-Version"
PATHS = {"health": "/health", "list": "/tools", "call": "/tools/call", "call-alias": "/call"}
"""The specification's own examples call under `/call`."""

__all__ = [
    "CAUSES",
    "HEADER",
    "PATHS",
    "SCHEMA",
    "VERSION",
    "AuthChallenge",
    "OxpRejection",
    "OxpRequest",
    "OxpResponse",
    "definition",
    "invalid",
    "lacking",
    "listing",
    "read_call",
    "read_list",
    "refused",
    "reply",
]


def listing(tools: Iterable[Runnable]) -> Object:
    """The body of the list of tools, in one order: by id, then by version. Each version is a tool
    of its own."""
    return {
        "$schema": SCHEMA,
        "items": [definition(tool) for tool in sorted(tools, key=lambda tool: tool.id)],
    }


def definition(tool: Runnable) -> Object:
    """A tool as clients see it: a closed object, so everything else about it goes into its schema
    or its requirements."""
    found: Object = {
        "id": str(tool.id),
        "name": tool.name,
        "description": tool.description,
        "version": str(tool.id.version),
        "input_schema": _input_schema(tool),
        "output_schema": tool.output_schema,
    }
    if tool.needs:
        found["requirements"] = requirements(tool.needs)
    return found


def _input_schema(tool: Runnable) -> JSON:
    """Hints that have no field of their own go along as annotations of the schema."""
    hints: Object = {}
    if tool.deprecated is not None:
        hints = {"deprecated": True, "x-deprecated": tool.deprecated}
    if tool.read_only:
        hints["x-read-only"] = True
    if tool.idempotent:
        hints["x-idempotent"] = True
    return {**tool.input_schema, **hints} if hints else tool.input_schema


def requirements(needs: Requirements) -> Object:
    """What a tool needs, as a definition lists it."""
    found: Object = {}
    if needs.authorization:
        found["authorization"] = [authorization(one) for one in needs.authorization]
    if needs.secrets:
        found["secrets"] = [{"id": one} for one in needs.secrets]
    if needs.user_id:
        found["user_id"] = True
    return found
