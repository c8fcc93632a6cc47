"""The contents of Microsoft.Extensions.AI messages: how each is read and written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Media, Opaque, Part, Reasoning, Result, Source, Text
from toolwire.wires.engine.capabilities import DATA_ONLY, Capabilities, MediaForm, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    read_block,
    read_id,
    require_string,
    text_or_none,
)
from toolwire.wires.meai.calls import (
    read_call,
    read_input_response,
    write_approval,
    write_function_call,
    write_input_request,
    write_input_response,
    write_mcp_call,
)
from toolwire.wires.meai.media import read_data, read_file, read_uri, write_media

NAME = "meai"

_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "file"})
_MEDIA = MediaSupport(image=_FORMS, audio=_FORMS, video=_FORMS, file=_FORMS)
CAPABILITIES = Capabilities(
    read_by_model=False,
    media=dict.fromkeys(("system", "user", "assistant", "result"), _MEDIA),
    url_names=False,
    kind_by_type=DATA_ONLY,
    error_flag=False,
    candidates=False,
    choice_names="one",
    format_fields=frozenset({"name", "description"}),
    usage_fields=frozenset({"cached", "reasoning"}),
)

# --- text, reasoning and errors -------------------------------------------------------------------


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(require_string(block.get("text") or ""), source=Source(block, path, spec))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    return {"$type": "text", "text": part.text}


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    return Reasoning(
        require_string(block.get("text") or ""),
        signature=text_or_none(block.get("protectedData")),
        source=Source(block, path, spec),
    )


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    return {"$type": "reasoning", "text": part.text}


def _read_error(block: Object, path: JsonPath, spec: Block) -> Part:
    source = Source(block, path, spec)
    if block.get("errorCode") == "Refusal":
        return Text(require_string(block["message"]), refusal=True, source=source)
    return Opaque("error", block, source=source)


def _write_error(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Opaque):
        return part.value
    assert isinstance(part, Text)
    return {"$type": "error", "message": part.text, "errorCode": "Refusal"}


# --- results --------------------------------------------------------------------------------------


def _read_contents(value: JSON, path: JsonPath) -> tuple[Part, ...] | None:
    """The parts of a value that is a content or a list of contents; None for any other value."""
    if isinstance(value, dict) and value.get("$type") in BLOCKS:
        return (read_content(value, path),)
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, dict) and item.get("$type") in BLOCKS for item in value):
        return None
    return tuple(read_content(item, (*path, i)) for i, item in enumerate(value))


def _read_function_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("callId"))
    value = block.get("result")
    output = "" if value is None else _read_contents(value, (*path, "result")) or value
    return Result(call_id, output, origin=origin, source=Source(block, path, spec))


def _write_function_result(result: Result, context: EncodeContext) -> JSON:
    context.record_result_form(result, flag=False, structure=True)
    output = context.output(result)
    if isinstance(output, tuple):
        contents = [PART_WRITERS[type(part)](part, context) for part in output]
        output = [content for content in contents if content is not None] or ""
    return {"$type": "functionResult", "callId": context.result_id(result), "result": output}


ERROR_OUTPUT = Block("error", part=Text, keys=keys("$type", "message"))


def _read_server_output(value: JSON, path: JsonPath) -> Part:
    """A content in the result of a server tool. An error is read as its message."""
    if get(value, ("$type",)) == "error":
        message = get(value, ("message",))
        if isinstance(message, str):
            return Text(message, source=Source(value, path, ERROR_OUTPUT))
    return read_content(value, path)


def _read_server_result(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read the result of a server tool: a list of contents. An error among them means that it
    failed."""
    call_id, origin = read_id(block.get("callId"))
    field = "outputs" if "outputs" in block else "output"
    value = block.get(field)
    outputs = value if isinstance(value, list) else []
    parts = tuple(_read_server_output(item, (*path, field, i)) for i, item in enumerate(outputs))
    return Result(
        call_id,
        parts or "",
        error=any(get(item, ("$type",)) == "error" for item in outputs),
        origin=origin,
        family=spec.family,
        executor="provider",
        source=Source(block, path, spec),
    )


def _write_server_result(result: Result, context: EncodeContext) -> JSON:
    outputs: list[JSON] = [{"$type": "text", "text": result.text}] if result.text else []
    return {"callId": context.result_id(result), "outputs": outputs}


# --- block specs ----------------------------------------------------------------------------------


def _opaque_block(name: str) -> Block:
    """The spec of a content without a neutral form."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        return Opaque(name, block, source=Source(block, path, spec))

    return Block(name, part=Opaque, read=read, write=lambda part, context: part.value)


_CALL_KEYS = keys("$type", "name", "arguments")


def _block(
    name: str,
    part: type[Part],
    *,
    write: Callable[..., JSON],
    fields: str,
    read: Callable[[Object, JsonPath, Block], Part] = read_call,
    family: str = "function",
    executor: Literal["client", "provider"] = "client",
    id_field: str = "callId",
    grows: str = "",
) -> Block:
    """The spec of a content. `grows` is the field that arrives in pieces in a stream."""
    names = fields.split()
    deltas = {name: (grows, grows)} if grows else {}
    if part is not Call and part is not Result:
        known = keys("$type", *names)
        return Block(name, part=part, read=read, write=write, keys=known, deltas=deltas)
    return Block(
        name,
        part=part,
        read=read,
        write=write,
        keys=keys("$type", id_field, *names),
        inner=(("toolCall", _CALL_KEYS),) if "toolCall" in names else (),
        discriminator={"$type": name},
        family=family,
        executor=executor,
        ids=(Id(id_field),),
        deltas=deltas,
    )


def _server_result(name: str, family: str, grows: str = "") -> Block:
    return _block(
        name,
        Result,
        read=_read_server_result,
        write=_write_server_result,
        fields="outputs output",
        family=family,
        executor="provider",
        grows=grows,
    )


def _server_tool(
    prefix: str, tool: str, family: str, field: str = "", *, in_pieces: bool = False
) -> tuple[Block, Block]:
    """The specs of the call and the result of a tool that a service ran.

    The type of the content names the tool; a field holds the arguments, if there are any.
    """

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get("callId"))
        value = block.get(field)
        arguments = LazyJson({} if value is None else {field: value})
        source = Source(block, path, spec)
        return Call(call_id, tool, arguments, origin, family, "provider", source=source)

    def write(call: Call, context: EncodeContext) -> JSON:
        arguments = call.input if isinstance(call.input, dict) else {}
        return {"callId": context.call_id(call), **arguments}

    call = _block(
        f"{prefix}Call",
        Call,
        read=read,
        write=write,
        fields=field,
        family=family,
        executor="provider",
        grows=field if in_pieces else "",
    )
    return call, _server_result(f"{prefix}Result", family, "outputs" if in_pieces else "")


_approval = partial(_block, family="tool-approval", id_field="requestId")
_input = partial(_block, family="input", id_field="requestId")
BLOCKS = blocks(
    _block("text", Text, read=_read_text, write=_write_text, fields="text", grows="text"),
    _block(
        "reasoning",
        Reasoning,
        read=_read_reasoning,
        write=_write_reasoning,
        fields="text protectedData",
        grows="text",
    ),
    _block("data", Media, read=read_data, write=write_media, fields="uri name mediaType"),
    _block("uri", Media, read=read_uri, write=write_media, fields="uri mediaType"),
    _block("hostedFile", Media, read=read_file, write=write_media, fields="fileId mediaType name"),
    _block("error", Text, read=_read_error, write=_write_error, fields="message errorCode"),
    _opaque_block("hostedVectorStore"),
    _opaque_block("usage"),
    _block(
        "functionCall", Call, write=write_function_call, fields="name arguments informationalOnly"
    ),
    _block(
        "functionResult",
        Result,
        read=_read_function_result,
        write=_write_function_result,
        fields="result",
    ),
    _block(
        "mcpServerToolCall",
        Call,
        write=write_mcp_call,
        fields="name arguments",
        family="mcp",
        executor="provider",
    ),
    _server_result("mcpServerToolResult", "mcp"),
    *_server_tool(
        "codeInterpreterTool", "code_interpreter", "code-interpreter", "inputs", in_pieces=True
    ),
    *_server_tool("imageGenerationTool", "image_generation", "image-gen"),
    *_server_tool("webSearchTool", "web_search", "web-search", "queries"),
    *_server_tool("tool", "tool", "generic-server-tool"),
    _approval("toolApprovalRequest", Call, write=write_approval, fields="toolCall"),
    _approval(
        "toolApprovalResponse",
        Result,
        read=read_input_response,
        write=write_input_response,
        fields="toolCall approved reason",
    ),
    _input("inputRequest", Call, write=write_input_request, fields="name arguments"),
    _input(
        "inputResponse",
        Result,
        read=read_input_response,
        write=write_input_response,
        fields="approved reason",
    ),
)


def _write_any_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        return _write_error(part, context)
    return _write_text(part, context) if part.text else None


PART_WRITERS: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_any_text,
    Media: write_media,
    Call: write_function_call,
    Result: _write_function_result,
    Reasoning: lambda part, context: _write_reasoning(part, context) if part.text else None,
    Opaque: lambda part, context: part.value,
}
"""The functions that write parts; they return None for an empty part."""


def read_content(block: JSON, path: JsonPath) -> Part:
    """Read a content by its `$type`; a content that does not fit its type becomes opaque."""
    return read_block(NAME, BLOCKS, block, path, field="$type")
