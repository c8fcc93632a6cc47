"""AI SDK: tool parts of UI messages. A tool part is a call and, once it exists, its result."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    Approval,
    Call,
    Executor,
    Media,
    Output,
    Part,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.ai_sdk.blocks import DENIED, restore_arguments, write_input
from toolwire.wires.ai_sdk.result_content import read_items, write_error_text, write_items
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    flag_or_none,
    keys,
    read_arguments,
    read_id,
    read_name,
    require_string,
    text_or_none,
)

Outcome: TypeAlias = Literal["success", "error", "denied"]
OUTCOMES: dict[str, Outcome | None] = {
    "input-streaming": None,
    "input-available": None,
    "approval-requested": None,
    "approval-responded": None,
    "output-available": "success",
    "output-error": "error",
    "output-denied": "denied",
}
"""The outcome that each state of a tool part stands for; None while the call is open."""
INVALID_INPUT = "The arguments of this call are not valid JSON."
"""The `errorText` for a call whose input is broken.

In a response, a part with this text has no result: the text comes from this library.
"""
CUT_OFF = "The arguments of this call were cut off."
"""The `errorText` for a call during which the stream ended."""
_FIELDS = keys(
    "type",
    "toolName",
    "toolCallId",
    "state",
    "input",
    "output",
    "errorText",
    "providerExecuted",
    "dynamic",
)
_CALL_FIELDS = keys(
    "approval", "callProviderMetadata", "title", "toolMetadata", "rawInput", "inputEncoding"
)
"""Fields that concern only the call: their loss is reported once, with the call."""
_RESULT_FIELDS = keys("preliminary", "resultProviderMetadata")


# --- reading --------------------------------------------------------------------------------------


def is_tool_part(block: JSON) -> bool:
    """True for a tool part of version 5 or later; older versions nest everything in one field."""
    if not isinstance(block, dict) or not ("toolCallId" in block or "state" in block):
        return False
    kind = block.get("type")
    return isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-"))


def tool_outcome(block: Object) -> Outcome | None:
    """The outcome of a tool part; if its state is unknown, the fields decide."""
    state = block.get("state")
    if isinstance(state, str) and state in OUTCOMES:
        return OUTCOMES[state]
    if "output" in block:
        return "success"
    return "error" if isinstance(block.get("errorText"), str) else None


def reports_invalid_input(block: JSON | UnsetType) -> bool:
    """True if a tool part has no result, only the error that its input is broken (INVALID_INPUT) or
    incomplete (CUT_OFF)."""
    return (
        isinstance(block, dict)
        and block.get("errorText") in (INVALID_INPUT, CUT_OFF)
        and "input" not in block
        and "rawInput" in block
    )


def read_tool_part(block: Object, path: JsonPath) -> tuple[Part, ...]:
    """The call of a tool part, and its result if it has one."""
    state = block.get("state")
    outcome = tool_outcome(block)
    spec = _tool_spec(
        dynamic=block["type"] == "dynamic-tool",
        by_provider=block.get("providerExecuted") is True,
        raw=block.get("input") is None and block.get("rawInput") is not None,
        portable=isinstance(state, str) and state in OUTCOMES and state != "input-streaming",
        denied=outcome == "denied",
    )
    call = _read_call(block, path, spec)
    if outcome is None:
        return (call,)
    assert spec.answer is not None
    return call, read_result(block, path, spec.answer)


def _read_call(block: Object, path: JsonPath, spec: Block) -> Call:
    call_id, origin = read_id(block.get("toolCallId"))
    kind, value = require_string(block["type"]), block.get("input")
    if kind == "dynamic-tool":
        name = read_name(block.get("toolName"))
    else:
        name = kind.removeprefix("tool-")
    return Call(
        call_id,
        name,
        args=read_arguments(block.get("rawInput")) if value is None else LazyJson.from_value(value),
        origin=origin,
        family=spec.family,
        executor=spec.executor,
        approval=_read_approval(block["approval"], path) if "approval" in block else None,
        source=Source(block, path, spec),
    )


def _read_approval(approval: JSON, path: JsonPath) -> Approval | None:
    """The approval that the user was asked for; None if it was automatic."""
    if not isinstance(approval, dict) or approval.get("isAutomatic") is True:
        return None
    approval_id, approved = approval.get("id"), approval.get("approved")
    if not isinstance(approval_id, str) or not approval_id:
        return None
    return Approval(
        approval_id,
        granted=flag_or_none(approved),
        reason=text_or_none(approval.get("reason")),
        path=(*path, "approval"),
    )


def read_result(block: Object, path: JsonPath, spec: Block) -> Result:
    """The result of a tool part that has one."""
    call_id, _ = read_id(block.get("toolCallId"))
    outcome = tool_outcome(block)
    output: Output
    if outcome == "denied":
        reason = get(block, ("approval", "reason"))
        output = reason if isinstance(reason, str) else DENIED
    elif outcome == "success":
        output = _read_output(block.get("output"), path)
    else:
        output = text_or_none(block.get("errorText")) or ""
    return Result(
        call_id,
        output,
        error=outcome != "success",
        origin="wire" if call_id else "minted",
        family=spec.family,
        executor=spec.executor,
        preliminary=outcome == "success" and block.get("preliminary") is True,
        source=Source(block, path, spec),
    )


def _read_output(output: JSON, path: JsonPath) -> Output:
    """The output: any JSON, or the text and media of a `content` object; null is empty text."""
    if isinstance(output, dict) and output.get("type") == "content" and len(output) == 2:
        return read_items(output.get("value"), (*path, "output", "value")) or output
    return "" if output is None else output


# --- writing --------------------------------------------------------------------------------------


def write_tool_part(call: Call, result: Result | None, context: EncodeContext) -> Object:
    """A call of another wire, with its result, as a tool part."""
    block: Object = {
        "type": f"tool-{context.name(call.name)}",
        "toolCallId": context.call_id(call),
        "state": "input-available",
    }
    arguments = restore_arguments(call, context)
    failed = result is None or context.is_error(result)
    if arguments.broken and call.family != "custom" and failed:
        # Broken input goes into `rawInput`, but an output needs an `input`.
        block["rawInput"] = arguments.text
        if context.kind == "response":  # the input is final: a client must not wait for the rest
            block |= {"state": "output-error", "errorText": INVALID_INPUT}
        else:
            block["state"] = "input-streaming"
    else:
        block["input"] = write_input(call, arguments, context)
    if is_provider_executed(call):
        block["providerExecuted"] = True
    return block if result is None else block | write_result(result, context)


def is_provider_executed(part: Call | Result) -> bool:
    """True if the model's provider ran the tool.

    A function with a result in a response ran on the server, like the SDK's own tools.
    """
    return part.executor == "provider" and part.family != "function"


def write_result(result: Result, context: EncodeContext) -> Object:
    """The fields of a tool part that hold its result."""
    output = context.output(result)
    if context.is_error(result):
        return {"state": "output-error", "errorText": write_error_text(result, output, context)}
    fields: Object = {"state": "output-available", "output": _write_output(output, context)}
    if result.preliminary:
        fields["preliminary"] = True
    return fields


def _write_output(output: Output, context: EncodeContext) -> JSON:
    if not isinstance(output, tuple):
        return output
    if len(output) < 2 and all(isinstance(part, Text) for part in output):
        return "".join(describe(part) for part in output)
    for part in output:
        if isinstance(part, Media):
            context.report_loss(
                part, "the model gets this as JSON unless the tool has a `toModelOutput`"
            )
    return {"type": "content", "value": write_items(output, context)}


def _write_denial(result: Result, context: EncodeContext) -> Object:
    if not result.error:
        return write_result(result, context)
    reason = write_error_text(result, result.output, context)
    return {"state": "output-denied", "approval": {"reason": reason}}


def complete_input(block: Object) -> Object:
    """A tool part with the `input` that an output needs: the raw text if it has none."""
    if block.get("state") != "output-available" or "input" in block:
        return block
    return {**block, "input": block.get("rawInput", {})}


def write_edited_result(result: Part, context: EncodeContext) -> Object:
    """The fields of an edited result, in the form of the tool part it was read from, if any."""
    assert isinstance(result, Result)
    spec = result.spec
    if isinstance(spec, Block) and spec.read is read_result and spec.write is not None:
        written = spec.write(result, context)
        assert isinstance(written, dict)
        return {key: written[key] for key in written if key not in ("toolCallId", "input")}
    return write_result(result, context)


# --- specs ----------------------------------------------------------------------------------------


@cache
def _tool_spec(
    *, dynamic: bool, by_provider: bool, raw: bool, portable: bool, denied: bool
) -> Block:
    """The spec of a tool part, with the spec of its result as `answer`.

    Args:
        dynamic: The tool's name is in `toolName`, not in the type.
        by_provider: The provider ran the tool.
        raw: The input is available only as text, in `rawInput`.
        portable: The state has a neutral form; otherwise other wires lose it.
        denied: The state is `output-denied`.
    """
    kind = "dynamic-tool" if dynamic else "tool-*"
    family = "server-tool" if by_provider else "function"
    executor: Executor = "provider" if by_provider else "client"

    def write_call(call: Call, context: EncodeContext) -> Object:
        name = context.name(call.name)
        return {
            **({"toolName": name} if dynamic else {"type": f"tool-{name}"}),
            "toolCallId": context.call_id(call),
            **({"rawInput": call.args.text} if raw else {"input": call.args.value}),
        }

    def write_answer(result: Result, context: EncodeContext) -> Object:
        fields = (_write_denial if denied else write_result)(result, context)
        whole = complete_input({**result.raw, **fields}) if isinstance(result.raw, dict) else {}
        call_id: Object = {"toolCallId": context.result_id(result)}
        if "input" in whole and not result.error:
            call_id["input"] = whole["input"]
        return call_id | fields

    known = _FIELDS | _RESULT_FIELDS | (keys("rawInput") if raw else keys())
    return Block(
        kind,
        part=Call,
        read=_read_call,
        write=write_call,
        keys=known if portable else known - {"state"},
        discriminator={"type": kind, "providerExecuted": "true"} if by_provider else {"type": kind},
        family=family,
        executor=executor,
        ids=(Id("toolCallId"),),
        answer=Block(
            kind,
            part=Result,
            read=read_result,
            write=write_answer,
            keys=_FIELDS | _CALL_FIELDS,
            family=family,
            executor=executor,
        ),
    )


TOOL_PARTS = tuple(
    _tool_spec(dynamic=dynamic, by_provider=by_provider, raw=False, portable=True, denied=False)
    for dynamic in (False, True)
    for by_provider in (False, True)
)
"""The specs that the catalogue shows."""
