"""Tools and ledgers as they are named on the command line: a file, a package, a server; sqlite:///… or postgresql://….

What a person has to change is said in one line. Knows no verb.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from toolwire.cli._misuse import Misuse

if TYPE_CHECKING:
    from toolwire.tools.ledger import Ledger
    from toolwire.tools.registry import Tools

_EXTRAS = {
    "jsonschema_rs": "tools", "aiohttp": "tools", "jwt": "tools", "opentelemetry": "tools", "uvicorn": "server",
    "uvloop": "server", "httptools": "server", "mcp": "server", "psycopg": "postgres",
}  # fmt: skip


def part(name: str) -> ModuleType:
    """A module of toolwire that needs more than the core; if that is not installed, misuse that says what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _EXTRAS:
            raise
        raise Misuse(f"this needs {missing}: pip install 'toolwire[{_EXTRAS[missing]}]'") from None


def load_tools(names: tuple[str, ...]) -> Tools:
    """The tools of files and packages."""
    tools_package = part("toolwire.tools")
    mistake = part("toolwire.tools.errors").ToolMistake
    tools: Tools = tools_package.Tools()
    for name in names:
        try:
            module = _module(name)
        except mistake as error:
            raise Misuse(f"{name}: {error}") from None
        found = part("toolwire.tools.loading").collect(module)
        if not found:
            raise Misuse(f"{name}: there are no tools in it; put @tool on a function")
        try:
            tools.add(*found)
        except mistake as error:
            raise Misuse(f"{name}: {error}") from None
    return tools


def _module(name: str) -> ModuleType:
    path = Path(name)
    if name.endswith(".py") or path.exists():
        return _from_file(path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise Misuse(f"{name}: no such file, and no such package") from None
        raise Misuse(f"{name}: it imports {error.name}, which is not installed") from None
    except (SyntaxError, ImportError) as error:
        raise Misuse(f"{name}: cannot be imported: {error}") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Misuse(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", path.stem), path)
    if spec is None or spec.loader is None:
        raise Misuse(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError) as error:
        raise Misuse(f"{path}: cannot be imported: {error}") from None
    return module


def open_ledger(url: str | None) -> Ledger | None:
    """The ledger at an address; None is the memory of the process."""
    if url is None or url == "memory:":
        return None
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        place = rest.removeprefix("/")
        if not place:
            raise Misuse(f"{url}: say which file, as in sqlite:///calls.db")
        made: Ledger = part("toolwire.io.sqlite").SqliteLedger(place)
        return made
    if scheme in ("postgresql", "postgres"):
        shared: Ledger = part("toolwire.io.postgres").PostgresLedger(url)
        return shared
    raise Misuse(f"{url}: a ledger is sqlite:///FILE, postgresql://HOST/DATABASE, or memory:")
