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
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.specs import Id, Row, call_id, keys, obj, result_id, string, table
from toolwire.wires.families.chat.messages import PLAIN
from toolwire.wires.text.dialects import CALLS, Dialect, Found
from toolwire.wires.text.scanner import find_calls
from toolwire.wires.text.tags import find_results, find_tools, write_result

# --- rows -----------------------------------------------------------------------------------------


def _read_image(block: Object, at: JsonPath, row: Row) -> Part:
    url = string(obj(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, at, row)
    )


def write_image(media: Media, page: Page) -> JSON:
    """A picture, or what stands for anything else."""
    url = data_url(media)
    if media.kind == "image" and url is not None:
        if media.name is not None:
            page.lose(media, "an image has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    page.lose(
        media,
        (
            "a text document is sent as text"
            if media.text is not None
            else f"this wire takes no such {media.kind}"
        ),
    )
    return {"type": "text", "text": describe(media)}


_ID = (Id("id", required=False, nullable=True),)
CONTENT = table(
    Row(
        "text",
        Text,
        lambda b, at, row: Text(string(b["text"]), source=Source(b, at, row)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Row(
        "image_url",
        Media,
        _read_image,
        write_image,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
)
PIECE = Row("piece", Text)
CALL_ROWS = table(
    *(
        Row(
            one.name,
            Call,
            tell={"dialect": one.name},
            direction="call",
            family="function",
            executor="client",
            ids=_ID if one.ids else (),
        )
        for one in CALLS.values()
    )
)
RESULT = Row(
    "tool_response",
    Result,
    tell={"tag": "tool_response"},
    direction="output",
    family="function",
    executor="client",
    ids=_ID,
    forms=("request",),
)
MESSAGE = Row("message", Message, keys=keys("role", "content", "reasoning_content"))
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


def spans_of(text: str, at: JsonPath, role: Role) -> list[Span]:
    """The parts of a string in order: what is said between the tags, and what is in them."""
    blocks: list[tuple[int, int, list[Span]]] = []
    gap = 1
    if role == "assistant":
        dialect, found = find_calls(text)
        for block in found:
            calls = [
                Span(call.start, call.end, read_call(call, dialect, text, at))
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
            one, origin = result_id(answer.id)
            result = Result(
                one,
                _output(answer.output, at),
                answer.error,
                answer.name,
                origin,
                source=Source(text[start:end], at, RESULT),
            )
            blocks.append((answer.start, answer.end, [Span(start, end, result)]))
    if not blocks:
        return [Span(0, len(text), Text(text, source=Source(text, at, PLAIN)))] if text else []
    spans: list[Span] = []
    last = 0
    for start, end, inside in blocks:
        spans += _piece(text, last, start, at, gap)
        spans += inside
        last = end
    return spans + _piece(text, last, len(text), at, gap)


def read_call(call: Found, dialect: Dialect, text: str, at: JsonPath) -> Call:
    """A call that was found in a text."""
    one, origin = call_id(call.id)
    return Call(
        one,
        call.name,
        call.args,
        origin,
        source=Source(text[call.start : call.end], at, CALL_ROWS[dialect.name]),
    )


def _piece(text: str, start: int, end: int, at: JsonPath, gap: int) -> list[Span]:
    """The words between two tags, without the line breaks that only set them apart from
    the tags.
    """
    if not text[start:end].strip():
        return []
    for _ in range(gap):
        start += start > 0 and text.startswith("\n", start)
        end -= end < len(text) and text.endswith("\n", start, end)
    return [Span(start, end, Text(text[start:end], source=Source(text[start:end], at, PIECE)))]


def _output(value: JSON, at: JsonPath) -> Output:
    """A result's content: any JSON; a list of text blocks is parts."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(block, dict) and is_text(block) for block in value)
    ):
        return tuple(Text(str(get(block, ("text",))), source=Source(path=at)) for block in value)
    return "" if value is None else value


def is_text(block: Object) -> bool:
    """Whether a block is text and nothing else."""
    return len(block) == 2 and block.get("type") == "text" and isinstance(block.get("text"), str)


# --- writing parts --------------------------------------------------------------------------------


def write_call(call: Call, dialect: Dialect, page: Page, old: str | None) -> str | None:
    """A call's span in a dialect; None if that cannot say it."""
    sent = page.wire_id(call)
    if sent is not None and not dialect.ids:
        page.lose(call, "a call has no id in this dialect")
    # Arguments that nobody touched stay, also those that are no object.
    same = (
        isinstance(call.original, Call)
        and call.original.args == call.args
        and not isinstance(call.input, dict)
    )
    return dialect.write(
        page.name(call.name),
        None if same else obj(page.object_of(call)),
        sent if dialect.ids else None,
        old,
    )


def write_answer(result: Result, page: Page, old: str | None) -> str:
    """A result's span."""
    sent = page.result_id(result)
    output = page.output(result)
    content: JSON = (
        output if not isinstance(output, tuple) else [_block(part, page) for part in output] or ""
    )
    named = page.called.get(result.call_id) or result.name
    real = None if page.hides(sent) else sent
    return write_result(
        content, page.name(named) if named else None, real, page.failed(result), old
    )


def _block(part: Part, page: Page) -> Object:
    if not isinstance(part, Text):
        page.lose(part, f"a result is text here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


def words_of(text: Text, role: Role, page: Page) -> str:
    """What is said, reported if it would be read otherwise."""
    if text.refusal:
        page.lose(text, "a refusal is sent as plain text")
    if not is_plain(text.text, role):
        page.lose(text, "these words have tags in them that mean something here")
    return text.text


def is_plain(text: str, role: Role) -> bool:
    """Whether a text has no tags in it that mean anything under this role."""
    if role == "assistant":
        return not find_calls(text)[1]
    return find_tools(text) is None if role == "system" else not find_results(text)
