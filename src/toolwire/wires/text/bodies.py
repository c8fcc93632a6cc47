"""Tools in plain text: whole requests and responses, and how their bodies are recognized."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Conversation, Kind
from toolwire.conversation.parts import Call, Message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    keys,
    list_at,
    object_at,
    raise_unexpected,
    require_object,
    text_or_none,
)
from toolwire.wires.text.blocks import NAME, is_plain
from toolwire.wires.text.messages import (
    content_of,
    patch_own_message,
    put_tools,
    read_message,
    read_tools,
    role_of,
    write_assistant,
    write_messages,
)
from toolwire.wires.text.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
)

_CHOICE_KEYS = keys("index", "message", "finish_reason")

# --- reading --------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    raw_messages = list_at(NAME, body, ("messages",))
    messages = [read_message(message, ("messages", i)) for i, message in enumerate(raw_messages)]
    settings = read_settings(REQUEST, body, keys("messages"))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=True),
        tools=tuple(read_tools(raw_messages)),
        settings=settings.values,
        wire=NAME,
        kind="request",
        source=BodySource(
            body, unknown_fields=settings.unknown, setting_paths=settings.places, ordered=True
        ),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("choices", "object"))
    messages: list[Message] = []
    unknown = list(settings.unknown)
    for i, choice in enumerate(list_at(NAME, body, ("choices",))):
        path: JsonPath = ("choices", i, "message")
        message = _read_answer(object_at(NAME, body, path), path)
        messages.append(replace(message, stop=_read_finish_reason(choice, message)))
        unknown += [
            ("choices", i, key)
            for key, value in require_object(choice).items()
            if key not in _CHOICE_KEYS and value is not None
        ]
    return Conversation(
        assign_ids(tuple(messages), seed=text_or_none(body.get("id")) or "", ordered=True),
        settings=settings.values,
        wire=NAME,
        kind="response",
        source=BodySource(
            body, unknown_fields=tuple(unknown), setting_paths=settings.places, ordered=True
        ),
    )


def _read_answer(message: JSON, path: JsonPath) -> Message:
    """The message of a choice, which is the assistant's whatever role it has."""
    return replace(read_message(message, path), role="assistant")


def _read_finish_reason(choice: JSON, message: Message) -> str | None:
    """Why the model stopped: a server without tools says `stop` after a call, too."""
    reason = get(choice, ("finish_reason",))
    if not reason or not isinstance(reason, str):
        return None
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason)
    return "tool" if stop == "stop" and _has_calls(message) else stop


def _has_calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    messages = write_messages(conversation, context)
    if conversation.wire != NAME or not conversation.same_tools:
        messages = put_tools(conversation.tools, messages, context)
    body["messages"] = messages
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    for tool in conversation.tools:  # lowering does not see tools that were added on this wire
        context.report_loss(tool, "an answer holds no tool definitions")
    seed = body.get("id")
    context.seed = seed if isinstance(seed, str) else ""
    own = conversation.wire == NAME
    messages = conversation.messages
    if not messages and not own:
        messages = (Message("assistant", ()),)
    choices: list[JSON] = []
    for i, message in enumerate(messages):
        written = patch_own_message(message, context, _read_answer)
        if isinstance(written, UnsetType):
            written = write_assistant(message, context)
        choice = get(conversation.source.body, message.path[:-1]) if own else UNSET
        if not isinstance(choice, dict):
            choice = {"index": i, "finish_reason": _write_finish_reason(message, context)}
        choices.append({**choice, "message": written})
    return {**body, "choices": choices}


def _write_finish_reason(message: Message, context: EncodeContext) -> str:
    if message.stop == "tool" and _has_calls(message):
        return "stop"
    return (
        write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
        or "stop"
    )


# --- recognizing bodies ---------------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How likely a body is this wire's: only tags distinguish it from a plain chat."""
    if not isinstance(body, dict):
        return 0
    messages, choices = body.get("messages"), body.get("choices")
    if not isinstance(messages, list):
        messages = [
            choice.get("message")
            for choice in (choices if isinstance(choices, list) else ())
            if isinstance(choice, dict)
        ]
    tagged_roles: set[str] = set()
    for message in messages:
        if not isinstance(message, dict) or "tool_calls" in message:
            return 0
        if message.get("role") == "tool":
            return 0
        role = role_of(message)
        if isinstance(message.get("content"), str | list):
            strings = (text for text, _ in content_of(message, ()) if isinstance(text, str))
            if any(not is_plain(text, role) for text in strings):
                tagged_roles.add(role)
    return min(len(tagged_roles) + 1, 3) if tagged_roles else 0
