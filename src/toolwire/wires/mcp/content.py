"""Model Context Protocol: content blocks, what a tool gave, and the tools on offer.

A resource is known by its URI: one of the form `file:///name` is the file's name, any other is kept
whole.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from toolwire.conversation.json import JSON, JsonPath, Object, parse, patch, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Call, Media, Output, Part, Result, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, mime_of
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    opaque,
    raise_unexpected,
    read_block,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)

NAME = "mcp"

# --- content --------------------------------------------------------------------------------------

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = "file:///"


def _uri(name: str | None) -> str:
    return name if name is not None and _URI.match(name) else _FILE + quote(name or "", safe="")


def _name(uri: str) -> str | None:
    """The name a URI stands for: the reverse of `_uri`, and the URI itself where that would not
    lead back to it."""
    name = unquote(uri.removeprefix(_FILE)) if uri.startswith(_FILE) else uri
    return (name or None) if _uri(name or None) == uri else uri


def _read_data(block: Object, path: JsonPath, spec: Block) -> Part:
    kind = "image" if spec.name == "image" else "audio"
    return Media(
        kind,  # type: ignore[arg-type]
        text_or_none(block.get("mimeType")),
        require_string(block["data"]),
        source=Source(block, path, spec),
    )


def _write_data(media: Media, context: EncodeContext) -> JSON:
    mime = media.mime or mime_of(media) or "application/octet-stream"
    return {"type": media.kind, "data": media.data or "", "mimeType": mime}


def _read_link(block: Object, path: JsonPath, spec: Block) -> Part:
    uri, name, mime = (
        require_string(block["uri"]),
        text_or_none(block.get("name")),
        text_or_none(block.get("mimeType")),
    )
    return Media(
        kind_by(mime),
        mime,
        url=uri,
        name=None if name == uri else name,
        source=Source(block, path, spec),
    )


def _write_link(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media)
    url = media.url or ""
    return {
        "type": "resource_link",
        "uri": url,
        "name": media.name or url,
        **({"mimeType": mime} if mime else {}),
    }


def _read_resource(block: Object, path: JsonPath, spec: Block) -> Part:
    held = require_object(block["resource"])
    mime, name = text_or_none(held.get("mimeType")), _name(require_string(held["uri"]))
    if isinstance(held.get("text"), str):
        return Media(
            "file",
            mime,
            text=require_string(held["text"]),
            name=name,
            source=Source(block, path, spec),
        )
    return Media(
        kind_by(mime),
        mime,
        require_string(held["blob"]),
        name=name,
        source=Source(block, path, spec),
    )


def _write_resource(media: Media, context: EncodeContext) -> JSON:
    mime = media.mime if media.text is not None else mime_of(media)
    held: Object = {"uri": _uri(media.name), **({"mimeType": mime} if mime else {})}
    return {
        "type": "resource",
        "resource": {
            **held,
            **({"text": media.text} if media.text is not None else {"blob": media.data}),
        },
    }


def write_media(media: Media, context: EncodeContext) -> JSON:
    """A medium of another wire: pictures and sounds as data, the rest as resources; a file id can
    only be named."""
    if media.data is not None and media.kind in ("image", "audio"):
        if media.name is not None:
            context.report_loss(media, "a picture or sound has no name here")
        return _write_data(media, context)
    if media.url is None and media.data is None and media.text is None:
        context.report_loss(media, "a file id of another provider; it is named in text")
        return {"type": "text", "text": describe(media)}
    if media.text is None and kind_by(mime_of(media)) != media.kind:
        context.report_loss(
            media,
            f"a resource is known by its MIME type here; that it is of kind {media.kind} stays"
            " behind",
        )
    return _write_link(media, context) if media.url is not None else _write_resource(media, context)


# --- what a tool gave -----------------------------------------------------------------------------


def _plain(content: JSON) -> str | None:
    """The text of a content that is one plain text and nothing else."""
    match content:
        case [{"type": "text", "text": str(text), **more}] if not more:
            return text
    return None


def read_output(held: Object, path: JsonPath) -> tuple[Output, bool]:
    """The output of a result, and whether all of it was `structuredContent`.

    Servers repeat structured content as text for old clients. Where the two say different things,
    the content is what the model was meant to see.
    """
    content = held.get("content")
    structured = held.get("structuredContent")
    text = _plain(content)
    if structured is not None and (not content or (text is not None and _same(text, structured))):
        return structured, True
    if text is not None:
        return text, False
    if not isinstance(content, list):
        return ("" if content is None else content), False
    return (
        tuple(_read_inside(block, (*path, "content", i)) for i, block in enumerate(content)) or "",
        False,
    )


def _read_inside(block: JSON, path: JsonPath) -> Part:
    return (
        read_block(NAME, CONTENT, block, path)
        if isinstance(block, dict)
        else opaque("untyped", block, path)
    )


def _same(text: str, value: JSON) -> bool:
    try:
        return parse(text) == value
    except ValueError:
        return False


def write_output(result: Result, context: EncodeContext) -> Object:
    """Content, structured content and the error flag of a result."""
    output = context.output(result)
    out: Object = {"content": []}
    if isinstance(output, tuple):
        out["content"] = [_write_inside(part, context) for part in output]
    elif isinstance(output, str):
        out["content"] = [{"type": "text", "text": output}] if output else []
    else:
        out = {"content": [{"type": "text", "text": text_of(output)}], "structuredContent": output}
    if context.is_error(result):
        out["isError"] = True
    return out


def _write_inside(part: Part, context: EncodeContext) -> JSON:
    spec = part.spec
    if isinstance(spec, Block) and spec in CONTENT.values() and spec.part is type(part):
        return part.raw if part.original is None else spec.write(part, context)  # type: ignore[return-value,misc]
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Media):
        return write_media(part, context)
    context.report_loss(part, f"a result cannot hold this here but as text: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


# --- sampling: calls and results inside messages --------------------------------------------------


def _read_use(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("id"))
    given = block.get("input")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        read_name(block.get("name")),
        args,
        origin,
        "sampling-tool",
        source=Source(block, path, spec),
    )


def write_use(call: Call, context: EncodeContext) -> JSON:
    """A call inside a message."""
    return {
        "type": "tool_use",
        "id": context.call_id(call),
        "name": context.name(call.name),
        "input": context.arguments_object(call),
    }


def _read_used(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(block.get("toolUseId"))
    output, structured = read_output(block, path)
    known = _USED_STRUCTURED if structured else spec
    return Result(
        one,
        output,
        block.get("isError") is True,
        None,
        origin,
        "sampling-tool",
        source=Source(block, path, known),
    )


def write_used(result: Result, context: EncodeContext) -> JSON:
    """A result inside a message."""
    return {
        "type": "tool_result",
        "toolUseId": context.result_id(result),
        **write_output(result, context),
    }


_USED = keys("type", "toolUseId", "content", "isError")
_USED_STRUCTURED = Block("tool_result", Result, None, write_used, _USED | keys("structuredContent"))
CONTENT = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Block("image", Media, _read_data, _write_data, keys("type", "data", "mimeType")),
    Block("audio", Media, _read_data, _write_data, keys("type", "data", "mimeType")),
    Block("resource_link", Media, _read_link, _write_link, keys("type", "uri", "name", "mimeType")),
    Block(
        "resource",
        Media,
        _read_resource,
        _write_resource,
        keys("type", "resource"),
        (("resource", keys("uri", "mimeType", "text", "blob")),),
    ),
)
BLOCKS = CONTENT | blocks(
    Block(
        "tool_use",
        Call,
        _read_use,
        write_use,
        keys("type", "id", "name", "input"),
        (),
        {"type": "tool_use"},
        "call",
        "sampling-tool",
        "client",
        (Id("id"),),
    ),
    Block(
        "tool_result",
        Result,
        _read_used,
        write_used,
        _USED,
        (),
        {"type": "tool_result"},
        "output",
        "sampling-tool",
        "client",
        (Id("toolUseId"),),
        ("request",),
    ),
)

# --- tools ----------------------------------------------------------------------------------------

OFFER = Block("tool", Tool, keys=keys("name", "description", "inputSchema"))


def read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("inputSchema"),
        source=Source(tool, path, OFFER),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tools as a list of definitions; those read from this wire go as they came, but for what
    was changed."""
    out: list[JSON] = []
    for tool in tools:
        if tool.spec is OFFER:
            was = read_offer(tool.raw, tool.path)  # type: ignore[arg-type]
            out.append(patch(was.raw, _offer(was, context), _offer(tool, context)))  # type: ignore[arg-type]
        elif tool.kind in ("function", "custom"):
            out.append(_offer(tool, context))
        else:
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
    return out


def _offer(tool: Tool, context: EncodeContext) -> JSON:
    given: Object = {"name": context.name(tool.name)}
    if tool.description is not None:
        given["description"] = tool.description
    schema = context.schema_of(tool)
    given["inputSchema"] = (
        schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
    )
    if tool.strict is not None:
        context.report_loss(tool, "no strict flag here")
    return given
