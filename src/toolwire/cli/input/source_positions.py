"""Where in a JSON text its values begin: a JSON pointer as a line and a column, for editors and
annotations.

Only what a wanted place lies in is looked into. Knows no wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from json import JSONDecoder

from toolwire.conversation.json import JsonPath

_past = re.compile(r"[ \t\r\n,:]*").match
_value = JSONDecoder().raw_decode


def spots(text: bytes, paths: Iterable[JsonPath]) -> dict[JsonPath, tuple[int, int]]:
    """Line and column, from one, of each place that can be found in the text; a path of no value is
    left out."""
    shown = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    found: dict[JsonPath, int] = {}
    wanted = set(paths)
    with suppress(
        ValueError, IndexError, RecursionError
    ):  # Not JSON from here on: what was found before it counts.
        _walk(shown, _skip(shown, 0), (), wanted, found)
    return {path: _spot(shown, found[path]) for path in wanted if path in found}


def _spot(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _skip(text: str, at: int) -> int:
    past = _past(text, at)
    return past.end() if past else at


def _walk(
    text: str, at: int, here: JsonPath, wanted: set[JsonPath], found: dict[JsonPath, int]
) -> int:
    """Note where the value begins, look into it if a wanted place lies in it, and give where it
    ends."""
    found[here] = at
    inner = {path for path in wanted if len(path) > len(here) and path[: len(here)] == here}
    if not inner or text[at] not in "{[":
        return int(_value(text, at)[1])
    close, listed = ("}", False) if text[at] == "{" else ("]", True)
    at = _skip(text, at + 1)
    count = 0
    while text[at] != close:
        step: str | int = count
        if not listed:
            step, at = _value(text, at)
            at = _skip(text, at)
        at = _skip(text, _walk(text, at, (*here, step), inner, found))
        count += 1
    return at + 1
