"""Load tools from Python files and packages.

Whatever the user's code raises while it is imported becomes one line with file and line number.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import error_for_missing_module
from toolwire.cli.output.redact_url import redact_url

if TYPE_CHECKING:
    from toolwire.tools.registry import Tools

_LIBRARY = Path(__file__).parents[2]


def load_tools(names: tuple[str, ...]) -> Tools:
    """Return the tools of files and packages; raise CommandError if one has none."""
    from toolwire.tools import Tools
    from toolwire.tools.discovery import collect, collect_content
    from toolwire.tools.errors import ToolDefinitionError

    tools = Tools()
    for name in names:
        module = _import_module(name)
        if not (collect(module) or collect_content(module)):
            raise CommandError(f"{name}: it has no tools; decorate a function with @tool")
        try:
            tools.add(module)
        except ToolDefinitionError as error:
            raise CommandError(f"{name}: {error}") from None
    return tools


def _import_module(name: str) -> ModuleType:
    path = Path(name)
    if name.endswith(".py") or path.is_file():
        return _import_file(path)
    if "://" in name:
        raise CommandError(
            f"{redact_url(name)}: expected a file, a package, http://…, mcp+http://… or mcp:COMMAND"
        )
    if not all(word.isidentifier() for word in name.split(".")):
        why = "it is a folder; name a file in it" if path.is_dir() else "no such file"
        raise CommandError(f"{name}: {why}")
    return _import_user_code(name, Path.cwd(), lambda: importlib.import_module(name))


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        why = "it is a folder; name a file in it" if path.is_dir() else "no such file"
        raise CommandError(f"{path}: {why}")
    # The toolkit is named after the module. The prefix keeps it apart from library modules.
    name = re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(f"_toolwire.{name}", path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path}: not a Python file")
    module, loader = importlib.util.module_from_spec(spec), spec.loader
    sys.modules[spec.name] = module

    def run() -> ModuleType:
        loader.exec_module(module)
        return module

    return _import_user_code(str(path), path.parent.resolve(), run)


def _import_user_code(name: str, folder: Path, load: Callable[[], ModuleType]) -> ModuleType:
    """Run `load`; turn whatever the user's code raises into a CommandError with its line."""
    from toolwire.tools.errors import ToolDefinitionError

    with _search_first(folder):
        try:
            return load()
        except (KeyboardInterrupt, CommandError):
            raise
        except SyntaxError as error:
            line = f" (line {error.lineno})" if error.lineno is not None else ""
            raise CommandError(f"{error.filename or name}: {error.msg}{line}") from None
        except ModuleNotFoundError as error:
            raise _missing_import(error, name, folder) from None
        except ToolDefinitionError as error:
            raise CommandError(f"{_line_of(error, name, folder)}: {error}") from None
        except BaseException as error:  # SystemExit too
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise CommandError(f"{_line_of(error, name, folder)}: {why}") from None


def _missing_import(error: ModuleNotFoundError, name: str, folder: Path) -> CommandError:
    if error.name and (name == error.name or name.startswith(f"{error.name}.")):
        return CommandError(f"{name}: no such file, and no such package")
    missing = error_for_missing_module(error)
    if missing is not None and not _is_user_line(_innermost_file(error), folder):
        return missing  # A module of toolwire needs it.
    return CommandError(
        f"{_line_of(error, name, folder)}: it imports {error.name}, which is not installed"
    )


@contextmanager
def _search_first(folder: Path) -> Iterator[None]:
    """Search a folder first while one of its files is imported, as for any script; afterwards,
    search it last.

    Later imports are those of the library: a file that is named like a module of the standard
    library must not replace it.
    """
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)
        if entry not in sys.path:
            sys.path.append(entry)


def _line_of(error: BaseException, name: str, folder: Path) -> str:
    """Return the innermost line of the user's own code in a traceback; else the name."""
    lines = [
        frame for frame in extract_tb(error.__traceback__) if _is_user_line(frame.filename, folder)
    ]
    return f"{lines[-1].filename} line {lines[-1].lineno}" if lines else name


def _innermost_file(error: BaseException) -> str:
    frames = [
        frame for frame in extract_tb(error.__traceback__) if "importlib" not in frame.filename
    ]
    return frames[-1].filename if frames else ""


def _is_user_line(file: str, folder: Path) -> bool:
    path = Path(file)
    return (
        path.is_relative_to(folder)
        and "site-packages" not in path.parts
        and not path.is_relative_to(_LIBRARY)
    )
