"""Every exception that a user can meet is a ToolwireError, and stands in the tree of errors.py."""

from __future__ import annotations

import importlib
import pickle
import re
from pathlib import Path

from rows import rows

from toolwire import errors
from toolwire.errors import ConfigError, DecodeError, ToolwireError, UsageError

SOURCE = Path(errors.__file__).parent
CONTROL_FLOW = {
    "ClientDisconnected",  # gateway: ends a request
    "CircularSchema",  # tools.schema: caught by the function that asks for a schema
    "McpRejection",  # mcp: becomes a JSON-RPC error
    "RequestRejected",  # gateway: becomes an HTTP error
    "StoreUnavailable",  # gateway: becomes an HTTP error
    "UnsupportedType",  # tools.schema: becomes a ToolDefinitionError
    "UpstreamFailed",  # gateway: becomes an HTTP error or the next upstream
}
"""Exceptions that are caught inside the package."""
NOT_LISTED = {
    "StaleConnection",  # a request is sent again on a new connection
    "LedgerFileError",  # a UsageError and a LedgerUnavailable
}
CLASS = re.compile(r"^class (\w+)\(.*(?:Error|Exception|Request)\):", re.MULTILINE)


def exception_classes() -> dict[str, type[BaseException]]:
    """The public exception classes of the package by module and name."""
    found: dict[str, type[BaseException]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        names = CLASS.findall(path.read_text())
        if path.is_relative_to(SOURCE / "cli"):
            continue  # exceptions of click, which end a command
        module = ".".join(("toolwire", *path.relative_to(SOURCE).with_suffix("").parts))
        for name in names:
            made = getattr(importlib.import_module(module), name)
            if not name.startswith("_") and issubclass(made, BaseException):
                found[f"{module}.{name}"] = made
    return found


CLASSES = exception_classes()


@rows("name", sorted(name for name in CLASSES if name.rpartition(".")[2] not in CONTROL_FLOW))
def test_an_exception_that_users_can_meet_is_a_toolwire_error(name: str) -> None:
    assert issubclass(CLASSES[name], ToolwireError)


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    written: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│├└─ ]*)(\w+) {2,}\S", line):
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            if depth:
                written[found[2]] = above[depth - 1]
    real = {
        made.__name__: made.__bases__[0].__name__
        for name, made in CLASSES.items()
        if issubclass(made, ToolwireError)
        and made is not ToolwireError
        and made.__name__ not in NOT_LISTED | CONTROL_FLOW
        and made.__bases__[0].__name__ != "BadRequest"
    }
    assert written == real


def test_an_error_survives_pickling_with_its_attributes() -> None:
    decode = pickle.loads(pickle.dumps(DecodeError("no list", wire="mcp", path=("a/b", 1))))
    assert (decode.wire, decode.path, str(decode)) == ("mcp", ("a/b", 1), "mcp /a~1b/1: no list")
    config = pickle.loads(pickle.dumps(ConfigError("a:1: x", "a:2: y")))
    assert (config.mistakes, str(config)) == (["a:1: x", "a:2: y"], "a:1: x\na:2: y")


def test_an_error_that_is_not_about_a_body_has_no_location() -> None:
    error = UsageError("there is no key; set OPENAI_API_KEY")
    assert str(error) == "there is no key; set OPENAI_API_KEY"


def test_the_page_about_errors_shows_the_tree() -> None:
    page = (SOURCE.parents[1] / "docs" / "reference" / "errors.md").read_text()
    tree = [line[4:] for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    assert "\n".join(tree) in page
