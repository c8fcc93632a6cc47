"""Tools by id: several versions side by side, found by what a caller wrote.

`@1.2.3` is that version, `@1` is 1.0.0 and nothing else, no version is the newest. Ids are
case-sensitive; who misses one narrowly is told what there is. Offers what was added and knows
nothing of who asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from types import ModuleType
from typing import TypeAlias

from toolwire.tools.discovery import FunctionCollector, collect
from toolwire.tools.errors import ToolDefinitionError, UnknownTool
from toolwire.tools.function import Function
from toolwire.tools.runnable import Runnable, ToolId, Version

Given: TypeAlias = "Runnable | Function[..., object] | ModuleType | Tools"
_LONGEST = 200
"""Of what a caller wrote, no more is looked at or said again."""


class Tools(FunctionCollector):
    """A set of tools. No two have one id, and no two ids give one name for models."""

    def __init__(self, *tools: Given) -> None:
        self._exact: dict[ToolId, Runnable] = {}
        self._versions: dict[str, dict[Version, Runnable]] = {}
        self._newest: dict[str, Runnable] = {}
        self._names: dict[str, str] = {}
        self.add(*tools)

    def add(self, *tools: Given) -> None:
        """Add tools, or all tools of a module. Raises ToolDefinitionError, and then nothing was
        added."""
        found = [one for tool in tools for one in _runnables(tool)]
        exact, names = dict(self._exact), dict(self._names)
        for one in found:
            label = str(one.id)
            if one.id.version is None:
                raise ToolDefinitionError(label, "has no version")
            if exact.setdefault(one.id, one) is not one:
                raise ToolDefinitionError(
                    label, "is there twice: give one of them another name or version"
                )
            if names.setdefault(one.name, one.id.plain) != one.id.plain:
                raise ToolDefinitionError(
                    label,
                    f"models see it as {one.name}, and {names[one.name]} too: rename one of them",
                )
        self._exact, self._names = exact, names
        for one in found:
            if one.id.version is not None:
                versions = self._versions.setdefault(one.id.plain, {})
                versions[one.id.version] = one
                self._newest[one.id.plain] = versions[max(versions)]

    def resolve(self, text: str) -> Runnable:
        """The tool that an id means. Raises UnknownTool."""
        found = self._newest.get(text) if isinstance(text, str) else None
        return found if found is not None else self._resolved(text)

    def _resolved(self, text: str) -> Runnable:
        try:
            wanted = ToolId.read(text) if isinstance(text, str) else None
        except ValueError:  # a version of thousands of digits
            wanted = None
        if wanted is None:
            said = repr(text[:_LONGEST]) if isinstance(text, str) else f"{type(text).__name__}"
            raise UnknownTool(
                "The id of the tool is malformed.",
                f"{said}: expected Toolkit.Tool, Toolkit.Tool@1 or"
                f" Toolkit.Tool@1.2.3{self._hint(text)}",
                malformed=True,
            )
        versions = self._versions.get(wanted.plain)
        if versions is None:
            raise UnknownTool(
                f"The tool {wanted.short[:_LONGEST]} was not found.",
                f"{_cut(wanted)}: no such tool{self._hint(text)}",
            )
        if wanted.version not in versions:
            there = ", ".join(map(str, sorted(versions)))
            means = (
                ""
                if str(wanted) == text
                else f" ({text.partition('@')[2][:_LONGEST]} means exactly {_cut(wanted.version)})"
            )
            raise UnknownTool(
                f"The tool {wanted.short} was not found in this version.",
                f"{_cut(wanted)}: no such version{means}; there is {there}",
            )
        return versions[wanted.version]

    def _hint(self, text: object) -> str:
        """What somebody may have meant: the same but for capitals, another separator or a slip."""
        if not isinstance(text, str):
            return ""
        like = text[:_LONGEST].partition("@")[0].lower().replace("_", ".").replace("-", ".")
        known = {
            plain.lower().replace("_", "."): plain for plain in sorted(self._versions, reverse=True)
        }
        close = get_close_matches(like, known, n=3, cutoff=0.7)
        return f"; did you mean {' or '.join(known[one] for one in close)}?" if close else ""

    def by_name(self, name: str) -> Runnable:
        """The newest tool of a name that models see. Raises UnknownTool."""
        plain = self._names.get(name)
        if plain is None:
            said = str(name)[:_LONGEST]
            raise UnknownTool(
                f"The tool {said} was not found.",
                f"{said!r}: no tool of this name{self._hint(name)}",
            )
        return self._newest[plain]

    def newest(self) -> list[Runnable]:
        """The newest version of every tool, sorted by id."""
        return [self._newest[plain] for plain in sorted(self._newest)]

    def all(self) -> list[Runnable]:
        """Every tool in every version, sorted by id and version."""
        return [
            self._versions[plain][version]
            for plain in sorted(self._versions)
            for version in sorted(self._versions[plain])
        ]

    def __iter__(self) -> Iterator[Runnable]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self._exact)

    def __repr__(self) -> str:
        return f"Tools({', '.join(str(one.id) for one in self.all())})"


def _cut(value: object) -> str:
    return str(value)[:_LONGEST]


def _runnables(tool: object) -> list[Runnable]:
    if isinstance(tool, Runnable):
        return [tool]
    if isinstance(tool, Function):
        return [tool.runnable]
    if isinstance(tool, Tools):
        return tool.all()
    if isinstance(tool, ModuleType):
        return collect(tool)
    raise ToolDefinitionError(
        getattr(tool, "__name__", type(tool).__name__), "is not a tool: decorate it with @tool"
    )
