"""The requests that a running tool can send to the client that called it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.tools.errors import ToolError

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""The severity of a log message, as in RFC 5424."""


class Elicitation(Struct, frozen=True):
    """The response of a user to a request for input."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, JSON] = {}
    """The input, if the user accepted."""


class ClientUnsupported(ToolError):
    """The client that called the tool cannot be asked for input or for a completion."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="client_unsupported")


class CallingClient(Protocol):
    """The client that called a tool. Protocols that can send requests to it implement this."""

    async def report_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """Report progress, if the client asked for it."""

    async def log(self, level: LogLevel, data: JSON, logger: str | None) -> None:
        """Send a log message, if the client wants messages of this level."""

    async def elicit(self, message: str, schema: Object) -> Elicitation:
        """Ask the user for input. Raises ClientUnsupported."""

    async def sample(self, messages: Sequence[Object], max_tokens: int, options: Object) -> Object:
        """Ask the client's model for a completion. Raises ClientUnsupported."""
