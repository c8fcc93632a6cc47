"""Optional packages: which extra of toolwire installs a module that is missing."""

from __future__ import annotations

from importlib.util import find_spec

from toolwire.cli.framework.errors import CommandError
from toolwire.extras import MODULES, Extra, extra_of

OPTIONAL = {"uvloop"}
"""Modules that an extra does not install on every platform."""


def require_extra(extra: Extra) -> None:
    """Raise CommandError if a module of an extra is missing.

    A command calls this before it imports anything that needs the extra, so that the message names
    the extra that the whole command needs, not the one of the first missing module.
    """
    needed = [*MODULES["tools"], *MODULES["server"]] if extra == "server" else MODULES[extra]
    for module in needed:
        if module not in OPTIONAL and not _is_installed(module):
            raise _missing(module, extra)


def error_for_missing_module(error: ModuleNotFoundError) -> CommandError | None:
    """Return an error that names the extra of a missing module; None if it belongs to none."""
    module = (error.name or "").split(".")[0]
    extra = extra_of(module)
    return None if extra is None else _missing(module, extra)


def _missing(module: str, extra: Extra) -> CommandError:
    return CommandError(
        f"this command needs the package {module}: run pip install 'toolwire[{extra}]'"
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
