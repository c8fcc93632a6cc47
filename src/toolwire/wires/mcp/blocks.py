"""Model Context Protocol: content blocks, the output of results, and tool definitions.

A resource is identified by its URI: a URI of the form `file:///name` becomes the file's name, any
other URI is kept.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, parse, text_of
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Call, Media, Output, Part, Result, Source, Text, describe
from toolwire.wires.engine.capabilities import DATA_OR_URL, MediaForm, MediaSupport, Place
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, mime_of
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    call_reader,
    keys,
    opaque,
    raise_unexpected,
    read_block,
    read_id,
    read_name,
    require_object,
    require_string,
    text_or_none,
    text_reader,
)
from toolwire.wires.families.rpc_log import log

NAME = "mcp"

# --- content blocks -------------------------------------------------------------------------------

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = "file:///"


def _uri_of(name: str | None) -> str:
    """The URI of a resource: its name if that is a URI, otherwise a `file:///` URI."""
    if name is not None and _SCHEME.match(name):
        return name
    return _FILE + quote(name or "", safe="", errors="surrogatepass")


def _name_of(uri: str) -> str | None:
    """The name of a resource: the reverse of `_uri_of`, or the URI if that is not reversible."""
    name = (unquote(uri.removeprefix(_FILE)) if uri.startswith(_FILE) else uri) or None
    return name if _uri_of(name) == uri else uri


def _write_text(part: Text, context: EncodeContext) -> JSON:
    return {"type": "text", "text": part.text}


def _read_data(block: Object, path: JsonPath, spec: Block) -> Part:
    return Media(
        "image" if spec.name == "image" else "audio",
        mime=text_or_none(block.get("mimeType")),
        data=require_string(block["data"]),
        source=Source(block, path, spec),
    )


def _write_data(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media) or "application/octet-stream"
    return {"type": media.kind, "data": media.data or "", "mimeType": mime}


def _read_link(block: Object, path: JsonPath, spec: Block) -> Part:
    uri, name = require_string(block["uri"]), text_or_none(block.get("name"))
    mime = text_or_none(block.get("mimeType"))
    return Media(
        kind_by(mime),
        mime=mime,
        url=uri,
        name=None if name == uri else name,
        source=Source(block, path, spec),
    )


def _write_link(media: Media, context: EncodeContext) -> JSON:
    mime, url = mime_of(media), media.url or ""
    out: Object = {"type": "resource_link", "uri": url, "name": media.name or url}
    return {**out, "mimeType": mime} if mime else out


def _read_resource(block: Object, path: JsonPath, spec: Block) -> Part:
    resource = require_object(block["resource"])
    mime, name = text_or_none(resource.get("mimeType")), _name_of(require_string(resource["uri"]))
    text = resource.get("text")
    source = Source(block, path, spec)
    if isinstance(text, str):
        return Media("file", mime=mime, text=text, name=name, source=source)
    data = require_string(resource["blob"])
    return Media(kind_by(mime), mime=mime, data=data, name=name, source=source)


def _write_resource(media: Media, context: EncodeContext) -> JSON:
    resource: Object = {"uri": _uri_of(media.name)}
    mime = media.mime if media.text is not None else mime_of(media)
    if mime:
        resource["mimeType"] = mime
    if media.text is not None:
        resource["text"] = media.text
    else:
        resource["blob"] = media.data
    return {"type": "resource", "resource": resource}


_ALL_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "file", "text"})
_MESSAGE_MEDIA = MediaSupport(image=_ALL_FORMS, audio=_ALL_FORMS, video=_ALL_FORMS, file=_ALL_FORMS)
"""Media of messages are not lowered: a log drops them and reports each once, and only the answer of
a model holds some of them."""
_FILE_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "text"})
MEDIA: dict[Place, MediaSupport] = {
    "system": _MESSAGE_MEDIA,
    "user": _MESSAGE_MEDIA,
    "assistant": _MESSAGE_MEDIA,
    "result": MediaSupport(
        image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=_FILE_FORMS
    ),
}


def write_media(media: Media, context: EncodeContext) -> JSON:
    """The block for a medium of another wire: images and audio as data, anything else as a
    resource."""
    if media.data is not None and media.kind in ("image", "audio"):
        if media.name is not None:
            context.report_loss(media, f"the name of this {media.kind} is not kept here")
        return _write_data(media, context)
    if media.text is None and kind_by(mime_of(media)) != media.kind:
        context.report_loss(
            media, f"a resource has only a MIME type; the kind {media.kind} is lost"
        )
    return _write_link(media, context) if media.url is not None else _write_resource(media, context)


CONTENT = blocks(
    Block(
        "text", part=Text, read=text_reader("text"), write=_write_text, keys=keys("type", "text")
    ),
    *(
        Block(
            kind,
            part=Media,
            read=_read_data,
            write=_write_data,
            keys=keys("type", "data", "mimeType"),
        )
        for kind in ("image", "audio")
    ),
    Block(
        "resource_link",
        part=Media,
        read=_read_link,
        write=_write_link,
        keys=keys("type", "uri", "name", "mimeType"),
    ),
    Block(
        "resource",
        part=Media,
        read=_read_resource,
        write=_write_resource,
        keys=keys("type", "resource"),
        inner=(("resource", keys("uri", "mimeType", "text", "blob")),),
    ),
)

# --- the output of a result -----------------------------------------------------------------------


def read_output(result: Object, path: JsonPath) -> tuple[Output, bool]:
    """The output of a result, and True if it is `structuredContent`.

    Servers repeat structured content as text for old clients. If the two differ, the model is meant
    to see the content.
    """
    content, structured = result.get("content"), result.get("structuredContent")
    text = _only_text(content)
    repeated = not content or (text is not None and _is_json_of(text, structured))
    if structured is not None and repeated:
        return structured, True
    if text is not None:
        return text, False
    if not isinstance(content, list):
        return ("" if content is None else content), False
    parts = (_read_content(block, (*path, "content", i)) for i, block in enumerate(content))
    return tuple(parts) or "", False


def _only_text(content: JSON) -> str | None:
    """The text of a content that is a single text block; otherwise None."""
    match content:
        case [{"type": "text", "text": str(text), **others}] if not others:
            return text
    return None


def _is_json_of(text: str, value: JSON) -> bool:
    try:
        return parse(text) == value
    except ValueError:
        return False


def _read_content(block: JSON, path: JsonPath) -> Part:
    if not isinstance(block, dict):
        return opaque("untyped", block, path)
    return read_block(NAME, CONTENT, block, path)


def write_output(result: Result, context: EncodeContext) -> Object:
    """Content, structured content and the error flag of a result."""
    output = context.output(result)
    out: Object = {"content": []}
    if isinstance(output, tuple):
        out["content"] = [_write_content(part, context) for part in output]
    elif isinstance(output, str):
        out["content"] = [{"type": "text", "text": output}] if output else []
    else:
        out["content"] = [{"type": "text", "text": text_of(output)}]
        out["structuredContent"] = output
    if context.is_error(result):
        out["isError"] = True
    return out


def _write_content(part: Part, context: EncodeContext) -> JSON:
    spec = part.spec
    if isinstance(spec, Block) and spec in CONTENT.values() and spec.part is type(part):
        return part.raw if part.original is None else spec.write(part, context)  # type: ignore[return-value,misc]
    if isinstance(part, Text):
        return _write_text(part, context)
    if isinstance(part, Media) and (part.data, part.url, part.text) != (None, None, None):
        return write_media(part, context)
    # Lowering skips parts that were edited on this wire.
    context.report_loss(part, f"a result contains this only as text here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


# --- calls and results inside sampling messages ---------------------------------------------------


def write_tool_use(call: Call, context: EncodeContext) -> JSON:
    """The block of a call."""
    return {
        "type": "tool_use",
        "id": context.call_id(call),
        "name": context.name(call.name),
        "input": context.arguments_object(call),
    }


def _read_tool_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("toolUseId"))
    output, structured = read_output(block, path)
    return Result(
        call_id,
        output,
        error=block.get("isError") is True,
        origin=origin,
        family="sampling-tool",
        source=Source(block, path, STRUCTURED_TOOL_RESULT if structured else spec),
    )


def write_tool_result(result: Result, context: EncodeContext) -> JSON:
    """The block of a result."""
    return {
        "type": "tool_result",
        "toolUseId": context.result_id(result),
        **write_output(result, context),
    }


TOOL_USE = Block(
    "tool_use",
    part=Call,
    read=call_reader("input"),
    write=write_tool_use,
    keys=keys("type", "id", "name", "input"),
    family="sampling-tool",
    ids=(Id("id"),),
)
TOOL_RESULT = Block(
    "tool_result",
    part=Result,
    read=_read_tool_result,
    write=write_tool_result,
    keys=keys("type", "toolUseId", "content", "isError"),
    family="sampling-tool",
    ids=(Id("toolUseId"),),
    forms=("request",),
)
STRUCTURED_TOOL_RESULT = replace(TOOL_RESULT, keys=TOOL_RESULT.keys | {"structuredContent"})
BLOCKS = CONTENT | blocks(TOOL_USE, TOOL_RESULT)

# --- tool definitions -----------------------------------------------------------------------------

TOOL = Block("tool", part=Tool, keys=keys("name", "description", "inputSchema"))


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """A tool definition."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    return Tool(
        read_name(tool.get("name")),
        description=text_or_none(tool.get("description")),
        schema=tool.get("inputSchema"),
        source=Source(tool, path, TOOL),
    )


def _write_tool(tool: Tool, context: EncodeContext) -> JSON:
    out: Object = {"name": context.name(tool.name)}
    if tool.description is not None:
        out["description"] = tool.description
    schema = context.schema_of(tool)
    if not isinstance(schema, dict):
        schema = {"type": "object", "properties": {}}
    out["inputSchema"] = schema
    return out


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tool definitions."""
    return log.write_tools(tools, context, specs=(TOOL,), read=read_tool, write=_write_tool)
