"""Model Context Protocol: JSON-RPC ids as neutral ids, and back.

A JSON-RPC id is an integer or a string, and 1 is not "1". In the neutral id an integer is its
digits; a string that could be mistaken for an integer is written with its quotes. Both directions
are reversible and need no context.
"""

from __future__ import annotations

import re

from toolwire.conversation.json import JSON, parse, text_of
from toolwire.conversation.parts import Origin
from toolwire.wires.engine.specs import read_id

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}")


def _is_ambiguous(text: str) -> bool:
    """True if a string reads as an integer, or as a string in quotes that does."""
    if text[:1] != '"':
        return _INTEGER.fullmatch(text) is not None
    inner = _unquote(text)
    return inner is not None and _is_ambiguous(inner)


def _unquote(text: str) -> str | None:
    try:
        inner = parse(text)
    except ValueError:
        return None
    return inner if isinstance(inner, str) and text_of(inner) == text else None


def neutral_id(value: JSON) -> tuple[str, Origin]:
    """The neutral id of a JSON-RPC id, and its origin."""
    text, origin = read_id(value)
    if text and isinstance(value, str) and _is_ambiguous(value):
        return text_of(value), origin
    return text, origin


def json_id(text: str) -> JSON:
    """The JSON-RPC id of a neutral id: the reverse of `neutral_id`."""
    if _INTEGER.fullmatch(text):
        return int(text)
    inner = _unquote(text) if text[:1] == '"' else None
    return inner if inner is not None and _is_ambiguous(inner) else text
