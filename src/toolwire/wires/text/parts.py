"""The parts that stand in one string of plain text: where each of them is, and how a new one is
said.

Rows of spans have no writer of their own: one string holds several parts, and only the message
knows all of it. Knows the tags by their dialects; knows no messages.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import (
    Call,
    Media,
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
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    read_id,
    read_result_id,
    require_object,
    require_string,
)
from toolwire.wires.families.chat.messages import PLAIN_TEXT
from toolwire.wires.text.dialects import CALLS, Dialect, Found
from toolwire.wires.text.scanner import find_calls
from toolwire.wires.text.tags import find_results, find_tools, write_result

# --- rows -----------------------------------------------------------------------------------------


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, path, spec)
    )


def write_image(media: Media, context: EncodeContext) -> JSON:
    """A picture, or what stands for anything else."""
    url = data_url(media)
    if media.kind == "image" and url is not None:
        if media.name is not None:
            context.report_loss(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    context.report_loss(
        media,
        (
            "a text document is sent as text"
            if media.text is not None
            else f"this wire takes no such {media.kind}"
        ),
    )
    return {"type": "text", "text": describe(media)}


_ID = (Id("id", required=False, nullable=True),)
CONTENT = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Block(
        "image_url",
        Media,
        _read_image,
        write_image,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
)
PIECE = Block("piece", Text)
CALL_ROWS = blocks(
    *(
        Block(
            one.name,
            Call,
            discriminator={"dialect": one.name},
            direction="call",
            family="function",
            executor="client",
            ids=_ID if one.ids else (),
        )
        for one in CALLS.values()
    )
)
RESULT = Block(
    "tool_response",
    Result,
    discriminator={"tag": "tool_response"},
    direction="output",
    family="function",
    executor="client",
    ids=_ID,
    forms=("request",),
)
MESSAGE = Block("message", Message, keys=keys("role", "content", "reasoning_content"))
ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}

# --- reading a string -----------------------------------------------------------------------------


class Span(Struct, frozen=True):
    """A part and the stretch of the string that says it."""

    start: int
    end: int
    part: Part


def spans_of(text: str, path: JsonPath, role: Role) -> list[Span]:
    """The parts of a string in order: what is said between the tags, and what is in them."""
    blocks: list[tuple[int, int, list[Span]]] = []
    gap = 1
    if role == "assistant":
        dialect, found = find_calls(text)
        for block in found:
            calls = [
                Span(call.start, call.end, read_call(call, dialect, text, path))
                for call in block.calls
            ]
            blocks.append((block.start, block.end, calls))
    elif role == "system":
        section = find_tools(text)
        if section is not None:
            blocks, gap = [(section.start, section.end, [])], 2
    else:
        for answer in find_results(text):
            start, end = answer.span
            one, origin = read_result_id(answer.id)
            result = Result(
                one,
                _output(answer.output, path),
                answer.error,
                answer.name,
                origin,
                source=Source(text[start:end], path, RESULT),
            )
            blocks.append((answer.start, answer.end, [Span(start, end, result)]))
    if not blocks:
        return (
            [Span(0, len(text), Text(text, source=Source(text, path, PLAIN_TEXT)))] if text else []
        )
    spans: list[Span] = []
    last = 0
    for start, end, inside in blocks:
        spans += _piece(text, last, start, path, gap)
        spans += inside
        last = end
    return spans + _piece(text, last, len(text), path, gap)


def read_call(call: Found, dialect: Dialect, text: str, path: JsonPath) -> Call:
    """A call that was found in a text."""
    one, origin = read_id(call.id)
    return Call(
        one,
        call.name,
        call.args,
        origin,
        source=Source(text[call.start : call.end], path, CALL_ROWS[dialect.name]),
    )


def _piece(text: str, start: int, end: int, path: JsonPath, gap: int) -> list[Span]:
    """The words between two tags, without the line breaks that only set them apart from
    the tags.
    """
    if not text[start:end].strip():
        return []
    for _ in range(gap):
        start += start > 0 and text.startswith("\n", start)
        end -= end < len(text) and text.endswith("\n", start, end)
    return [Span(start, end, Text(text[start:end], source=Source(text[start:end], path, PIECE)))]


def _output(value: JSON, path: JsonPath) -> Output:
    """A result's content: any JSON; a list of text blocks is parts."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(block, dict) and is_text(block) for block in value)
    ):
        return tuple(Text(str(get(block, ("text",))), source=Source(path=path)) for block in value)
    return "" if value is None else value


def is_text(block: Object) -> bool:
    """Whether a block is text and nothing else."""
    return len(block) == 2 and block.get("type") == "text" and isinstance(block.get("text"), str)


# --- writing parts --------------------------------------------------------------------------------


def write_call(call: Call, dialect: Dialect, context: EncodeContext, old: str | None) -> str | None:
    """A call's span in a dialect; None if that cannot say it."""
    sent = context.wire_id(call)
    if sent is not None and not dialect.ids:
        context.report_loss(call, "a call has no id in this dialect")
    # Arguments that nobody touched stay, also those that are no object.
    same = (
        isinstance(call.original, Call)
        and call.original.args == call.args
        and not isinstance(call.input, dict)
    )
    return dialect.write(
        context.name(call.name),
        None if same else require_object(context.arguments_object(call)),
        sent if dialect.ids else None,
        old,
    )


def write_answer(result: Result, context: EncodeContext, old: str | None) -> str:
    """A result's span."""
    sent = context.result_id(result)
    output = context.output(result)
    content: JSON = (
        output
        if not isinstance(output, tuple)
        else [_block(part, context) for part in output] or ""
    )
    named = context.called_names.get(result.call_id) or result.name
    real = None if context.hides_id(sent) else sent
    return write_result(
        content, context.name(named) if named else None, real, context.is_error(result), old
    )


def _block(part: Part, context: EncodeContext) -> Object:
    if not isinstance(part, Text):
        context.report_loss(part, f"a result is text here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


def words_of(text: Text, role: Role, context: EncodeContext) -> str:
    """What is said, reported if it would be read otherwise."""
    if text.refusal:
        context.report_loss(text, "a refusal is sent as plain text")
    if not is_plain(text.text, role):
        context.report_loss(text, "these words have tags in them that mean something here")
    return text.text


def is_plain(text: str, role: Role) -> bool:
    """Whether a text has no tags in it that mean anything under this role."""
    if role == "assistant":
        return not find_calls(text)[1]
    return find_tools(text) is None if role == "system" else not find_results(text)
