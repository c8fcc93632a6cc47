"""Blocks of tools that the provider of a wire with contents runs itself."""

from __future__ import annotations

from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Result, output_text
from toolwire.wires.engine.encode_context import EncodeContext


def _id_field(call_id: str) -> Object:
    return {} if is_minted(call_id) else {"id": call_id}


def write_code(call: Call, context: EncodeContext) -> JSON:
    """Write the code that the provider runs."""
    code = call.input if isinstance(call.input, dict) else {}
    return {"executableCode": {**_id_field(call.id), **code}}


def write_code_result(result: Result, context: EncodeContext) -> JSON:
    """Write the result of code."""
    outcome = "OUTCOME_FAILED" if result.error else "OUTCOME_OK"
    answer: Object = {"outcome": outcome, "output": result.text}
    return {"codeExecutionResult": {**_id_field(result.call_id), **answer}}


def write_tool_call(call: Call, context: EncodeContext) -> JSON:
    """Write the call of another tool of the provider."""
    return {"toolCall": {**_id_field(call.id), "toolType": call.name, "args": call.input}}


def write_tool_response(result: Result, context: EncodeContext) -> JSON:
    """Write the result of another tool of the provider."""
    output = result.output
    response = output_text(output) if isinstance(output, tuple) else output
    answer: Object = {"toolType": result.name, "response": response}
    return {"toolResponse": {**_id_field(result.call_id), **answer}}
