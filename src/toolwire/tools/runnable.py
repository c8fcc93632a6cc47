"""A tool that can be run: its id, schemas, requirements and crash policy.

It is a plain value, made from a Python function, from a JSON Schema with a callable, or from a tool
of another server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Tool
from toolwire.tools.client import CallingClient, ClientUnsupported, Elicitation, LogLevel

OnCrash: TypeAlias = Literal["report", "retry", "transactional", "probe", "resume"]
ON_CRASH: tuple[OnCrash, ...] = ("report", "retry", "transactional", "probe")
"""The policies that a tool may choose. `resume` occurs only in records: the call runs on an engine,
which can resume it."""
DEFAULT_TIMEOUT = 55.0
"""The default timeout of a tool, in seconds: a little less than the minute that clients wait."""
_ID = re.compile(
    r"([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)(?:@([0-9]{1,9})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?)?"
)


class Version(Struct, frozen=True, order=True):
    """A version of three numbers."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class ToolId(Struct, frozen=True, order=True):
    """`Toolkit.Tool@1.2.3`. An id without a version means the newest version."""

    toolkit: str
    name: str
    version: Version | None = None

    @classmethod
    def read(cls, text: str) -> ToolId | None:
        """Parse an id; None if the text is not an id. `@1` is 1.0.0."""
        match = _ID.fullmatch(text)
        if match is None:
            return None
        toolkit, name, major, minor, patch = match.groups()
        version = None
        if major is not None:
            version = Version(int(major), int(minor or 0), int(patch or 0))
        return cls(toolkit, name, version)

    @property
    def plain(self) -> str:
        """The id without the version."""
        return f"{self.toolkit}.{self.name}"

    @property
    def model_name(self) -> str:
        """The id without the version, as a name that every provider accepts."""
        return f"{self.toolkit}_{self.name}"

    def __str__(self) -> str:
        return self.plain if self.version is None else f"{self.plain}@{self.version}"


class Authorization(Struct, frozen=True):
    """A token of a provider that a tool needs."""

    id: str
    scopes: tuple[str, ...] = ()


class Requirements(Struct, frozen=True):
    """The tokens, secrets and user id that a tool needs. It gets no others."""

    authorization: tuple[Authorization, ...] = ()
    secrets: tuple[str, ...] = ()
    user_id: bool = False

    def __bool__(self) -> bool:
        return bool(self.authorization or self.secrets or self.user_id)


class Transaction(Protocol):
    """A connection to the ledger's database, in the transaction that records the result."""

    async def execute(self, query: str, params: object = None) -> object: ...


class ToolContext(Struct, frozen=True):
    """Data about the call for the tool, with the credentials that the tool declares."""

    call_id: str
    tool_id: str
    attempt: int = 1
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    transaction: Transaction | None = None
    client: CallingClient | None = None
    """The client that called the tool; None if its protocol cannot send requests to it."""
    idempotency_key: str = ""
    """The idempotency key for a service that the tool calls: the same for every attempt. It is
    derived from the business key if the tool has one; otherwise it is the call id."""

    def token(self, id: str) -> str:
        """The token of a declared authorization."""
        return self.tokens[id]

    def secret(self, id: str) -> str:
        """The value of a declared secret."""
        return self.secrets[id]

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress to the client. Nothing happens if the client did not ask for it."""
        if self.client is not None:
            await self.client.report_progress(progress, total, message)

    async def log(self, level: LogLevel, data: JSON, *, logger: str | None = None) -> None:
        """Send a log message to the client, unless the client wants no messages of this level."""
        if self.client is not None:
            await self.client.log(level, data, logger)

    async def elicit(self, message: str, schema: Object) -> Elicitation:
        """Ask the user of the client for input.

        Args:
            message: what the user reads.
            schema: JSON Schema of an object whose properties are strings, numbers, booleans or
                choices.

        Raises:
            ClientUnsupported: the client cannot ask its user.
        """
        if self.client is None:
            raise ClientUnsupported("The client cannot ask the user for the input of this tool.")
        return await self.client.elicit(message, schema)

    async def sample(
        self,
        messages: str | Sequence[Object],
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        temperature: float | None = None,
    ) -> Object:
        """Ask the model of the client for a completion.

        Args:
            messages: the text of a user message, or messages of MCP (`role` and `content`).
            max_tokens: the maximum length of the completion.
            system_prompt: the system prompt for the model.
            temperature: the sampling temperature.

        Returns:
            The message of the model, as MCP writes it: `role`, `content`, `model`.

        Raises:
            ClientUnsupported: the client has no model for tools.
        """
        if self.client is None:
            raise ClientUnsupported("The client has no model that this tool could ask.")
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        options: Object = {}
        if system_prompt is not None:
            options["systemPrompt"] = system_prompt
        if temperature is not None:
            options["temperature"] = temperature
        return await self.client.sample(messages, max_tokens, options)

    def __repr__(self) -> str:
        """The context without tokens and secrets, for logs."""
        return (
            f"ToolContext(call_id={self.call_id!r}, tool_id={self.tool_id!r},"
            f" attempt={self.attempt})"
        )

    __str__ = __repr__


Body: TypeAlias = Callable[[Mapping[str, object], ToolContext], object]
"""A function of the decoded arguments and the context. It may return an awaitable."""


class Runnable(Struct, frozen=True, eq=False, kw_only=True):
    """A tool that can be run."""

    id: ToolId
    """The id, with its version."""
    description: str
    input_schema: Object
    """The JSON Schema of an object."""
    output_schema: JSON
    """The JSON Schema of the result: `{}` for any value, None for no value."""
    body: Body
    decode_arguments: Callable[[Object], Mapping[str, object]]
    """Convert the input to the arguments of `body`. Raises InvalidInput."""
    encode_result: Callable[[object], JSON]
    """Convert the value that `body` returned to JSON. Raises InvalidResult."""
    is_async: bool = True
    needs: Requirements = Requirements()
    timeout: float | None = DEFAULT_TIMEOUT
    concurrency: int | None = None
    """The maximum number of concurrent runs in one process; None for no limit."""
    on_crash: OnCrash = "report"
    probe: Body | None = None
    """Called after a crash to learn how the call ended: returns the result, raises NoEffect if the
    call never happened, or LookupError if that is unknown. It may return an awaitable."""
    key: Callable[[Mapping[str, object]], JSON] | None = None
    """The business key of a call, from its decoded arguments: of calls with the same key, one runs,
    whatever their ids. None for a call without a key."""
    read_only: bool = False
    idempotent: bool = False
    deprecated: str | None = None
    remote: bool = False
    """The tool runs on another server, which has its own ledger and gets the call id."""
    model_schema: Object | None = None
    """The input schema for models, if it differs from `input_schema`: without references, which
    several providers reject."""

    @property
    def name(self) -> str:
        """The name for models."""
        return self.id.model_name

    def definition(self) -> Tool:
        """The tool definition for models."""
        return Tool(self.name, self.description, self.model_schema or self.input_schema)
