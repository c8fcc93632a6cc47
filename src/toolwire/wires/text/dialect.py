"""A dialect: one way in which models without native tool calling write calls into plain text.

A dialect is data over a few functions. To add one, write

- `opens`, a pattern for the mark with which a block of calls starts, and `partly_opens`, a pattern
  for text that can still become that mark;
- `block`, the grammar of a block. Its `recognize` says whether a text that starts with the mark can
  still become a block; a stream is held back as long as it can. Its `parse` returns the block that
  starts at a position. A block holds calls and their tags and nothing else; each call has a span of
  its own, which is rewritten when the call is edited. Text that does not parse is no block and
  stays text. Never evaluate anything;
- `write`: the text of the span of one call, or None if the dialect cannot express the call;
- `frame`: the text before, between and after the spans of a block.

Put the `Dialect` into the table in `dialects.py`; the tests of the wire run over that table. A
message is read in the dialect of its first block, so that a stream can be read as it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.text.cursor import Cursor, Recognizer


class CallMatch(Struct, frozen=True):
    """A call in a text: its content, and the span that is rewritten when it is edited."""

    start: int
    end: int
    name: str
    args: LazyJson
    id: JSON = None
    """The JSON value in the place of the id; it may have any type."""

    def shift(self, offset: int) -> CallMatch:
        """The same call with its span moved."""
        return CallMatch(self.start + offset, self.end + offset, self.name, self.args, self.id)


class CallBlock(Struct, frozen=True):
    """A range of a text that holds only calls and their tags."""

    start: int
    end: int
    calls: tuple[CallMatch, ...]


class Frame(NamedTuple):
    """The text around the spans of a block."""

    before: str
    between: str
    after: str


class Grammar(NamedTuple):
    """Recognizes a block while its text grows, and parses it when it is complete."""

    recognize: Callable[[Cursor], Recognizer]
    parse: Callable[[str, int], CallBlock | None]


SpanWriter: TypeAlias = "Callable[[str, Object | None, str | None, str | None], str | None]"
"""Takes the name, the arguments (None: those of the replaced span stay), the id, and the span that
is replaced (None for a new call)."""


class Dialect(Struct, frozen=True, eq=False, kw_only=True):
    """One way of writing calls into text; the module docstring explains the main fields."""

    name: str
    opens: str
    partly_opens: str
    block: Grammar
    write: SpanWriter
    frame: Frame
    has_ids: bool = True
    """A call can carry an id."""
    bare_start: str = ""
    """The first character of a message that is a block without a mark; such a block fills the whole
    message."""
    closing: Grammar | None = None
    """The grammar of an optional tag after a block, which is a block without calls."""
    end_marker: str = ""
    """Text that every block contains near its end: without it further on, no block can start."""

    def write_block(self, spans: Iterable[str]) -> str:
        """A block of calls, from the text of each span."""
        return f"{self.frame.before}{self.frame.between.join(spans)}{self.frame.after}"
