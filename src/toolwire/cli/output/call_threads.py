"""A conversation as lines of text, with a thread drawn from every call to its result.

Each thread has a column of the gutter for as long as it is open, and a letter. Knows no wire, and
no colours.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Result, describe


class Marks(Struct, frozen=True):
    """What threads are drawn with."""

    begin: str
    through: str
    end: str
    across: str
    crossing: str
    lone: str
    """The only end of a thread: a call nobody answered, a result nobody asked for."""


ROUND = Marks("╭", "│", "╰", "─", "┼", "╶")
PLAIN = Marks(",", "|", "`", "-", "+", "*")


class Line(Struct, frozen=True):
    """One part: the gutter before it, the thread it belongs to (if any), who said it, what, and
    under which id."""

    gutter: str
    thread: int | None
    who: str
    words: str
    id: str = ""

    @property
    def letter(self) -> str:
        """The thread's letter; a blank where there is none."""
        return " " if self.thread is None else letter(self.thread)


def letter(thread: int) -> str:
    """A, B, C, and again from A after Z."""
    return chr(ord("A") + thread % 26)


def threads(conversation: Conversation, marks: Marks = ROUND) -> list[Line]:
    """Every part of the conversation as a line, in document order."""
    places = _places(conversation)
    open_columns: list[int | None] = []
    drawn: list[tuple[str, int | None, str, Part]] = []
    for message in conversation.messages:
        who: str = message.role
        for part in message.parts:
            thread, both = places.get(id(part), (None, False))
            gutter = _step(open_columns, thread, both, marks)
            drawn.append((gutter, thread, who, part))
            who = ""
    width = max((len(gutter) for gutter, *_ in drawn), default=0)
    return [
        Line(_reach(gutter, width, thread, marks), thread, who, *_words(part))
        for gutter, thread, who, part in drawn
    ]


def _places(conversation: Conversation) -> dict[int, tuple[int, bool]]:
    """The thread of each call and result, by identity of the part, and whether it has two ends."""
    places: dict[int, tuple[int, bool]] = {}
    for n, pair in enumerate(conversation.pairs()):
        for part in (pair.call, pair.result):
            if part is not None:
                places[id(part)] = (n, pair.how is not None)
    return places


def _step(columns: list[int | None], thread: int | None, both: bool, marks: Marks) -> str:
    """The gutter of one line; `columns` are the open threads, and change with it."""
    shown = [" " if one is None else marks.through for one in columns]
    if thread is None:
        return "".join(shown)
    if thread in columns:
        column = columns.index(thread)
        columns[column] = None
        shown[column] = marks.end
    else:
        column = columns.index(None) if None in columns else len(columns)
        columns[column : column + 1] = [thread if both else None]
        shown[column : column + 1] = [marks.begin if both else marks.lone]
    return "".join(shown)


def _reach(gutter: str, width: int, thread: int | None, marks: Marks) -> str:
    """The gutter with a line from the thread's end to its letter, across the threads that are still
    open."""
    gutter = gutter.ljust(width)
    if thread is None:
        return f"{gutter} "
    at = max(gutter.rfind(mark) for mark in (marks.begin, marks.end, marks.lone))
    reached = "".join(
        marks.crossing if one == marks.through else marks.across for one in gutter[at + 1 :]
    )
    return f"{gutter[: at + 1]}{reached}{marks.across}"


def _words(part: Part) -> tuple[str, str]:
    """What a part says, and its call id."""
    match part:
        case Call():
            return f"{part.name} {part.arguments or '{}'}", part.id
        case Result():
            return f"{'failed: ' if part.error else ''}{part.text}", part.call_id
    return describe(part), ""
