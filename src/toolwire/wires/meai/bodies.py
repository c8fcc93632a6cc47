"""Read, write and recognize messages, requests and responses of Microsoft.Extensions.AI."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import BodySource, Conversation, Kind
from toolwire.conversation.parts import Message, Role, Source, Text, describe
from toolwire.wires.engine.bodies import answer_message, build_conversation, unknown_fields
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import Block, keys, list_at, raise_unexpected, require_object
from toolwire.wires.families.turns.history import MessageShape, TurnHistory, merge_turns
from toolwire.wires.meai.blocks import BLOCKS, CAPABILITIES, NAME, PART_WRITERS, read_content
from toolwire.wires.meai.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    OPTIONS,
    REQUEST,
    RESPONSE,
    read_tool,
    write_tools,
)

MESSAGES = MessageShape(
    wire=NAME,
    content="contents",
    spec=Block("message", part=Message, keys=keys("role", "contents", "messageId", "createdAt")),
    role_from_wire={
        "system": "system",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
        "developer": "system",
    },
    role_to_wire={"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"},
    read_part=read_content,
    default_role="user",
)
ANSWER_ROLES: frozenset[Role] = frozenset({"assistant", "tool"})
"""The roles of messages that belong to a response."""
_INSTRUCTIONS: JsonPath = (OPTIONS, "instructions")
_INSTRUCTIONS_TEXT = Block("instructions", part=Text, write=lambda part, context: part.text)
_TOOLS: JsonPath = (OPTIONS, "tools")


def read_message(message: JSON, path: JsonPath) -> Message:
    """Read a message. The instructions, which are plain text, count as a message too."""
    if not isinstance(message, str) or path != _INSTRUCTIONS:
        return MESSAGES.read(message, path)
    parts = (Text(message, source=Source(message, path, _INSTRUCTIONS_TEXT)),) if message else ()
    return Message("system", parts, None, NAME, source=Source(message, path, MESSAGES.spec))


HISTORY = TurnHistory(
    name=NAME,
    read_message=read_message,
    specs=frozenset(BLOCKS.values()),
    foreign=PART_WRITERS,
    create_message=MESSAGES.create,
    with_blocks=MESSAGES.with_blocks,
    capabilities=CAPABILITIES,
)

# --- reading --------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a list of messages, a request or a response."""
    messages = _read_messages(body)
    if kind == "response":
        return _read_response(body, messages)
    fields = body if isinstance(body, dict) else {}
    instructions = get(fields, _INSTRUCTIONS)
    if isinstance(instructions, str):
        messages = (read_message(instructions, _INSTRUCTIONS), *messages)
    absent = get(fields, _TOOLS) in (None, UNSET)
    definitions = [] if absent else list_at(NAME, fields, _TOOLS)
    settings = read_settings(REQUEST, fields, keys("messages"))
    return build_conversation(
        NAME,
        "request",
        body,
        messages=messages,
        settings=replace(settings, unknown=_unknown_fields(settings.unknown, fields)),
        tools=(read_tool(tool, (*_TOOLS, i)) for i, tool in enumerate(definitions)),
    )


def _read_messages(body: JSON) -> tuple[Message, ...]:
    if not isinstance(body, list | dict):
        raise_unexpected(NAME, (), (dict, "a list of messages"), body)
    path: JsonPath = () if isinstance(body, list) else ("messages",)
    return tuple(
        [MESSAGES.read(item, (*path, i)) for i, item in enumerate(list_at(NAME, body, path))]
    )


def _unknown_fields(paths: Iterable[JsonPath], body: Object) -> tuple[JsonPath, ...]:
    """The unknown fields, without tools and instructions, which are read elsewhere.

    A path to the options as a whole is replaced by the paths of all their fields.
    """
    options = body.get(OPTIONS)
    found: list[JsonPath] = []
    for path in paths:
        if path == (OPTIONS,) and isinstance(options, dict):
            found += [(OPTIONS, key) for key, value in options.items() if value is not None]
        else:
            found.append(path)
    return tuple(path for path in found if path not in (_TOOLS, _INSTRUCTIONS))


def _read_response(body: JSON, messages: tuple[Message, ...]) -> Conversation:
    """Read a response: its messages are one answer, and calls with a result in it have been run."""
    fields = body if isinstance(body, dict) else {}
    settings = read_settings(RESPONSE, fields, keys("messages", "finishReason"))
    answers = tuple(message for message in messages if message.role in ANSWER_ROLES)
    unknown = list(settings.unknown)
    unknown += [message.path for message in messages if message.role not in ANSWER_ROLES]
    for message in answers:
        raw = message.raw if isinstance(message.raw, dict) else {}
        unknown += unknown_fields(raw, message.path, MESSAGES.spec.keys)
    turns = assign_ids(answers, seed=str(settings.values.get("id", "")), ordered=False)
    reason = fields.get("finishReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    answer = replace(merge_turns(turns, NAME, ordered=False), stop=stop)
    source = BodySource(body, unknown_fields=tuple(unknown), setting_paths=settings.paths)
    return Conversation((answer,), (), settings.values, NAME, "response", source=source)


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request, a bare list of messages if one was read, or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    native = context.native
    body = write_settings(REQUEST, conversation, context)
    instructions: list[str] | None = None
    messages: list[Message] = []
    for message in conversation.messages:
        if message.wire == NAME and message.path == _INSTRUCTIONS:
            instructions = [*(instructions or ()), *map(describe, message.parts)]
        else:
            messages.append(message)
    if instructions is not None:
        body = require_object(put(body, _INSTRUCTIONS, "\n".join(instructions)))
    elif native:
        options = body.get(OPTIONS)
        if isinstance(options, dict) and isinstance(options.get("instructions"), str):
            body[OPTIONS] = {key: value for key, value in options.items() if key != "instructions"}
    written = HISTORY.write(messages, context)
    if not conversation.same_tools if native else conversation.tools:
        body = require_object(put(body, _TOOLS, write_tools(conversation.tools, context)))
    if native and isinstance(conversation.source.body, list) and not body:
        return written
    return {**body, "messages": written}


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    native = context.native
    source = conversation.source
    if native:
        conversation = replace(conversation, source=replace(source, unknown_fields=()))
    body = write_settings(RESPONSE, conversation, context)
    answer = answer_message(conversation)
    if native:
        originals = [
            message if message.role in ANSWER_ROLES else replace(message, parts=())
            for message in _read_messages(source.body)
        ]
        written = HISTORY.split(answer, originals, context)
        return {**body, "messages": written} if body else written
    message_body = MESSAGES.create("assistant", HISTORY.write_parts(answer, context))
    response: Object = {"messages": [message_body], **body}
    reason = write_finish_reason(answer, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    return response if reason is None else {**response, "finishReason": reason}


# --- recognition ----------------------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """3 if every message has a list of `contents`, otherwise 0."""
    messages = body.get("messages") if isinstance(body, dict) else body
    if not isinstance(messages, list) or not messages:
        return 0
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("contents"), list):
            return 0
    return 3
