"""Mistakes in a configuration, and the lines where they are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeAlias

from msgspec import Struct

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_ASSIGNMENT = re.compile(rf"{_KEY}(?:\s*\.\s*{_KEY})*\s*=")
_KeyPath: TypeAlias = tuple[str, ...]


class Mistake(Struct, frozen=True):
    """One mistake: the table, the key, and what to do."""

    table: str
    key: str
    message: str

    def __str__(self) -> str:
        table = f"[{self.table}]" if self.table else ""
        location = " ".join(word for word in (table, self.key) if word)
        return f"{location}: {self.message}" if location else self.message


class SourceLines:
    """The lines of a TOML file, by the path of a table or key."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines: dict[_KeyPath, int] = {}
        table: _KeyPath = ()
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                path = table = _read_path(stripped) or table
            elif found := _ASSIGNMENT.match(stripped):
                path = (*table, *_read_path(f"{found[0]} 0"))
            else:
                continue
            self._lines.setdefault(path, number)

    def line(self, table: str, key: str) -> int | None:
        """The line of a key; without one, that of a key inside it, or of the table around it."""
        path = (*(_read_path(f"[{table}]") if table else ()), *((key,) if key else ()))
        for length in range(len(path), 0, -1):
            for known, line in self._lines.items():
                if known[:length] == path[:length]:
                    return line
        return None

    def describe(self, mistakes: Iterable[Mistake]) -> list[str]:
        """Each mistake with its file and line, in the order of the file."""
        located = [(self.line(mistake.table, mistake.key), mistake) for mistake in mistakes]
        located.sort(key=lambda entry: entry[0] or 0)
        return [
            f"{self._file}:{line}: {mistake}" if line else f"{self._file}: {mistake}"
            for line, mistake in located
        ]


def suggest(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant, or the names that exist."""
    names = list(known)
    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known: {', '.join(names)}" if names else ""


def quote_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def table_name(kind: str, name: str) -> str:
    """The name of a table such as `[models.NAME]`."""
    return f"{kind}.{quote_key(name)}"


def _read_path(line: str) -> _KeyPath:
    """The path of the only table or key in a line; nothing if the line is part of a value."""
    try:
        value: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(value, dict) and value:
        ((name, value),) = value.items()
        path.append(name)
    return tuple(path)
