"""The steps of Gemini interactions: thoughts, calls and results, each a separate block."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result, Role, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    call_reader,
    keys,
    read_id,
    read_name,
    text_or_none,
)
from toolwire.wires.gemini_interactions.content import MAKER, read_output, write_output

ROLE_FROM_TYPE: dict[str, Role] = {"user_input": "user", "model_output": "assistant"}
"""The steps that hold content."""
MESSAGE = Block("step", part=Message, keys=keys("type", "content"))

# --- thoughts -------------------------------------------------------------------------------------


def _read_thought(block: Object, path: JsonPath, spec: Block) -> Part:
    summary = block.get("summary")
    entries: list[JSON] = summary if isinstance(summary, list) else []
    texts = [text for entry in entries if isinstance(text := get(entry, ("text",)), str)]
    signature = text_or_none(block.get("signature"))
    spec = spec if len(texts) == len(entries) else _THOUGHT_WITH_OTHERS
    return Reasoning("".join(texts), signature=signature, source=Source(block, path, spec))


def write_thought(part: Reasoning, context: EncodeContext) -> JSON:
    """Write a thought with its summary, and with its signature if it is from this wire."""
    step: Object = {"type": "thought"}
    if part.signature is not None and part.spec in (THOUGHT, _THOUGHT_WITH_OTHERS):
        step["signature"] = part.signature
    if part.text:
        step["summary"] = [{"type": "text", "text": part.text}]
    return step


THOUGHT = Block(
    "thought",
    part=Reasoning,
    signed_by=MAKER,
    read=_read_thought,
    write=write_thought,
    keys=keys("type", "signature", "summary"),
    deltas={
        "thought_summary": ("content", "summary"),
        "thought_signature": ("signature", "signature"),
    },
)
_THOUGHT_WITH_OTHERS = replace(THOUGHT, keys=THOUGHT.keys - {"summary"})
"""A thought whose summary has more than texts, such as an image, which no part holds."""

# --- functions ------------------------------------------------------------------------------------


def write_function_call(call: Call, context: EncodeContext) -> JSON:
    """A call of a function; its arguments are an object."""
    return {
        "type": "function_call",
        "id": context.call_id(call),
        "name": context.name(call.name),
        "arguments": context.arguments_object(call),
    }


def _read_function_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("call_id"))
    return Result(
        call_id,
        read_output(block.get("result"), (*path, "result")),
        block.get("is_error") is True,
        text_or_none(block.get("name")),
        origin,
        source=Source(block, path, spec),
    )


def write_function_result(result: Result, context: EncodeContext) -> JSON:
    """The result of a function: text, an object, or content blocks."""
    context.record_result_form(result, flag=True, structure=isinstance(result.output, dict))
    step: Object = {"type": "function_result", "call_id": context.result_id(result)}
    if result.name:
        step["name"] = context.name(result.name)
    step["result"] = write_output(context.output(result), context)
    return {**step, "is_error": True} if context.is_error(result) else step


FUNCTION_CALL = Block(
    "function_call",
    part=Call,
    read=call_reader("arguments"),
    write=write_function_call,
    keys=keys("type", "id", "name", "arguments"),
    family="function",
    ids=(Id("id"),),
    deltas={"arguments_delta": ("arguments", "arguments")},
)
FUNCTION_RESULT = Block(
    "function_result",
    part=Result,
    read=_read_function_result,
    write=write_function_result,
    keys=keys("type", "call_id", "name", "result", "is_error"),
    family="function",
    ids=(Id("call_id"),),
)

# --- tools that the provider runs -----------------------------------------------------------------

_SERVER_TOOLS = {
    "code_execution": "code-execution",
    "file_search": "file-search",
    "google_maps": "google-maps",
    "google_search": "google-search",
    "mcp_server_tool": "mcp",
    "processing": "media-processing",
    "retrieval": "retrieval",
    "url_context": "url-context",
}
"""The common part of the step types of each server tool, and its family."""


def _server_call(stem: str, family: str) -> Block:
    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get("id"))
        return Call(
            call_id,
            read_name(block.get("name")) or stem,
            _read_server_arguments(block),
            origin,
            family,
            "provider",
            signature=text_or_none(block.get("signature")),
            source=Source(block, path, spec),
        )

    def write(call: Call, context: EncodeContext) -> JSON:
        step: Object = {"type": f"{stem}_call", "id": context.call_id(call)}
        if call.name != stem:
            step["name"] = call.name
        value = call.args.value
        if isinstance(value, dict) and (value or stem not in _WITHOUT_ARGUMENTS):
            step["arguments"] = value
        return step

    return Block(
        f"{stem}_call",
        part=Call,
        read=read,
        write=write,
        keys=_CALL_FIELDS,
        family=family,
        executor="provider",
        ids=(Id("id"),),
    )


_CALL_FIELDS = keys("type", "id", "name", "arguments", "signature")
_RESULT_FIELDS = keys("type", "call_id", "name", "result", "is_error", "signature")
_WITHOUT_ARGUMENTS = keys("file_search", "processing")


def _read_server_arguments(block: Object) -> LazyJson:
    arguments = block.get("arguments")
    return LazyJson.from_value({} if arguments is None else arguments)


def _server_result(stem: str, family: str) -> Block:
    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get("call_id"))
        return Result(
            call_id,
            read_output(block.get("result"), (*path, "result")),
            block.get("is_error") is True,
            read_name(block.get("name")) or stem,
            origin,
            family,
            "provider",
            signature=text_or_none(block.get("signature")),
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        step: Object = {"type": f"{stem}_result", "call_id": context.result_id(result)}
        if result.name and result.name != stem:
            step["name"] = result.name
        output = result.output
        if isinstance(output, tuple):
            step["result"] = write_output(output, context)
        elif stem == "code_execution":
            step["result"] = output if isinstance(output, str) else text_of(output)
        elif output != "":
            step["result"] = output
        return {**step, "is_error": True} if result.error else step

    return Block(
        f"{stem}_result",
        part=Result,
        read=read,
        write=write,
        keys=_RESULT_FIELDS,
        family=family,
        executor="provider",
        ids=(Id("call_id"),),
    )


def _server_steps() -> Iterator[Block]:
    for stem, family in _SERVER_TOOLS.items():
        yield _server_call(stem, family)
        yield _server_result(stem, family)


STEPS = blocks(THOUGHT, FUNCTION_CALL, FUNCTION_RESULT, *_server_steps())
