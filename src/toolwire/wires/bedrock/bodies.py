"""Read, write and recognize messages and whole bodies of Bedrock Converse."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Conversation, Kind, Tool
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source
from toolwire.wires.bedrock.blocks import (
    ASSISTANT_BLOCKS,
    BLOCKS,
    CAPABILITIES,
    FOREIGN,
    MESSAGE,
    SERVER_RESULT,
    SPECS,
)
from toolwire.wires.bedrock.settings import (
    ANSWER,
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    NAME,
    REQUEST,
    RESPONSE,
    put_tool_config,
    read_tool,
    writable_settings,
)
from toolwire.wires.engine.answers import complete_answer
from toolwire.wires.engine.bodies import answer_message, build_conversation, unknown_fields
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_message
from toolwire.wires.engine.settings import read_settings, write_finish_reason, write_settings
from toolwire.wires.engine.specs import (
    Block,
    keys,
    list_at,
    object_at,
    opaque,
    raise_unexpected,
    read_block_by_field,
    unread_message,
)
from toolwire.wires.families.blocks.history import BlockHistory

# --- messages -------------------------------------------------------------------------------------

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def _read_content(
    content: JSON | UnsetType, path: JsonPath, specs: Mapping[str, Block]
) -> tuple[Part, ...]:
    if isinstance(content, str):  # refused by the API, as `check` reports
        return (opaque("text", content, path),) if content else ()
    if content is None:
        return ()
    if not isinstance(content, list):
        raise_unexpected(NAME, path, list, content)
    return tuple(
        [read_block_by_field(NAME, specs, block, path + (i,)) for i, block in enumerate(content)]
    )


def _read_message(message: JSON, path: JsonPath) -> Message:
    """Read a message. The system prompt, which is bare content, is read as a message too."""
    if path == ("system",):
        source = Source(message, path, MESSAGE)
        return Message("system", _read_content(message, path, BLOCKS), None, NAME, source=source)
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, dict, message)
    name = message.get("role")
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        return unread_message(NAME, name, message, path)
    specs = ASSISTANT_BLOCKS if role == "assistant" else BLOCKS
    content = message.get("content")
    source = Source(message, path, MESSAGE, None, len(message) == 2 and content is not None)
    parts = _read_content(content, path + ("content",), specs)
    if role == "assistant" and path[0] == "messages":
        for part in parts:
            if part.source.spec is SERVER_RESULT:
                parts = _with_client_results(parts)
                break
    return Message(role, parts, None, NAME, source=source)


def _with_client_results(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of an assistant message of a history, in which a result may be the client's.

    The result of a server tool has a type, or its call is in the same message.
    """
    server_ids = {
        part.id for part in parts if isinstance(part, Call) and part.executor == "provider"
    }

    def read_result(part: Part) -> Part:
        if not isinstance(part, Result) or not isinstance(part.raw, dict):
            return part
        if part.call_id in server_ids or isinstance(get(part.raw, ("toolResult", "type")), str):
            return part
        return read_block_by_field(NAME, BLOCKS, part.raw, part.path)

    return tuple(map(read_result, parts))


def _write_message(role: Role, blocks: list[JSON]) -> JSON:
    return {"role": "user" if role == "tool" else role, "content": blocks}


HISTORY = BlockHistory(
    name=NAME,
    read=_read_message,
    specs=SPECS,
    foreign=FOREIGN,
    message=_write_message,
    text=lambda role, text: _write_message(role, [{"text": text}]),
    capabilities=CAPABILITIES,
)


def _join(first: JSON, second: JSON) -> JSON:
    """Join two messages of one role; None if they differ in role or have no lists of blocks."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    blocks, more = first.get("content"), second.get("content")
    if not isinstance(blocks, list) or not isinstance(more, list):
        return None
    if first.get("role") != second.get("role"):
        return None
    return {**first, "content": [*blocks, *more]}


def _merge_neighbours(messages: list[JSON], verbatim: set[int]) -> list[JSON]:
    """Join consecutive messages of one role, unless both are written verbatim."""
    out: list[JSON] = []
    last_verbatim = False
    for i, message in enumerate(messages):
        joined = None
        if not (last_verbatim and i in verbatim):
            joined = _join(out[-1] if out else None, message)
        if joined is not None:
            out[-1] = joined
        else:
            out.append(message)
        last_verbatim = joined is None and i in verbatim
    return out


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    if kind == "response":
        return _read_response(body)
    settings = read_settings(REQUEST, body, keys("messages", "system"))
    known = tuple(
        path for path in settings.unknown if path[0] != "toolConfig" and get(body, path) != {}
    )
    unknown: list[JsonPath] = []
    tools: list[Tool] = []
    config = object_at(NAME, body, ("toolConfig",)) if body.get("toolConfig") is not None else {}
    for key, value in config.items():
        if key == "tools" and value is not None:
            for i, definition in enumerate(list_at(NAME, body, ("toolConfig", key))):
                tool = read_tool(definition, ("toolConfig", key, i))
                if tool is not None:
                    tools.append(tool)
        elif value is not None and not (key == "toolChoice" and "choice" in settings.values):
            unknown.append(("toolConfig", key))
    return build_conversation(
        NAME,
        "request",
        body,
        messages=HISTORY.read_messages(body),
        settings=replace(settings, unknown=known),
        tools=tools,
        unknown=unknown,
    )


_MESSAGE_PATH: JsonPath = ("output", "message")


def _read_response(body: Object) -> Conversation:
    message = _read_message(object_at(NAME, body, _MESSAGE_PATH), _MESSAGE_PATH)
    settings = read_settings(RESPONSE, body, keys("output", "stopReason"))
    reason = body.get("stopReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    output = object_at(NAME, body, ("output",))
    return build_conversation(
        NAME,
        "response",
        body,
        messages=(replace(message, stop=stop),),
        settings=settings,
        unknown=unknown_fields(output, ("output",), ("message",)),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(writable_settings(conversation), conversation, context)
    history = HISTORY.write(conversation, context)
    history.put_system(body, "system")
    body["messages"] = _merge_neighbours(history.messages, history.verbatim)
    put_tool_config(body, conversation, context)
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    message = answer_message(conversation)
    written = patch_message(message, context, _read_message)
    if isinstance(written, UnsetType):
        written = _write_message("assistant", HISTORY.write_parts(message, context))
    reason, output = body.get("stopReason"), body.get("output")
    if not isinstance(reason, str) or not _is_reason_of(message, reason):
        reason = write_finish_reason(
            message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
        )
    out: Object = {"output": {**(output if isinstance(output, dict) else {}), "message": written}}
    if reason or not context.native:
        out["stopReason"] = reason or "end_turn"
    done = ("output", "stopReason") if "stopReason" in out else ("output",)
    out |= {key: value for key, value in body.items() if key not in done}
    return out if context.native else complete_answer(out, ANSWER, context)


def _is_reason_of(message: Message, reason: str) -> bool:
    """True if a finish reason of this wire has the meaning of the message's stop reason. With calls
    of the client, `end_turn` means that the model stopped for them."""
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason)
    if stop == "stop" and any(
        isinstance(part, Call) and part.runs_on_client for part in message.parts
    ):
        stop = "tool"
    return stop == message.stop


# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = keys(
    "modelId",
    "inferenceConfig",
    "toolConfig",
    "additionalModelRequestFields",
    "guardrailConfig",
    "promptVariables",
)
_BLOCK_FIELDS = (frozenset(BLOCKS) | {"cachePoint", "toolAddition", "toolRemoval"}) - {
    "server_tool_use"
}


def match_score(body: JSON) -> int:
    """How well a body matches this wire, from 0 to 3.

    No other wire has blocks without a type under these names.
    """
    if not isinstance(body, dict):
        return 0
    if isinstance(get(body, _MESSAGE_PATH), dict):
        return 3 if isinstance(get(body, (*_MESSAGE_PATH, "content")), list) else 0
    messages, system = body.get("messages"), body.get("system")
    if not isinstance(messages, list) or (system is not None and not isinstance(system, list)):
        return 0
    fields: set[str] = set()
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in tuple(_ROLES):
            return 0
        content = message.get("content")
        if not isinstance(content, list):
            return 0
        for block in content:
            if not isinstance(block, dict) or "type" in block:
                return 0
            fields.update(block)
    if system or not _OWN_FIELDS.isdisjoint(body) or fields & (_BLOCK_FIELDS - {"text"}):
        return 3
    return 2 if fields & _BLOCK_FIELDS else 0
