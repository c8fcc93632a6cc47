"""Arguments that arrive as values with JSON paths, turned into the text of a JSON object."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, Object, snake, text_of
from toolwire.wires.families.contents.spelling import get_field

Path: TypeAlias = "list[str | int]"
_STEP = re.compile(
    r"""\.?([^.\[\]'"]+)|\[(\d+)\]|\[\s*'((?:[^'\\]|\\.)*)'\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]"""
)
_VALUE_FIELDS = {
    name: snake(name) for name in ("stringValue", "numberValue", "boolValue", "nullValue")
}


def parse_json_path(path: str) -> Path:
    """The steps of a JSON path from its root: `$.a['b c'][0]` is a, `b c`, 0."""
    steps: Path = []
    for plain, index, single, double in _STEP.findall(path.removeprefix("$")):
        if index:
            steps.append(int(index))
        else:
            steps.append(plain or re.sub(r"\\(.)", r"\1", single or double))
    return steps


class PartialArguments:
    """The arguments of one call, as the JSON text that its values form so far.

    Brackets are opened and closed as the paths require. A string stays open until a value with
    another path arrives, because it may continue. A value whose path leads back into a closed
    object or list cannot be appended to the text; `corrected_text` then has the right text.
    """

    __slots__ = ("_brackets", "_closed", "_in_string", "_path", "_returned", "_value", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        """The pieces of text that were returned."""
        self._value = _Container(is_list=False)
        self._path: Path = []
        """The path of the last value."""
        self._brackets = ""
        """The closing brackets of everything that is open, outermost first."""
        self._in_string = False
        self._closed: set[tuple[str | int, ...]] = set()
        """The paths of all closed objects and lists."""
        self._returned = False
        """True if a path led back into a closed object or list, or to an earlier element of a
        list."""

    def add(self, partial: Object) -> str:
        """Add one value; return the text that it appends."""
        value, path = _read_value(partial), get_field(partial, "jsonPath")
        if value is UNSET or not isinstance(path, str):
            return ""
        text = self._append(parse_json_path(path) or [""], value)
        if text:
            self.texts.append(text)
        return text

    def _append(self, path: Path, value: JSON) -> str:
        if isinstance(value, str) and self._in_string and path == self._path:
            _put(self._value, path, value, extend=True)
            return text_of(value)[1:-1]
        out: list[str] = ['"'] if self._in_string else []
        self._in_string = isinstance(value, str)
        shared = 0
        while shared < min(len(path), len(self._path)) - 1 and path[shared] == self._path[shared]:
            shared += 1
        if self._brackets:
            self._closed.update(
                tuple(self._path[:n]) for n in range(shared + 1, len(self._path) + 1)
            )
            out += [*self._brackets[:shared:-1], ","]
            self._brackets = self._brackets[: shared + 1]
        else:
            out.append("{")
            self._brackets = "}"
        if any(tuple(path[:n]) in self._closed for n in range(1, len(path) + 1)):
            self._returned = True
        self._returned = _put(self._value, path, value) or self._returned
        for n in range(shared, len(path)):
            if n > shared:
                in_list = isinstance(path[n], int)
                self._brackets += "]" if in_list else "}"
                out.append("[" if in_list else "{")
            if self._brackets[-1] == "}":
                out.append(text_of(str(path[n])) + ":")
        self._path = path
        out.append(text_of(value)[:-1] if self._in_string else text_of(value))
        return "".join(out)

    def close(self) -> str:
        """Close everything that is open; return the text that this appends."""
        text = "{}"
        if self._brackets:
            text = ('"' if self._in_string else "") + self._brackets[::-1]
        self.texts.append(text)
        self._brackets, self._in_string = "", False
        return text

    @property
    def corrected_text(self) -> str | None:
        """The text of all arguments, if it differs from the joined pieces."""
        return text_of(self._value.to_json()) if self._returned else None


def _read_value(partial: Object) -> JSON | UnsetType:
    """The value of a partial argument. Of several fields, those that are null do not count."""
    names = [name for name, alias in _VALUE_FIELDS.items() if name in partial or alias in partial]
    given = [name for name in names if get_field(partial, name) is not None]
    if given:
        return None if given[0] == "nullValue" else _without_point(get_field(partial, given[0]))
    return None if len(names) == 1 else UNSET


def _without_point(value: JSON) -> JSON:
    """A whole number as an int: every number on these wires is a double, and clients write 50.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


class _Container(Struct, eq=False):
    """An object or a list of the arguments. A list keeps its elements by index."""

    is_list: bool
    entries: dict[str | int, JSON | _Container] = {}
    end: int = 0
    """The index after the last element of a list."""

    def key(self, step: str | int) -> str | int:
        """The key of an entry; a name in a list stands for the next element."""
        if not self.is_list:
            return str(step)
        return step if isinstance(step, int) else self.end

    def to_json(self) -> JSON:
        """The object or list."""
        values = {
            key: value.to_json() if isinstance(value, _Container) else value
            for key, value in self.entries.items()
        }
        if self.is_list:
            return [values[key] for key in sorted(values)]
        return {str(key): value for key, value in values.items()}


def _put(
    container: _Container, path: Sequence[str | int], value: JSON, *, extend: bool = False
) -> bool:
    """Set the value at a path and create the containers on the way; `extend` appends to a string.

    Returns True if the index of a list element is smaller than an earlier one.
    """
    is_late = False
    for n, step in enumerate(path):
        key, entries = container.key(step), container.entries
        if isinstance(key, int) and key not in entries:
            is_late = is_late or key < container.end
            container.end = max(container.end, key + 1)
        if n == len(path) - 1:
            entries[key] = _extend_text(entries.get(key), value) if extend else value
            break
        inner = entries.get(key)
        if not isinstance(inner, _Container):
            inner = entries[key] = _Container(is_list=isinstance(path[n + 1], int))
        container = inner
    return is_late


def _extend_text(old: JSON | _Container, new: JSON) -> JSON:
    return old + new if isinstance(old, str) and isinstance(new, str) else new
