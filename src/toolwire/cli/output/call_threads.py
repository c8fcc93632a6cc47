"""A conversation as lines of text, with a thread drawn from every call to its result.

A thread has a letter, and a column of the gutter while it is open.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Result, describe


class ThreadGlyphs(Struct, frozen=True, kw_only=True):
    """The characters that threads are drawn with."""

    start: str
    through: str
    end: str
    across: str
    crossing: str
    single: str
    """The only end of a thread: a call without a result, or a result without a call."""


UNICODE = ThreadGlyphs(start="╭", through="│", end="╰", across="─", crossing="┼", single="╶")
ASCII = ThreadGlyphs(start=",", through="|", end="`", across="-", crossing="+", single="*")


class ThreadLine(Struct, frozen=True):
    """One part of the conversation: its gutter, thread, role, text and call id."""

    gutter: str
    thread: int | None
    role: str
    text: str
    id: str = ""

    @property
    def letter(self) -> str:
        """The letter of the thread; a blank if the part has none."""
        return " " if self.thread is None else letter_of(self.thread)


def letter_of(thread: int) -> str:
    """Return A, B, C, …, and A again after Z."""
    return chr(ord("A") + thread % 26)


def draw_threads(conversation: Conversation, glyphs: ThreadGlyphs = UNICODE) -> list[ThreadLine]:
    """Return a line for every part of the conversation, in document order."""
    threads = _threads_of_parts(conversation)
    open_columns: list[int | None] = []
    drawn: list[tuple[str, int | None, str, Part]] = []
    for message in conversation.messages:
        role: str = message.role
        for part in message.parts:
            thread, is_pair = threads.get(part, (None, False))
            gutter = _draw_gutter(open_columns, thread, is_pair=is_pair, glyphs=glyphs)
            drawn.append((gutter, thread, role, part))
            role = ""
    width = max((len(gutter) for gutter, *_ in drawn), default=0)
    return [
        ThreadLine(
            _connect(gutter, width, thread=thread, glyphs=glyphs), thread, role, *_text(part)
        )
        for gutter, thread, role, part in drawn
    ]


def _threads_of_parts(conversation: Conversation) -> PartMap[Part, tuple[int, bool]]:
    """Return thread number and "has both ends" for each call and result."""
    threads: PartMap[Part, tuple[int, bool]] = PartMap()
    for number, pair in enumerate(conversation.pairs()):
        for part in (pair.call, pair.result):
            if part is not None:
                threads[part] = (number, pair.how is not None)
    return threads


def _draw_gutter(
    columns: list[int | None], thread: int | None, *, is_pair: bool, glyphs: ThreadGlyphs
) -> str:
    """Draw the gutter of one line; `columns` holds the open threads and is updated."""
    gutter = [" " if column is None else glyphs.through for column in columns]
    if thread is None:
        return "".join(gutter)
    if thread in columns:
        index = columns.index(thread)
        columns[index] = None
        gutter[index] = glyphs.end
    else:
        index = columns.index(None) if None in columns else len(columns)
        columns[index : index + 1] = [thread if is_pair else None]
        gutter[index : index + 1] = [glyphs.start if is_pair else glyphs.single]
    return "".join(gutter)


def _connect(gutter: str, width: int, *, thread: int | None, glyphs: ThreadGlyphs) -> str:
    """Extend the end of a thread to its letter, across the threads that are still open."""
    gutter = gutter.ljust(width)
    if thread is None:
        return f"{gutter} "
    end = max(gutter.rfind(glyph) for glyph in (glyphs.start, glyphs.end, glyphs.single))
    line = "".join(
        glyphs.crossing if glyph == glyphs.through else glyphs.across for glyph in gutter[end + 1 :]
    )
    return f"{gutter[: end + 1]}{line}{glyphs.across}"


def _text(part: Part) -> tuple[str, str]:
    """Return the text and the call id of a part."""
    match part:
        case Call():
            return f"{part.name} {part.arguments or '{}'}", part.id
        case Result():
            return f"{'failed: ' if part.error else ''}{part.text}", part.call_id
    return describe(part), ""
