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
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import kind_by, mime_of
from toolwire.wires.engine.specs import (
    Id,
    Row,
    blame,
    call_id,
    keys,
    name_of,
    obj,
    read_block,
    result_id,
    string,
    table,
    text_or_none,
    unknown,
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


def _read_data(block: Object, at: JsonPath, row: Row) -> Part:
    kind = "image" if row.name == "image" else "audio"
    return Media(
        kind,  # type: ignore[arg-type]
        text_or_none(block.get("mimeType")),
        string(block["data"]),
        source=Source(block, at, row),
    )


def _write_data(media: Media, page: Page) -> JSON:
    mime = media.mime or mime_of(media) or "application/octet-stream"
    return {"type": media.kind, "data": media.data or "", "mimeType": mime}


def _read_link(block: Object, at: JsonPath, row: Row) -> Part:
    uri, name, mime = (
        string(block["uri"]),
        text_or_none(block.get("name")),
        text_or_none(block.get("mimeType")),
    )
    return Media(
        kind_by(mime),
        mime,
        url=uri,
        name=None if name == uri else name,
        source=Source(block, at, row),
    )


def _write_link(media: Media, page: Page) -> JSON:
    mime = mime_of(media)
    url = media.url or ""
    return {
        "type": "resource_link",
        "uri": url,
        "name": media.name or url,
        **({"mimeType": mime} if mime else {}),
    }


def _read_resource(block: Object, at: JsonPath, row: Row) -> Part:
    held = obj(block["resource"])
    mime, name = text_or_none(held.get("mimeType")), _name(string(held["uri"]))
    if isinstance(held.get("text"), str):
        return Media(
            "file", mime, text=string(held["text"]), name=name, source=Source(block, at, row)
        )
    return Media(
        kind_by(mime), mime, string(held["blob"]), name=name, source=Source(block, at, row)
    )


def _write_resource(media: Media, page: Page) -> JSON:
    mime = media.mime if media.text is not None else mime_of(media)
    held: Object = {"uri": _uri(media.name), **({"mimeType": mime} if mime else {})}
    return {
        "type": "resource",
        "resource": {
            **held,
            **({"text": media.text} if media.text is not None else {"blob": media.data}),
        },
    }


def write_media(media: Media, page: Page) -> JSON:
    """A medium of another wire: pictures and sounds as data, the rest as resources; a file id can
    only be named."""
    if media.data is not None and media.kind in ("image", "audio"):
        if media.name is not None:
            page.lose(media, "a picture or sound has no name here")
        return _write_data(media, page)
    if media.url is None and media.data is None and media.text is None:
        page.lose(media, "a file id of another provider; it is named in text")
        return {"type": "text", "text": describe(media)}
    if media.text is None and kind_by(mime_of(media)) != media.kind:
        page.lose(
            media,
            f"a resource is known by its MIME type here; that it is of kind {media.kind} stays"
            " behind",
        )
    return _write_link(media, page) if media.url is not None else _write_resource(media, page)


# --- what a tool gave -----------------------------------------------------------------------------


def _plain(content: JSON) -> str | None:
    """The text of a content that is one plain text and nothing else."""
    match content:
        case [{"type": "text", "text": str(text), **more}] if not more:
            return text
    return None


def read_output(held: Object, at: JsonPath) -> tuple[Output, bool]:
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
        tuple(_read_inside(block, (*at, "content", i)) for i, block in enumerate(content)) or "",
        False,
    )


def _read_inside(block: JSON, at: JsonPath) -> Part:
    return (
        read_block(NAME, CONTENT, block, at)
        if isinstance(block, dict)
        else unknown("untyped", block, at)
    )


def _same(text: str, value: JSON) -> bool:
    try:
        return parse(text) == value
    except ValueError:
        return False


def write_output(result: Result, page: Page) -> Object:
    """Content, structured content and the error flag of a result."""
    output = page.output(result)
    out: Object = {"content": []}
    if isinstance(output, tuple):
        out["content"] = [_write_inside(part, page) for part in output]
    elif isinstance(output, str):
        out["content"] = [{"type": "text", "text": output}] if output else []
    else:
        out = {"content": [{"type": "text", "text": text_of(output)}], "structuredContent": output}
    if page.failed(result):
        out["isError"] = True
    return out


def _write_inside(part: Part, page: Page) -> JSON:
    row = part.spec
    if isinstance(row, Row) and row in CONTENT.values() and row.part is type(part):
        return part.raw if part.original is None else row.write(part, page)  # type: ignore[return-value,misc]
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Media):
        return write_media(part, page)
    page.lose(part, f"a result cannot hold this here but as text: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


# --- sampling: calls and results inside messages --------------------------------------------------


def _read_use(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = call_id(block.get("id"))
    given = block.get("input")
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        name_of(block.get("name")),
        args,
        origin,
        "sampling-tool",
        source=Source(block, at, row),
    )


def write_use(call: Call, page: Page) -> JSON:
    """A call inside a message."""
    return {
        "type": "tool_use",
        "id": page.call_id(call),
        "name": page.name(call.name),
        "input": page.object_of(call),
    }


def _read_used(block: Object, at: JsonPath, row: Row) -> Part:
    one, origin = result_id(block.get("toolUseId"))
    output, structured = read_output(block, at)
    known = _USED_STRUCTURED if structured else row
    return Result(
        one,
        output,
        block.get("isError") is True,
        None,
        origin,
        "sampling-tool",
        source=Source(block, at, known),
    )


def write_used(result: Result, page: Page) -> JSON:
    """A result inside a message."""
    return {
        "type": "tool_result",
        "toolUseId": page.result_id(result),
        **write_output(result, page),
    }


_USED = keys("type", "toolUseId", "content", "isError")
_USED_STRUCTURED = Row("tool_result", Result, None, write_used, _USED | keys("structuredContent"))
CONTENT = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Row("image", Media, _read_data, _write_data, keys("type", "data", "mimeType")),
    Row("audio", Media, _read_data, _write_data, keys("type", "data", "mimeType")),
    Row("resource_link", Media, _read_link, _write_link, keys("type", "uri", "name", "mimeType")),
    Row(
        "resource",
        Media,
        _read_resource,
        _write_resource,
        keys("type", "resource"),
        (("resource", keys("uri", "mimeType", "text", "blob")),),
    ),
)
BLOCKS = CONTENT | table(
    Row(
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
    Row(
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

OFFER = Row("tool", Tool, keys=keys("name", "description", "inputSchema"))


def read_offer(tool: JSON, at: JsonPath) -> Tool:
    """A tool on offer."""
    if not isinstance(tool, dict):
        blame(NAME, at, "an object", tool)
    return Tool(
        name_of(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("inputSchema"),
        source=Source(tool, at, OFFER),
    )


def write_tools(tools: tuple[Tool, ...], page: Page) -> list[JSON]:
    """The tools as a list of definitions; those read from this wire go as they came, but for what
    was changed."""
    out: list[JSON] = []
    for tool in tools:
        if tool.spec is OFFER:
            was = read_offer(tool.raw, tool.path)  # type: ignore[arg-type]
            out.append(patch(was.raw, _offer(was, page), _offer(tool, page)))  # type: ignore[arg-type]
        elif tool.kind in ("function", "custom"):
            out.append(_offer(tool, page))
        else:
            page.lose(tool, f"a tool of another provider: {tool.kind}")
    return out


def _offer(tool: Tool, page: Page) -> JSON:
    given: Object = {"name": page.name(tool.name)}
    if tool.description is not None:
        given["description"] = tool.description
    schema = page.schema_of(tool)
    given["inputSchema"] = (
        schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
    )
    if tool.strict is not None:
        page.lose(tool, "no strict flag here")
    return given
