"""The content blocks of Bedrock Converse: how each type is read and written."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
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
)
from toolwire.wires.bedrock.media import (
    DETAILED,
    MEDIA,
    MESSAGE_MEDIA,
    RESULT_MEDIA,
    SEARCH_RESULT,
    join_texts,
    keeps_name,
    write_media,
)
from toolwire.wires.bedrock.settings import CACHE_BREAKPOINTS, CACHE_POINT, NAME
from toolwire.wires.engine.capabilities import Capabilities
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import takes_signature
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    read_block_by_field,
    read_id,
    read_name,
    read_value,
    require_object,
    require_string,
    text_or_none,
)

MAKER = "anthropic"
"""The maker that signs reasoning: on this platform, only its models do."""

# --- text and reasoning ---------------------------------------------------------------------------


def _text_part(text: JSON, block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(require_string(text), source=Source(block, path, spec))


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    text = block["text"]
    if text.__class__ is not str:
        raise TypeError("a string")
    return Text(text, source=Source(block, path, spec, None, len(block) == 1))


def _read_cited_text(block: Object, path: JsonPath, spec: Block) -> Part:
    content = require_object(block["citationsContent"])
    return _text_part(join_texts(content["content"]), block, path, spec)


def _read_guarded_text(block: Object, path: JsonPath, spec: Block) -> Part:
    content = require_object(require_object(block["guardContent"])["text"])
    return _text_part(content["text"], block, path, spec)


def _read_reasoning(block: Object, path: JsonPath, spec: Block) -> Part:
    content = require_object(block["reasoningContent"])
    if "redactedContent" in content:
        redacted = require_string(content["redactedContent"])
        return Reasoning("", redacted, source=Source(block, path, spec))
    reasoning = require_object(content["reasoningText"])
    if reasoning.keys() - {"text", "signature"}:
        spec = _DETAILED_REASONING
    signed_only = "text" not in reasoning and "signature" in reasoning
    return Reasoning(
        "" if signed_only else require_string(reasoning["text"]),
        signature=text_or_none(reasoning.get("signature")),
        source=Source(block, path, spec),
    )


def _write_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    if part.hidden is not None:
        return {"reasoningContent": {"redactedContent": part.hidden}}
    reasoning: Object = {"text": part.text}
    if part.signature is not None:
        reasoning["signature"] = part.signature
    return {"reasoningContent": {"reasoningText": reasoning}}


def _write_foreign_reasoning(part: Reasoning, context: EncodeContext) -> JSON:
    """Write reasoning of another wire. A request holds it only if its signature is valid here; an
    answer can hold reasoning of other providers too, without their signatures."""
    valid = context.kind == "request" or takes_signature(part, CAPABILITIES)
    return _write_reasoning(part if valid else replace(part, signature=None), context)


# --- calls and results ----------------------------------------------------------------------------


def _read_tool_use(block: Object, path: JsonPath, spec: Block) -> Part:
    use = require_object(block["toolUse"])
    if use.get("type") == "server_tool_use":
        spec = BLOCKS["server_tool_use"]
    call_id, origin = read_id(use.get("toolUseId"))
    name = read_name(use.get("name"))
    # toolUseId, name, input
    has_only_these = len(use) == 3 and "input" in use and name != "" and origin == "wire"
    return Call(
        call_id,
        name,
        read_value(use.get("input")),
        origin,
        spec.family,
        spec.executor,
        source=Source(block, path, spec, None, has_only_these and len(block) == 1),
    )


def _write_tool_use(call: Call, context: EncodeContext) -> JSON:
    use: Object = {
        "toolUseId": context.call_id(call),
        "name": context.name(call.name),
        "input": context.arguments_object(call),
    }
    if call.executor == "provider":
        use["type"] = "server_tool_use"
    return {"toolUse": use}


def _read_output(content: JSON, path: JsonPath) -> Output:
    """The output of a result: one text, one JSON value, or parts."""
    if not isinstance(content, list):
        return "" if content is None else content
    only = content[0] if len(content) == 1 else None
    if isinstance(only, dict) and len(only) == 1:
        if isinstance(only.get("text"), str):
            return only["text"]
        if "json" in only:
            return only["json"]
    parts = [
        read_block_by_field(NAME, RESULT_BLOCKS, block, path + (i,))
        for i, block in enumerate(content)
    ]
    return tuple(parts) or ""


def _read_tool_result(block: Object, path: JsonPath, spec: Block) -> Part:
    result = require_object(block["toolResult"])
    call_id, origin = read_id(result.get("toolUseId"))
    content, status = result.get("content"), result.get("status")
    fields = 2 if status is None else 3  # toolUseId, content, status
    output = _read_output(content, (*path, "toolResult", "content"))
    is_whole = content is not None and not isinstance(output, tuple)
    has_only_these = len(result) == fields and is_whole and origin == "wire"
    return Result(
        call_id,
        output,
        status == "error",
        None,
        origin,
        spec.family,
        spec.executor,
        source=Source(block, path, spec, None, has_only_these and len(block) == 1),
    )


def _write_tool_result(result: Result, context: EncodeContext) -> JSON:
    context.record_result_form(result, flag=True, structure=isinstance(result.output, dict))
    output = context.output(result)
    content: list[JSON]
    if isinstance(output, tuple):
        written = (_write_result_part(part, context) for part in output)
        content = [block for block in written if block is not None]
    elif isinstance(output, dict):
        content = [{"json": output}]
    else:
        text = output if isinstance(output, str) else text_of(output)
        text = context.text_in_result(text, result)
        content = [{"text": text}] if text else []
    out: Object = {"toolUseId": context.result_id(result), "content": content}
    if context.is_error(result):
        if not content:
            context.report_loss(result, "an error cannot be empty here; sent with the text `error`")
            out["content"] = [{"text": "error"}]
        out["status"] = "error"
    if result.executor == "provider" and isinstance(result.raw, dict):
        result_type = get(result.raw, ("toolResult", "type"))
        if isinstance(result_type, str):
            out["type"] = result_type
    return {"toolResult": out}


def _write_result_part(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Media) and (part.text is None or keeps_name(part)):
        return write_media(part, context)
    if isinstance(part, Opaque):
        return part.value
    text = context.text_in_result(describe(part), part)
    return {"text": text} if text else None


def _read_unknown_member(block: Object, path: JsonPath, spec: Block) -> Part:
    name = require_string(require_object(block[spec.name])["name"])
    return Opaque(name, {}, source=Source(block, path, spec))


_UNKNOWN_MEMBER = Block(
    "SDK_UNKNOWN_MEMBER",
    part=Opaque,
    read=_read_unknown_member,
    write=lambda part, context: part.raw,
)
"""A block that the client did not know: it kept the name of the type, and nothing of the content.
It refuses to send the block again."""
_IDS = (Id("toolUseId"),)
_RESULT_KEYS = keys("toolUseId", "content", "status")
_TEXT = Block(
    "text",
    part=Text,
    read=_read_text,
    write=lambda part, context: {"text": part.text},
    keys=keys("text"),
    deltas={"text": ("text", "text")},
)
_TOOL_USE = Block(
    "toolUse",
    part=Call,
    read=_read_tool_use,
    write=_write_tool_use,
    keys=keys("toolUse"),
    inner=(("toolUse", keys("toolUseId", "name", "input", "type")),),
    discriminator={"content_field": "toolUse"},
    family="function",
    ids=_IDS,
    deltas={"toolUse.input": ("input", "toolUse.input")},
)
BLOCKS = blocks(
    _TEXT,
    *MEDIA.values(),
    SEARCH_RESULT,
    CACHE_POINT,
    _UNKNOWN_MEMBER,
    Block(
        "reasoningContent",
        part=Reasoning,
        read=_read_reasoning,
        write=_write_reasoning,
        keys=keys("reasoningContent"),
        signed_by=MAKER,
        inner=(("reasoningContent", keys("reasoningText", "redactedContent")),),
        deltas={
            "reasoningContent.text": ("text", "reasoningContent.reasoningText.text"),
            "reasoningContent.signature": ("signature", "reasoningContent.reasoningText.signature"),
            "reasoningContent.redactedContent": (
                "redactedContent",
                "reasoningContent.redactedContent",
            ),
        },
    ),
    Block(
        "citationsContent",
        part=Text,
        read=_read_cited_text,
        write=lambda part, context: {"citationsContent": {"content": [{"text": part.text}]}},
        keys=keys("citationsContent"),
        inner=(("citationsContent", keys("content")),),
        deltas={
            "text": ("text", "citationsContent.content"),
            "citation": ("citation", "citationsContent.citations"),
        },
    ),
    # Without `keys`, so that the missing guard is reported as a loss; other wires get the text.
    Block(
        "guardContent",
        part=Text,
        read=_read_guarded_text,
        write=lambda part, context: {"guardContent": {"text": {"text": part.text}}},
    ),
    _TOOL_USE,
    replace(
        _TOOL_USE,
        name="server_tool_use",
        read=None,
        discriminator={"content_field": "toolUse", "type": "server_tool_use"},
        family="server-tool",
        executor="provider",
    ),
    Block(
        "toolResult",
        part=Result,
        read=_read_tool_result,
        write=_write_tool_result,
        keys=keys("toolResult"),
        inner=(("toolResult", _RESULT_KEYS),),
        discriminator={"content_field": "toolResult"},
        family="function",
        ids=_IDS,
    ),
)
_DETAILED_REASONING = replace(
    BLOCKS["reasoningContent"], inner=(("reasoningContent", frozenset()),)
)
"""The spec of reasoning with fields that are not read: all of it is a loss elsewhere."""
SERVER_RESULT = replace(
    BLOCKS["toolResult"],
    inner=(("toolResult", _RESULT_KEYS | {"type"}),),
    discriminator={"content_field": "toolResult", "role": "assistant"},
    family="server-tool",
    executor="provider",
    deltas={"toolResult": ("toolResult", "toolResult.content")},
)
ASSISTANT_BLOCKS = {**BLOCKS, "toolResult": SERVER_RESULT}
"""The blocks of an assistant message, in which results are the provider's."""
RESULT_BLOCKS = {
    "json": Block(
        "json",
        part=Text,
        read=lambda block, path, spec: _text_part(text_of(block["json"]), block, path, spec),
        keys=keys("json"),
    ),
    "text": _TEXT,
    "searchResult": SEARCH_RESULT,
    **MEDIA,
}
"""The blocks inside a result."""
SPECS = frozenset(
    (
        *BLOCKS.values(),
        *DETAILED.values(),
        *RESULT_BLOCKS.values(),
        SERVER_RESULT,
        _DETAILED_REASONING,
    )
)
"""Every block spec of this wire."""
STREAM_STARTS = tuple(
    Block(
        f"contentBlockStart.{spec.name}",
        part=spec.part,
        discriminator={"stream": f"contentBlockStart.start.{spec.name}"},
        family=spec.family,
        executor=spec.executor,
        ids=_IDS,
        forms=("stream",),
    )
    for spec in (_TOOL_USE, SERVER_RESULT)
)
"""Entries of the catalogue: their ids occur only in the opening event of a streamed block."""
MESSAGE = Block("message", part=Message, keys=keys("role", "content"))


# --- parts of other wires -------------------------------------------------------------------------


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: lambda part, context: {"text": part.text} if part.text else None,
    Media: write_media,
    Call: _write_tool_use,
    Result: _write_tool_result,
    Reasoning: _write_foreign_reasoning,
}
"""The functions that write parts of other wires; None for an empty text."""

CAPABILITIES = Capabilities(
    refusals=False,
    media={"user": MESSAGE_MEDIA, "assistant": MESSAGE_MEDIA, "result": RESULT_MEDIA},
    media_names=frozenset({"file"}),
    reasoning_in_history=False,
    reasoning_signed_by=MAKER,
    system_anywhere=False,
    candidates=False,
    choice_names="one",
    format_fields=frozenset({"name", "description"}),
    usage_fields=frozenset({"cached", "cache_write"}),
    cache_breakpoints=CACHE_BREAKPOINTS,
)
