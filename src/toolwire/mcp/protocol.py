"""MCP as pure functions: entries of `tools/list`, and requests of `tools/call`.

Data without a field in MCP is in `_meta` under `toolwire/…`: the id of the tool, the call id, the
details of a failure. The call id never comes from the JSON-RPC id, which every client starts again.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from toolwire.conversation.json import JSON, Object
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.runnable import Authorization, Requirements, Runnable

INVALID_PARAMS = -32602
ID = "toolwire/id"
CALL_ID = "toolwire/call_id"
IDEMPOTENCY_KEY = "idempotencyKey"
"""The field of the parameters of a call that SEP-3182 defines."""
REPLAYED = "toolwire/replayed"
RECORDED = "toolwire/recorded"
ERROR = "toolwire/error"
CONTEXT = "toolwire/context"
TRACE = "toolwire/trace_id"
"""The caller's trace id. The SDK handles W3C's `traceparent`."""
REQUIREMENTS = "toolwire/requirements"
DEPRECATED = "toolwire/deprecated"
CONTENT = "toolwire/content"
"""Marks a result whose content blocks are the value itself."""
JSON_TEXT = "toolwire/json"
"""Marks a text as JSON: structured content may be limited to objects, and text alone does not
distinguish `5` from `"5"`."""
MAX_CALL_ID_LENGTH = 256


class McpRejection(Exception):
    """A request whose response is a JSON-RPC error."""

    def __init__(self, message: str, *, kind: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.code = code


# --- tools ----------------------------------------------------------------------------------------


def list_entry(name: str, tool: Runnable) -> Object:
    """A tool as an entry of `tools/list`."""
    meta: Object = {ID: str(tool.id)}
    if tool.needs:
        meta[REQUIREMENTS] = write_requirements(tool.needs)
    if tool.deprecated is not None:
        meta[DEPRECATED] = tool.deprecated
    entry: Object = {
        "name": name,
        "description": tool.description,
        "inputSchema": {"type": "object", **tool.input_schema},
        "annotations": {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent},
        "_meta": meta,
    }
    # Versions before 2026-07-28 reject output schemas of other types
    if isinstance(tool.output_schema, dict) and tool.output_schema.get("type") == "object":
        entry["outputSchema"] = tool.output_schema
    return entry


def write_requirements(needs: Requirements) -> Object:
    """The requirements of a tool, as OXP writes them."""
    fields: Object = {}
    if needs.authorization:
        fields["authorization"] = [
            {"id": authorization.id, "oauth2": {"scopes": list(authorization.scopes)}}
            for authorization in needs.authorization
        ]
    if needs.secrets:
        fields["secrets"] = [{"id": id} for id in needs.secrets]
    if needs.user_id:
        fields["user_id"] = True
    return fields


def read_requirements(meta: Object) -> Requirements:
    """The requirements in the `_meta` of a listed tool; none if its server lists none."""
    listed = meta.get(REQUIREMENTS)
    if not isinstance(listed, dict):
        return Requirements()
    tokens = tuple(
        Authorization(
            str(entry["id"]), tuple(str(scope) for scope in items_at(entry.get("oauth2"), "scopes"))
        )
        for entry in items_at(listed, "authorization")
        if isinstance(entry, dict) and "id" in entry
    )
    secrets = tuple(
        str(entry["id"])
        for entry in items_at(listed, "secrets")
        if isinstance(entry, dict) and "id" in entry
    )
    return Requirements(tokens, secrets, listed.get("user_id") is True)


def items_at(value: JSON, key: str) -> list[JSON]:
    """The list under a key of an object; empty if there is none."""
    items = value.get(key) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


# --- requests -------------------------------------------------------------------------------------


class CallMetadata(Struct, frozen=True):
    """The data of a `tools/call` request other than the arguments."""

    call_id: str | None = None
    user_id: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    trace_id: str | None = None

    def __repr__(self) -> str:
        """The metadata without tokens and secrets, for logs."""
        return f"CallMetadata(call_id={self.call_id!r})"

    __str__ = __repr__

    def tool_call(self, tool: Runnable, arguments: Object, principal: str) -> ToolCall:
        """The call of a tool with these arguments."""
        return ToolCall(
            tool=tool,
            input=arguments,
            call_id=self.call_id,
            principal=principal,
            user_id=self.user_id,
            tokens=self.tokens,
            secrets=self.secrets,
            trace_id=self.trace_id,
        )


def read_metadata(
    meta: Mapping[str, JSON], idempotency_key: str | None = None, *, in_params: JSON = None
) -> CallMetadata:
    """Read the `_meta` of a request, its `Idempotency-Key` header and its `idempotencyKey`.

    Args:
        meta: The `_meta` of the parameters.
        idempotency_key: The header.
        in_params: The field `idempotencyKey` of the parameters (SEP-3182).

    Raises:
        McpRejection: two different call ids, or data of a wrong type.
    """
    context = meta.get(CONTEXT)
    if context is None:
        context = {}
    if not isinstance(context, dict):
        raise _bad_request(f"_meta[{CONTEXT!r}] must be an object")
    user_id, trace_id = context.get("user_id"), meta.get(TRACE)
    if user_id is not None and not isinstance(user_id, str):
        raise _bad_request(f"_meta[{CONTEXT!r}].user_id must be a string")
    return CallMetadata(
        _call_id(meta.get(CALL_ID), _unquote(idempotency_key), in_params),
        user_id or None,
        tokens=_credentials(context, "authorization", "token"),
        secrets=_credentials(context, "secrets", "value"),
        trace_id=trace_id if isinstance(trace_id, str) else None,
    )


def _call_id(in_meta: JSON, in_header: str | None, in_params: JSON) -> str | None:
    keys = {
        f"_meta[{CALL_ID!r}]": in_meta,
        "the Idempotency-Key header": in_header,
        IDEMPOTENCY_KEY: in_params,
    }
    given: dict[str, str] = {}
    for place, key in keys.items():
        if key is not None and not isinstance(key, str):
            raise _bad_request(f"{place} must be a string")
        if key:
            given[place] = key
    if len(set(given.values())) > 1:
        raise _bad_request(f"{' and '.join(given)} differ")
    call_id = next(iter(given.values()), None)
    if call_id is not None and len(call_id) > MAX_CALL_ID_LENGTH:
        raise _bad_request(f"a call id has at most {MAX_CALL_ID_LENGTH} characters")
    return call_id


def _unquote(header: str | None) -> str | None:
    """The value of a header that should be a quoted string. Many clients send it without quotes."""
    if header is None or len(header) < 2 or not (header[0] == header[-1] == '"'):
        return header
    return header[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def _credentials(context: Object, key: str, value_key: str) -> dict[str, str]:
    items = context.get(key)
    if items is None:
        return {}
    error = _bad_request(
        f"_meta[{CONTEXT!r}].{key} must be a list of objects with the strings `id` and"
        f" `{value_key}`, each id once"
    )
    if not isinstance(items, list):
        raise error
    credentials: dict[str, str] = {}
    for item in items:
        if not isinstance(item, dict):
            raise error
        id, value = item.get("id"), item.get(value_key)
        if not isinstance(id, str) or not isinstance(value, str) or id in credentials:
            raise error
        credentials[id] = value
    return credentials


def _bad_request(message: str) -> McpRejection:
    return McpRejection(message, kind="bad_request")


def write_metadata(metadata: CallMetadata) -> Object:
    """The `_meta` of a request, as `read_metadata` reads it."""
    meta: Object = {}
    if metadata.call_id:
        meta[CALL_ID] = metadata.call_id
    if metadata.trace_id:
        meta[TRACE] = metadata.trace_id
    context: Object = {}
    if metadata.tokens:
        context["authorization"] = [
            {"id": id, "token": token} for id, token in metadata.tokens.items()
        ]
    if metadata.secrets:
        context["secrets"] = [{"id": id, "value": value} for id, value in metadata.secrets.items()]
    if metadata.user_id:
        context["user_id"] = metadata.user_id
    if context:
        meta[CONTEXT] = context
    return meta
