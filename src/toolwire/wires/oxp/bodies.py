"""Open eXecution Protocol: whole bodies. A body is one request, one result or a list of tools; a
list of bodies, or a request and its result in one object, is a recorded log."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Call, Part, Result
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_block, patch_parts
from toolwire.wires.engine.specs import keys, list_at, raise_unexpected
from toolwire.wires.families.rpc_log.log import (
    ONLY_CALLS_AND_RESULTS,
    LogReader,
    report_other_parts,
    report_settings,
    report_unsupported,
    rewrite_log,
)
from toolwire.wires.oxp.blocks import (
    ALL_SPECS,
    CALL,
    NAME,
    REFUSAL,
    is_refusal,
    read_call,
    read_refusal,
    read_result,
    write_result,
)
from toolwire.wires.oxp.tools import SPECS as TOOL_SPECS
from toolwire.wires.oxp.tools import fit_tool_ids, read_tool, write_tools

SCHEMA = "urn:oxp:1.0"

# --- reading --------------------------------------------------------------------------------------


class _BodyReader(LogReader):
    """Reads bodies in the order in which they were sent."""

    def read(self, body: JSON, path: JsonPath) -> None:
        """Read one body."""
        if not isinstance(body, dict):
            raise_unexpected(NAME, path, dict, body)
        if "tool_id" in body:
            self.parts.append(read_call(body, path))
        elif "success" in body:
            self.parts.append(read_result(body, path))
        elif isinstance(body.get("request"), dict) or isinstance(body.get("result"), dict):
            self._read_envelope(body, path)
        elif (key := _tool_list_key(body)) is not None:
            self.tools += [
                read_tool(tool, (*path, key, i))
                for i, tool in enumerate(list_at(NAME, body, (key,)))
            ]
            self.note_unknown(body, path, keys("$schema", key))
        elif isinstance(body.get("message"), str):
            self.parts.append(read_refusal(body, path))
        else:
            expected = "a request, a result, a list of tools or an error message"
            raise_unexpected(NAME, path, expected, body)

    def _read_envelope(self, body: Object, path: JsonPath) -> None:
        self.note_unknown(body, path, keys("$schema", "request", "result", "response"))
        for key in ("request", "result", "response"):
            value = body.get(key)
            if value is None:
                continue
            if not isinstance(value, dict):
                raise_unexpected(NAME, (*path, key), dict, value)
            nested = "request" in value or "result" in value or is_refusal(value)
            if nested and key != "result":
                self.read(value, (*path, key))
            elif key == "request":
                self.parts.append(read_call(value, (*path, key)))
            else:
                self.parts.append(read_result(value, (*path, key)))


def _tool_list_key(body: Object) -> str | None:
    return next((key for key in ("items", "tools") if isinstance(body.get(key), list)), None)


def _share_ids(parts: list[Part]) -> list[Part]:
    """Copy an id that only a call or only its result has to the other one.

    A server makes the id of a call without one, and a refusal has no id. Such a result belongs to
    the request in the same object, or else to the only open one. With several candidates, none is
    chosen.
    """
    call_ids = {part.id for part in parts if isinstance(part, Call)}
    out = list(parts)
    open_calls: list[tuple[int, Call]] = []
    for i, part in enumerate(parts):
        if isinstance(part, Call):
            open_calls.append((i, part))
        if not isinstance(part, Result):
            continue
        candidates = _candidates(part, open_calls, known=part.call_id in call_ids)
        if len(candidates) != 1:
            continue
        index, call = candidates[0]
        open_calls.remove(candidates[0])
        if part.call_id and not call.id:
            out[index] = replace(call, id=part.call_id, origin="wire")
        elif call.id and not part.call_id:
            out[i] = replace(part, call_id=call.id, origin="wire")
    return out


def _candidates(
    result: Result, open_calls: list[tuple[int, Call]], *, known: bool
) -> list[tuple[int, Call]]:
    """The open calls that a result may belong to; `known` is True if a call has its id."""
    if known and result.call_id:
        return [item for item in open_calls if item[1].id == result.call_id]
    if len(result.path) > 1:
        beside = [item for item in open_calls if item[1].path[:1] == result.path[:1]]
        open_calls = beside or open_calls
    return [item for item in open_calls if not (result.call_id and item[1].id)]


def read(body: JSON, kind: Kind) -> Conversation:
    """Read one body, or a list of bodies in the order in which they were sent."""
    log = _BodyReader(NAME)
    if not isinstance(body, list):
        log.read(body, ())
    elif _is_tool_list(body):
        log.tools += [read_tool(item, (i,)) for i, item in enumerate(body)]
    else:
        for i, item in enumerate(body):
            log.read(item, (i,))
    log.parts = _share_ids(log.parts)
    return log.conversation(body, kind)


def _is_tool_list(body: list[JSON]) -> bool:
    """True for a list of tools; any other list is a log of bodies."""
    return all(isinstance(item, dict) and "id" in item and "tool_id" not in item for item in body)


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write one call or, as a response, one result; without either, the tools. A log stays a
    log."""
    source = conversation.source.body
    native = context.native
    report_settings(conversation, context)
    if native and not isinstance(source, list):
        patched = _patch_single(conversation, context)
        if not isinstance(patched, UnsetType):
            return patched
    if (
        native
        and isinstance(source, list)
        and (any(conversation.parts()) or not _is_tool_list(source))
    ):
        return _write_log(conversation, context, source)
    part = _last_part(conversation, context.kind)
    if part is None:
        return _write_tool_list(conversation, context)
    if isinstance(part, Call):
        fit_tool_ids([part.name], context)
    noun = "call" if isinstance(part, Call) else "result"
    report_other_parts(conversation, context, [part], f"a body is one {noun} here")
    for tool in conversation.tools:
        context.report_loss(tool, f"a {noun} has no tool definitions")
    return _write_part(part, conversation, context)


def _patch_single(conversation: Conversation, context: EncodeContext) -> JSON | UnsetType:
    """A body of one exchange with its edits, if all of its parts are still there.

    UNSET if parts were added that the body could hold instead of its own.
    """
    old: list[Part] = []
    new: list[Part] = []
    for message in conversation.messages:
        for part in message.parts:
            was_read = message.wire == NAME and not isinstance(part.raw, UnsetType)
            (old if was_read else new).append(part)
    wanted = Result if context.kind == "response" else Call
    if not conversation.same_tools or any(isinstance(part, wanted) for part in new):
        return UNSET
    source = conversation.source.body
    body = patch_parts(old, read(source, context.kind).parts(), source, (), context)
    if not isinstance(body, UnsetType):
        report_other_parts(conversation, context, old, "a body is one exchange here")
    return body


def _last_part(conversation: Conversation, kind: str) -> Call | Result | None:
    """The part to send. In a response, it is the last result; in a request, the last open call, or
    else the last call."""
    if kind == "response":
        return next(reversed(conversation.results()), None)
    open_calls = [pair.call for pair in conversation.pairs() if pair.result is None]
    return next(reversed(open_calls or conversation.calls()), None)


def _write_part(part: Part, conversation: Conversation, context: EncodeContext) -> JSON:
    """The body of a call or a result, without an envelope if it was read so. Any other part is
    reported as a loss, and None returned."""
    if not isinstance(part, Call | Result):
        report_unsupported(part, context)
        return None
    key = "request" if isinstance(part, Call) else "result"
    schema = _schema_field(conversation, context)
    if part.spec in ALL_SPECS and not isinstance(part.raw, UnsetType):
        patched = patch_block(part, context, part.raw)
        if not isinstance(patched, UnsetType):
            in_envelope = any(isinstance(step, str) for step in part.path)
            if part.spec is REFUSAL or not in_envelope:
                return patched
            return {**schema, key: patched}
    if isinstance(part, Result):
        written = write_result(part, context)
    else:
        assert CALL.write is not None
        written = CALL.write(part, context)
    return {**schema, key: written}


def _schema_field(conversation: Conversation, context: EncodeContext) -> Object:
    """The `$schema` field of an envelope: as in the source body, otherwise the current version."""
    source = conversation.source.body if context.native else None
    if not isinstance(source, dict):
        return {"$schema": SCHEMA}
    return {"$schema": source["$schema"]} if "$schema" in source else {}


def _write_log(conversation: Conversation, context: EncodeContext, source: list[JSON]) -> JSON:
    new_calls = (call for call in conversation.calls() if call.raw is UNSET)
    fit_tool_ids((call.name for call in new_calls), context)
    if not conversation.same_tools:
        for tool in conversation.tools:
            context.report_loss(tool, "tools of a log cannot be changed")
    return rewrite_log(
        conversation,
        context,
        source=source,
        original=read(list(source), context.kind),
        write=lambda part: _write_part(part, conversation, context),
    )


def _write_tool_list(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write the list of tools, for a conversation without calls and results."""
    new_tools = (tool for tool in conversation.tools if tool.spec not in TOOL_SPECS)
    fit_tool_ids((tool.name for tool in new_tools), context)
    report_other_parts(conversation, context, (), ONLY_CALLS_AND_RESULTS)
    tools = write_tools(conversation.tools, context)
    source = conversation.source.body if context.native else None
    if isinstance(source, list):
        return tools
    if isinstance(source, dict):
        key = next((key for key in ("items", "tools") if key in source), None)
        if key is not None:
            return {**source, key: tools}
    return {"$schema": SCHEMA, "items": tools}


# --- recognizing bodies ---------------------------------------------------------------------------

_MARKS = (("request", "tool_id"), ("result", "success"), ("response", "success"))
"""Envelope key → a field of the object under it."""


def match_score(body: JSON) -> int:
    """How well a body matches this wire."""
    if isinstance(body, list):
        scores = [
            match_score(item) for item in body if not (isinstance(item, dict) and is_refusal(item))
        ]
        return min(scores, default=0)
    if not isinstance(body, dict) or "jsonrpc" in body:
        return 0
    if str(body.get("$schema", "")).startswith(("urn:oxp:", "otc://")):
        return 3
    for key, mark in _MARKS:
        value = body.get(key)
        if isinstance(value, dict) and (mark in value or (key != "result" and match_score(value))):
            return 3
    if isinstance(body.get("tool_id"), str):
        return 3
    if isinstance(body.get("success"), bool) and "call_id" in body:
        return 3
    tools = body.get("items", body.get("tools"))
    if not isinstance(tools, list) or not tools or "messages" in body:
        return 0
    return (
        3
        if all(isinstance(tool, dict) and {"id", "version"} <= tool.keys() for tool in tools)
        else 0
    )
