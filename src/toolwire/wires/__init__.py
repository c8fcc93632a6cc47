"""The wires: one module each, found by listing this folder, imported when first asked for.

A wire's name is its module's with hyphens. Nothing is registered anywhere: a module whose name begins with a letter is a wire.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from toolwire.errors import LocalError
from toolwire.wires._wire import Wire


@cache
def names() -> tuple[str, ...]:
    """The names of all wires, sorted."""
    return tuple(sorted(p.stem.replace("_", "-") for p in Path(__file__).parent.glob("[a-z]*.py")))


def wire(name: str) -> Wire:
    """The wire of that name."""
    if not isinstance(name, str) or name not in names():
        raise LocalError(str(name), (), f"no such wire; there are {', '.join(names())}")
    return _load(name)


@cache
def _load(name: str) -> Wire:
    found: Wire = import_module(f"{__name__}.{name.replace('-', '_')}").WIRE
    return found
