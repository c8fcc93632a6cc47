"""Read, write and recognize whole bodies of Genkit: messages, requests and responses."""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.engine.bodies import answer_message, build_conversation, unknown_fields
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_message
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import Block, keys, list_at, object_at, raise_unexpected
from toolwire.wires.families.blocks.bodies import define_tool, read_tools
from toolwire.wires.families.turns.history import MessageShape, TurnHistory
from toolwire.wires.genkit.blocks import BLOCKS, CAPABILITIES, NAME, PART_WRITERS, read_part
from toolwire.wires.genkit.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    read_tool,
)

EARLIER_TURN = "calls with results are in the messages of the request here"
ROLE_FROM_WIRE: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "model": "assistant",
    "tool": "tool",
}
MESSAGES = MessageShape(
    wire=NAME,
    content="content",
    spec=Block("message", part=Message, keys=keys("role", "content")),
    role_from_wire=ROLE_FROM_WIRE,
    role_to_wire={role: name for name, role in ROLE_FROM_WIRE.items()},
    read_part=read_part,
)
HISTORY = TurnHistory(
    name=NAME,
    read_message=MESSAGES.read,
    specs=frozenset(BLOCKS.values()),
    foreign=PART_WRITERS,
    create_message=MESSAGES.create,
    with_blocks=MESSAGES.with_blocks,
    capabilities=CAPABILITIES,
)

# --- reading --------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request, a list of messages, or a response."""
    if kind == "response":
        return _read_response(body)
    if not isinstance(body, list | dict):
        raise_unexpected(NAME, (), (dict, "a list of messages"), body)
    path: JsonPath = () if isinstance(body, list) else ("messages",)
    messages = tuple(
        [MESSAGES.read(item, (*path, i)) for i, item in enumerate(list_at(NAME, body, path))]
    )
    fields = body if isinstance(body, dict) else {}
    return build_conversation(
        NAME,
        "request",
        body,
        messages=messages,
        settings=read_settings(REQUEST, fields, keys("messages", "tools")),
        tools=read_tools(NAME, fields, read_tool),
    )


_CANDIDATE_KEYS = keys("index", "message", "finishReason")


def _read_response(body: JSON) -> Conversation:
    """Read a response: one message, or the candidates of early versions."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    paths: list[JsonPath] = [()]
    if body.get("message") is None and body.get("candidates") is not None:
        paths = [("candidates", i) for i in range(len(list_at(NAME, body, ("candidates",))))]
    settings = read_settings(RESPONSE, body, keys("message", "finishReason", "candidates"))
    unknown: list[JsonPath] = []
    messages: list[Message] = []
    for path in paths:
        messages.append(_read_candidate(body, path))
        if path:
            unknown += unknown_fields(object_at(NAME, body, path), path, _CANDIDATE_KEYS)
    return build_conversation(
        NAME, "response", body, messages=messages, settings=settings, unknown=unknown
    )


def _read_candidate(body: Object, path: JsonPath) -> Message:
    """The message of a response or candidate; a blocked one may have only a finish reason."""
    candidate = object_at(NAME, body, path)
    message_path: JsonPath = (*path, "message")
    if candidate.get("message") is None and "finishReason" in candidate:
        message = Message("assistant", (), None, NAME, source=Source(path=message_path))
    else:
        message = MESSAGES.read(object_at(NAME, body, message_path), message_path)
    reason = candidate.get("finishReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    if stop == "stop" and any(isinstance(part, Call) for part in message.parts):
        stop = "tool"
    return replace(message, role="assistant", stop=stop)


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request, a bare list of messages if one was read, or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    native = context.native
    body = write_settings(REQUEST, conversation, context)
    messages = HISTORY.write(conversation.messages, context)
    was_list = native and isinstance(conversation.source.body, list)
    if was_list and not body and not conversation.tools:
        return messages
    body["messages"] = messages
    if not conversation.same_tools if native else conversation.tools:
        body["tools"] = [
            define_tool(tool, context, "inputSchema")
            for tool in conversation.tools
            if tool.kind in CLIENT_TOOLS
        ]
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    context.minted_ids_sent = True
    body = write_settings(RESPONSE, conversation, context)
    if "candidates" in body:  # only a response of this wire has them
        candidates: list[JSON] = [
            _write_candidate(message, conversation, context) for message in conversation.messages
        ]
        return {**body, "candidates": candidates}
    message = answer_message(conversation)
    if context.native or not any(isinstance(part, Result) for part in message.parts):
        return {**body, **_write_candidate(message, conversation, context)}
    *earlier, last = _split_turns(message)
    messages: list[JSON] = []
    for turn in earlier:
        for part in turn.parts:
            context.report_info(part, EARLIER_TURN)
        messages.append(MESSAGES.create(turn.role, HISTORY.write_parts(turn, context)))
    body |= _write_candidate(last, conversation, context)
    return {**body, "request": {"messages": messages}}


def _split_turns(message: Message) -> list[Message]:
    """Split an answer with results into messages of the model and of the tools. The last one is the
    model's and has the calls without a result, which clients run."""
    answered = {part.call_id for part in message.parts if isinstance(part, Result)}
    last: list[Part] = []
    turns: list[tuple[Role, list[Part]]] = []
    for part in message.parts:
        if isinstance(part, Call) and part.id not in answered:
            last.append(part)
            continue
        role: Role = "tool" if isinstance(part, Result) else "assistant"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].append(part)
    if turns[-1][0] != "assistant":
        turns.append(("assistant", []))
    turns[-1][1].extend(last)
    return [replace(message, role=role, parts=tuple(parts)) for role, parts in turns]


def _write_candidate(
    message: Message, conversation: Conversation, context: EncodeContext
) -> Object:
    """A message with its finish reason, in the object it was read from, or in a new one."""
    written = patch_message(message, context, _read_answer)
    if isinstance(written, UnsetType):
        written = MESSAGES.create("assistant", HISTORY.write_parts(message, context))
    if message.wire == NAME and context.native:
        original = get(conversation.source.body, message.path[:-1])
        if isinstance(original, dict):
            if original.get("message") is not None or message.parts:
                return {**original, "message": written}
            return original
    if message.stop == "tool" and any(isinstance(part, Call) for part in message.parts):
        return {"message": written, "finishReason": "stop"}
    reason = write_finish_reason(message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    return {"message": written} if reason is None else {"message": written, "finishReason": reason}


def _read_answer(message: JSON, path: JsonPath) -> Message:
    return replace(MESSAGES.read(message, path), role="assistant")


# --- recognition ----------------------------------------------------------------------------------

_PART_FIELDS = keys("toolRequest", "toolResponse", "media", "custom", "resource")
_REQUEST_FIELDS = keys("config", "output", "docs", "toolChoice")


def match_score(body: JSON) -> int:
    """How well a body matches this wire: it has parts without a type, and the role `model`."""
    if isinstance(body, dict):
        candidates = body.get("candidates")
        if isinstance(candidates, list):
            messages = [get(candidate, ("message",)) or None for candidate in candidates]
            return max((_match_messages([message], 1) for message in messages), default=0)
        if isinstance(body.get("message"), dict):
            return 3 if _match_messages([body["message"]], 1) == 3 else 0
        return _match_messages(body.get("messages"), 3 if body.keys() & _REQUEST_FIELDS else 1)
    return _match_messages(body, 1)


def _match_messages(messages: JSON, score: int) -> int:
    """3 if a message has a mark of this wire, `score` if none contradicts it, otherwise 0."""
    if not isinstance(messages, list) or not messages:
        return 0
    for message in messages:
        content, role = get(message, ("content",)), get(message, ("role",))
        if not isinstance(content, list) or role == "assistant":
            return 0
        for part in content:
            if not isinstance(part, dict) or "type" in part or "$type" in part:
                return 0
            if part.keys() & _PART_FIELDS:
                score = 3
        if role == "model":
            score = 3
    return score
