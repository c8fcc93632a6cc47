"""Model Context Protocol: JSON-RPC messages that are a call or its result."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Origin, Output, Part, Result, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, Id, keys, read_name, read_value
from toolwire.wires.mcp.blocks import read_output, write_output
from toolwire.wires.mcp.ids import json_id, neutral_id

PROTOCOL_ERRORS = range(-32768, -31999)
"""Error codes that JSON-RPC reserves for the protocol: such an error is not from a tool."""


def read_call(message: Object, path: JsonPath, spec: Block) -> Part:
    """The call of a `tools/call` request."""
    call_id, origin = neutral_id(message.get("id"))
    params = message.get("params")
    if not isinstance(params, dict):
        params = {}
    return Call(
        call_id,
        read_name(params.get("name")),
        read_value(params.get("arguments")),
        origin=origin,
        family="mcp",
        source=Source(message, path, spec),
    )


def write_call(call: Call, context: EncodeContext) -> JSON:
    """The `tools/call` request of a call."""
    params: Object = {"name": context.name(call.name), "arguments": context.arguments_object(call)}
    return {
        "jsonrpc": "2.0",
        "id": json_id(context.call_id(call)),
        "method": "tools/call",
        "params": params,
    }


def result_id(message: Object) -> str:
    """The neutral id of a response; empty if it has none."""
    return neutral_id(message.get("id"))[0]


def _result(
    message: Object, output: Output, source: Source, *, error: bool = False, family: str = "mcp"
) -> Result:
    call_id = result_id(message)
    origin: Origin = "wire" if call_id else "minted"
    return Result(call_id, output, error=error, origin=origin, family=family, source=source)


def read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    """Read the result of a response. If its type is unknown, the whole result is the output."""
    result = message["result"]
    if not isinstance(result, dict) or not _is_complete(result):
        return _result(message, result, Source(message, path, UNKNOWN_RESULT))
    output, structured = read_output(result, (*path, "result"))
    source = Source(message, path, STRUCTURED_RESULT if structured else spec)
    return _result(message, output, source, error=result.get("isError") is True)


def _is_complete(result: Object) -> bool:
    return result.get("resultType") in (None, "complete")


def write_result(result: Result, context: EncodeContext) -> JSON:
    """The response of a result."""
    output = context.output(result)
    out: Object = {"jsonrpc": "2.0", "id": json_id(context.result_id(result))}
    if context.is_error(result):
        if _is_protocol_error(output):
            return {**out, "error": output}  # type: ignore[dict-item]
    elif (
        result.spec in (INPUT_REQUIRED, UNKNOWN_RESULT)
        and isinstance(output, dict)
        and not _is_complete(output)
    ):
        return {**out, "result": output}
    return {**out, "result": write_output(result, context)}


def _is_protocol_error(output: object) -> bool:
    match output:
        case {"code": int(code), "message": str(), **others}:
            return code in PROTOCOL_ERRORS and others.keys() <= {"data"}
    return False


def read_input_required(message: Object, path: JsonPath, spec: Block) -> Part:
    """A response that asks for input before the call can be completed."""
    source = Source(message, path, spec)
    return _result(message, message["result"], source, family="mcp-input-required")


def read_error(message: Object, path: JsonPath, spec: Block) -> Part:
    """A JSON-RPC error."""
    return _result(message, message["error"], Source(message, path, spec), error=True)


def _write_error(result: Result, context: EncodeContext) -> JSON:
    """Write an edited error, which stays a protocol error as long as it is an object."""
    if not result.error or not isinstance(result.output, dict):
        return write_result(result, context)
    return {"jsonrpc": "2.0", "id": json_id(context.result_id(result)), "error": result.output}


_RESULT_KEYS = keys("content", "isError", "resultType")
CALL = Block(
    "tools/call",
    part=Call,
    read=read_call,
    write=write_call,
    keys=keys("jsonrpc", "id", "method", "params"),
    inner=(("params", keys("name", "arguments")),),
    discriminator={"method": "tools/call"},
    family="mcp",
    ids=(Id("id"),),
)
RESULT = Block(
    "complete",
    part=Result,
    read=read_result,
    write=write_result,
    keys=keys("jsonrpc", "id", "result"),
    inner=(("result", _RESULT_KEYS),),
    discriminator={"jsonrpc_result_of": "tools/call", "resultType": "complete"},
    family="mcp",
    ids=(Id("id"),),
)
STRUCTURED_RESULT = replace(RESULT, inner=(("result", _RESULT_KEYS | {"structuredContent"}),))
UNKNOWN_RESULT = replace(RESULT, inner=())
"""A result of an unknown type: its output is the whole result."""
INPUT_REQUIRED = replace(
    UNKNOWN_RESULT,
    name="input_required",
    read=read_input_required,
    discriminator={"jsonrpc_result_of": "tools/call", "resultType": "input_required"},
    family="mcp-input-required",
)
ERROR = replace(
    UNKNOWN_RESULT,
    name="error",
    read=read_error,
    write=_write_error,
    keys=keys("jsonrpc", "id", "error"),
    discriminator={"jsonrpc": "error"},
    ids=(Id("id", nullable=True),),
)
ALL_SPECS = (CALL, RESULT, STRUCTURED_RESULT, INPUT_REQUIRED, UNKNOWN_RESULT, ERROR)
