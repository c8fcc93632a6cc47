"""A set of tools, found by id or name. Several versions of a tool can be in it.

`@1.2.3` means that version, `@1` means 1.0.0, and an id without a version means the newest one. Ids
are case-sensitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from itertools import chain
from types import ModuleType
from typing import TypeAlias

from toolwire.tools.discovery import ToolCollection, collect, collect_content
from toolwire.tools.errors import ToolDefinitionError, UnknownTool
from toolwire.tools.function import Function, runnable
from toolwire.tools.prompts import Content, Prompt
from toolwire.tools.resources import Resource
from toolwire.tools.runnable import Runnable, ToolId, Version

ToolSource: TypeAlias = (
    "Runnable | Callable[..., object] | Content[..., object] | ModuleType | Tools"
)
"""A tool, a function that becomes one, or a module or set with tools; for MCP also a prompt or a
resource."""
_MAX_TEXT_LENGTH = 200
"""Characters of an unknown name that errors repeat."""


class Tools(ToolCollection):
    """A set of tools. Ids are unique, and so are the names for models.

    Prompts and resources of the same modules are kept beside them, for MCP clients.
    """

    def __init__(self, *tools: ToolSource) -> None:
        self._by_id: dict[ToolId, Runnable] = {}
        self._versions: dict[str, dict[Version, Runnable]] = {}
        self._newest: dict[str, Runnable] = {}
        self._plain_ids: dict[str, str] = {}
        self._prompts: dict[str, Prompt[..., object]] = {}
        self._resources: dict[str, Resource[..., object]] = {}
        self.add(*tools)

    @classmethod
    def of(cls, tools: ToolSource | Iterable[ToolSource]) -> Tools:
        """The given `Tools` itself, or a new set of one or several tools."""
        if isinstance(tools, Tools):
            return tools
        if isinstance(tools, Iterable) and not callable(tools):
            return cls(*tools)
        return cls(tools)

    def add(self, *tools: ToolSource) -> None:
        """Add tools, or all tools of a module. A function without `@tool` becomes a tool with the
        default options. If it raises ToolDefinitionError, none is added."""
        prompts, resources = self._with_content(tools)
        added = list(chain.from_iterable(map(_runnables, tools)))
        by_id, plain_ids = dict(self._by_id), dict(self._plain_ids)
        for tool in added:
            label = str(tool.id)
            if tool.id.version is None:
                raise ToolDefinitionError(label, "the id has no version")
            if by_id.setdefault(tool.id, tool) is not tool:
                raise ToolDefinitionError(
                    label, "two tools have this id: change the name or the version of one of them"
                )
            other = plain_ids.setdefault(tool.name, tool.id.plain)
            if other != tool.id.plain:
                raise ToolDefinitionError(
                    label, f"models see it as {tool.name}, and {other} too: rename one of them"
                )
        self._by_id, self._plain_ids = by_id, plain_ids
        self._prompts, self._resources = prompts, resources
        for tool in added:
            if tool.id.version is not None:
                versions = self._versions.setdefault(tool.id.plain, {})
                versions[tool.id.version] = tool
                self._newest[tool.id.plain] = versions[max(versions)]

    def _with_content(
        self, sources: Iterable[ToolSource]
    ) -> tuple[dict[str, Prompt[..., object]], dict[str, Resource[..., object]]]:
        """The prompts by name and the resources by URI, with those of the sources."""
        prompts, resources = dict(self._prompts), dict(self._resources)
        for content in (found for source in sources for found in _content(source)):
            if isinstance(content, Prompt):
                known: object = prompts.setdefault(content.name, content)
            elif isinstance(content, Resource):
                known = resources.setdefault(content.uri, content)
            if known is not content:
                raise ToolDefinitionError(str(content.runnable.id), f"{content!r} exists twice")
        return prompts, resources

    @property
    def prompts(self) -> list[Prompt[..., object]]:
        """The prompts, in the order in which they were added."""
        return list(self._prompts.values())

    @property
    def resources(self) -> list[Resource[..., object]]:
        """The resources, in the order in which they were added."""
        return list(self._resources.values())

    def find(self, name: str) -> Runnable:
        """The tool with this id, or with this name for models. Raises UnknownTool."""
        plain_id = self._plain_ids.get(name)
        return self.resolve(name) if plain_id is None else self._newest[plain_id]

    def resolve(self, text: str) -> Runnable:
        """The tool with this id. Raises UnknownTool."""
        newest = self._newest.get(text) if isinstance(text, str) else None
        return newest if newest is not None else self._resolve_version(text)

    def _resolve_version(self, text: str) -> Runnable:
        try:
            wanted = ToolId.read(text) if isinstance(text, str) else None
        except ValueError:  # a version of thousands of digits
            wanted = None
        if wanted is None:
            shown = repr(text[:_MAX_TEXT_LENGTH]) if isinstance(text, str) else type(text).__name__
            raise UnknownTool(
                "The id of the tool is malformed.",
                f"{shown} is not a tool id: expected Toolkit.Tool, Toolkit.Tool@1 or"
                f" Toolkit.Tool@1.2.3{self._suggestion(text)}",
                malformed=True,
            )
        versions = self._versions.get(wanted.plain)
        if versions is None:
            raise UnknownTool(
                f"The tool {wanted.model_name[:_MAX_TEXT_LENGTH]} was not found.",
                f"{_shorten(wanted)}: no such tool{self._suggestion(text)}",
            )
        if wanted.version not in versions:
            available = ", ".join(map(str, sorted(versions)))
            meaning = ""
            if str(wanted) != text:
                written = text.partition("@")[2][:_MAX_TEXT_LENGTH]
                meaning = f" ({written} means {_shorten(wanted.version)})"
            raise UnknownTool(
                f"The tool {wanted.model_name} was not found in this version.",
                f"{_shorten(wanted)}: no such version{meaning}; available: {available}",
            )
        return versions[wanted.version]

    def _suggestion(self, text: object) -> str:
        """`; did you mean ...?` with similar ids, whatever their capitals and separators."""
        if not isinstance(text, str):
            return ""
        written = text[:_MAX_TEXT_LENGTH].partition("@")[0]
        written = written.lower().replace("_", ".").replace("-", ".")
        known: dict[str, str] = {}
        for plain_id in sorted(self._versions, reverse=True):
            known[plain_id.lower().replace("_", ".")] = plain_id
            known.setdefault(plain_id.partition(".")[2].lower(), plain_id)
        close = get_close_matches(written, known, n=3, cutoff=0.7)
        names = dict.fromkeys(known[match] for match in close)
        return f"; did you mean {' or '.join(names)}?" if names else ""

    def by_name(self, name: str) -> Runnable:
        """The newest version of the tool with this name for models. Raises UnknownTool."""
        plain_id = self._plain_ids.get(name)
        if plain_id is None:
            shown = str(name)[:_MAX_TEXT_LENGTH]
            raise UnknownTool(
                f"The tool {shown} was not found.",
                f"{shown!r}: no tool has this name{self._suggestion(name)}",
            )
        return self._newest[plain_id]

    def newest(self) -> list[Runnable]:
        """The newest version of every tool, sorted by id."""
        return [self._newest[plain_id] for plain_id in sorted(self._newest)]

    def all(self) -> list[Runnable]:
        """Every version of every tool, sorted by id and version."""
        return [
            self._versions[plain_id][version]
            for plain_id in sorted(self._versions)
            for version in sorted(self._versions[plain_id])
        ]

    def __iter__(self) -> Iterator[Runnable]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self._by_id)

    def __repr__(self) -> str:
        return f"Tools({', '.join(str(tool.id) for tool in self.all())})"


def _shorten(value: object) -> str:
    return str(value)[:_MAX_TEXT_LENGTH]


def _runnables(source: object) -> list[Runnable]:
    if isinstance(source, Runnable):
        return [source]
    if isinstance(source, Function):
        return [source.runnable]
    if isinstance(source, Tools):
        return source.all()
    if isinstance(source, ModuleType):
        return collect(source)
    if isinstance(source, Content):
        return []
    if callable(source):
        return [runnable(source, {}, stacklevel=5)]  # warnings name the caller of Tools(...)
    is_client = callable(getattr(source, "tools", None))
    remedy = "pass `await client.tools()`" if is_client else "decorate a function with @tool"
    raise ToolDefinitionError(type(source).__name__, f"is not a tool: {remedy}")


def _content(source: ToolSource) -> list[Content[..., object]]:
    if isinstance(source, Content):
        return [source]
    if isinstance(source, Tools):
        return [*source.prompts, *source.resources]
    return collect_content(source) if isinstance(source, ModuleType) else []
