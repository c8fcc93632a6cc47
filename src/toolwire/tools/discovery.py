"""The tools of a module that was already imported, or of any namespace. Reads no file and imports
nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import ModuleType

from toolwire.tools.function import Function
from toolwire.tools.runnable import Runnable


class FunctionCollector(ABC):
    """Something that holds tools."""

    @abstractmethod
    def all(self) -> list[Runnable]:
        """Every tool in it."""


def collect(source: ModuleType | Mapping[str, object]) -> list[Runnable]:
    """The tools that stand in a namespace under a public name, in their order; with an `__all__`,
    those it names.

    An imported tool counts: a module may gather the tools of others. Lists and tuples of tools are
    opened, and so is `Tools`. The same tool under two names is one.
    """
    space = vars(source) if isinstance(source, ModuleType) else source
    listed = space.get("__all__")
    names: Iterable[object] = (
        listed
        if isinstance(listed, list | tuple)
        else [name for name in space if not name.startswith("_")]
    )
    found = [one for name in names if isinstance(name, str) for one in _inside(space.get(name))]
    return list({id(one): one for one in found}.values())


def _inside(value: object) -> list[Runnable]:
    if isinstance(value, Runnable):
        return [value]
    if isinstance(value, Function):
        return [value.runnable]
    if isinstance(value, FunctionCollector):
        return value.all()
    if isinstance(value, list | tuple):
        return [
            one for item in value if isinstance(item, Runnable | Function) for one in _inside(item)
        ]
    return []
