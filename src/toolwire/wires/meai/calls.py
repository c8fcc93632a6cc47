"""Calls, approvals and requests for input of Microsoft.Extensions.AI: readers and writers.

Except for function calls, the writers serve only edits: they write the fields that an edit may
change, and the rest of the content stays verbatim.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Executor, Part, Result, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, read_id, read_name, require_object

_INPUT = "input"
_DEFAULT_NAMES = {"tool-approval": "tool", "input": _INPUT}
"""Family → the name of a call whose content has none."""


def read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a call or a request for input; a request for approval has its call inside."""
    call_id, origin = read_id(block.get(spec.ids[0].name))
    is_approval = "toolCall" in spec.keys
    call = require_object(block.get("toolCall") or {}) if is_approval else block
    arguments = call.get("arguments")
    executor: Executor = "client"
    if spec.executor == "provider" or block.get("informationalOnly") is True:
        executor = "provider"
    return Call(
        call_id,
        read_name(call.get("name")) or _DEFAULT_NAMES.get(spec.family, ""),
        LazyJson("") if arguments is None else LazyJson.from_value(arguments),
        origin,
        spec.family,
        executor,
        approval_for=(read_id(call.get("callId"))[0] or None) if is_approval else None,
        source=Source(block, path, spec),
    )


def write_function_call(call: Call, context: EncodeContext) -> JSON:
    return {
        "$type": "functionCall",
        "callId": context.call_id(call),
        "name": context.name(call.name),
        "arguments": context.arguments_object(call),
    }


def write_mcp_call(call: Call, context: EncodeContext) -> JSON:
    call_id = context.call_id(call)
    return {"callId": call_id, "name": call.name, "arguments": call.input}


def write_approval(call: Call, context: EncodeContext) -> JSON:
    inner: Object = {"name": context.name(call.name), "arguments": call.input}
    return {"requestId": context.call_id(call), "toolCall": inner}


def write_input_request(call: Call, context: EncodeContext) -> JSON:
    request: Object = {"requestId": context.call_id(call)}
    if call.name != _INPUT:
        request["name"] = context.name(call.name)
    if call.args.text:
        request["arguments"] = call.input
    return request


def read_input_response(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read the response to a request for approval or input: a decision with a reason, or only
    text."""
    call_id, origin = read_id(block.get("requestId"))
    answer: Object = {
        key: block[key] for key in ("approved", "reason") if block.get(key) is not None
    }
    reason = answer.get("reason")
    text_only = isinstance(reason, str) and "approved" not in answer
    return Result(
        call_id,
        reason if text_only else answer,
        origin=origin,
        family=spec.family,
        source=Source(block, path, spec),
    )


def write_input_response(result: Result, context: EncodeContext) -> JSON:
    answer = result.output if isinstance(result.output, dict) else {"reason": result.text}
    return {"requestId": context.result_id(result), **answer}
