"""Decisions about a tool call before it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.parts import Call
from toolwire.tools.runnable import Runnable


class Allow(Struct, frozen=True):
    """Run the call as it is."""


class Deny(Struct, frozen=True):
    """Do not run the call. The model gets the reason as the result."""

    reason: str = "the user declined this call"


class Edit(Struct, frozen=True):
    """Run the call with other arguments: an object, or JSON text.

    Raises:
        UsageError: The object contains something that is not JSON.
    """

    arguments: str | dict[str, JSON]

    def __post_init__(self) -> None:
        _ = self.text

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        if isinstance(self.arguments, str):
            return self.arguments
        return text_of(self.arguments)


Decision: TypeAlias = "Allow | Deny | Edit"
Approve: TypeAlias = Callable[[Call, Runnable], "Decision | Awaitable[Decision]"]
"""Decides about a call; may be a coroutine function."""
