"""Convert exceptions of tools into failures.

The text of an exception is part of a failure only if the tool raised a ToolError. For any other
exception, the failure names the type and the line, and the log has the rest: the text may hold
secrets of the server. Redaction happens later, for the whole failure.
"""

from __future__ import annotations

import traceback

from toolwire.conversation.json import JSON, require_json
from toolwire.errors import InputError, ToolwireError
from toolwire.execution.ledger.base import Failure
from toolwire.tools.errors import InvalidResult, RetryableToolError, ToolError


class ExecutorBusy(ToolwireError):
    """There is no free slot for this call. The tool was not started."""


def busy_failure(reason: str) -> Failure:
    """The failure of a call that found no free slot. It is not recorded: the call may be
    repeated."""
    return Failure(
        "The server is busy. Try again later.",
        reason,
        can_retry=True,
        retry_after_ms=1000,
        kind="busy",
    )


def timeout_failure(tool: str, seconds: float) -> Failure:
    """The failure of a tool that exceeded its timeout. It may have had an effect."""
    return Failure(
        f"The tool did not finish within {seconds:g} s. It may have had its effect.",
        f"{tool} exceeded its timeout of {seconds:g} s",
        kind="timeout",
    )


def cancellation_failure(tool: str, reason: str) -> Failure:
    """The failure of a tool that the server stopped."""
    return Failure(
        f"The call was stopped: {reason}. It may have had its effect.",
        f"{tool} was cancelled",
        kind="cancelled",
    )


def invalid_result_failure(tool: str, error: BaseException) -> Failure:
    """The failure of a tool whose result does not match its output schema."""
    detail = f": {error}" if isinstance(error, InvalidResult) else f" ({type(error).__name__})"
    return Failure(
        "The tool returned an invalid result.",
        f"the result of {tool} does not match its output schema{detail}",
        kind="bad_result",
    )


def failure_from(error: BaseException) -> Failure:
    """The failure for an exception that a tool raised."""
    error = unwrap_group(error)
    if isinstance(error, ToolError):
        return _tool_error_failure(error)
    kind = type(error).__name__
    return Failure(
        f"The tool failed ({kind}).",
        f"{kind}{_group_members(error)}{_location(error)}",
        kind="exception",
    )


def unwrap_group(error: BaseException) -> BaseException:
    """The only exception in an exception group, as task groups raise it; else the error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _tool_error_failure(error: ToolError) -> Failure:
    developer_message = _optional_text(error.developer_message)
    retry_after_ms = prompt = None
    if isinstance(error, RetryableToolError):
        prompt = _optional_text(error.additional_prompt_content)
        if error.retry_after_ms is not None:
            retry_after_ms = max(0, round(error.retry_after_ms))
    extra = error.extra
    if extra and not _is_json(extra):
        extra = {}
        developer_message = f"{developer_message or ''} (its extra is not JSON)".strip()
    return Failure(
        _text(error.message),
        developer_message,
        can_retry=error.can_retry,
        retry_after_ms=retry_after_ms,
        additional_prompt_content=prompt,
        kind=_optional_text(error.kind),
        extra=extra,
    )


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _text(value: object) -> str:
    if type(value) is str:
        return value
    try:
        return str(value)
    except BaseException as error:  # `__str__` may raise anything, also SystemExit
        return f"<{type(value).__name__}: its __str__ raised {type(error).__name__}>"


def _group_members(error: BaseException) -> str:
    """The types of the first exceptions in a group."""
    if not isinstance(error, BaseExceptionGroup):
        return ""
    return f" [{', '.join(type(inner).__name__ for inner in error.exceptions[:5])}]"


def _location(error: BaseException) -> str:
    """The line that raised the error. Only the file name: paths of the server are private."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    frame = frames[-1]
    file = frame.filename.replace("\\", "/").rpartition("/")[2]
    return f" ({file}:{frame.lineno} in {frame.name})"


def _is_json(value: JSON) -> bool:
    try:
        require_json(value, "")
    except InputError:
        return False
    return True
