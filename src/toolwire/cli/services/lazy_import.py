"""Tools and ledgers as they are named on the command line: a file, a package; sqlite:///… or
postgresql://….

What a person has to change is said in one line, also if their own code raises while it is loaded.
Knows no verb.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING

from toolwire.cli.framework.usage_error import CommandError
from toolwire.errors import InputError

if TYPE_CHECKING:
    from toolwire.execution.ledger.base import Ledger
    from toolwire.tools.registry import Tools

_EXTRAS = {
    "jsonschema_rs": "tools",
    "aiohappyeyeballs": "tools",
    "httptools": "tools",
    "jwt": "tools",
    "opentelemetry": "tools",
    "uvicorn": "server",
    "uvloop": "server",
    "mcp": "server",
    "mcp_types": "server",
    "httpx2": "server",
    "starlette": "server",
    "psycopg": "postgres",
}
_LIBRARY = Path(__file__).parents[2]
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}|[a-z_][a-z0-9_]{0,63}")
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_PASSWORD = re.compile(r"(?i)(?<=[?&\s])((?:ssl)?password)=[^&\s]*")


def part(name: str) -> ModuleType:
    """A module of toolwire that needs more than the core; if that is not installed, misuse that
    says what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _EXTRAS:
            raise
        raise CommandError(
            f"this needs {missing}: pip install 'toolwire[{_EXTRAS[missing]}]'"
        ) from None


def shown(url: str) -> str:
    """An address as it may be told: without who logs in, and without a password."""
    return _PASSWORD.sub(r"\1=…", _LOGIN.sub("…@", url))


def variable(name: str) -> str:
    """What a variable of the environment holds. What is no name of one is not repeated: it may be
    the secret itself."""
    if not _VARIABLE.fullmatch(name):
        raise CommandError(
            "secrets and tokens are named, not given: expected the name of a variable of the"
            " environment"
        )
    value = os.environ.get(name)
    if not value:
        raise CommandError(f"the variable {name} is not set")
    return value


def token(text: str) -> tuple[str, str]:
    """What `ID=VARIABLE` says: whose token, and the token. Without a variable it is the one named
    like the id."""
    id, equals, name = text.partition("=")
    return id, variable(name if equals else id)


# --- tools ----------------------------------------------------------------------------------------


def load_tools(names: tuple[str, ...]) -> Tools:
    """The tools of files and packages."""
    tools: Tools = part("toolwire.tools").Tools()
    mistake = part("toolwire.tools.errors").ToolDefinitionError
    for name in names:
        found = part("toolwire.tools.discovery").collect(_module(name))
        if not found:
            raise CommandError(f"{name}: there are no tools in it; put @tool on a function")
        try:
            tools.add(*found)
        except mistake as error:
            raise CommandError(f"{name}: {error}") from None
    return tools


def _module(name: str) -> ModuleType:
    path = Path(name)
    if name.endswith(".py") or path.is_file():
        return _from_file(path)
    if "://" in name:
        raise CommandError(
            f"{shown(name)}: expected a file, a package, http://…, mcp+http://… or mcp:COMMAND"
        )
    if not all(word.isidentifier() for word in name.split(".")):
        raise CommandError(
            f"{name}: {'a folder; name a file in it' if path.is_dir() else 'no such file'}"
        )
    return _loaded(name, Path.cwd(), lambda: importlib.import_module(name))


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"{path}: no such file")
    # The name of the module becomes that of the toolkit; one of the library's own stays what it is
    name = re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(f"_toolwire.{name}", path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path}: not a Python file")
    module, loader = importlib.util.module_from_spec(spec), spec.loader
    sys.modules[spec.name] = module

    def run() -> ModuleType:
        loader.exec_module(module)
        return module

    return _loaded(str(path), path.parent.resolve(), run)


def _loaded(name: str, folder: Path, load: Callable[[], ModuleType]) -> ModuleType:
    """What a person's code gives; whatever it raises is their misuse, with the file and
    the line.
    """
    mistake = part("toolwire.tools.errors").ToolDefinitionError
    with _beside(folder):
        try:
            return load()
        except (KeyboardInterrupt, CommandError):
            raise
        except SyntaxError as error:
            where = f" (line {error.lineno})" if error.lineno is not None else ""
            raise CommandError(f"{error.filename or name}: {error.msg}{where}") from None
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                raise CommandError(f"{name}: no such file, and no such package") from None
            raise CommandError(
                f"{_place(error, name, folder)}: it imports {error.name}, which is not there"
            ) from None
        except mistake as error:
            raise CommandError(f"{_place(error, name, folder)}: {error}") from None
        except BaseException as error:  # also if it exits
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise CommandError(f"{_place(error, name, folder)}: {why}") from None


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """While a file is loaded, what stands beside it comes first, as with any script; later last.

    Later imports are the library's own, and a file named like a module of the standard library must
    not get in their way.
    """
    own = str(folder)
    sys.path.insert(0, own)
    try:
        yield
    finally:
        sys.path.remove(own)
        if own not in sys.path:
            sys.path.append(own)


def _place(error: BaseException, name: str, folder: Path) -> str:
    """The innermost line of somebody's own code that an error came through."""
    lines = [frame for frame in extract_tb(error.__traceback__) if _own(frame.filename, folder)]
    return f"{lines[-1].filename} line {lines[-1].lineno}" if lines else name


def _own(file: str, folder: Path) -> bool:
    path = Path(file)
    return (
        path.is_relative_to(folder)
        and "site-packages" not in path.parts
        and not path.is_relative_to(_LIBRARY)
    )


# --- ledgers --------------------------------------------------------------------------------------


def open_ledger(url: str | None) -> Ledger | None:
    """The ledger at an address; None is the memory of the process."""
    if url is None or url == "memory:":
        return None
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        place = rest.removeprefix("/")
        if not place or not rest.startswith("/"):
            raise CommandError(f"{url}: say which file, as in sqlite:///calls.db")
        made: Ledger = part("toolwire.execution.ledger.sqlite.ledger").SqliteLedger(place)
        return made
    if scheme in ("postgresql", "postgres"):
        shared: Ledger = part("toolwire.execution.ledger.postgres.ledger").PostgresLedger(url)
        return shared
    raise CommandError(
        f"{shown(url)}: a ledger is sqlite:///FILE, postgresql://HOST/DATABASE, or memory:"
    )


@contextmanager
def recorded(url: str | None) -> Iterator[None]:
    """Where calls are recorded; if nothing can be, that is misuse."""
    unavailable = part("toolwire.execution.ledger.base").LedgerUnavailable
    try:
        yield
    except InputError:  # it says which file
        raise
    except unavailable as error:
        raise CommandError(f"--ledger {shown(url or 'memory:')}: {shown(str(error))}") from None
