"""JSON inside plain text: a value that begins somewhere, and one that is written where tags end.
Knows no wire."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from toolwire.conversation.json import JSON, Object, parse, text_of


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_SPACE = re.compile(r"[ \t\n\r]*")


def value_at(text: str, start: int) -> tuple[JSON, int] | None:
    """The JSON value that begins here and where it ends; None if there is none."""
    try:
        _, end = _DECODER.raw_decode(text, start)
        return parse(text[start:end]), end
    except (ValueError, RecursionError):
        return None


def object_at(text: str, start: int) -> tuple[Object, int] | None:
    """The JSON object that begins here and where it ends."""
    found = value_at(text, start) if text.startswith("{", start) else None
    return (found[0], found[1]) if found is not None and isinstance(found[0], dict) else None


def skip(text: str, path: int) -> int:
    """The next place that is no blank of JSON."""
    found = _SPACE.match(text, path)
    return found.end() if found else path


def json_text(value: JSON) -> str:
    """JSON in which no closing tag can occur: a slash may be escaped."""
    return text_of(value).replace("</", "<\\/")
