"""Which extra of toolwire installs an optional package."""

from __future__ import annotations

from typing import Literal, TypeAlias

Extra: TypeAlias = Literal["tools", "server", "postgres", "temporal"]

MODULES: dict[Extra, tuple[str, ...]] = {
    "tools": ("jsonschema_rs", "httptools", "aiohappyeyeballs", "jwt", "opentelemetry"),
    "server": ("uvicorn", "uvloop", "websockets", "mcp"),
    "postgres": ("psycopg",),
    "temporal": ("temporalio",),
}
"""The modules that each extra installs. `server` installs those of `tools` too."""
INDIRECT: dict[str, Extra] = {
    "mcp_types": "server",
    "starlette": "server",
    "httpx2": "server",
    "anyio": "server",
}
"""Modules that toolwire imports and that come with a package of an extra."""
SERVER_PACKAGES = (
    "toolwire.gateway",
    "toolwire.mcp",
    "toolwire.mock",
    "toolwire.server",
    "toolwire.tool_server",
)
"""Packages that need the whole extra `server`, whichever of its modules is found missing first."""


def extra_of(module: str) -> Extra | None:
    """Return the extra that installs a module; None if no extra does."""
    for extra, modules in MODULES.items():
        if module in modules:
            return extra
    return INDIRECT.get(module)


def explain_missing_module(
    error: ModuleNotFoundError, *, name: str, home: str
) -> ModuleNotFoundError:
    """Return an error that names the extra to install, or the error itself if no extra helps.

    Args:
        name: What the program asked for, such as `toolwire.Gateway`.
        home: The module that defines it.
    """
    module = (error.name or "").split(".")[0]
    extra = extra_of(module)
    if extra is None:
        return error
    if extra == "tools" and home.startswith(SERVER_PACKAGES):
        extra = "server"
    text = f"{name} needs the package {module}: run pip install 'toolwire[{extra}]'"
    return ModuleNotFoundError(text, name=error.name, path=error.path)
