"""The parts of Genkit messages: how each is read and written.

The field of a part shows its type; `metadata` is next to it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    Call,
    Media,
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
from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
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

NAME = "genkit"

_MEDIA = MediaSupport(image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL)
CAPABILITIES = Capabilities(
    read_by_model=False,
    refusals=False,
    media=dict.fromkeys(("system", "user", "assistant", "result"), _MEDIA),
    media_names=frozenset(),
    kind_by_type=DATA_OR_URL,
    error_flag=False,
    candidates=False,
    strict_tools=False,
    choice_names="none",
    format_fields=frozenset(),
    usage_fields=frozenset({"cached", "reasoning"}),
)

_SIGNATURES = ("thoughtSignature", "signature")
"""The fields of `metadata` in which plugins keep a signature."""


def _signature(block: Object) -> str | None:
    metadata = block.get("metadata")
    for name in _SIGNATURES:
        signature = text_or_none(get(metadata, (name,)) or None)
        if signature is not None:
            return signature
    return None


# --- media ----------------------------------------------------------------------------------------


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    media = require_object(block["media"])
    url = require_string(media["url"])
    mime, data = split_data_url(url) or (None, None)
    mime = text_or_none(media.get("contentType")) or mime
    return Media(
        kind_by(mime or mime_of(Media("file", url=url))),
        mime,
        data,
        url if data is None else None,
        signature=_signature(block),
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    url = data_url(media)
    if url is None:  # an edit of a part of this wire, which is not lowered
        return {"text": describe(media)}
    mime = mime_of(media)
    return {"media": {"url": url, "contentType": mime} if mime else {"url": url}}


def _read_resource(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["resource"])["uri"])
    return Media("file", url=url, signature=_signature(block), source=Source(block, path, spec))


def _write_resource(media: Media, context: EncodeContext) -> JSON:
    return {"resource": {"uri": media.url}}


# --- tool requests and responses ------------------------------------------------------------------


def _read_request(block: Object, path: JsonPath, spec: Block) -> Part:
    request = require_object(block["toolRequest"])
    call_id, origin = read_id(request.get("ref"))
    return Call(
        call_id,
        read_name(request.get("name")),
        read_value(request.get("input")),
        origin,
        signature=_signature(block),
        source=Source(block, path, spec),
    )


def is_json_text(value: str) -> bool:
    """True if a text as the input of a call is JSON text, as in streams, and not a value."""
    return value.lstrip()[:1] in ("{", "")


def _input(call: Call, context: EncodeContext) -> JSON:
    """The arguments of a call, which may be any JSON value on this wire, except a text that a
    reader of a stream takes for JSON text."""
    value = call.args.value
    if (
        call.family == "custom"
        or call.args.broken
        or (isinstance(value, str) and is_json_text(value))
    ):
        return context.arguments_object(call)
    arguments = call.args
    if context.restores_forms:
        arguments = LazyJson(context.arguments_text(call))
    return arguments.value if arguments.text and not arguments.broken else {}


def _write_request(call: Call, context: EncodeContext) -> JSON:
    ref = context.wire_id(call)
    request: Object = {"name": context.name(call.name), "input": _input(call, context)}
    return {"toolRequest": request if ref is None else {"ref": ref, **request}}


def _read_response(block: Object, path: JsonPath, spec: Block) -> Part:
    response = require_object(block["toolResponse"])
    call_id, origin = read_id(response.get("ref"))
    output: Output = response.get("output")
    content = response.get("content")
    if isinstance(content, list) and content:
        inside = (*path, "toolResponse", "content")
        parts = tuple(read_part(part, (*inside, i)) for i, part in enumerate(content))
        if output not in (None, ""):
            # The raw value is kept, so that this value is written back instead of text.
            text = Text(output_text(output), source=Source(raw=response["output"]))
            parts = (text, *parts)
        output = parts
    return Result(
        call_id,
        "" if output is None else output,
        name=text_or_none(response.get("name")),
        origin=origin,
        signature=_signature(block),
        source=Source(block, path, spec),
    )


def _write_response(result: Result, context: EncodeContext) -> JSON:
    """A result under the name of its tool, with a `ref` only if the call has one."""
    response: Object = {"name": context.result_name(result)}
    ref = context.result_id(result)
    if not context.hides_id(ref):
        response["ref"] = ref
    elif result.call_id not in context.called_names:
        context.report_loss(
            result, "a result without a call has no ref here; it may be paired with another call"
        )
    context.record_result_form(result, flag=False, structure=True)
    output = context.output(result)
    if not isinstance(output, tuple):
        response["output"] = output
        return {"toolResponse": response}
    media = [part for part in output if isinstance(part, Media) and part.text is None]
    texts = [part for part in output if part not in media]
    if media:
        response["content"] = [_write_media(part, context) for part in media]
    if texts or not media:
        response["output"] = _output(texts)
    return {"toolResponse": response}


def _output(texts: list[Part]) -> JSON:
    """The text of a result, or the JSON value from which `_read_response` read it."""
    if len(texts) == 1 and texts[0].spec is None and not isinstance(texts[0].raw, UnsetType):
        return texts[0].raw
    return "\n".join(map(describe, texts))


# --- block specs ----------------------------------------------------------------------------------


def _block(
    name: str,
    part: type[Part],
    *,
    read: Callable[[Object, JsonPath, Block], Part],
    write: Callable[..., JSON],
    fields: str = "",
) -> Block:
    """The spec of a part whose field `name` is an object with `fields`, or a text."""
    is_tool = part is Call or part is Result
    return Block(
        name,
        part=part,
        read=read,
        write=write,
        keys=keys(name, "metadata"),
        inner=(_METADATA, (name, keys(*fields.split()))) if fields else (_METADATA,),
        discriminator={"part_field": name} if is_tool else {},
        family="function" if is_tool else "",
        ids=(Id("ref", required=False, nullable=True),) if is_tool else (),
        deltas={} if fields else {name: (name, name)},
    )


_METADATA = ("metadata", keys(*_SIGNATURES))


def _text_block(name: str, part: type[Text] | type[Reasoning]) -> Block:
    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        text = require_string(block[name])
        return part(text, signature=_signature(block), source=Source(block, path, spec))

    return _block(name, part, read=read, write=lambda part, context: {name: part.text})


def _opaque_block(name: str) -> Block:
    """The spec of a part without a neutral form."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        source = Source(block, path, spec)
        return Opaque(name, block, signature=_signature(block), source=source)

    return Block(name, part=Opaque, read=read, write=lambda part, context: part.value)


BLOCKS = blocks(
    _text_block("text", Text),
    _block("media", Media, read=_read_media, write=_write_media, fields="url contentType"),
    _text_block("reasoning", Reasoning),
    _block("toolRequest", Call, read=_read_request, write=_write_request, fields="ref name input"),
    _block(
        "toolResponse",
        Result,
        read=_read_response,
        write=_write_response,
        fields="ref name output content",
    ),
    _block("resource", Media, read=_read_resource, write=_write_resource, fields="uri"),
    _opaque_block("data"),
    _opaque_block("custom"),
)


PART_WRITERS: dict[type[Part], Callable[..., JSON]] = {
    Text: lambda part, context: {"text": part.text} if part.text else None,
    Media: _write_media,
    Call: _write_request,
    Result: _write_response,
    Reasoning: lambda part, context: {"reasoning": part.text} if part.text else None,
    Opaque: lambda part, context: part.value,
}
"""The functions that write parts; they return None for an empty part."""


def read_part(block: JSON, path: JsonPath) -> Part:
    """Read a part by its field. Null fields do not count, because Genkit for Python writes them."""
    return read_block_by_field(NAME, BLOCKS, block, path)
