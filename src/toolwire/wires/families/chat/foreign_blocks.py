"""Calls and results as content blocks, which clients of another API leave in chat messages.

No chat server accepts them. They are read so that a wire that has such blocks gets them, and so
that `check` finds them. They have no family, so the catalogue does not list them. This module knows
no wire by name.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Output, Part, Result, Source, Text, output_text
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, blocks, call_reader, keys, opaque, read_id


def _write_call(call: Call, context: EncodeContext) -> JSON:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("tool_use_id"))
    content = block.get("content")
    output: Output = "" if content is None else content
    if isinstance(content, list):
        output = tuple(_read_inner(inner, (*path, "content", i)) for i, inner in enumerate(content))
    is_error = block.get("is_error") is True
    return Result(call_id, output, is_error, None, origin, source=Source(block, path, spec))


def _read_inner(block: JSON, path: JsonPath) -> Part:
    text = block.get("text") if isinstance(block, dict) else block
    if isinstance(text, str):
        return Text(text, source=Source(path=path))
    return opaque(block.get("type") if isinstance(block, dict) else None, block, path)


def _write_result(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    content: JSON = output_text(output) if isinstance(output, tuple) else output
    flag: Object = {"is_error": True} if result.error else {}
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": content, **flag}


FOREIGN_BLOCKS = blocks(
    Block(
        "tool_use",
        part=Call,
        read=call_reader("input"),
        write=_write_call,
        keys=keys("type", "id", "name", "input"),
    ),
    Block(
        "tool_result",
        part=Result,
        read=_read_result,
        write=_write_result,
        keys=keys("type", "tool_use_id", "content", "is_error"),
    ),
)
