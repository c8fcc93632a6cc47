"""Errors of an OXP client.

`str()` of each error may be shown to a person or a model. Text for developers is in
`developer_message` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwire.conversation.json import JSON
from toolwire.errors import ToolwireError
from toolwire.execution import errors as execution_errors
from toolwire.oxp.protocol import AuthChallenge
from toolwire.tools import errors as tool_errors
from toolwire.tools.runnable import Requirements


class OxpError(ToolwireError):
    """A call to an OXP server failed. `status` is the HTTP status, if there was a response."""

    def __init__(
        self, message: str, *, developer_message: str | None = None, status: int | None = None
    ) -> None:
        Exception.__init__(self, message)  # subclasses have a second base with other parameters
        self.message = message
        self.developer_message = developer_message
        self.status = status

    def __str__(self) -> str:
        return self.message


class ToolCallFailed(OxpError):
    """The tool ran and failed.

    With `can_retry`, it may be called again under a new call id, after `retry_after_ms`.
    """

    def __init__(
        self,
        message: str,
        *,
        call_id: str,
        can_retry: bool = False,
        retry_after_ms: int | None = None,
        additional_prompt_content: str | None = None,
        developer_message: str | None = None,
        kind: str | None = None,
        extra: Mapping[str, JSON] | None = None,
    ) -> None:
        super().__init__(message, developer_message=developer_message, status=200)
        self.call_id = call_id
        self.can_retry = can_retry
        self.retry_after_ms = retry_after_ms
        self.additional_prompt_content = additional_prompt_content
        self.kind = kind
        self.extra = dict(extra or {})


class BadRequest(OxpError):
    """The server rejected the call and did not run the tool."""


class ToolNotFound(BadRequest):
    """The server has no such tool, or no such version of it."""


class InvalidInput(BadRequest, tool_errors.InvalidInput):
    """The arguments do not match the input schema of the tool."""

    def __init__(
        self,
        message: str,
        parameter_errors: Mapping[str, str],
        *,
        developer_message: str | None = None,
        status: int | None = None,
    ) -> None:
        BadRequest.__init__(self, message, developer_message=developer_message, status=status)
        self.errors = dict(parameter_errors)

    @property
    def parameter_errors(self) -> dict[str, str]:
        """The problem of each invalid parameter."""
        return self.errors


class MissingRequirements(BadRequest, execution_errors.MissingRequirements):
    """The tool needs a token, a secret or a user id that the call lacks.

    `challenges` are addresses where a user can grant the missing authorizations.
    """

    def __init__(
        self,
        message: str,
        missing: Requirements,
        challenges: Sequence[AuthChallenge] = (),
        *,
        developer_message: str | None = None,
        status: int | None = None,
    ) -> None:
        BadRequest.__init__(self, message, developer_message=developer_message, status=status)
        self.missing = missing
        self.challenges = tuple(challenges)


class AuthenticationError(OxpError):
    """The server rejected the credentials. The tool was not run."""


class ServerUnavailable(OxpError):
    """There was no usable response after all retries.

    `sent` is False if no request reached the server: then the tool did not run. Otherwise it may
    have run; repeat the call with the same call id only.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool = True,
        status: int | None = None,
        retry_after_ms: int | None = None,
        developer_message: str | None = None,
    ) -> None:
        super().__init__(message, status=status, developer_message=developer_message)
        self.sent = sent
        self.retry_after_ms = retry_after_ms


class InvalidResponse(OxpError):
    """The response is not a valid OXP response to this call. The tool may have run."""
