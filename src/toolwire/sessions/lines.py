"""The lines of a JSONL file, each with its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, load
from toolwire.errors import DecodeError

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n\xef\xbb\xbf"


class Line(Struct, frozen=True):
    """A line: its number from 1, its bytes with the line break, and its value."""

    number: int
    text: bytes
    value: JSON | UnsetType = UNSET
    """The JSON value; UNSET for a blank line and for one that is not JSON."""
    problem: str = ""
    """The reason why a line that is not blank has no value."""

    @property
    def line_break(self) -> bytes:
        """The line break at the end; empty for a last line without one."""
        return self.text[len(self.text.rstrip(b"\r\n")) :]


def split_lines(data: bytes) -> list[Line]:
    """The lines of a file. Only LF ends a line; U+2028 and similar characters are text."""
    texts = data.split(b"\n")
    lines = [text + b"\n" for text in texts[:-1]] + [text for text in texts[-1:] if text]
    return [_read_line(number, text) for number, text in enumerate(lines, start=1)]


def _read_line(number: int, text: bytes) -> Line:
    content = text.strip(BLANK)
    if not content:
        return Line(number, text)
    try:
        return Line(number, text, load(content, "")[0])
    except DecodeError as error:
        return Line(number, text, problem=error.why)


def are_most(values: Sequence[JSON], condition: Callable[[JSON], bool]) -> bool:
    """True if more than half of the values meet a condition, so that a damaged line hides no
    format."""
    return 2 * sum(map(condition, values)) > len(values)
