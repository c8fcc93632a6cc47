"""Tools of an OXP server as local tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from toolwire.conversation.json import JSON, Object, require_json
from toolwire.oxp.dialects import ToolDefinition
from toolwire.oxp.errors import (
    AuthenticationError,
    BadRequest,
    InvalidInput,
    InvalidResponse,
    MissingRequirements,
    OxpError,
    ToolCallFailed,
    ToolNotFound,
)
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Requirements, Runnable, ToolContext

_KINDS: dict[type[OxpError], str] = {
    BadRequest: "bad_request",
    InvalidResponse: "invalid_response",
    InvalidInput: "invalid_input",
    MissingRequirements: "missing_requirements",
    ToolNotFound: "tool_not_found",
    AuthenticationError: "unauthenticated",
}


def remote_tool(
    definition: ToolDefinition,
    send_call: Callable[[ToolDefinition, Object, ToolContext], Awaitable[JSON]],
    *,
    needs: Requirements,
) -> Runnable:
    """A local tool that sends its calls to the server.

    Args:
        send_call: sends one call with its arguments and returns the value of the tool.
        needs: the requirements that the caller of the local tool has to meet.
    """

    async def body(arguments: Mapping[str, object], context: ToolContext) -> JSON:
        input = require_json(arguments, "oxp")
        assert isinstance(input, dict)
        try:
            return await send_call(definition, input, context)
        except OxpError as error:
            raise tool_error(error) from error

    return Runnable(
        id=definition.id,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=definition.output_schema,
        body=body,
        decode_arguments=lambda input: input,  # the server validates them
        encode_result=lambda value: require_json(value, "oxp"),
        needs=needs,
        timeout=None,  # each request has its own
        on_crash="retry",  # the server's ledger makes the same call id run once
        read_only=definition.read_only,
        idempotent=definition.idempotent,
        deprecated=definition.deprecated,
        remote=True,
    )


def tool_error(error: OxpError) -> ToolError:
    """The exception that a local tool raises for an error of the server."""
    if not isinstance(error, ToolCallFailed):
        kind, extra = _KINDS.get(type(error), "server_unavailable"), _extra(error)
        if isinstance(error, InvalidResponse):
            return ToolError(
                error.message, developer_message=error.developer_message, kind=kind, extra=extra
            )
        # The tool did not run, or the server recorded its result: the same call id is safe
        return NoEffect(
            error.message, developer_message=error.developer_message, kind=kind, extra=extra
        )
    if not error.can_retry:
        return ToolError(
            error.message,
            developer_message=error.developer_message,
            kind=error.kind,
            extra=error.extra,
        )
    return RetryableToolError(
        error.message,
        developer_message=error.developer_message,
        additional_prompt_content=error.additional_prompt_content,
        retry_after_ms=error.retry_after_ms,
        kind=error.kind,
        extra=error.extra,
    )


def _extra(error: OxpError) -> Object:
    if isinstance(error, InvalidInput):
        return {"parameter_errors": dict(error.parameter_errors)}
    if isinstance(error, MissingRequirements):
        return {"challenges": [challenge.json() for challenge in error.challenges]}
    return {}
