"""Tools and calls as MCP says them: entries of `tools/list`, results of `tools/call`, and both read
back.

What MCP has no field for travels in `_meta` under `toolwire/…`: the id of the tool, the id of the
call, what a failure means to a program. The call id never comes from the JSON-RPC id, which starts
again with every client. Knows no transport and no SDK.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.execution.ledger.base import Failure
from toolwire.execution.tool_call import MissingRequirement, ToolCall, ToolCallResult
from toolwire.tools.errors import InvalidInput, NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Authorization, Requirements, Runnable

INVALID_PARAMS = -32602
ID = "toolwire/id"
CALL_ID = "toolwire/call_id"
REPLAYED = "toolwire/replayed"
RECORDED = "toolwire/recorded"
ERROR = "toolwire/error"
CONTEXT = "toolwire/context"
TRACE = "toolwire/trace_id"
"""A trace id of the caller's own. W3C's `traceparent` is the SDKs' business."""
REQUIREMENTS = "toolwire/requirements"
DEPRECATED = "toolwire/deprecated"
JSON_TEXT = "toolwire/json"
"""Says that the text of a result is JSON: a wire that takes only objects as structured content
cannot tell `5` from `"5"`."""

NAMES = IdRule("A-Za-z0-9_-", longest=64)
"""MCP allows 128 characters and dots; its hosts hand the names on to models, and those do not."""
LONGEST_CALL_ID = 256


class McpRejection(Exception):
    """A request that gets a JSON-RPC error instead of a result."""

    def __init__(self, message: str, *, kind: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.code = code


# --- tools ----------------------------------------------------------------------------------------


def names(tools: Iterable[Runnable]) -> dict[str, Runnable]:
    """Every tool by the name it is offered under: the newest version as `Kit_Tool`, older ones as
    `Kit_Tool_v1_0_0`.

    No two tools share a name, and the same tools always get the same names, in whatever order they
    come.
    """
    every = sorted(tools, key=lambda tool: tool.id)
    newest = {tool.id.plain: tool for tool in every}
    named: dict[str, Runnable] = {}
    for tool in sorted(every, key=lambda tool: newest[tool.id.plain] is not tool):
        want = (
            tool.id.short
            if newest[tool.id.plain] is tool
            else f"{tool.id.short}_v{str(tool.id.version).replace('.', '_')}"
        )
        # `A_B.C` and `A.B_C` want the same name; the id has characters that never fit, so it gets a
        # hash
        named[fit(str(tool.id) if want in named else want, NAMES, named)] = tool
    return dict(sorted(named.items(), key=lambda item: item[1].id))


def entry(name: str, tool: Runnable) -> Object:
    """A tool as `tools/list` shows it."""
    meta: Object = {ID: str(tool.id)}
    if tool.needs:
        meta[REQUIREMENTS] = _requirements(tool.needs)
    if tool.deprecated is not None:
        meta[DEPRECATED] = tool.deprecated
    made: Object = {
        "name": name,
        "description": tool.description,
        "inputSchema": {"type": "object", **tool.input_schema},
        "annotations": {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent},
        "_meta": meta,
    }
    if (
        isinstance(tool.output_schema, dict) and tool.output_schema.get("type") == "object"
    ):  # others are refused until 2026-07-28
        made["outputSchema"] = tool.output_schema
    return made


def _requirements(needs: Requirements | MissingRequirement) -> Object:
    """What a tool needs, in the shape that OXP has for it."""
    made: Object = {}
    if needs.authorization:
        made["authorization"] = [
            {"id": one.id, "oauth2": {"scopes": list(one.scopes)}} for one in needs.authorization
        ]
    if needs.secrets:
        made["secrets"] = [{"id": one} for one in needs.secrets]
    if needs.user_id:
        made["user_id"] = True
    return made


def needs_of(meta: Object) -> Requirements:
    """What a listed tool says it needs; nothing if its server does not say."""
    said = meta.get(REQUIREMENTS)
    if not isinstance(said, dict):
        return Requirements()
    tokens = tuple(
        Authorization(
            str(one["id"]), tuple(str(scope) for scope in _items(one.get("oauth2"), "scopes"))
        )
        for one in _items(said, "authorization")
        if isinstance(one, dict) and "id" in one
    )
    secrets = tuple(
        str(one["id"]) for one in _items(said, "secrets") if isinstance(one, dict) and "id" in one
    )
    return Requirements(tokens, secrets, said.get("user_id") is True)


def _items(value: JSON, key: str) -> list[JSON]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


# --- a call, as it is asked for -------------------------------------------------------------------


class McpArguments(Struct, frozen=True):
    """What a request says beside the arguments."""

    call_id: str | None = None
    user_id: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    trace_id: str | None = None

    def __repr__(self) -> str:
        """Without tokens and secrets: this ends up in logs."""
        return f"Given(call_id={self.call_id!r})"

    __str__ = __repr__

    def ask(self, tool: Runnable, arguments: Object, principal: str) -> ToolCall:
        """The call that is asked for."""
        return ToolCall(
            tool=tool,
            input=arguments,
            call_id=self.call_id,
            principal=principal,
            user_id=self.user_id,
            tokens=self.tokens,
            secrets=self.secrets,
            trace_id=self.trace_id,
        )


def given(meta: Mapping[str, JSON], idempotency_key: str | None = None) -> McpArguments:
    """What the `_meta` of a request says, and its `Idempotency-Key` header where there is one.

    Raises Refused for anything that would have to be guessed: two different call ids, an id that is
    not a text, credentials in another shape.
    """
    context = meta.get(CONTEXT)
    if context is None:
        context = {}
    if not isinstance(context, dict):
        raise _bad(f"_meta[{CONTEXT!r}] must be an object")
    user, trace = context.get("user_id"), meta.get(TRACE)
    if user is not None and not isinstance(user, str):
        raise _bad(f"_meta[{CONTEXT!r}].user_id must be a string")
    return McpArguments(
        _call_id(meta.get(CALL_ID), _unquoted(idempotency_key)),
        user or None,
        _pairs(context, "authorization", "token"),
        _pairs(context, "secrets", "value"),
        trace if isinstance(trace, str) else None,
    )


def _call_id(said: JSON, header: str | None) -> str | None:
    if said is not None and not isinstance(said, str):
        raise _bad(f"_meta[{CALL_ID!r}] must be a string")
    if said and header and said != header:
        raise _bad(f"_meta[{CALL_ID!r}] and the Idempotency-Key header differ")
    found = said or header or None
    if found is not None and len(found) > LONGEST_CALL_ID:
        raise _bad(f"a call id has at most {LONGEST_CALL_ID} characters")
    return found


def _unquoted(header: str | None) -> str | None:
    """The key of a header: it is a structured field, a string in quotes, though many send
    it bare.
    """
    if header is None or len(header) < 2 or not (header[0] == header[-1] == '"'):
        return header
    return header[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def _pairs(context: Object, key: str, value: str) -> dict[str, str]:
    items = context.get(key)
    if items is None:
        return {}
    wrong = (
        f"_meta[{CONTEXT!r}].{key} must be a list of objects with the texts `id` and `{value}`,"
        " each id once"
    )
    if not isinstance(items, list):
        raise _bad(wrong)
    found: dict[str, str] = {}
    for item in items:
        id, held = (item.get("id"), item.get(value)) if isinstance(item, dict) else (None, None)
        if not isinstance(id, str) or not isinstance(held, str) or id in found:
            raise _bad(wrong)
        found[id] = held
    return found


def _bad(message: str) -> McpRejection:
    return McpRejection(message, kind="bad_request")


def meta_of(given: McpArguments) -> Object:
    """The `_meta` of a request: what `given` reads."""
    made: Object = {}
    if given.call_id:
        made[CALL_ID] = given.call_id
    if given.trace_id:
        made[TRACE] = given.trace_id
    context: Object = {}
    if given.tokens:
        context["authorization"] = [
            {"id": id, "token": token} for id, token in given.tokens.items()
        ]
    if given.secrets:
        context["secrets"] = [{"id": id, "value": value} for id, value in given.secrets.items()]
    if given.user_id:
        context["user_id"] = given.user_id
    if context:
        made[CONTEXT] = context
    return made


# --- the answer -----------------------------------------------------------------------------------


class _NoResult(Struct, frozen=True):
    """A state of a call that has no outcome: what a program is told, and what a model reads."""

    kind: str
    can_retry: bool
    message: str


UNANSWERED: dict[Literal["running", "lost", "gone", "unavailable", "too-old"], _NoResult] = {
    "running": _NoResult(
        "still_running", True, "This call is still running; ask again with the same call id."
    ),
    "lost": _NoResult(
        "outcome_unknown",
        False,
        "The tool ran and nobody knows how it ended. It was not run again.",
    ),
    "gone": _NoResult(
        "result_expired",
        False,
        "This call ran before and its result is no longer kept. It was not run again.",
    ),
    "unavailable": _NoResult(
        "unavailable", True, "Calls cannot be recorded at the moment, so the tool was not run."
    ),
    "too-old": _NoResult(
        "call_id_too_old",
        False,
        "This call id is older than the record of calls. The tool was not run.",
    ),
}
SAME_ID = frozenset({"still_running", "unavailable", "invalid_input", "missing_requirements"})
"""Failures that are asked again under the same call id: a new one could run the tool twice, or
there is no need for it."""


def result(answer: ToolCallResult, *, any_value: bool = False) -> Object:
    """The result of `tools/call` for an answer. `any_value`: structured content need not be an
    object (since 2026-07-28).

    Raises Refused if the call id belongs to another call: nothing about that one is told.
    """
    if answer.state == "mismatch":
        raise McpRejection("this call id was used for another call", kind="call_id_reused")
    if answer.state in UNANSWERED:
        row = UNANSWERED[answer.state]
        failure = Failure(
            row.message,
            can_retry=row.can_retry,
            retry_after_ms=answer.retry_after_ms,
            kind=row.kind,
        )
        return _failed(failure, answer)
    outcome = answer.outcome
    if outcome is None:
        raise ValueError(f"a call that is {answer.state} has an outcome")
    return (
        _valued(outcome.value, answer, any_value)
        if outcome.failure is None
        else _failed(outcome.failure, answer)
    )


def _meta(answer: ToolCallResult) -> Object:
    meta: Object = {CALL_ID: answer.call_id}
    if answer.replayed:
        meta[REPLAYED] = True
    if not answer.recorded:
        meta[RECORDED] = False
    return meta


def _valued(value: JSON, answer: ToolCallResult, any_value: bool) -> Object:
    meta = _meta(answer)
    made: Object = {
        "content": [_text(value if isinstance(value, str) else text_of(value))],
        "_meta": meta,
    }
    if isinstance(value, dict) or (any_value and value is not None):  # null is left out by the SDKs
        made["structuredContent"] = value
    elif not isinstance(value, str):
        meta[JSON_TEXT] = True
    return {**made, "isError": False, "resultType": "complete"}


def _failed(failure: Failure, answer: ToolCallResult) -> Object:
    about: Object = {"call_id": answer.call_id, "attempt": answer.attempt}
    if answer.started_at is not None:
        about["started_at"] = answer.started_at
    return _erroneous(failure, {**_meta(answer), ERROR: {**_told(failure), **about}})


def _told(failure: Failure) -> Object:
    """What a program is told of a failure."""
    told: Object = {
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
            told[key] = value
    return told


def _erroneous(failure: Failure, meta: Object) -> Object:
    texts = [
        failure.message,
        *([failure.additional_prompt_content] if failure.additional_prompt_content else []),
    ]
    return {
        "content": [_text(text) for text in texts],
        "isError": True,
        "_meta": meta,
        "resultType": "complete",
    }


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def invalid(error: InvalidInput) -> Object:
    """The result of a call whose arguments do not fit: the model reads why, and may try again.
    Nothing was recorded."""
    said = "; ".join(f"{name}: {why}" for name, why in error.errors.items())
    errors: Object = dict(error.errors)
    failure = Failure(
        f"Invalid arguments: {said}", kind="invalid_input", extra={"parameter_errors": errors}
    )
    return _erroneous(failure, {ERROR: _told(failure)})


def lacking(missing: MissingRequirement) -> Object:
    """The result of a call that lacks what its tool needs. Nothing was recorded."""
    wants = [f"authorization for {one.id}" for one in missing.authorization]
    wants += [f"the secret {one}" for one in missing.secrets]
    wants += ["a user id"] if missing.user_id else []
    extra: Object = {"missing_requirements": _requirements(missing)}
    failure = Failure(
        f"This tool needs {', '.join(wants)}.", kind="missing_requirements", extra=extra
    )
    return _erroneous(failure, {ERROR: _told(failure)})


# --- the answer, read back ------------------------------------------------------------------------


def value(result: Object) -> JSON:
    """The value of a result that is no error. What is more than a text, or beside a structured
    value, is kept as it is."""
    blocks, meta = _items(result, "content"), _object(result.get("_meta"))
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    structured = result.get("structuredContent")
    if structured is not None:
        return (
            structured
            if len(texts) == len(blocks)
            else {"structuredContent": structured, "content": blocks}
        )
    if len(blocks) == len(texts) == 1 and isinstance(texts[0], str):
        return _parsed(texts[0]) if meta.get(JSON_TEXT) is True else texts[0]
    return blocks or None


def _parsed(text: str) -> JSON:
    try:
        return parse(text)
    except ValueError:  # whoever said so was wrong
        return text


def failure(result: Object) -> ToolError:
    """The failure of a result that is an error, as a local tool raises it."""
    told = _object(_object(result.get("_meta")).get(ERROR))
    blocks = [block for block in _items(result, "content") if isinstance(block, dict)]
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    prompt, kind, delay = (
        told.get("additional_prompt_content"),
        told.get("kind"),
        told.get("retry_after_ms"),
    )
    if isinstance(prompt, str) and texts[1:] == [prompt]:
        texts = texts[:1]
    message = "\n".join(texts) or "the tool failed and said nothing"
    developer = told.get("developer_message")
    developer = developer if isinstance(developer, str) else None
    kind = kind if isinstance(kind, str) else None
    used = {"kind", "developer_message", "additional_prompt_content", "retry_after_ms", "can_retry"}
    extra: Object = {key: held for key, held in told.items() if key not in used}
    if len(blocks) > len(texts) + isinstance(prompt, str):
        extra["content"] = [*blocks]
    if kind in SAME_ID:
        return NoEffect(message, developer_message=developer, kind=kind, extra=extra)
    if told.get("can_retry") is not True:
        return ToolError(message, developer_message=developer, kind=kind, extra=extra)
    return RetryableToolError(
        message,
        developer_message=developer,
        additional_prompt_content=prompt if isinstance(prompt, str) else None,
        retry_after_ms=(
            int(delay) if isinstance(delay, int | float) and math.isfinite(delay) else None
        ),
        kind=kind,
        extra=extra,
    )


def _object(value: JSON) -> Object:
    return value if isinstance(value, dict) else {}
