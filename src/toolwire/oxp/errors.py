"""What a call of a tool on an OXP server can come to beside a value.

`str()` of each may be shown to a person or a model: what is meant for developers stands in
`developer_message` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwire.conversation.json import JSON
from toolwire.errors import ToolwireError
from toolwire.execution.tool_call import MissingRequirement
from toolwire.oxp.protocol import AuthChallenge
from toolwire.tools import errors


class OxpError(ToolwireError):
    """An OXP server gave no value. `status` is what HTTP said, if it said anything."""

    def __init__(
        self, message: str, *, developer_message: str | None = None, status: int | None = None
    ) -> None:
        Exception.__init__(
            self, message
        )  # not the next in line: one of them is an InvalidInput with another signature
        self.message = message
        self.developer_message = developer_message
        self.status = status

    def __str__(self) -> str:
        return self.message


class ToolCallFailed(OxpError):
    """The tool ran and failed. With `can_retry` it may be called again, under a new call id and
    after `retry_after_ms`."""

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
    """The server refused the call, and did not run the tool."""


class ToolNotFound(BadRequest):
    """The server has no such tool, or not in this version."""


class InvalidInput(BadRequest, errors.InvalidInput):
    """The arguments do not fit the tool: by parameter, what is wrong."""

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
        """By parameter, what is wrong with it."""
        return self.errors


class MissingRequirements(BadRequest):
    """The tool needs a token, a secret or a user id that it was not given. `challenges` say where a
    user can grant it."""

    def __init__(
        self,
        message: str,
        missing: MissingRequirement,
        challenges: Sequence[AuthChallenge] = (),
        *,
        developer_message: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, developer_message=developer_message, status=status)
        self.missing = missing
        self.challenges = tuple(challenges)


class Unauthenticated(OxpError):
    """The server does not take these credentials. The tool was not run."""


class ServerUnavailable(OxpError):
    """No answer after all tries. `sent` is False if no request ever left: then nothing ran.

    The call may be asked again under the same call id, and under no other: it may have run.
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
    """The server answered with something that is no answer to this call. It may have run."""
