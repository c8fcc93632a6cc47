"""JSON inside plain text: find a value at a position, write a value without closing tags."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from toolwire.conversation.json import JSON, Object, load, text_of
from toolwire.errors import DecodeError


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
_SPACE = re.compile(r"[ \t\n\r]*")


def value_at(text: str, start: int) -> tuple[JSON, int] | None:
    """The JSON value that starts at a position, and its end; None if there is none."""
    try:
        _, end = _DECODER.raw_decode(text, start)
        return load(text[start:end], "")[0], end
    except (ValueError, RecursionError, DecodeError):
        return None


def object_at(text: str, start: int) -> tuple[Object, int] | None:
    """The JSON object that starts at a position, and its end; None if there is none."""
    found = value_at(text, start) if text.startswith("{", start) else None
    return (found[0], found[1]) if found is not None and isinstance(found[0], dict) else None


def skip_space(text: str, position: int) -> int:
    """The next position that holds no JSON whitespace."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def json_text(value: JSON) -> str:
    """JSON text without any `</`: the slash is escaped, so that it cannot contain a closing tag."""
    return text_of(value).replace("</", "<\\/")
