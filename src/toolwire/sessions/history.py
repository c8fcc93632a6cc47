"""A history in a file: its wire, its body, the locations of its parts, and the file with another
body."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import format as indent_json

from toolwire.conversation.json import JSON, JsonPath, dump, get, load, put
from toolwire.sessions.lines import BOM, Line, split_lines


class Place(Struct, frozen=True):
    """A location in a file: the line, if the file has a value on each line, and a path in it."""

    line: int | None
    path: JsonPath


class History(ABC):
    """One history of a file."""

    def __init__(self, *, form: str, wire: str, body: JSON) -> None:
        self.form = form
        """The format of the file: a name such as `json` or the name of an agent."""
        self.wire = wire
        self.body = body
        self.skipped: list[Line] = []
        """Lines that are not JSON. The program that wrote the file skips them too."""

    @abstractmethod
    def place(self, path: JsonPath) -> Place:
        """The location in the file of a path in the body."""

    @abstractmethod
    def render(self, body: JSON) -> bytes:
        """The content of the file with another body instead of this one."""

    @abstractmethod
    def reread(self, data: bytes) -> History:
        """The same history in file content that `render` returned."""


class DocumentHistory(History):
    """A body in a JSON document, which is a whole file or one line of it."""

    def __init__(
        self,
        data: bytes,
        value: JSON,
        *,
        form: str,
        wire: str,
        body: JSON,
        path: JsonPath = (),
        line: Line | None = None,
        obsolete: str = "",
    ) -> None:
        """Describe a body.

        Args:
            data: The file.
            value: The document.
            form: The format of the file.
            wire: The wire of the body.
            body: The body.
            path: The path of the body in the document.
            line: The line that holds the document; None if the document is the whole file.
            obsolete: A field of the document that is removed when the body is replaced.
        """
        super().__init__(form=form, wire=wire, body=body)
        self._data = data
        self._value = value
        self._path = path
        self._line = line
        self._obsolete = obsolete

    def place(self, path: JsonPath) -> Place:
        return Place(None if self._line is None else self._line.number, (*self._path, *path))

    def render(self, body: JSON) -> bytes:
        document = put(self._value, self._path, body)
        if self._obsolete and isinstance(document, dict):
            document = {key: value for key, value in document.items() if key != self._obsolete}
        if self._line is None:
            return match_layout(dump(document), self._data)
        lines = self._data.split(b"\n")
        index = self._line.number - 1
        lines[index] = dump(document) + self._line.line_break.removesuffix(b"\n")
        return b"\n".join(lines)

    def reread(self, data: bytes) -> History:
        line = None if self._line is None else split_lines(data)[self._line.number - 1]
        value = load(data, "")[0] if line is None else line.value
        assert not isinstance(value, UnsetType)
        body = get(value, self._path)
        return DocumentHistory(
            data,
            value,
            form=self.form,
            wire=self.wire,
            body=None if isinstance(body, UnsetType) else body,
            path=self._path,
            line=line,
        )


def match_layout(text: bytes, original: bytes) -> bytes:
    """Return JSON with the indentation and the final line break of another text."""
    lines = original.split(b"\n", 2)
    margin = len(lines[1]) - len(lines[1].lstrip(b" ")) if len(lines) > 2 else 0
    formatted = indent(text, margin) if margin else text
    return formatted.rstrip(b"\n") + (b"\n" if original.endswith(b"\n") else b"")


def indent(text: bytes, margin: int) -> bytes:
    """Return JSON with each value on its own line."""
    text = text.removeprefix(BOM)
    try:
        return indent_json(text, indent=margin)
    except (ValueError, RecursionError):  # msgspec refuses lone surrogates and deep nesting.
        return json.dumps(load(text, "")[0], indent=margin).encode()


def path_at(value: JSON, pointer: str) -> JsonPath:
    """The path of a JSON pointer in a value; steps into lists are integers."""
    path: JsonPath = ()
    current: JSON | UnsetType = value
    for token in pointer.split("/")[1:]:
        step: str | int = token.replace("~1", "/").replace("~0", "~")
        if isinstance(current, list) and token.isdecimal():
            step = int(token)
        current = UNSET if isinstance(current, UnsetType) else get(current, (step,))
        path = (*path, step)
    return path
