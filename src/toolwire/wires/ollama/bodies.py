"""Whole bodies of Ollama's chat: requests and responses."""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import BodySource, Conversation, Kind, Usage
from toolwire.conversation.parts import Call, Message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import write_finish_reason, write_settings
from toolwire.wires.engine.specs import object_at, patch_message, raise_unexpected, text_or_none
from toolwire.wires.families.chat.bodies import read_request
from toolwire.wires.families.chat.settings import replace_tools
from toolwire.wires.ollama.blocks import NAME
from toolwire.wires.ollama.messages import CHAT, read_answer
from toolwire.wires.ollama.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    read_finish_reason,
    read_response_settings,
    read_tool,
    write_tool,
)

_EPOCH = "1970-01-01T00:00:00Z"
"""The time of a response that has none: the wire requires one."""


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request or a response."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    return read_request(CHAT, body, settings=REQUEST, read_tool=read_tool, ordered=True)


def _read_response(body: Object) -> Conversation:
    settings = read_response_settings(body)
    message = read_answer(object_at(NAME, body, ("message",)), ("message",))
    stop = read_finish_reason(body)
    if stop == "stop" and _has_calls(message):
        stop = "tool"
    return Conversation(
        assign_ids((replace(message, stop=stop),), seed=response_seed(body), ordered=True),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def response_seed(body: Object) -> str:
    """The seed of minted ids: a response has no id, so its time distinguishes it from others."""
    return text_or_none(body.get("created_at")) or ""


def _has_calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    if conversation.wire != NAME:
        body.setdefault("stream", False)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    replace_tools(body, conversation, context, read=read_tool, write=write_tool)
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"model": "", "created_at": _EPOCH, "done": True, "done_reason": "stop", **body}
    context.seed = response_seed(body)
    messages = conversation.messages or (Message("assistant", ()),)
    for message in messages[1:]:  # added to a response of this wire by hand
        context.report_loss(message, "a response holds one message here")
    message = messages[0]
    written = patch_message(message, context, read_answer)
    if isinstance(written, UnsetType):
        written = CHAT.write_assistant(message, context)
    body["message"] = written
    stop = "stop" if message.stop == "tool" and _has_calls(message) else message.stop
    if stop is not None and read_finish_reason(body) != stop:
        body["done_reason"] = write_finish_reason(
            replace(message, stop=stop), FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
        )
    usage = conversation.settings.get("usage")
    if isinstance(usage, Usage) and usage.input is not None:
        body["prompt_eval_count"] = usage.input
    return body


# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = ("keep_alive", "think")


def match_score(body: JSON) -> int:
    """How likely a body is of this wire; see `Wire.match_score`."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict):
        return 3 if isinstance(body.get("done"), bool) else 0
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(map(_has_plain_content, messages)):
        return 0
    own_fields = isinstance(body.get("options"), dict) or any(key in body for key in _OWN_FIELDS)
    if own_fields or any(map(_is_own_message, messages)):
        return 3
    return 2 if body.get("format") == "json" or isinstance(body.get("format"), dict) else 0


def _has_plain_content(message: JSON) -> bool:
    return (
        isinstance(message, dict)
        and "contents" not in message
        and isinstance(message.get("content", ""), str | None)
    )


def _is_own_message(message: JSON) -> bool:
    """True if a message has bare images, arguments as an object, or a tool name on a result."""
    if not isinstance(message, dict):
        return False
    if "tool_name" in message or "thinking" in message or isinstance(message.get("images"), list):
        return True
    calls = message.get("tool_calls")
    return isinstance(calls, list) and any(map(_is_own_call, calls))


def _is_own_call(call: JSON) -> bool:
    if not isinstance(call, dict) or "type" in call:
        return False
    function = call.get("function")
    return isinstance(function, dict) and isinstance(function.get("arguments"), dict)
