"""Blocks that a client wrote in the format of another wire: text, media, reasoning, calls, results.

Each wire reads its own blocks; a client that switched its API leaves others in a history. This
module reads calls and results in the common forms, and all other blocks with the block specs of the
wires that know them. It knows no rule, and no wire by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import (
    Call,
    Media,
    Opaque,
    Origin,
    Output,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
    readable_text,
)
from toolwire.errors import DecodeError
from toolwire.wires import names, wire
from toolwire.wires.engine.media import split_data_url
from toolwire.wires.engine.specs import UNREADABLE, Block, read_id

_TEXT_TYPES = ("text", "input_text", "output_text", None)
_IMAGE_TYPES = ("image_url", "input_image", "image")


class _CallForm(Struct, frozen=True):
    """The field names of a call or result on one wire, the usual one first."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[str, ...]
    """The fields of the arguments, or of the output."""
    is_result: bool = False
    id_is_optional: bool = False


_BY_TYPE = {
    "tool_use": _CallForm(("id",), ("name",), ("input",)),
    "tool_result": _CallForm(
        ("tool_use_id", "tool_call_id", "id"), (), ("content",), is_result=True
    ),
    "function_call": _CallForm(("call_id", "id"), ("name",), ("arguments",)),
    "function_call_output": _CallForm(("call_id",), (), ("output",), is_result=True),
    "custom_tool_call": _CallForm(("call_id",), ("name",), ("input",)),
    "custom_tool_call_output": _CallForm(("call_id",), (), ("output",), is_result=True),
    "tool_call": _CallForm(("id", "call_id"), ("name",), ("args", "arguments", "input")),
    "tool-call": _CallForm(("toolCallId",), ("toolName",), ("input", "args")),
    "tool-result": _CallForm(("toolCallId",), ("toolName",), ("output", "result"), is_result=True),
}
"""Block type → form."""
_BY_FIELDS = {
    ("tool_use_id",): "tool_result",
    ("id", "name", "input"): "tool_use",
    ("tool_call_id", "content"): "tool_result",
    ("call_id", "output"): "function_call_output",
    ("call_id", "name", "arguments"): "function_call",
    ("toolCallId", "toolName", "output"): "tool-result",
    ("toolCallId", "toolName", "result"): "tool-result",
    ("toolCallId", "toolName", "input"): "tool-call",
    ("toolCallId", "toolName", "args"): "tool-call",
}
"""The types of blocks that lost their type, recognized by their fields."""
_BY_FIELD = {
    "functionCall": _CallForm(("id",), ("name",), ("args",), id_is_optional=True),
    "functionResponse": _CallForm(
        ("id",), ("name",), ("response",), is_result=True, id_is_optional=True
    ),
    "toolUse": _CallForm(("toolUseId",), ("name",), ("input",)),
    "toolResult": _CallForm(("toolUseId",), (), ("content",), is_result=True),
    "toolRequest": _CallForm(("ref",), ("name",), ("input",), id_is_optional=True),
    "toolResponse": _CallForm(
        ("ref",), ("name",), ("output",), is_result=True, id_is_optional=True
    ),
}
"""Field name → form, for blocks with only this field."""

ID_FIELDS = ("toolCallId", "tool_use_id", "toolUseId", "call_id")
"""Fields with the call id in messages of other APIs, which a chat does not read."""
_TOOL_MESSAGE = _CallForm(("tool_call_id", *ID_FIELDS), ("name",), ("content",), is_result=True)
"""The fields of a message that is a result."""


def read_foreign_block(
    block: JSON, path: JsonPath, *, known: bool = False
) -> tuple[Part, ...] | None:
    """Read a block that its wire could not read.

    Args:
        block: The block.
        path: Its path in the body.
        known: True if the wire knows the type of the block. Then it is foreign only if another wire
            can read it: the wire may have forms of the type that are not known here.

    Returns:
        The parts of the block, empty if it has no content; None if no wire knows the block.
    """
    if isinstance(block, str):
        return (Text(block),)
    if not isinstance(block, dict):
        return None
    part = _read_usual_form(block, path)
    if part is not None:
        return (part,)
    inner = block.get("parts")
    if isinstance(inner, list) and isinstance(block.get("role"), str):
        return _read_all(inner, (*path, "parts"))
    invocation = block.get("toolInvocation")
    if isinstance(invocation, dict):
        return _read_invocation(invocation, path)
    kind = block.get("type")
    types = [kind] if isinstance(kind, str) else list(block)
    specs = [spec for name in types for spec in _specs().get(name, ())]
    specs.sort(key=lambda spec: not spec.clean(block))  # specs that read every field come first
    parts = (_read_with(spec, block, path) for spec in specs)
    part = next((part for part in parts if part is not None), None)
    if part is not None:
        return (part,)
    if known or not specs:
        return None
    if any(spec.marks_cache for spec in specs):
        return ()
    if not isinstance(kind, str):
        return None
    return (Text(describe(Opaque(kind, block))),) if readable_text(block) else ()


def _read_all(blocks: list[JSON], path: JsonPath) -> tuple[Part, ...]:
    """The parts of the blocks of a message; a block that no wire knows is quoted."""
    parts: list[Part] = []
    for n, block in enumerate(blocks):
        block_parts = read_foreign_block(block, (*path, n))
        if block_parts is None and (text := readable_text(block)):
            block_parts = (Text(text),)
        parts += block_parts or ()
    return tuple(parts)


def read_results(message: Result) -> tuple[Result, ...]:
    """The results that a tool message without an id has as blocks of its content; empty if one of
    its blocks is something else."""
    raw = message.raw if message.origin == "minted" else None
    if not isinstance(raw, dict) or raw.get("role") not in ("tool", "function"):
        return ()
    field = "content" if raw.get("content") else "parts"
    content = raw.get(field)
    if not isinstance(content, list):
        return ()
    halves = [
        _read_usual_form(block, (*message.path, field, n)) if isinstance(block, dict) else None
        for n, block in enumerate(content)
    ]
    results = tuple([half for half in halves if isinstance(half, Result)])
    return results if len(results) == len(content) else ()


@cache
def _specs() -> dict[str, list[Block]]:
    """The specs of all wires for blocks that are not a call or a result of the client."""
    specs: dict[str, list[Block]] = {}
    for name in names():
        for spec in wire(name).blocks:
            if spec.read is not None and not (spec.family and spec.executor == "client"):
                specs.setdefault(spec.name, []).append(spec)
    return specs


def _read_with(spec: Block, block: Object, path: JsonPath) -> Text | Media | Reasoning | None:
    """The part that a spec reads, without its source; None if it is empty, or if not every wire
    supports it."""
    try:
        part = spec.read(block, path, spec) if spec.read is not None else None
    except (*UNREADABLE, DecodeError):
        return None
    match part:
        case Media() if any((part.data, part.url, part.file, part.text)):
            return replace(part, source=Source(path=path))
        case Reasoning(text=text) if text:
            return Reasoning(text, source=Source(path=path))
        case Text(text=text) if text or spec.clean(block):
            return Text(text, source=Source(path=path))
    return None


def _read_usual_form(block: Object, path: JsonPath) -> Part | None:
    """A text, an image, a call or a result in a form that several wires write; otherwise None."""
    kind, text = block.get("type"), block.get("text")
    if kind is None:
        kind = _lost_type(block)
    if kind in _TEXT_TYPES and isinstance(text, str):
        if kind is not None or len(block) == 1:
            return Text(text)
    elif kind in _IMAGE_TYPES:
        return _read_image(block)
    elif isinstance(kind, str) and kind in _BY_TYPE:
        return _read_half(_BY_TYPE[kind], block, path)
    elif isinstance(block.get("function"), dict):
        return read_chat_call(block, path)
    for name, form in _BY_FIELD.items():
        fields = block.get(name)
        if isinstance(fields, dict):
            return _read_half(form, fields, path)
    return None


def _read_invocation(fields: Object, path: JsonPath) -> tuple[Part, ...] | None:
    """The call and the result that older clients keep in one object; None if it has no id."""
    call = _read_half(_BY_TYPE["tool-call"], fields, path)
    if call is None:
        return None
    result = _read_half(_BY_TYPE["tool-result"], fields, path) if "result" in fields else None
    return (call,) if result is None else (call, result)


def _lost_type(block: Object) -> str | None:
    """The type of a call or result without a type, recognized by its fields; null counts as
    absent."""
    found = (kind for fields, kind in _BY_FIELDS.items() if all(name in block for name in fields))
    kind = next(found, None)
    if kind is None and isinstance(block.get("text"), str) and "type" in block:
        return "text"
    return kind


def _read_half(form: _CallForm, fields: Object, path: JsonPath) -> Call | Result | None:
    """A call or a result; None without an id, because only an id connects the two with certainty,
    unless the wire of this form has none. Then both have a name, and get an id when all are read.
    """
    call_id, name = _first_text(fields, form.ids), _first_text(fields, form.names)
    if not call_id and not (form.id_is_optional and name):
        return None
    origin: Origin = "wire" if call_id else "minted"
    source = Source(path=path)
    value = next((fields[key] for key in form.values if fields.get(key) is not None), None)
    if form.is_result:
        is_error = fields.get("is_error") is True or fields.get("status") == "error"
        output = _read_output(value, path)
        return Result(call_id, output, is_error, name or None, origin, source=source)
    arguments = LazyJson({} if value is None else value)
    return Call(call_id, name, arguments, origin, source=source)


def read_chat_call(entry: Object, path: JsonPath) -> Call | None:
    """The call in the form of a chat: its name and arguments are in an object `function`."""
    function = entry.get("function")
    (call_id, _), name = read_id(entry.get("id")), get(function, ("name",))
    if not call_id or not isinstance(function, dict) or not isinstance(name, str):
        return None
    arguments = function.get("arguments")
    value = LazyJson("{}" if arguments is None else arguments)
    return Call(call_id, name, value, source=Source(path=path))


def read_flat_call(entry: Object, path: JsonPath) -> Call | None:
    """The call that has its name and arguments beside its id; None for any other object."""
    half = _read_half(_BY_TYPE["tool_call"], entry, path)
    return half if isinstance(half, Call) else None


def read_tool_message(message: JSON | UnsetType, path: JsonPath) -> Result | None:
    """The result that a whole message stands for, as in a chat: it has the role of a tool, the id
    of a call and its output; None for any other message."""
    if not isinstance(message, dict) or message.get("role") not in ("tool", "function"):
        return None
    half = _read_half(_TOOL_MESSAGE, message, path) if "content" in message else None
    return half if isinstance(half, Result) else None


def _first_text(fields: Object, names: Sequence[str]) -> str:
    """The first of these fields that is a text; empty if none is."""
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def _read_output(value: JSON, path: JsonPath) -> Output:
    """The output of a result: parts if every block is known, otherwise the JSON itself."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return value
    parts: list[Part] = []
    for block in value:
        block_parts = read_foreign_block(block, path)
        if block_parts is None or not all(isinstance(part, Text | Media) for part in block_parts):
            return value
        parts += block_parts
    return tuple(parts) if parts else value


def _read_image(block: Object) -> Media | None:
    """An image given by a URL, or by base64 data with a type; otherwise None."""
    place = block.get("image_url")
    url = place.get("url") if isinstance(place, dict) else place
    source = block.get("source")
    fields = source if isinstance(source, dict) else block
    data, mime = fields.get("data"), fields.get("media_type", fields.get("mimeType"))
    if isinstance(data, str) and isinstance(mime, str):
        return Media("image", mime, data)
    url = url or fields.get("url")
    if not isinstance(url, str) or not url:
        return None
    mime_and_data = split_data_url(url)
    return Media("image", url=url) if mime_and_data is None else Media("image", *mime_and_data)
