"""Whole bodies of Cohere Chat: reading, writing, recognizing."""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Conversation, Kind
from toolwire.conversation.parts import Call, Message
from toolwire.wires.cohere.messages import CHAT
from toolwire.wires.cohere.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    FINISH_REASONS,
    NAME,
    REQUEST,
    RESPONSE,
    read_tool,
    write_tools,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    flag_or_none,
    keys,
    list_at,
    object_at,
    patch_message,
    raise_unexpected,
)
from toolwire.wires.families.blocks.history import response_message


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages = [
        CHAT.read_message(message, ("messages", i))
        for i, message in enumerate(list_at(NAME, body, ("messages",)))
    ]
    tools = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    strict = flag_or_none(body.get("strict_tools"))
    known = keys("messages", "tools")
    if tools and strict is not None:
        known |= {"strict_tools"}
    settings = read_settings(REQUEST, body, known)
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=False),
        tuple(read_tool(tool, ("tools", i), strict) for i, tool in enumerate(tools)),
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("message", "finish_reason"))
    message = _read_answer(object_at(NAME, body, ("message",)), ("message",))
    message = replace(message, stop=_read_finish_reason(body))
    return Conversation(
        assign_ids((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_answer(message: JSON, path: JsonPath) -> Message:
    """The message of a response, which is the assistant's whatever its role says."""
    return replace(CHAT.read_message(message, path), role="assistant")


def _read_finish_reason(body: Object) -> str | None:
    reason = body.get("finish_reason")
    if not reason or not isinstance(reason, str):
        return None
    return FINISH_REASON_FROM_WIRE.get(reason, reason)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    if conversation.wire != NAME or not conversation.same_tools:
        body.pop("strict_tools", None)
        body.pop("tools", None)
        if conversation.tools:
            body.update(write_tools(conversation.tools, context))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    message = response_message(conversation, context)
    written = patch_message(message, context, _read_answer)
    if isinstance(written, UnsetType):
        written = CHAT.write_assistant(message, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"id": "", "finish_reason": "COMPLETE", **body}
    stop = _read_finish_reason(body)
    # The reason `COMPLETE` of an answer with calls is read as `tool`: it is not an edit.
    derived = (
        conversation.wire == NAME
        and stop == "stop"
        and message.stop == "tool"
        and any(isinstance(part, Call) for part in message.parts)
    )
    if message.stop is not None and stop != message.stop and not derived:
        body["finish_reason"] = write_finish_reason(
            message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
        )
    return {**body, "message": written}


# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = keys("k", "p", "strict_tools", "safety_mode", "citation_options")
_MODELS = ("command", "c4ai")


def match_score(body: JSON) -> int:
    """How likely it is that a body is of this wire, from 0 to 3."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict) and "done" not in body:
        return 3 if body.get("finish_reason") in FINISH_REASONS else 0
    messages = body.get("messages")
    if not isinstance(messages, list):
        return 0
    if body.get("tool_choice") in ("REQUIRED", "NONE") or not _OWN_FIELDS.isdisjoint(body):
        return 3
    has_tools = False
    for message in messages:
        if not isinstance(message, dict):
            return 0
        if "tool_plan" in message or "citations" in message or _has_documents(message):
            return 3
        has_tools |= "tool_calls" in message or message.get("role") == "tool"
    # The only other wire with `stop_sequences` has no tool messages; a model's name is only a hint.
    if has_tools and "stop_sequences" in body:
        return 2
    return 2 if str(body.get("model")).startswith(_MODELS) else 0


def _has_documents(message: Object) -> bool:
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, list):
        return False
    return get(content, (0, "type")) == "document"
