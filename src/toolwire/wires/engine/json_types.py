"""Correct values of a wrong JSON type, so that a body or a stream can be read.

Some programs write a single call without its list, keep a list as JSON text, or write a list with
gaps as an object of indexes. Readers refuse such values, and say which type they expect. This
module corrects those whose meaning is certain. It knows no wire and no field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, kind_of, parse, text_of
from toolwire.errors import DecodeError, UnexpectedType

T = TypeVar("T")
_MAX_FIELDS = 20
"""How many fields are corrected in one body, each in all of its messages."""
_DEPTH_IN_MESSAGE = 3
"""The length of the path of a field in a message. A body without messages is no body of its wire,
but a message without content is a message."""


def read_with_corrections(
    read: Callable[[JSON], T], body: JSON, error: DecodeError
) -> tuple[T, tuple[tuple[JsonPath, str], ...]]:
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
        if not isinstance(error, UnexpectedType) or not error.path:
            break
        field = _Field(error.path, error.expected, kind_of(get(body, error.path)))
        body = field.correct(body)
        if not field.corrected:
            break
        corrections += [(path, error.why) for path in field.corrected]
        try:
            return read(body), tuple(corrections)
        except DecodeError as problem:
            error = problem
    raise error


def correct_content(content: JSON) -> JSON:
    """The content of a message in a stream, corrected as that of a body is.

    Returns a text, a list of texts and blocks, or null.
    """
    if isinstance(content, list):
        return correct_blocks(content)
    if content is None or isinstance(content, str):
        return content
    return [content] if isinstance(content, dict) else text_of(content)


def correct_blocks(content: list[JSON]) -> list[JSON]:
    """The texts and blocks of a list: a list among them is opened, a number is a text."""
    out: list[JSON] = []
    for element in content:
        if isinstance(element, list):
            out += correct_blocks(element)
        elif element is not None:
            out.append(element if isinstance(element, str | dict) else text_of(element))
    return out


class _Field:
    """A field with a value of a wrong type, in all elements of the lists around it."""

    def __init__(self, path: JsonPath, expected: tuple[type | None, ...], refused: str) -> None:
        self._path = path
        self._expected = expected
        self._refused = refused
        """The type of the values to correct."""
        self.corrected: list[JsonPath] = []

    def correct(self, body: JSON) -> JSON:
        """The body with the values of this field corrected."""
        (corrected,) = self._rewrite(body, ())
        return body if isinstance(corrected, UnsetType) else corrected

    def _rewrite(self, value: JSON | UnsetType, path: JsonPath) -> Sequence[JSON | UnsetType]:
        """What to write instead of a value on the path: one value, or any number in a list."""
        if len(path) == len(self._path):
            return self._rewrite_field(value, path)
        step = self._path[len(path)]
        if isinstance(step, str) and isinstance(value, dict):
            new = {**value}
            values = self._rewrite(new.pop(step, UNSET), (*path, step))
            present = [item for item in values if not isinstance(item, UnsetType)]
            return [{**value, step: present[0]} if present else new]
        if isinstance(step, int) and isinstance(value, list):
            elements: list[JSON] = []
            for index, element in enumerate(value):
                values = self._rewrite(element, (*path, index))
                elements += [item for item in values if not isinstance(item, UnsetType)]
            return [elements]
        return [value]

    def _rewrite_field(self, value: JSON | UnsetType, path: JsonPath) -> Sequence[JSON | UnsetType]:
        values = None
        if kind_of(value) == self._refused:
            values = _as_expected(value, self._expected, path)
        if values is None:
            return [value]
        self.corrected.append(path)
        return values


def _as_expected(
    value: JSON | UnsetType, expected: tuple[type | None, ...], path: JsonPath
) -> list[JSON] | None:
    """What to write instead of a value: any number of values in a list, at most one in a field;
    None if that is not certain."""
    in_list = isinstance(path[-1], int)
    in_message = len(path) >= _DEPTH_IN_MESSAGE
    wants_list = list in expected
    if value is None or isinstance(value, UnsetType):
        if in_list or (value is None and expected == (str,)):
            return []
        return [[]] if wants_list and in_message else None
    if isinstance(value, str):
        container = _parse_container(value)
        if container is not None:
            return _as_expected(container, expected, path) or [container]
        return [[value]] if wants_list and in_message else None
    if isinstance(value, dict) and wants_list:
        return [_as_list(value)]
    if isinstance(value, list) and dict in expected:
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
