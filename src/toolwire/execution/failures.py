"""What a tool raised, as the failure that is answered.

A caller reads the text of an exception only if the tool said so by its class; of any other it reads
the type, and developers read the rest. Nothing an exception does while it is looked at goes any
further. Scrubs nothing: that is done with the whole answer.
"""

from __future__ import annotations

import traceback

from toolwire.conversation.json import JSON, require_json
from toolwire.errors import InputError, ToolwireError
from toolwire.execution.ledger.base import Failure
from toolwire.tools.errors import RetryableToolError, ToolError

LONGEST = 2000
"""Characters of an exception that are told to developers."""


class ExecutorBusy(ToolwireError):
    """There was no room for this call. Its body did not begin."""


def busy(why: str) -> Failure:
    """Told instead of waiting for ever. Nothing is recorded, so the same id may come again."""
    return Failure("The server is busy. Try again a little later.", why, True, 1000, None, "busy")


def timed_out(tool: str, seconds: float) -> Failure:
    """Nobody knows what a tool has done that was stopped in the middle; a thread cannot even be
    stopped."""
    return Failure(
        f"The tool did not end within {seconds:g} s. Whether it had an effect is not known.",
        f"{tool} ran into its timeout of {seconds:g} s",
        kind="timeout",
    )


def cancelled(tool: str, why: str) -> Failure:
    """The body was stopped by the server."""
    return Failure(
        f"The call was stopped: {why}. Whether it had an effect is not known.",
        f"{tool} was cancelled",
        kind="cancelled",
    )


def unfit(tool: str, error: BaseException) -> Failure:
    """The body gave what cannot be answered."""
    return Failure(
        "The tool gave a result that is not what it promises.",
        f"the result of {tool} does not fit its output schema: {type(error).__name__}:"
        f" {said(error)}",
        kind="bad-result",
    )


def raised(error: BaseException) -> Failure:
    """The failure an exception stands for."""
    error = only(error)
    if isinstance(error, ToolError):
        return _told(error)
    kind = type(error).__name__
    return Failure(
        f"The tool failed ({kind}).",
        f"{kind}: {said(error)}{_inside(error)}{_place(error)}",
        kind="exception",
    )


def only(error: BaseException) -> BaseException:
    """The one exception in a group of one, as task groups raise it; else the exception itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _told(error: ToolError) -> Failure:
    more = error.developer_message
    retry = error if isinstance(error, RetryableToolError) else None
    wait = None if retry is None else retry.retry_after_ms
    prompt = None if retry is None else retry.additional_prompt_content
    failure = Failure(
        _text(error.message),
        None if more is None else _text(more),
        error.can_retry,
        None if wait is None else max(0, round(wait)),
        None if prompt is None else _text(prompt),
        None if error.kind is None else _text(error.kind),
        error.extra,
    )
    return failure if not error.extra or _is_json(error.extra) else _without_extra(failure)


def _without_extra(failure: Failure) -> Failure:
    return Failure(
        failure.message,
        f"{failure.developer_message or ''} (its extra is not JSON and was left out)".strip(),
        failure.can_retry,
        failure.retry_after_ms,
        failure.additional_prompt_content,
        failure.kind,
    )


def said(error: BaseException) -> str:
    """The text of an exception, whatever its `__str__` does."""
    return _text(error)[:LONGEST]


def _text(value: object) -> str:
    if type(value) is str:
        return value
    try:
        return str(value)
    except BaseException as broken:  # a `__str__` may raise anything, SystemExit too
        return f"<{type(value).__name__} has no text: its __str__ raised {type(broken).__name__}>"


def _inside(error: BaseException) -> str:
    """The exceptions of a group, without those in groups within groups beyond a few."""
    if not isinstance(error, BaseExceptionGroup):
        return ""
    shown = "; ".join(f"{type(one).__name__}: {said(one)}" for one in error.exceptions[:5])
    return f" [{shown}]"[:LONGEST]


def _place(error: BaseException) -> str:
    """Where it was raised, by file name and line: paths of the server are nobody's business."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = frames[-1]
    return (
        f" ({last.filename.replace(chr(92), '/').rpartition('/')[2]}:{last.lineno} in {last.name})"
    )


def _is_json(value: JSON) -> bool:
    try:
        require_json(value, "")
    except InputError:
        return False
    return True
