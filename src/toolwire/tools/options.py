"""What every tool says about itself beside its schema, checked before it is offered: its id, its
needs, its crash policy.

A mistake is found here, when the tool is made, and told with what to do about it. Knows nothing of
types and schemas.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from typing import TypedDict

from msgspec import Struct

from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.runnable import (
    ON_CRASH,
    TIMEOUT,
    Authorization,
    OnCrash,
    Requirements,
    ToolId,
    Version,
)

VERSION = "0.1.0"
"""Of a tool that names none. The version of its module is not taken: that one changes without the
tool, and an id must not."""
RESERVED_KITS = frozenset({"toolwire"})
LONGEST = 64
"""Characters of the name that models see; several providers refuse more."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


class ToolWarning(UserWarning):
    """A tool that can be offered and lacks something that models need: words that say
    what it does.
    """


class Behaviour(TypedDict, total=False):
    """What may be said of any tool beside its name and its code."""

    timeout: float | None
    on_crash: OnCrash
    probe: Callable[..., object]
    read_only: bool
    idempotent: bool
    authorization: Iterable[str | Authorization]
    secrets: Iterable[str]
    user_id: bool
    concurrency: int | None
    deprecated: str
    strict: bool
    """Refuse what is otherwise warned of: no description of the tool or of a parameter."""


class Options(Behaviour, total=False):
    """What may be said of a function that becomes a tool."""

    id: str
    """`Kit.Tool` or `Kit.Tool@1.2.3`; instead of `kit`, `name` and `version`."""
    kit: str
    name: str
    version: str
    description: str


class ToolDescription(Struct, frozen=True):
    """Options that were checked."""

    id: ToolId
    needs: Requirements
    timeout: float | None
    on_crash: OnCrash
    probe: Callable[..., object] | None
    read_only: bool
    idempotent: bool
    concurrency: int | None
    deprecated: str | None
    strict: bool


def pascal(name: str) -> str:
    """`get_emails` as `GetEmails`; what has capitals already keeps them."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def words(name: str) -> str:
    """`GetEmails` as `get emails`: what can be said of a tool that says nothing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower().strip()


def said(own: ToolId, options: Behaviour) -> ToolDescription:
    """The options of a tool, with what follows from each other. Raises ToolDefinitionError."""
    tool = str(own)
    repeatable = options.get("idempotent", False) or options.get("read_only", False)
    on_crash: OnCrash = options.get("on_crash", "retry" if repeatable else "report")
    probe, timeout, concurrency = (
        options.get("probe"),
        options.get("timeout", TIMEOUT),
        options.get("concurrency"),
    )
    if on_crash not in ON_CRASH:
        raise ToolDefinitionError(
            tool, f"on_crash is one of {', '.join(ON_CRASH)}, not {on_crash!r}"
        )
    if on_crash == "probe" and probe is None:
        raise ToolDefinitionError(
            tool, 'on_crash="probe" asks a function what became of the call: give it as probe='
        )
    if on_crash != "probe" and probe is not None:
        raise ToolDefinitionError(
            tool,
            f'the probe is never asked with on_crash="{on_crash}": say on_crash="probe", or leave'
            " it out",
        )
    if on_crash == "transactional" and options.get("read_only"):
        raise ToolDefinitionError(
            tool, "a tool that only reads has nothing to commit: leave out read_only or on_crash"
        )
    if timeout is not None and not timeout > 0:
        raise ToolDefinitionError(
            tool, "timeout is a number of seconds above 0, or None for no limit"
        )
    if concurrency is not None and (isinstance(concurrency, bool) or concurrency < 1):
        raise ToolDefinitionError(tool, "concurrency is at least 1, or None for no limit")
    return ToolDescription(
        own,
        _needs(tool, options),
        timeout,
        on_crash,
        probe,
        options.get("read_only", False),
        options.get("idempotent", False),
        concurrency,
        options.get("deprecated"),
        options.get("strict", False),
    )


def named(name: str, module: str, options: Options) -> ToolId:
    """The id that options say, or that follows from the names of a function and of its module.
    Raises ToolDefinitionError."""
    unknown = options.keys() - Options.__optional_keys__
    if unknown:
        raise TypeError(f"tool() got unexpected options: {', '.join(sorted(unknown))}")
    own = options.get("id")
    if own is None:
        kit, tool = (
            options.get("kit", pascal(module.rpartition(".")[2])),
            options.get("name", pascal(name)),
        )
        return identified(f"{kit}.{tool}", kit, tool, options.get("version", VERSION))
    if "kit" in options or "name" in options:
        raise ToolDefinitionError(own, "say id= or kit= and name=, not both")
    plain, at, version = own.partition("@")
    if at and "version" in options:
        raise ToolDefinitionError(own, "the version stands in the id already: leave out version=")
    kit, _, tool = plain.partition(".")
    return identified(own, kit, tool, version if at else options.get("version", VERSION))


def identified(label: str, kit: str, tool: str, version: str) -> ToolId:
    """The id of these parts. Raises ToolDefinitionError."""
    for word, which in ((kit, "toolkit"), (tool, "tool")):
        if _WORD.fullmatch(word) is None:
            raise ToolDefinitionError(
                label,
                f"the name of the {which} is made of letters, digits and _: say"
                ' id="Toolkit.Tool@1.2.3"',
            )
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ToolDefinitionError(
            label, "a version is three numbers without leading zeros, as in 1.2.3"
        )
    if kit.lower() in RESERVED_KITS:
        raise ToolDefinitionError(label, f"the toolkit {kit} is reserved: choose another name")
    own = ToolId(kit, tool, Version(*map(int, found.groups())))
    if len(own.short) > LONGEST:
        raise ToolDefinitionError(
            label,
            f"its name for models, {own.short}, is longer than {LONGEST} characters: shorten it",
        )
    return own


def _needs(tool: str, options: Behaviour) -> Requirements:
    given, named = options.get("authorization", ()), options.get("secrets", ())
    if isinstance(given, str | Authorization) or isinstance(named, str):
        raise ToolDefinitionError(tool, "authorization and secrets are lists: [...]")
    secrets = tuple(named)
    authorization = tuple(
        one if isinstance(one, Authorization) else Authorization(one) for one in given
    )
    for which, ids in (
        ("authorization", [one.id for one in authorization]),
        ("secrets", [*secrets]),
    ):
        if not all(isinstance(one, str) and one for one in ids):
            raise ToolDefinitionError(tool, f"{which}: an id is a text that is not empty")
        if len(set(ids)) < len(ids):
            raise ToolDefinitionError(tool, f"{which}: an id stands there twice")
    return Requirements(authorization, secrets, options.get("user_id", False))


def undescribed(
    tool: ToolDescription, parameters: Iterable[str], described: bool, *, stacklevel: int
) -> None:
    """Refuse or warn of a tool that does not say what it does, or of what its parameters mean."""
    lacks = [] if described else ["a description: write a docstring, or give description="]
    names = list(parameters)
    if names:
        lacks.append(
            f"a description of {', '.join(names)}: say it in the docstring, or by Annotated[type,"
            " 'what it means']"
        )
    if not lacks:
        return
    text = f"{tool.id} lacks {'; and '.join(lacks)}"
    if tool.strict:
        raise ToolDefinitionError(str(tool.id), text.removeprefix(f"{tool.id} "))
    warnings.warn(text, ToolWarning, stacklevel=stacklevel)
