"""The content blocks of Anthropic Messages: how each type is read and written."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolwire.conversation.id_rules import NAMESPACE_SEPARATOR
from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
    output_text,
)
from toolwire.wires.anthropic.settings import CACHE_BREAKPOINTS, NAME
from toolwire.wires.engine.capabilities import Capabilities, MediaForm, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import mime_of
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    opaque,
    read_block,
    read_id,
    read_name,
    read_value,
    require_object,
    require_string,
    text_or_none,
    text_reader,
)
from toolwire.wires.families.items.namespaces import join_name, split_name

MAKER = "anthropic"
"""The maker that signs reasoning. Other platforms that serve the same models accept it."""
WriteCall: TypeAlias = "Callable[[Call, EncodeContext], JSON]"


# --- text, media, thinking ------------------------------------------------------------------------


_TEXT_IN_RESPONSE: Object = {"citations": []}
_CALL_IN_RESPONSE: Object = {"caller": {"type": "direct"}}


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    source = Source(block, path, spec, None, len(block) == 2)
    return Text(require_string(block["text"]), source=source)


def _write_text(part: Text, context: EncodeContext) -> JSON:
    more = _TEXT_IN_RESPONSE if context.kind == "response" else {}
    return {"type": "text", "text": part.text, **more}


_SOURCES = {
    "base64": ("data", "data"),
    "url": ("url", "url"),
    "file": ("file_id", "file"),
    "text": ("data", "text"),
}
"""The types of a media source: the field that holds the content, and the field of `Media`."""
_SOURCE_KEYS = (("source", keys("type", "media_type", "data", "url", "file_id")),)


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    source = require_object(block["source"])
    field, media_field = _SOURCES[require_string(source["type"])]
    media = Media(
        "image" if spec.name == "image" else "file",
        text_or_none(source.get("media_type")),
        name=text_or_none(block.get("title")),
        source=Source(block, path, spec),
    )
    return replace(media, **{media_field: require_string(source[field])})


def _media_source(media: Media) -> Object | None:
    """The `source` of a media block; None if this wire cannot hold the medium."""
    if media.kind not in ("image", "file"):
        return None
    if media.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": media.text}
    if media.url is not None:
        is_http = media.url.startswith(("http://", "https://"))
        return {"type": "url", "url": media.url} if is_http else None
    if media.file is not None:  # a file id is valid only for the provider that gave it
        is_native = any(media.spec is spec for spec in BLOCKS.values())
        return {"type": "file", "file_id": media.file} if is_native else None
    mime = mime_of(media) or ""
    if mime == "application/pdf" or (media.kind == "image" and mime):
        return {"type": "base64", "media_type": mime, "data": media.data}
    if media.data is None or not mime.startswith("text/"):
        return None
    try:
        text = b64decode(media.data, validate=True).decode()
    except (Base64Error, ValueError):
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}


def _write_media(media: Media, context: EncodeContext) -> JSON:
    source = _media_source(media)
    if source is None:  # an edit of a block of this wire: lowering replaces media of other wires
        context.report_loss(
            media, f"this wire does not accept this {media.kind}; replaced by a text description"
        )
        return {"type": "text", "text": describe(media)}
    if media.kind == "image":
        return {"type": "image", "source": source}
    title: Object = {"title": media.name} if media.name is not None else {}
    return {"type": "document", "source": source, **title}


def _read_thinking(block: Object, path: JsonPath, spec: Block) -> Part:
    return Reasoning(
        require_string(block["thinking"]),
        signature=text_or_none(block.get("signature")) or None,
        source=Source(block, path, spec),
    )


def _read_redacted_thinking(block: Object, path: JsonPath, spec: Block) -> Part:
    return Reasoning("", require_string(block["data"]), source=Source(block, path, spec))


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    if part.hidden is not None:
        return {"type": "redacted_thinking", "data": part.hidden}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}


def _write_foreign_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    """Write reasoning of another wire. A request holds it only if its signature is valid here; an
    answer can hold reasoning of other providers too, without their signatures."""
    valid = context.kind == "request" or takes_signature(part, CAPABILITIES)
    return _write_thinking(part if valid else replace(part, signature=None), context)


# --- calls and results ----------------------------------------------------------------------------


def _write_tool_use(call: Call, context: EncodeContext) -> JSON:
    name = context.name(call.name)
    block: Object = {
        "type": "tool_use",
        "id": context.call_id(call),
        "name": name,
        "input": context.arguments_object(call),
    }
    if NAMESPACE_SEPARATOR in name:
        toolset, block["name"] = split_name(name)
        if toolset:
            block["toolset_name"] = toolset
            context.called_names[call.id] = name  # its result repeats the toolset
    return {**block, **_CALL_IN_RESPONSE} if context.kind == "response" else block


def _call_block(
    block_type: str,
    family: str,
    *,
    executor: Literal["client", "provider"],
    write: WriteCall | None = None,
    more_keys: frozenset[str] = frozenset(),
) -> Block:
    """The spec of a call type; all of them have the same shape."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get("id"))
        name, call_family = read_name(block.get("name")), family
        toolset = block.get("toolset_name")
        if isinstance(toolset, str):
            call_family = f"{toolset}-toolset"
            if toolset and name:  # two toolsets may each have a tool of this name
                name = join_name(toolset, name)
        arguments = read_value(block.get("input"))
        is_complete = len(block) == 4 and "input" in block and name != "" and origin == "wire"
        source = Source(block, path, spec, None, is_complete)
        return Call(call_id, name, arguments, origin, call_family, executor, source=source)

    def write_native(call: Call, context: EncodeContext) -> JSON:
        return {"type": block_type, "id": call.id, "name": call.name, "input": call.input}

    return Block(
        block_type,
        part=Call,
        read=read,
        write=write or write_native,
        keys=keys("type", "id", "name", "input") | more_keys,
        required=_CALL_IN_RESPONSE,
        family=family,
        executor=executor,
        ids=(Id("id"), Id("caller", "parent-call", required=False, nullable=True)),
        deltas={"input_json_delta": ("partial_json", "input")},
    )


def _read_tool_result(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("tool_use_id"))
    content = block.get("content")
    output: Output = content if content is not None else ""
    if isinstance(content, list):
        output = tuple(
            read_block(NAME, BLOCKS, inner, path + ("content", i))
            for i, inner in enumerate(content)
        )
    is_error = block.get("is_error") is True
    is_complete = len(block) == 3 and content.__class__ is str and origin == "wire"
    source = Source(block, path, spec, None, is_complete)
    return Result(call_id, output, is_error, None, origin, source=source)


def _write_tool_result(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    plain = context.no_mapping and not context.called_names
    if plain and isinstance(output, str) and not result.error:
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": output}
    out: Object = {"type": "tool_result", "tool_use_id": context.result_id(result)}
    context.record_result_form(result, flag=True, structure=False)
    output = context.output(result)
    if isinstance(output, tuple):
        content = (_write_result_part(part, context) for part in output)
        out["content"] = [block for block in content if block is not None]
    else:
        out["content"] = output if isinstance(output, str) else text_of(output)
    if context.is_error(result):
        out["is_error"] = True
    toolset, _ = split_name(context.called_names.get(result.call_id, ""))
    if toolset:
        out["toolset_name"] = toolset
    return out


def _write_result_part(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Media):
        return _write_media(part, context)
    if isinstance(part, Opaque):
        return part.value
    text = context.text_in_result(describe(part), part)
    return {"type": "text", "text": text} if text else None


def _server_result_block(
    block_type: str, family: str, more_keys: frozenset[str] = frozenset()
) -> Block:
    """The spec of a result of a server tool: its content is data, or one error object."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        call_id, origin = read_id(block.get("tool_use_id"))
        content = block.get("content")
        failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
        return Result(
            call_id,
            content,
            failed or block.get("is_error") is True,
            None,
            origin,
            family,
            "provider",
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        output = result.output
        content = output_text(output) if isinstance(output, tuple) else output
        return {"type": block_type, "tool_use_id": result.call_id, "content": content}

    return Block(
        block_type,
        part=Result,
        read=read,
        write=write,
        keys=keys("type", "tool_use_id", "content") | more_keys,
        family=family,
        executor="provider",
        ids=(Id("tool_use_id"),),
    )


BLOCKS = blocks(
    Block(
        "text",
        part=Text,
        read=_read_text,
        write=_write_text,
        keys=keys("type", "text"),
        required=_TEXT_IN_RESPONSE,
        deltas={"text_delta": ("text", "text"), "citations_delta": ("citation", "citations")},
    ),
    Block(
        "image",
        part=Media,
        read=_read_media,
        write=_write_media,
        keys=keys("type", "source"),
        inner=_SOURCE_KEYS,
    ),
    Block(
        "document",
        part=Media,
        read=_read_media,
        write=_write_media,
        keys=keys("type", "source", "title"),
        inner=_SOURCE_KEYS,
    ),
    Block(
        "container_upload",
        part=Media,
        read=lambda block, path, spec: Media(
            "file", file=require_string(block["file_id"]), source=Source(block, path, spec)
        ),
        write=lambda part, context: {"type": "container_upload", "file_id": part.file},
        keys=keys("type", "file_id"),
    ),
    *(
        Block(name, part=Opaque, read=lambda block, path, spec: opaque(spec.name, block, path))
        for name in ("search_result", "tool_reference")
    ),
    # The summary of older messages, which the model gets instead of them.
    Block(
        "compaction",
        part=Text,
        read=text_reader("content"),
        write=lambda part, context: {"type": "compaction", "content": part.text},
        keys=keys("type", "content"),
        deltas={"compaction_delta": ("content", "content")},
    ),
    Block(
        "thinking",
        part=Reasoning,
        read=_read_thinking,
        write=_write_thinking,
        keys=keys("type", "thinking", "signature"),
        signed_by=MAKER,
        deltas={
            "thinking_delta": ("thinking", "thinking"),
            "signature_delta": ("signature", "signature"),
        },
    ),
    Block(
        "redacted_thinking",
        part=Reasoning,
        read=_read_redacted_thinking,
        write=_write_thinking,
        keys=keys("type", "data"),
        signed_by=MAKER,
    ),
    _call_block(
        "tool_use",
        "function",
        executor="client",
        write=_write_tool_use,
        more_keys=keys("toolset_name"),
    ),
    Block(
        "tool_result",
        part=Result,
        read=_read_tool_result,
        write=_write_tool_result,
        keys=keys("type", "tool_use_id", "content", "is_error", "toolset_name"),
        family="function",
        ids=(Id("tool_use_id"),),
        forms=("request",),
    ),
    _call_block("server_tool_use", "server-tool", executor="provider"),
    _call_block("mcp_tool_use", "mcp", executor="provider", more_keys=keys("server_name")),
    _server_result_block("mcp_tool_result", "mcp", keys("is_error")),
    _server_result_block("web_search_tool_result", "web-search"),
    _server_result_block("web_fetch_tool_result", "web-fetch"),
    _server_result_block("code_execution_tool_result", "code-execution"),
    _server_result_block("bash_code_execution_tool_result", "bash-code-execution"),
    _server_result_block("text_editor_code_execution_tool_result", "text-editor"),
    _server_result_block("tool_search_tool_result", "tool-search"),
    _server_result_block("advisor_tool_result", "advisor"),
)
TOOLSETS = tuple(
    Block(
        "tool_use",
        part=Call,
        discriminator={"type": "tool_use", "toolset_name": name},
        family=f"{name}-toolset",
        ids=(Id("id"), Id("caller", "parent-call")),
        forms=("response",),
    )
    for name in ("computer", "browser")
)
"""`tool_use` blocks with a toolset: entries of the catalogue, read with the spec of `tool_use`."""
PLAIN = Block("content", part=Text, write=lambda part, context: part.text)
"""Content that is a plain string."""
TOOL_MESSAGE = Block(
    "tool", part=Result, keys=keys("role", "content", "tool_call_id", "name", "is_error")
)
"""A result as a separate message, as on other wires. The API refuses it."""
MESSAGE = Block("message", part=Message, keys=keys("role", "content"))


# --- parts of other wires -------------------------------------------------------------------------


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: lambda part, context: _write_text(part, context) if part.text else None,
    Media: _write_media,
    Call: _write_tool_use,
    Result: _write_tool_result,
    Reasoning: _write_foreign_reasoning,
    Opaque: lambda part, context: part.value,
}
"""The functions that write parts; None for an empty text."""

_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "file", "text"})
_MEDIA = MediaSupport(
    image=_FORMS, file=_FORMS, accepts=lambda media: _media_source(media) is not None
)
CAPABILITIES = Capabilities(
    refusals=False,
    media={"user": _MEDIA, "result": _MEDIA},
    media_names=frozenset({"file"}),
    url_types=False,
    reasoning_in_history=False,
    reasoning_signed_by=MAKER,
    system_anywhere=False,
    candidates=False,
    choice_names="one",
    format_fields=frozenset(),
    cache_breakpoints=CACHE_BREAKPOINTS,
)
