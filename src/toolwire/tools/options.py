"""The options of `@tool` and `tool.from_schema`, checked: id, requirements, crash policy.

A mistake raises ToolDefinitionError when the tool is defined, with a text that says what to change.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import TypedDict

from msgspec import Struct

from toolwire.errors import suggest
from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.runnable import (
    DEFAULT_TIMEOUT,
    ON_CRASH,
    Authorization,
    OnCrash,
    Requirements,
    ToolId,
    Version,
)

DEFAULT_VERSION = "0.1.0"
"""Not the version of the module, which changes even if the tool does not; the id must not."""
RESERVED_TOOLKITS = frozenset({"toolwire"})
MAX_NAME_LENGTH = 64
"""Characters of the name for models; several providers reject longer names."""
_TYPES: dict[str, tuple[type | UnionType, str]] = {
    **dict.fromkeys(
        ("id", "toolkit", "name", "version", "description", "deprecated"), (str, "text")
    ),
    **dict.fromkeys(("read_only", "idempotent", "user_id", "strict"), (bool, "True or False")),
    "timeout": (int | float | None, "a number of seconds above 0, or None"),
    "concurrency": (int | None, "at least 1, or None for no limit"),
}
"""The types of options, and how an error describes them."""
_NAME = re.compile(r"[A-Za-z0-9_]+")
_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


class ToolWarning(UserWarning):
    """A valid tool that lacks a description, which models need."""


class RunOptions(TypedDict, total=False):
    """The options of every function that a server runs."""

    timeout: float | None
    """Seconds that a call may take; None for no limit."""
    authorization: Iterable[str | Authorization]
    """The tokens that the function gets."""
    secrets: Iterable[str]
    """The secrets that the function gets."""
    user_id: bool
    """The function gets the id of the user."""
    concurrency: int | None
    """How many calls may run at once in one process."""


class Behaviour(RunOptions, total=False):
    """The options of every tool."""

    on_crash: OnCrash
    """What a call does that is repeated after a crash."""
    probe: Callable[..., object]
    """Finds out how a call ended, for `on_crash="probe"`."""
    key: Callable[..., object] | Sequence[str]
    """The business key: a function of the arguments, or the names of arguments."""
    read_only: bool
    """The tool has no effect, so its calls are not recorded."""
    idempotent: bool
    """The tool may run twice with the same input."""
    deprecated: str
    """Marks the tool as deprecated; the text says what to use instead."""
    strict: bool
    """Raise an error instead of a warning if the tool or a parameter has no description."""


class Options(Behaviour, total=False):
    """The options of a function that becomes a tool."""

    id: str
    """`Toolkit.Tool` or `Toolkit.Tool@1.2.3`, instead of `toolkit`, `name` and `version`."""
    toolkit: str
    name: str
    version: str
    description: str


class ToolSettings(Struct, frozen=True, kw_only=True):
    """Checked options."""

    id: ToolId
    needs: Requirements
    timeout: float | None
    on_crash: OnCrash
    probe: Callable[..., object] | None
    key: Callable[..., object] | tuple[str, ...] | None
    read_only: bool
    idempotent: bool
    concurrency: int | None
    deprecated: str | None
    strict: bool


def pascal_case(name: str) -> str:
    """`get_emails` as `GetEmails`. Capitals stay."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def name_as_words(name: str) -> str:
    """`GetEmails` as `get emails`: the description of a tool that has none."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower().strip()


def require_known_options(
    options: Mapping[str, object], known: Iterable[str], *, function: str
) -> None:
    """Raise TypeError, as Python does, if a function has no option of a name."""
    unknown = sorted(options.keys() - set(known))
    if unknown:
        more = suggest(unknown[0], sorted(known))
        raise TypeError(f"{function}() got unexpected options: {', '.join(unknown)}{more}")


def _check_types(tool: str, options: Mapping[str, object]) -> None:
    for name, value in options.items():
        types, expected = _TYPES.get(name, (object, ""))
        if not isinstance(value, types):
            raise ToolDefinitionError(tool, f"{name} is {expected}, not {value!r}")


def check_options(id: ToolId, options: Behaviour) -> ToolSettings:
    """Check the options of a tool and fill in the defaults. Raises ToolDefinitionError."""
    tool = str(id)
    _check_types(tool, options)
    repeatable = options.get("idempotent", False) or options.get("read_only", False)
    on_crash: OnCrash = options.get("on_crash", "retry" if repeatable else "report")
    probe = options.get("probe")
    timeout = options.get("timeout", DEFAULT_TIMEOUT)
    concurrency = options.get("concurrency")
    if on_crash not in ON_CRASH:
        raise ToolDefinitionError(
            tool, f"on_crash is one of {', '.join(ON_CRASH)}, not {on_crash!r}"
        )
    if on_crash == "probe" and probe is None:
        raise ToolDefinitionError(
            tool, 'on_crash="probe" calls a function to learn how the call ended: pass it as probe='
        )
    if on_crash != "probe" and probe is not None:
        raise ToolDefinitionError(
            tool,
            f'the probe is never called with on_crash="{on_crash}": use on_crash="probe", or remove'
            " the probe",
        )
    if on_crash == "transactional" and options.get("read_only"):
        raise ToolDefinitionError(
            tool, "a read-only tool has nothing to commit: remove read_only or on_crash"
        )
    if timeout is not None and not timeout > 0:
        raise ToolDefinitionError(tool, f"timeout is {_TYPES['timeout'][1]}")
    if concurrency is not None and (isinstance(concurrency, bool) or concurrency < 1):
        raise ToolDefinitionError(tool, f"concurrency is {_TYPES['concurrency'][1]}")
    return ToolSettings(
        id=id,
        needs=_requirements(tool, options),
        timeout=timeout,
        on_crash=on_crash,
        probe=probe,
        key=_business_key(tool, options),
        read_only=options.get("read_only", False),
        idempotent=options.get("idempotent", False),
        concurrency=concurrency,
        deprecated=options.get("deprecated"),
        strict=options.get("strict", False),
    )


def tool_id(function_name: str, module: str, options: Options) -> ToolId:
    """The id in the options, or one made from the names of a function and its module.

    Raises ToolDefinitionError.
    """
    require_known_options(options, Options.__optional_keys__, function="tool")
    _check_types(function_name, options)
    id = options.get("id")
    if id is None:
        toolkit = options.get("toolkit", pascal_case(module.rpartition(".")[2]))
        name = options.get("name", pascal_case(function_name))
        version = options.get("version", DEFAULT_VERSION)
        return _make_id(f"{toolkit}.{name}", toolkit=toolkit, name=name, version=version)
    if "toolkit" in options or "name" in options:
        raise ToolDefinitionError(id, "pass id=, or toolkit= and name=, not both")
    plain, at, version = id.partition("@")
    if at and "version" in options:
        raise ToolDefinitionError(id, "the id has a version already: remove version=")
    toolkit, _, name = plain.partition(".")
    if not at:
        version = options.get("version", DEFAULT_VERSION)
    return _make_id(id, toolkit=toolkit, name=name, version=version)


def _make_id(label: str, *, toolkit: str, name: str, version: str) -> ToolId:
    for text, what in ((toolkit, "toolkit"), (name, "tool")):
        if _NAME.fullmatch(text) is None:
            raise ToolDefinitionError(
                label,
                f"the name of the {what} has only letters, digits and _: write"
                ' id="Toolkit.Tool@1.2.3"',
            )
    numbers = _VERSION.fullmatch(version)
    if numbers is None:
        raise ToolDefinitionError(
            label, "a version is three numbers without leading zeros, as in 1.2.3"
        )
    if toolkit.lower() in RESERVED_TOOLKITS:
        raise ToolDefinitionError(label, f"the toolkit {toolkit} is reserved: use another name")
    id = ToolId(toolkit, name, Version(*map(int, numbers.groups())))
    if len(id.model_name) > MAX_NAME_LENGTH:
        raise ToolDefinitionError(
            label,
            f"its name for models, {id.model_name}, is longer than {MAX_NAME_LENGTH} characters:"
            " shorten it",
        )
    return id


def _business_key(tool: str, options: Behaviour) -> Callable[..., object] | tuple[str, ...] | None:
    key = options.get("key")
    if key is None:
        return None
    if options.get("read_only"):
        raise ToolDefinitionError(
            tool, "calls of a read-only tool are not recorded: remove key or read_only"
        )
    if callable(key):
        if inspect.iscoroutinefunction(key):
            raise ToolDefinitionError(tool, "key is computed before the call: it cannot be async")
        return key
    if isinstance(key, str) or not key or not all(isinstance(name, str) for name in key):
        raise ToolDefinitionError(
            tool, "key is a function of the arguments, or a list of their names: [...]"
        )
    return tuple(key)


def _requirements(tool: str, options: Behaviour) -> Requirements:
    authorizations, secret_ids = options.get("authorization", ()), options.get("secrets", ())
    if isinstance(authorizations, str | Authorization) or isinstance(secret_ids, str):
        raise ToolDefinitionError(tool, "authorization and secrets are lists: [...]")
    secrets = tuple(secret_ids)
    authorization = tuple(
        entry if isinstance(entry, Authorization) else Authorization(entry)
        for entry in authorizations
    )
    for option, ids in (
        ("authorization", [entry.id for entry in authorization]),
        ("secrets", [*secrets]),
    ):
        if not all(isinstance(id, str) and id for id in ids):
            raise ToolDefinitionError(tool, f"{option}: an id is a non-empty string")
        if len(set(ids)) < len(ids):
            raise ToolDefinitionError(tool, f"{option}: an id is repeated")
    return Requirements(authorization, secrets, options.get("user_id", False))


def report_missing_descriptions(
    tool: ToolSettings, parameters: Iterable[str], *, has_description: bool, stacklevel: int
) -> None:
    """Warn if the tool or a parameter has no description; with `strict`, raise
    ToolDefinitionError."""
    missing: list[str] = []
    if not has_description:
        missing.append("a description: write a docstring, or pass description=")
    names = list(parameters)
    if names:
        missing.append(
            f"a description of {', '.join(names)}: write it in the docstring, or as Annotated[type,"
            " 'description']"
        )
    if not missing:
        return
    text = f"lacks {'; and '.join(missing)}"
    if tool.strict:
        raise ToolDefinitionError(str(tool.id), text)
    warnings.warn(f"{tool.id} {text}", ToolWarning, stacklevel=stacklevel)
