"""Line and column of JSON values in their source text, for editors and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from json import JSONDecoder

from msgspec import Struct

from toolwire.conversation.json import JsonPath

_match_separators = re.compile(r"[ \t\r\n,:]*").match
_decode_value = JSONDecoder().raw_decode


class Position(Struct, frozen=True):
    """A place in a text, as editors count: both from 1."""

    line: int
    column: int


def lines_of(text: bytes) -> list[str]:
    """Return the lines of a text, as positions count them."""
    return _decode(text).split("\n")


def _decode(text: bytes) -> str:
    return text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def find_positions(text: bytes, paths: Iterable[JsonPath]) -> dict[JsonPath, Position]:
    """Return the position of each path that is in the text; other paths are left out."""
    source = _decode(text)
    offsets: dict[JsonPath, int] = {}
    wanted = set(paths)
    # Where the text stops being JSON, the offsets before it still count.
    with suppress(ValueError, IndexError, RecursionError):
        _walk(source, _skip_separators(source, 0), path=(), wanted=wanted, offsets=offsets)
    return {path: position_at(source, offsets[path]) for path in wanted if path in offsets}


EXCERPT_WIDTH = 72
"""The most characters of an excerpt."""
_LEAD = 24
"""The characters before the column that are kept if the line is longer than an excerpt."""


class Excerpt(Struct, frozen=True):
    """The line around a position, shortened, and how far into it the position is."""

    text: str
    offset: int


def excerpt_at(lines: Sequence[str], position: Position) -> Excerpt:
    """Return the line of a position, or the part of a long line around it.

    Args:
        lines: All lines of the text, as `lines_of` returns them.
    """
    line = lines[position.line - 1]
    offset = position.column - 1
    if len(line) <= EXCERPT_WIDTH:
        return Excerpt(line, offset)
    start = max(0, min(offset - _LEAD, len(line) - EXCERPT_WIDTH))
    shown = line[start : start + EXCERPT_WIDTH]
    before, after = "…" if start else "", "…" if start + EXCERPT_WIDTH < len(line) else ""
    return Excerpt(f"{before}{shown}{after}", offset - start + len(before))


def position_at(source: str, offset: int) -> Position:
    """Return the position of an offset in a text."""
    return Position(source.count("\n", 0, offset) + 1, offset - source.rfind("\n", 0, offset))


def _skip_separators(source: str, offset: int) -> int:
    match = _match_separators(source, offset)
    return match.end() if match else offset


def _walk(
    source: str, offset: int, *, path: JsonPath, wanted: set[JsonPath], offsets: dict[JsonPath, int]
) -> int:
    """Note the offset of a value, descend into it if a wanted path leads there, return its end."""
    offsets[path] = offset
    inner = {
        inner_path
        for inner_path in wanted
        if len(inner_path) > len(path) and inner_path[: len(path)] == path
    }
    if not inner or source[offset] not in "{[":
        return int(_decode_value(source, offset)[1])
    is_list = source[offset] == "["
    close = "]" if is_list else "}"
    offset = _skip_separators(source, offset + 1)
    index = 0
    while source[offset] != close:
        step: str | int = index
        if not is_list:
            step, offset = _decode_value(source, offset)
            offset = _skip_separators(source, offset)
        end = _walk(source, offset, path=(*path, step), wanted=inner, offsets=offsets)
        offset = _skip_separators(source, end)
        index += 1
    return offset + 1
