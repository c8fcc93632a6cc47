"""Correct values of a wrong JSON type, so that a body can be read.

Some programs write a single call without its list, keep a list as JSON text, or write a list with
gaps as an object of indexes. Readers refuse such values, and say which type they expect. This
module corrects those whose meaning is certain. It knows no wire and no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, kind_of, parse, put, text_of
from toolwire.conversation.model import Conversation
from toolwire.errors import DecodeError, UnexpectedType

_MAX_FIELDS = 20
"""How many fields are corrected in one body, each in all of its messages."""
_DEPTH_IN_MESSAGE = 3
"""The length of the path of a field in a message. A body without messages is no body of its wire,
but a message without content is a message."""


def read_with_corrections(
    read: Callable[[JSON], Conversation], body: JSON, error: DecodeError
) -> tuple[Conversation, tuple[tuple[JsonPath, str], ...]]:
    """Read a body after correcting the values that its reader refuses.

    Args:
        read: The reader of the wire.
        body: The body that it refused.
        error: Why.

    Raises:
        DecodeError: It is not certain how to correct a value.
    """
    corrections: list[tuple[JsonPath, str]] = []
    for _ in range(_MAX_FIELDS):
        found = [*_correctable(body, error)]
        if not found:
            break
        for path, values in reversed(found):  # from the end, so that indexes stay valid
            body = _put(body, path, values)
        corrections += [(path, error.why) for path, _ in found]
        try:
            return read(body), tuple(corrections)
        except DecodeError as problem:
            error = problem
    raise error


def _correctable(body: JSON, error: DecodeError) -> Iterator[tuple[JsonPath, list[JSON]]]:
    """The path of the refused value, and of those of its type in the same field of other elements,
    each with the values to write there."""
    if not isinstance(error, UnexpectedType) or not error.path:
        return
    refused = kind_of(get(body, error.path))
    for path in _similar_paths(body, error.path):
        value = get(body, path)
        if kind_of(value) == refused:
            values = _as_expected(value, error.expected, path)
            if values is not None:
                yield path, values


def _similar_paths(value: JSON, pattern: JsonPath, path: JsonPath = ()) -> Iterator[JsonPath]:
    """The paths that differ from a path only in their indexes."""
    if len(path) == len(pattern):
        yield path
        return
    step = pattern[len(path)]
    if isinstance(step, str):
        if isinstance(value, dict):
            yield from _similar_paths(value.get(step), pattern, (*path, step))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _similar_paths(element, pattern, (*path, index))


def _as_expected(value: JSON | UnsetType, expected: str, path: JsonPath) -> list[JSON] | None:
    """What to write instead of a value: any number of values in a list, at most one in a field;
    None if that is not certain."""
    in_list = isinstance(path[-1], int)
    in_message = len(path) >= _DEPTH_IN_MESSAGE
    wants_list = "a list" in expected
    if value is None or isinstance(value, UnsetType):
        if in_list or (value is None and expected == "a string"):
            return []
        return [[]] if wants_list and in_message else None
    if isinstance(value, str):
        container = _parse_container(value)
        if container is not None:
            return _as_expected(container, expected, path) or [container]
        return [[value]] if wants_list and in_message else None
    if isinstance(value, dict) and wants_list:
        return [_as_list(value)]
    if isinstance(value, list) and "an object" in expected:
        is_objects = all(isinstance(element, dict) for element in value)
        return value if is_objects and (in_list or len(value) == 1) else None
    if not isinstance(value, dict | list):
        return [text_of(value)] if in_message else None
    return None


def _parse_container(text: str) -> JSON:
    """The list or object that a text is the JSON of; None for any other text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return parse(text)
    except ValueError:
        return None


def _as_list(value: Object) -> JSON:
    """A list of one object; of its values, if they are numbered."""
    if value and all(key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return [value]


def _put(body: JSON, path: JsonPath, values: list[JSON]) -> JSON:
    *_, index = path
    parent = get(body, path[:-1])
    if isinstance(parent, list) and isinstance(index, int):
        return put(body, path[:-1], [*parent[:index], *values, *parent[index + 1 :]])
    if values or not isinstance(parent, dict):
        return put(body, path, values[0])
    return put(body, path[:-1], {key: item for key, item in parent.items() if key != index})
