"""Results of `tools/call` as pure functions: written by a server, read by a client."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.execution.ledger.base import Failure
from toolwire.execution.tool_call import ToolCallResult
from toolwire.mcp.protocol import (
    CALL_ID,
    CONTENT,
    ERROR,
    JSON_TEXT,
    RECORDED,
    REPLAYED,
    McpRejection,
    items_at,
    write_requirements,
)
from toolwire.tools.errors import InvalidInput, NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Requirements


class _NoOutcome(Struct, frozen=True):
    """The error for a call without an outcome."""

    kind: str
    can_retry: bool
    message: str


WITHOUT_OUTCOME: dict[Literal["running", "lost", "gone", "unavailable", "too-old"], _NoOutcome] = {
    "running": _NoOutcome(
        "still_running", True, "This call is still running; repeat it with the same call id."
    ),
    "lost": _NoOutcome(
        "outcome_unknown", False, "The tool ran, and its outcome is unknown. It was not run again."
    ),
    "gone": _NoOutcome(
        "result_expired",
        False,
        "This call ran before, and its result has expired. It was not run again.",
    ),
    "unavailable": _NoOutcome(
        "unavailable", True, "Calls cannot be recorded at the moment, so the tool was not run."
    ),
    "too-old": _NoOutcome(
        "call_id_too_old",
        False,
        "This call id is older than the retention of the ledger. The tool was not run.",
    ),
}
SAME_ID = frozenset({"still_running", "unavailable", "invalid_input", "missing_requirements"})
"""Kinds of failures after which a client repeats the same call id: with a new one, the tool could
run twice."""


def write_result(
    result: ToolCallResult,
    *,
    any_structured_content: bool = False,
    is_content: Callable[[Object], bool] = lambda content: True,
) -> Object:
    """The result of `tools/call` for the result of a call.

    Args:
        result: the result of the call.
        any_structured_content: True if structured content may be any value (MCP since 2026-07-28);
            otherwise it is an object.
        is_content: False for a value that looks like the content of a result and is not valid. It
            is sent as JSON, like any other value.

    Raises:
        McpRejection: the call id belongs to another call.
    """
    if result.state == "mismatch":
        raise McpRejection("this call id was used for another call", kind="call_id_reused")
    if result.state in WITHOUT_OUTCOME:
        row = WITHOUT_OUTCOME[result.state]
        failure = Failure(
            row.message,
            can_retry=row.can_retry,
            retry_after_ms=result.retry_after_ms,
            kind=row.kind,
        )
        return _failure_result(failure, result)
    outcome = result.outcome
    if outcome is None:
        raise ValueError(f"a call with state {result.state} must have an outcome")
    if outcome.failure is not None:
        return _failure_result(outcome.failure, result)
    content = _content_of(outcome.value)
    if content is not None and is_content(content):
        return _finish({**content, "_meta": {**_meta(result), CONTENT: True}})
    return _value_result(outcome.value, result, any_structured_content)


def _meta(result: ToolCallResult) -> Object:
    meta: Object = {CALL_ID: result.call_id}
    if result.replayed:
        meta[REPLAYED] = True
    if not result.recorded:
        meta[RECORDED] = False
    return meta


def _value_result(value: JSON, result: ToolCallResult, any_structured_content: bool) -> Object:
    meta = _meta(result)
    written: Object = {
        "content": [_text_block(value if isinstance(value, str) else text_of(value))],
        "_meta": meta,
    }
    # The SDKs leave out a structured content of null
    if isinstance(value, dict) or (any_structured_content and value is not None):
        written["structuredContent"] = value
    elif not isinstance(value, str):
        meta[JSON_TEXT] = True
    return _finish(written)


def _finish(written: Object) -> Object:
    return {**written, "isError": False, "resultType": "complete"}


def _content_of(value: JSON) -> Object | None:
    """The content of a tool that returned MCP content blocks; None for any other value.

    A tool returns a list of blocks, or an object with `content` and `structuredContent`.
    """
    fields: Object = value if isinstance(value, dict) else {"content": value}
    blocks, structured = fields.get("content"), fields.get("structuredContent")
    if not fields.keys() <= {"content", "structuredContent"} or not isinstance(blocks, list):
        return None
    if not blocks or not all(map(_is_content_block, blocks)):
        return None
    if isinstance(structured, dict):
        return {"content": blocks, "structuredContent": structured}
    return {"content": blocks}


_BLOCK_KEYS = {
    "text": "text",
    "image": "mimeType",
    "audio": "mimeType",
    "resource": "resource",
    "resource_link": "uri",
}
"""The types of MCP's content blocks, each with a key that it must have."""


def _is_content_block(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and _BLOCK_KEYS.get(kind) in value


def _failure_result(failure: Failure, result: ToolCallResult) -> Object:
    details: Object = {"call_id": result.call_id, "attempt": result.attempt}
    if result.started_at is not None:
        details["started_at"] = result.started_at
    return _error_result(failure, {**_meta(result), ERROR: {**_error_details(failure), **details}})


def _error_details(failure: Failure) -> Object:
    """The details of a failure for programs."""
    details: Object = {
        **failure.extra,
        "kind": failure.kind or "tool_error",
        "can_retry": failure.can_retry,
    }
    for key, value in (
        ("retry_after_ms", failure.retry_after_ms),
        ("developer_message", failure.developer_message),
        ("additional_prompt_content", failure.additional_prompt_content),
    ):
        if value is not None:
            details[key] = value
    return details


def _error_result(failure: Failure, meta: Object) -> Object:
    texts = [failure.message]
    if failure.additional_prompt_content:
        texts.append(failure.additional_prompt_content)
    return {
        "content": [_text_block(text) for text in texts],
        "isError": True,
        "_meta": meta,
        "resultType": "complete",
    }


def _text_block(text: str) -> Object:
    return {"type": "text", "text": text}


def invalid_input_result(error: InvalidInput) -> Object:
    """The result of a call with invalid arguments: the model reads the problems and may retry.
    Nothing was recorded."""
    text = "; ".join(f"{name}: {problem}" for name, problem in error.errors.items())
    parameter_errors: Object = dict(error.errors)
    failure = Failure(
        f"Invalid arguments: {text}",
        kind="invalid_input",
        extra={"parameter_errors": parameter_errors},
    )
    return _error_result(failure, {ERROR: _error_details(failure)})


def missing_requirements_result(missing: Requirements) -> Object:
    """The result of a call without the requirements of its tool. Nothing was recorded."""
    names = [f"authorization for {authorization.id}" for authorization in missing.authorization]
    names += [f"the secret {id}" for id in missing.secrets]
    if missing.user_id:
        names.append("a user id")
    failure = Failure(
        f"This tool needs {', '.join(names)}.",
        kind="missing_requirements",
        extra={"missing_requirements": write_requirements(missing)},
    )
    return _error_result(failure, {ERROR: _error_details(failure)})


# --- read by a client -----------------------------------------------------------------------------


def read_value(result: Object) -> JSON:
    """The value of a successful result. Content beyond one text is returned as content blocks."""
    blocks, meta = items_at(result, "content"), _object(result.get("_meta"))
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    structured = result.get("structuredContent")
    if meta.get(CONTENT) is True:
        return (
            blocks if structured is None else {"content": blocks, "structuredContent": structured}
        )
    if structured is not None:
        if len(texts) == len(blocks):
            return structured
        return {"structuredContent": structured, "content": blocks}
    if len(blocks) == len(texts) == 1 and isinstance(texts[0], str):
        return _parse_json(texts[0]) if meta.get(JSON_TEXT) is True else texts[0]
    return blocks or None


def _parse_json(text: str) -> JSON:
    try:
        return parse(text)
    except ValueError:  # the server marked the text as JSON by mistake
        return text


def read_failure(result: Object) -> ToolError:
    """The exception that a local tool raises for an error result."""
    details = _object(_object(result.get("_meta")).get(ERROR))
    blocks = [block for block in items_at(result, "content") if isinstance(block, dict)]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    prompt = _string(details.get("additional_prompt_content"))
    if prompt is not None and texts[1:] == [prompt]:
        texts = texts[:1]
    message = "\n".join(texts) or "the tool failed without a message"
    developer_message = _string(details.get("developer_message"))
    kind, delay = _string(details.get("kind")), details.get("retry_after_ms")
    known = {
        "kind",
        "developer_message",
        "additional_prompt_content",
        "retry_after_ms",
        "can_retry",
    }
    extra: Object = {key: value for key, value in details.items() if key not in known}
    if len(blocks) > len(texts) + (prompt is not None):
        extra["content"] = [*blocks]
    if kind in SAME_ID:
        return NoEffect(message, developer_message=developer_message, kind=kind, extra=extra)
    if details.get("can_retry") is not True:
        return ToolError(message, developer_message=developer_message, kind=kind, extra=extra)
    return RetryableToolError(
        message,
        developer_message=developer_message,
        additional_prompt_content=prompt,
        retry_after_ms=(
            int(delay) if isinstance(delay, int | float) and math.isfinite(delay) else None
        ),
        kind=kind,
        extra=extra,
    )


def _string(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: JSON) -> Object:
    return value if isinstance(value, dict) else {}
