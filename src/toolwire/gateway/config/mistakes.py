"""Mistakes in a configuration, and the lines where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ASSIGNMENT = re.compile(r"[\"']?([^\"'=]+?)[\"']?\s*=")


class Mistake(Struct, frozen=True):
    """One mistake: the table, the key, and what to do."""

    table: str
    key: str
    message: str

    def __str__(self) -> str:
        table = f"[{self.table}]" if self.table else ""
        place = " ".join(word for word in (table, self.key) if word)
        return f"{place}: {self.message}" if place else self.message


class SourceLines:
    """The lines of a TOML file, by table and key."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines: dict[tuple[str, str], int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                header = stripped.partition("#")[0].strip("[] ")
                table = header.replace("'", '"').replace(" ", "")
                self._lines.setdefault((table, ""), number)
            elif found := _ASSIGNMENT.match(stripped):
                self._lines.setdefault((table, found[1]), number)

    def line(self, table: str, key: str) -> int | None:
        """The line of a key, or of its table if the key is not there."""
        table = table.replace(" ", "")
        for place in ((table, key), (table, ""), (key, "")):
            if place in self._lines:
                return self._lines[place]
        inner = (line for (name, _), line in self._lines.items() if name.startswith(f"{key}."))
        return next(inner, None) if not table else None

    def describe(self, mistakes: Iterable[Mistake]) -> list[str]:
        """Each mistake with its file and line, in the order of the file."""
        places = [(self.line(mistake.table, mistake.key), mistake) for mistake in mistakes]
        places.sort(key=lambda place: place[0] or 0)
        return [
            f"{self._file}:{line}: {mistake}" if line else f"{self._file}: {mistake}"
            for line, mistake in places
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
    return name if _BARE_KEY.fullmatch(name) else f'"{name}"'


def table_name(kind: str, name: str) -> str:
    """The name of a table such as `[models.NAME]`."""
    return f"{kind}.{quote_key(name)}"
