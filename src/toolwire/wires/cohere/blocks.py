"""The content blocks, calls and results of Cohere Chat: how each type is read and written."""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, JsonPath, Object, parse, text_of
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.cohere.settings import NAME
from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    raise_unexpected,
    read_arguments,
    read_block,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
)

# --- content --------------------------------------------------------------------------------------


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(require_string(block["text"]), source=Source(block, path, spec))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    return {"type": "text", "text": part.text}


def _read_thinking(block: Object, path: JsonPath, spec: Block) -> Part:
    return Reasoning(require_string(block["thinking"]), source=Source(block, path, spec))


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    return {"type": "thinking", "thinking": part.text}


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    source = Source(block, path, spec)
    return Media("image", mime, data, None if data is not None else url, source=source)


def _write_image(media: Media, context: EncodeContext) -> JSON:
    url = data_url(media)
    if media.kind != "image" or url is None:
        # An edit of this wire's own block: lowering replaces media of other wires.
        context.report_loss(media, f"this wire cannot take this {media.kind}; it is named in text")
        return {"type": "text", "text": describe(media)}
    return {"type": "image_url", "image_url": {"url": url}}


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    document = require_object(block["document"])
    data = require_object(document["data"])
    text = _only_text(data)
    return Media(
        "file",
        "application/json" if text is None else "text/plain",
        text=text_of(data) if text is None else text,
        name=text_or_none(document.get("id")),
        source=Source(block, path, spec),
    )


def _only_text(data: JSON) -> str | None:
    """The text of an object that has no other field."""
    text = data.get("text") if isinstance(data, dict) and len(data) == 1 else None
    return text if isinstance(text, str) else None


def _write_document(media: Media, context: EncodeContext) -> JSON:
    text = media.text or ""
    document: Object = {"data": {"text": text}}
    if media.spec is CONTENT["document"] and media.mime == "application/json":
        try:
            document["data"] = require_object(parse(text))
        except (ValueError, TypeError):
            context.report_loss(media, "a document is a JSON object; this one is sent as its text")
    elif media.mime not in (None, "text/plain"):
        context.report_loss(media, f"a document has no MIME type here: {media.mime}")
    if media.name is not None:
        document["id"] = media.name
    return {"type": "document", "document": document}


CONTENT = blocks(
    Block(
        "text",
        part=Text,
        read=_read_text,
        write=_write_text,
        keys=keys("type", "text"),
        deltas={"content.text": ("text", "text")},
    ),
    Block(
        "thinking",
        part=Reasoning,
        read=_read_thinking,
        write=_write_thinking,
        keys=keys("type", "thinking"),
        deltas={"content.thinking": ("thinking", "thinking")},
    ),
    Block(
        "image_url",
        part=Media,
        read=_read_image,
        write=_write_image,
        keys=keys("type", "image_url"),
        inner=(("image_url", keys("url")),),
    ),
    Block(
        "document",
        part=Media,
        read=_read_document,
        write=_write_document,
        keys=keys("type", "document"),
        inner=(("document", keys("data", "id")),),
    ),
)
STREAMED_PLAN = Block(
    "tool_plan",
    part=Reasoning,
    read=lambda block, path, spec: Reasoning(
        require_string(block["tool_plan"]), source=Source(block, path, spec)
    ),
    keys=keys("tool_plan"),
    deltas={"tool_plan": ("tool_plan", "tool_plan")},
)
"""The plan in a stream; in a body it is a field of the message, which the chat family reads."""
PLAIN = Block("content", part=Text, write=lambda part, context: part.text)
"""Content that is a plain string."""

# --- calls and results ----------------------------------------------------------------------------


def _read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_id(block.get("id"))
    function = block.get("function")
    if not isinstance(function, dict):
        function = {}
    return Call(
        call_id,
        read_name(function.get("name")),
        read_arguments(function.get("arguments")),
        origin,
        source=Source(block, path, spec),
    )


def write_call(call: Call, context: EncodeContext) -> JSON:
    """The entry of a call in `tool_calls`."""
    if call.family == "custom":
        arguments = text_of(context.arguments_object(call))
    else:
        arguments = context.arguments_text(call)
    return {
        "id": context.call_id(call),
        "type": "function",
        "function": {"name": context.name(call.name), "arguments": arguments},
    }


def _read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_result_id(message.get("tool_call_id"))
    output = _read_output(message.get("content"), path + ("content",))
    return Result(call_id, output, False, None, origin, source=Source(message, path, spec))


def _read_output(content: JSON, path: JsonPath) -> Output:
    """The output of a result: text, the JSON object of a single bare document, or parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise_unexpected(NAME, path, "a string, a list or null", content)
    only = content[0] if len(content) == 1 else None
    document = only.get("document") if isinstance(only, dict) else None
    data = document.get("data") if isinstance(document, dict) else None
    if is_document(data) and only == _bare_document(data):
        return data
    return tuple(
        Text(block, source=Source(block, path + (i,), PLAIN))
        if isinstance(block, str)
        else read_block(NAME, CONTENT, block, path + (i,))
        for i, block in enumerate(content)
    )


def is_document(output: Output) -> bool:
    """True if an output is written as a document.

    An object that has only a text is not: it would be read as a text document.
    """
    return isinstance(output, dict) and _only_text(output) is None


def _bare_document(data: JSON) -> Object:
    return {"type": "document", "document": {"data": data}}


def write_result(result: Result, context: EncodeContext) -> JSON:
    """The message of a result."""
    output = context.output(result)
    content: JSON
    if isinstance(output, str):
        content = output
    elif isinstance(output, tuple):
        written = (_write_result_part(part, context) for part in output)
        content = [block for block in written if block is not None]
    elif isinstance(output, dict) and is_document(output):
        content = [_bare_document(output)]
    else:
        content = text_of(output)
    return {"role": "tool", "tool_call_id": context.result_id(result), "content": content}


def _write_result_part(part: Part, context: EncodeContext) -> JSON:
    is_native = any(part.spec is spec for spec in CONTENT.values())
    if part.original is None and is_native and isinstance(part.raw, dict):
        return part.raw
    if isinstance(part, Media) and part.text is not None:
        return _write_document(part, context)
    text = describe(part)
    return {"type": "text", "text": text} if text else None


CALLS = blocks(
    Block(
        "function",
        part=Call,
        read=_read_call,
        write=write_call,
        keys=keys("id", "type", "function"),
        inner=(("function", keys("name", "arguments")),),
        discriminator={"path": "message.tool_calls[]", "type": "function"},
        direction="call",
        family="function",
        executor="client",
        ids=(Id("id"),),
        deltas={"tool_calls.function.arguments": ("arguments", "function.arguments")},
    )
)
RESULTS = blocks(
    Block(
        "tool",
        part=Result,
        read=_read_result,
        write=write_result,
        keys=keys("role", "content", "tool_call_id"),
        discriminator={"role": "tool"},
        direction="output",
        family="function",
        executor="client",
        ids=(Id("tool_call_id"),),
        forms=("request",),
    )
)
MESSAGE = Block("message", part=Message, keys=keys("role", "content", "tool_calls", "tool_plan"))
FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Reasoning: _write_thinking,
    Call: write_call,
}
"""The functions that write the parts of an answer."""

CAPABILITIES = Capabilities(
    refusals=False,
    media={
        "user": MediaSupport(image=DATA_OR_URL),
        "result": MediaSupport(file=frozenset({"text"})),
    },
    media_names=frozenset({"file"}),
    error_flag=False,
    result_media="after",
    text_after_calls=False,
    candidates=False,
    choice_names="none",
    format_fields=frozenset(),
    usage_fields=frozenset({"cached"}),
)
