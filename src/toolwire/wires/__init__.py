"""The wires: one package each, found by listing this folder and imported on first use.

The name of a wire is the name of its package with hyphens. There is no registry: every package here
is a wire, except those in `SHARED`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from toolwire.errors import UsageError
from toolwire.wires.engine.specs import Wire

SHARED = ("engine", "families")
"""Packages with code that wires share."""


@cache
def names() -> tuple[str, ...]:
    """The names of all wires, sorted."""
    packages = (module.name for module in iter_modules(__path__) if module.ispkg)
    return tuple(sorted(name.replace("_", "-") for name in packages if name not in SHARED))


def wire(name: str) -> Wire:
    """The wire with this name. Raises UsageError if there is none."""
    try:
        return _LOADED[name]
    except (KeyError, TypeError):
        if not isinstance(name, str) or name not in names():
            raise UsageError(
                f"no such wire; there are {', '.join(names())}", wire=str(name)
            ) from None
    found: Wire = import_module(f"{__name__}.{name.replace('-', '_')}").WIRE
    return _LOADED.setdefault(name, found)


_LOADED: dict[str, Wire] = {}
"""The wires that were used before."""
