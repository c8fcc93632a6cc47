"""Collect the tools of an imported module or of another namespace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import ModuleType

from toolwire.tools.function import Function
from toolwire.tools.prompts import Content
from toolwire.tools.runnable import Runnable


class ToolCollection(ABC):
    """An object that holds tools."""

    @abstractmethod
    def all(self) -> list[Runnable]:
        """Every tool of the collection."""


def collect(source: ModuleType | Mapping[str, object]) -> list[Runnable]:
    """Return the tools with public names in a namespace, in order; with `__all__`, those it names.

    Imported tools count: a module may gather the tools of others. Tools inside lists, tuples and
    `Tools` are included. A tool with two names is returned once.
    """
    tools: list[Runnable] = []
    for value in _public_values(source):
        tools += [tool for tool in _tools_in(value) if tool not in tools]
    return tools


def collect_content(source: ModuleType) -> list[Content[..., object]]:
    """Return the prompts and resources with public names in a module, in order."""
    found = [value for value in _public_values(source) if isinstance(value, Content)]
    return list(dict.fromkeys(found))


def _public_values(source: ModuleType | Mapping[str, object]) -> list[object]:
    namespace = vars(source) if isinstance(source, ModuleType) else source
    exported = namespace.get("__all__")
    names: Iterable[object] = (
        exported
        if isinstance(exported, list | tuple)
        else [name for name in namespace if not name.startswith("_")]
    )
    return [namespace.get(name) for name in names if isinstance(name, str)]


def _tools_in(value: object) -> list[Runnable]:
    if isinstance(value, Runnable):
        return [value]
    if isinstance(value, Function):
        return [value.runnable]
    if isinstance(value, ToolCollection):
        return value.all()
    if isinstance(value, list | tuple):
        return [
            tool
            for item in value
            if isinstance(item, Runnable | Function)
            for tool in _tools_in(item)
        ]
    return []
