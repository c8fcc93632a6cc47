"""Errors that tools raise, and errors of tool definitions.

The class of an exception tells whether a failure may be retried or had no effect. Any other
exception is a final failure, and callers do not see its text.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolwire.conversation.json import JSON
from toolwire.errors import ToolwireError, UsageError


class ToolError(ToolwireError):
    """A failure that the caller may read. It is recorded: a repetition gets the same failure.

    Args:
        message: text for people and models.
        developer_message: text for developers and logs.
        kind: a stable word on which programs can branch.
        extra: further data for programs.
    """

    can_retry = False

    def __init__(
        self,
        message: str,
        *,
        developer_message: str | None = None,
        kind: str | None = None,
        extra: Mapping[str, JSON] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.developer_message = developer_message
        self.kind = kind
        self.extra = dict(extra or {})


class RetryableToolError(ToolError):
    """A failure that may be retried, perhaps later or with other arguments. It is not recorded."""

    can_retry = True

    def __init__(
        self,
        message: str,
        *,
        developer_message: str | None = None,
        additional_prompt_content: str | None = None,
        retry_after_ms: int | None = None,
        kind: str | None = None,
        extra: Mapping[str, JSON] | None = None,
    ) -> None:
        super().__init__(message, developer_message=developer_message, kind=kind, extra=extra)
        self.additional_prompt_content = additional_prompt_content
        self.retry_after_ms = retry_after_ms


class NoEffect(ToolError):
    """The call had no effect, so it may run again under the same id."""


class InvalidInput(ToolwireError):
    """Arguments that do not match the input schema of a tool.

    `errors` has the problem of each invalid parameter, without the values.
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in errors.items()))
        self.errors = dict(errors)


class InvalidResult(ToolwireError, ValueError):
    """A result that is not JSON, or does not match the output schema. The text quotes no value."""


class ToolDefinitionError(UsageError):
    """A function or a schema that is not a valid tool: `tool` is its id, `why` the reason and the
    remedy."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(why)
        self.args = (tool, why)
        self.tool = tool

    def __str__(self) -> str:
        return f"{self.tool}: {self.why}"


class UnknownTool(ToolwireError, LookupError):
    """There is no tool of this name or version. `developer_message` names similar tools and
    versions."""

    def __init__(self, message: str, developer_message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.developer_message = developer_message
        self.malformed = malformed

    def __str__(self) -> str:
        return self.developer_message
