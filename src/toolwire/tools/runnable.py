"""A tool that can be run: what it is called, what it takes and gives, what it needs, and what may
be done after a crash.

A value, whatever it was made from: a Python function, a JSON Schema with a callable, a tool of
another server. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Tool

OnCrash: TypeAlias = Literal["report", "retry", "transactional", "probe", "resume"]
ON_CRASH: tuple[OnCrash, ...] = ("report", "retry", "transactional", "probe")
"""What a tool may ask for. `resume` is only written into records: the call runs on an engine, which
may be asked again."""
TIMEOUT = 55.0
"""Seconds a tool may take if it says nothing: a little less than the minute that clients wait for
an answer."""
_ID = re.compile(
    r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)(?:@([0-9]{1,9})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?)?"
)


class Version(Struct, frozen=True, order=True):
    """Three numbers, compared as numbers."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class ToolId(Struct, frozen=True, order=True):
    """`Toolkit.Tool@1.2.3`. Without a version it means the newest."""

    kit: str
    name: str
    version: Version | None = None

    @classmethod
    def read(cls, text: str) -> ToolId | None:
        """The id a text spells; None if it spells none. `@1` is 1.0.0."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        kit, name, major, minor, patch = found.groups()
        return cls(
            kit,
            name,
            None if major is None else Version(int(major), int(minor or 0), int(patch or 0)),
        )

    @property
    def plain(self) -> str:
        """Without the version."""
        return f"{self.kit}.{self.name}"

    @property
    def short(self) -> str:
        """The name for wires that take letters, digits, `_` and `-` only."""
        return f"{self.kit}_{self.name}"

    def __str__(self) -> str:
        return self.plain if self.version is None else f"{self.plain}@{self.version}"


class Authorization(Struct, frozen=True):
    """A token of some provider that a tool needs."""

    id: str
    scopes: tuple[str, ...] = ()


class Requirements(Struct, frozen=True):
    """What a tool must be given beside its arguments. It sees nothing else of what a
    caller sends.
    """

    authorization: tuple[Authorization, ...] = ()
    secrets: tuple[str, ...] = ()
    user_id: bool = False

    def __bool__(self) -> bool:
        return bool(self.authorization or self.secrets or self.user_id)


class Transaction(Protocol):
    """A connection of the ledger's own database, inside the transaction that also records the
    result."""

    async def execute(self, query: str, params: object = None) -> object: ...


class ToolContext(Struct, frozen=True):
    """What a tool may know of the call it answers. Only what it declared is in here."""

    call_id: str
    tool_id: str
    attempt: int = 1
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    transaction: Transaction | None = None

    def token(self, id: str) -> str:
        """The token of a declared authorization."""
        return self.tokens[id]

    def secret(self, id: str) -> str:
        """The value of a declared secret."""
        return self.secrets[id]

    def __repr__(self) -> str:
        """Without a single secret: this ends up in logs."""
        return (
            f"Context(call_id={self.call_id!r}, tool_id={self.tool_id!r}, attempt={self.attempt})"
        )

    __str__ = __repr__


Body: TypeAlias = Callable[[Mapping[str, object], ToolContext], object]
"""What runs: the converted arguments by name, and the context. It may give an awaitable."""


class Runnable(Struct, frozen=True, eq=False, kw_only=True):
    """A tool that can be run."""

    id: ToolId
    """Always with its version."""
    description: str
    input_schema: Object
    """JSON Schema of an object, without references."""
    output_schema: JSON
    """`{}` is any value, None is no value at all."""
    body: Body
    takes: Callable[[Object], Mapping[str, object]]
    """The arguments as the body wants them. Raises InvalidInput."""
    gives: Callable[[object], JSON]
    """What the body gave as JSON. Raises ValueError or TypeError if it is not what the output
    schema says."""
    is_async: bool = True
    needs: Requirements = Requirements()
    timeout: float | None = TIMEOUT
    concurrency: int | None = None
    """So many at once at most, in one process."""
    on_crash: OnCrash = "report"
    probe: Callable[[Mapping[str, object], ToolContext], object] | None = None
    """Asked after a crash what became of the call: gives the result, or raises NoEffect if it never
    happened, or LookupError if it does not know either. May give an awaitable."""
    read_only: bool = False
    idempotent: bool = False
    deprecated: str | None = None
    remote: bool = False
    """It runs on another server, which keeps a record of its own: the call id is handed on."""

    @property
    def name(self) -> str:
        """The name that models see."""
        return self.id.short

    def offered(self) -> Tool:
        """The tool as it is offered to a model."""
        return Tool(self.name, self.description, self.input_schema)
