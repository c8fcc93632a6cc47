"""Single elements where a list belongs: protobuf's JSON reads both alike.

`{"tools": {"functionDeclarations": {...}}}` means a list of one tool with a list of one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from toolwire.conversation.json import JSON, Object, snake

Rewrite: TypeAlias = "Callable[[JSON], JSON]"


def _rewrite_fields(fields: Mapping[str, Rewrite]) -> Rewrite:
    """A function that rewrites fields of an object, in both spellings; unchanged objects stay."""
    by_name = {name: field for key, field in fields.items() for name in (key, snake(key))}

    def rewrite(value: JSON) -> JSON:
        if not isinstance(value, dict):
            return value
        changed: Object = {}
        for name, field in by_name.items():
            if name in value and (new := field(value[name])) is not value[name]:
                changed[name] = new
        return {**value, **changed} if changed else value

    return rewrite


def _list_of(rewrite: Rewrite) -> Rewrite:
    """A function that wraps a single object in a list and rewrites every element."""

    def rewrite_list(value: JSON) -> JSON:
        if isinstance(value, dict):  # protobuf does not read an object of indexes as a list
            return value if all(map(str.isdecimal, value)) else [rewrite(value)]
        if not isinstance(value, list):
            return value
        new = [rewrite(element) for element in value]
        same = all(a is b for a, b in zip(new, value, strict=True))
        return value if same else new

    return rewrite_list


def _keep(value: JSON) -> JSON:
    return value


_CONTENT = _rewrite_fields({"parts": _list_of(_keep)})
write_out_lists = _rewrite_fields(
    {
        "contents": _list_of(_CONTENT),
        "systemInstruction": _CONTENT,
        "tools": _list_of(_rewrite_fields({"functionDeclarations": _list_of(_keep)})),
        "safetySettings": _list_of(_keep),
        "candidates": _list_of(_rewrite_fields({"content": _CONTENT})),
    }
)
"""Returns a body with lists instead of single elements; the same object if nothing changes."""
