"""What a tool may raise, and what is raised when a tool is put together wrongly.

A tool says by the class what its failure means: that it may be tried again, or that nothing
happened at all. Everything else it raises is a failure that is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolwire.conversation.json import JSON
from toolwire.errors import ToolwireError, UsageError


class ToolError(ToolwireError):
    """A failure that the caller may read. It is recorded: the same call gets the same answer again.

    `message` may be shown to a person or a model, `developer_message` only goes to logs and
    developers. `kind` is a stable word that programs can branch on, `extra` anything else they
    should know.
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
    """A failure that may be tried again, perhaps later and perhaps with other arguments. It is not
    recorded."""

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
    """A failure with the tool's promise that nothing happened: the same call id may run again."""


class InvalidInput(ToolwireError):
    """Arguments that do not fit the schema of a tool: by parameter, what is wrong. The values are
    never quoted."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {why}" for name, why in errors.items()))
        self.errors = dict(errors)


class ToolDefinitionError(UsageError):
    """A tool that cannot be offered as it was written: which one, and what to change."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(why)
        self.args = (tool, why)
        self.tool = tool

    def __str__(self) -> str:
        return f"{self.tool}: {self.why}"


class UnknownTool(ToolwireError):
    """No tool of this id, or not in this version. `developer_message` says what there is
    instead.
    """

    def __init__(self, message: str, developer_message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.developer_message = developer_message
        self.malformed = malformed
