"""Tools in plain text: block specs, and the parts that share one string.

A string holds several parts, so the specs of these parts have no writer: only the writer of the
message knows the whole string.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import (
    Call,
    Message,
    Output,
    Part,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, Id, blocks, keys, read_id, require_object
from toolwire.wires.families.chat.blocks import IMAGE_URL, PLAIN_TEXT, TEXT, text_block
from toolwire.wires.text.dialect import CallMatch, Dialect
from toolwire.wires.text.dialects import DIALECTS
from toolwire.wires.text.scanner import find_calls
from toolwire.wires.text.tags import ResultMatch, find_results, find_tools, write_result

NAME = "text"

# --- block specs ----------------------------------------------------------------------------------

CONTENT = blocks(TEXT, IMAGE_URL)
PIECE = Block("piece", part=Text)
"""Text between the tags of a string."""
_ID = (Id("id", required=False, nullable=True),)
CALLS = blocks(
    *(
        Block(
            dialect.name,
            part=Call,
            discriminator={"dialect": dialect.name},
            family="function",
            ids=_ID if dialect.has_ids else (),
        )
        for dialect in DIALECTS.values()
    )
)
RESULT = Block(
    "tool_response",
    part=Result,
    discriminator={"tag": "tool_response"},
    family="function",
    ids=_ID,
    forms=("request",),
)
MESSAGE = Block("message", part=Message, keys=keys("role", "content", "reasoning_content"))
ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}


def is_text(block: Object) -> bool:
    """True if a block has only text."""
    return len(block) == 2 and block.get("type") == "text" and isinstance(block.get("text"), str)


# --- reading a string -----------------------------------------------------------------------------


class PartSpan(Struct, frozen=True):
    """A part and the range of the string that it was read from."""

    start: int
    end: int
    part: Part


def spans_of(text: str, path: JsonPath, role: Role) -> list[PartSpan]:
    """The parts of a string in order: the text between tags, and the content of the tags."""
    line_breaks = 2 if role == "system" else 1
    spans: list[PartSpan] = []
    last = 0
    for start, end, tagged in _ranges_with_tags(text, path, role):
        spans += _text_between(text, last, start, path, line_breaks)
        spans += tagged
        last = end
    if last:
        return spans + _text_between(text, last, len(text), path, line_breaks)
    whole = Text(text, source=Source(text, path, PLAIN_TEXT))
    return [PartSpan(0, len(text), whole)] if text else []


def _ranges_with_tags(
    text: str, path: JsonPath, role: Role
) -> list[tuple[int, int, list[PartSpan]]]:
    """The start and end of each tagged range, and the parts in it."""
    if role == "assistant":
        dialect, found = find_calls(text)
        return [
            (
                block.start,
                block.end,
                [
                    PartSpan(call.start, call.end, read_call(call, dialect, text, path))
                    for call in block.calls
                ],
            )
            for block in found
        ]
    if role == "system":
        section = find_tools(text)
        return [] if section is None else [(section.start, section.end, [])]
    return [
        (result.start, result.end, [PartSpan(*result.span, _read_result(result, text, path))])
        for result in find_results(text)
    ]


def _read_result(found: ResultMatch, text: str, path: JsonPath) -> Result:
    start, end = found.span
    call_id, origin = read_id(found.id)
    return Result(
        call_id,
        _read_output(found.output, path),
        error=found.error,
        name=found.name,
        origin=origin,
        source=Source(text[start:end], path, RESULT),
    )


def read_call(call: CallMatch, dialect: Dialect, text: str, path: JsonPath) -> Call:
    """The part of a call that was found in a text."""
    call_id, origin = read_id(call.id)
    source = Source(text[call.start : call.end], path, CALLS[dialect.name])
    return Call(call_id, call.name, call.args, origin, source=source)


def _text_between(
    text: str, start: int, end: int, path: JsonPath, line_breaks: int
) -> list[PartSpan]:
    """The text between two tags, without the line breaks that separate it from them."""
    if not text[start:end].strip():
        return []
    for _ in range(line_breaks):
        start += start > 0 and text.startswith("\n", start)
        end -= end < len(text) and text.endswith("\n", start, end)
    piece = text[start:end]
    return [PartSpan(start, end, Text(piece, source=Source(piece, path, PIECE)))]


def _read_output(value: JSON, path: JsonPath) -> Output:
    """The content of a result: any JSON value; a list of text blocks becomes parts."""
    if value is None:
        return ""
    if not isinstance(value, list) or not value:
        return value
    if not all(isinstance(block, dict) and is_text(block) for block in value):
        return value
    return tuple(Text(str(get(block, ("text",))), source=Source(path=path)) for block in value)


# --- writing parts --------------------------------------------------------------------------------


def write_call(call: Call, dialect: Dialect, context: EncodeContext, old: str | None) -> str | None:
    """The span of a call, to replace `old`; None if the dialect cannot express the call."""
    call_id = context.wire_id(call)
    if call_id is not None and not dialect.has_ids:
        context.report_loss(call, "a call has no id in this dialect")
    # Unedited arguments stay, even if they are not an object.
    unchanged = (
        isinstance(call.original, Call)
        and call.original.args == call.args
        and not isinstance(call.input, dict)
    )
    return dialect.write(
        context.name(call.name),
        None if unchanged else require_object(context.arguments_object(call)),
        call_id if dialect.has_ids else None,
        old,
    )


def write_result_span(result: Result, context: EncodeContext, old: str | None) -> str:
    """The span of a result, to replace `old`."""
    call_id = context.result_id(result)
    output = context.output(result)
    content: JSON
    if isinstance(output, tuple):
        content = [_write_output_part(part, context) for part in output] or ""
    else:
        content = output
    name = context.called_name(result) or result.name
    return write_result(
        content,
        name=context.name(name) if name else None,
        call_id=None if context.hides_id(call_id) else call_id,
        error=context.is_error(result),
        old=old,
    )


def _write_output_part(part: Part, context: EncodeContext) -> Object:
    if not isinstance(part, Text):  # an edit added it to a result of this wire
        context.report_loss(part, f"a result is text here: {describe(part)[:80]}")
    return text_block(describe(part))


def write_text(text: Text, role: Role, context: EncodeContext) -> str:
    """The text. If its tags would be read as calls, results or tools, a loss is reported."""
    if not is_plain(text.text, role):
        report_tags(text, context)
    return text.text


def report_tags(text: Text, context: EncodeContext) -> None:
    """Report a text with tags that have a meaning."""
    context.text_is_read = True
    context.report_loss(
        text, "this text contains tags that this wire reads as calls, results or tools"
    )


def is_plain(text: str, role: Role) -> bool:
    """True if no tags in a text have a meaning in a message of this role."""
    if role == "assistant":
        return not find_calls(text)[1]
    return find_tools(text) is None if role == "system" else not find_results(text)
