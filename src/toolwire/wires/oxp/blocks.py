"""Open eXecution Protocol: block specs of calls and results."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Output, Part, Result, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, Id, keys, read_id, read_name

NAME = "oxp"

# --- calls ----------------------------------------------------------------------------------------


def read_call(request: Object, path: JsonPath) -> Part:
    """The call of a request."""
    id_field = _spelling(request, "call_id", "execution_id")
    input_field = _spelling(request, "input", "inputs")
    call_id, origin = read_id(request.get(id_field))
    arguments = request.get(input_field)
    return Call(
        call_id,
        read_name(request.get("tool_id")),
        LazyJson("") if arguments is None else LazyJson.from_value(arguments),
        origin=origin,
        source=Source(request, path, CALLS[id_field, input_field]),
    )


def _spelling(request: Object, name: str, old_name: str) -> str:
    """The name that a request uses for a field; the newer name if it has both."""
    return old_name if request.get(name) is None and old_name in request else name


def _call_block(id_field: str, input_field: str) -> Block:
    def write(call: Call, context: EncodeContext) -> JSON:
        out: Object = {"tool_id": context.name(call.name)}
        call_id = context.wire_id(call)
        if call_id is not None:
            out[id_field] = call_id
        out[input_field] = context.arguments_object(call)
        return out

    return Block(
        "request",
        part=Call,
        write=write,
        keys=keys("tool_id", id_field, input_field),
        discriminator={"path": "request"},
        family="function",
        ids=(Id(id_field, required=False),),
        forms=("request",),
    )


CALLS = {
    (id_field, input_field): _call_block(id_field, input_field)
    for id_field in ("call_id", "execution_id")
    for input_field in ("input", "inputs")
}
"""Specs by the names of the id and of the arguments: drafts before 1.0 used `execution_id`."""
CALL = CALLS["call_id", "input"]

# --- results --------------------------------------------------------------------------------------

_DRAFT_OUTPUTS = ("output", "artifact", "requires_authorization")
"""Fields that hold the output of a result in drafts."""


def read_result(response: Object, path: JsonPath) -> Part:
    """The result of a response."""
    call_id, origin = read_id(response.get(_spelling(response, "call_id", "execution_id")))
    error, value = response.get("error"), response.get("value")
    failed = response.get("success") is False or (error is not None and value is None)
    output: Output
    if failed and error is not None:
        output, spec = _read_error(error), ERROR
    elif value is not None:
        output, spec = value, VALUE
    else:
        draft = {key: response[key] for key in _DRAFT_OUTPUTS if response.get(key) is not None}
        output, spec = (draft, DRAFT) if draft else ("", VALUE)
    source = Source(response, path, spec)
    return Result(call_id, output, error=failed, origin=origin, source=source)


def _read_error(error: JSON) -> Output:
    """The parts of an error that a model may see: its message, and the text for a retry."""
    match error:
        case {"message": str(message), "additional_prompt_content": str(prompt)}:
            return (Text(message), Text(prompt))
        case {"message": str(message)}:
            return message
    return error


def write_result(result: Result, context: EncodeContext) -> JSON:
    """Write the response of a result. The value may be any JSON; an empty output is null."""
    out: Object = {"call_id": context.result_id(result)}
    output = context.output(result)
    if context.is_error(result):
        context.record_result_form(result, flag=True, structure=False)
        return {**out, "success": False, "error": _write_error(output, context)}
    value = _join(output, context) if isinstance(output, tuple) else output
    return {**out, "success": True, "value": None if value == "" else value}


def _write_error(output: Output, context: EncodeContext) -> JSON:
    match output:
        case (Text(text=message), Text(text=prompt)):
            return {"message": message, "additional_prompt_content": prompt}
        case tuple():
            return {"message": _join(output, context)}
    return {"message": output if isinstance(output, str) else text_of(output)}


def _join(output: tuple[Part, ...], context: EncodeContext) -> str:
    """The parts of an output as one text."""
    for part in output:
        if not isinstance(part, Text):
            context.report_loss(part, f"a value contains this only as text: {describe(part)[:80]}")
    if len(output) > 1:
        context.report_loss(output[1], "a result of several parts is sent as one text")
    return "\n".join(describe(part) for part in output)


_REFUSAL_FIELDS = ("message", "parameter_errors", "missing_requirements")
"""The fields of a refusal that a model may see."""


def is_refusal(body: Object) -> bool:
    """True if a body states why a call was not run."""
    return isinstance(body.get("message"), str) and "success" not in body and "tool_id" not in body


def read_refusal(body: Object, path: JsonPath) -> Part:
    """Read why a call was not run: a text, or an object if there are more fields."""
    fields = {key: body[key] for key in _REFUSAL_FIELDS if body.get(key) is not None}
    output: JSON = fields["message"] if len(fields) == 1 else fields
    return Result("", output, error=True, origin="minted", source=Source(body, path, REFUSAL))


def _write_refusal(result: Result, context: EncodeContext) -> JSON:
    if not result.error:
        return write_result(result, context)
    output = result.output
    if isinstance(output, dict) and isinstance(output.get("message"), str):
        return output
    return {"message": result.text}


_RESULT_KEYS = keys("call_id", "execution_id", "success")
VALUE = Block(
    "value",
    part=Result,
    write=write_result,
    keys=_RESULT_KEYS | {"value"},
    discriminator={"path": "result", "field": "value"},
    family="function",
    ids=(Id("call_id"),),
    forms=("response",),
)
ERROR = replace(
    VALUE,
    name="error",
    keys=_RESULT_KEYS | {"error"},
    inner=(("error", keys("message", "additional_prompt_content")),),
    discriminator={"path": "result", "field": "error"},
)
DRAFT = replace(VALUE, keys=_RESULT_KEYS | keys(*_DRAFT_OUTPUTS))
"""A result of a draft. Its output is in one of the fields of the drafts."""
REFUSAL = replace(
    VALUE,
    name="message",
    write=_write_refusal,
    keys=keys("$schema", *_REFUSAL_FIELDS),
    discriminator={"field": "message"},
    ids=(),
)
ALL_SPECS = (*CALLS.values(), VALUE, ERROR, DRAFT, REFUSAL)
