"""Read, write and recognize messages and whole bodies of Anthropic Messages."""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Message, Output, Part, Result, Role, Source, Text
from toolwire.wires.anthropic.blocks import (
    BLOCKS,
    CAPABILITIES,
    FOREIGN,
    MESSAGE,
    PLAIN,
    TOOL_MESSAGE,
)
from toolwire.wires.anthropic.settings import (
    ANSWER,
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    NAME,
    REQUEST,
    RESPONSE,
    default_max_tokens,
    read_tool,
    write_tools,
)
from toolwire.wires.engine.answers import complete_answer, seed_from
from toolwire.wires.engine.bodies import answer_message, build_conversation, list_in
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_message
from toolwire.wires.engine.settings import (
    put_tools,
    read_settings,
    read_usage,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Outcome,
    keys,
    raise_unexpected,
    read_block,
    read_id,
    single_text,
    types_in,
    unread_message,
)
from toolwire.wires.families.blocks.bodies import read_tools
from toolwire.wires.families.blocks.history import BlockHistory

# --- messages -------------------------------------------------------------------------------------

_OWN_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_ROLES: dict[str, Role] = {**_OWN_ROLES, "tool": "tool", "developer": "system"}
"""With roles of other wires: the API refuses them, and `check` reports them."""


def _read_content(content: JSON, path: JsonPath) -> tuple[Part, ...]:
    """The parts of a plain string or a list of blocks."""
    if isinstance(content, str):
        source = Source(content, path, PLAIN, None, True)
        return (Text(content, source=source),) if content else ()
    if content is None:  # refused by the API, as `check` reports
        return ()
    if not isinstance(content, list):
        raise_unexpected(NAME, path, (str, list), content)
    return _read_blocks(content, path)


def _read_blocks(blocks: list[JSON], path: JsonPath) -> tuple[Part, ...]:
    parts: list[Part] = []
    for i, block in enumerate(blocks):
        parts.append(read_block(NAME, BLOCKS, block, path + (i,)))
    return tuple(parts)


def _read_message(message: JSON, path: JsonPath) -> Message:
    """Read a message. The system prompt, which is bare content, is read as a message too."""
    if path == ("system",):
        source = Source(message, path, MESSAGE)
        return Message("system", _read_content(message, path), None, NAME, source=source)
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, dict, message)
    name = message.get("role")
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        return unread_message(NAME, name, message, path)
    if role == "tool" and "tool_call_id" in message:
        source = Source(message, path, MESSAGE)
        return Message(role, (_read_tool_message(message, path),), None, NAME, source=source)
    content = message.get("content")
    source = Source(message, path, MESSAGE, None, len(message) == 2 and content is not None)
    parts = _read_content(content, path + ("content",))
    return Message(role, parts, None, NAME, source=source)


def _read_tool_message(message: Object, path: JsonPath) -> Part:
    """Read a result that is a separate message, as on other wires."""
    call_id, origin = read_id(message["tool_call_id"])
    content = message.get("content")
    output: Output = "" if content is None else content
    if isinstance(content, list):
        output = _read_content(content, path + ("content",))
    return Result(call_id, output, False, None, origin, source=Source(message, path, TOOL_MESSAGE))


def _write_message(role: Role, blocks: list[JSON]) -> JSON:
    """A message of blocks; a single text without other fields is written as a string."""
    return _with_content(role, single_text(blocks))


def _with_content(role: Role, content: JSON) -> JSON:
    return {"role": "user" if role == "tool" else role, "content": content}


HISTORY = BlockHistory(
    name=NAME,
    read=_read_message,
    specs=frozenset(BLOCKS.values()),
    foreign=FOREIGN,
    message=_write_message,
    text=_with_content,
    capabilities=CAPABILITIES,
)


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), dict, body)
    if kind == "response":
        return _read_response(body)
    return build_conversation(
        NAME,
        "request",
        body,
        messages=HISTORY.read_messages(body),
        settings=read_settings(REQUEST, body, _REQUEST_KEYS),
        tools=read_tools(NAME, body, read_tool),
    )


_REQUEST_KEYS = keys("messages", "system", "tools")
_RESPONSE_KEYS = keys("type", "role", "content", "stop_reason")
_TEXT = keys("text")


def _read_response(body: Object) -> Conversation:
    content = list_in(NAME, body, "content")
    settings = read_settings(RESPONSE, body, _RESPONSE_KEYS)
    source = Source({"role": "assistant", "content": content}, (), MESSAGE, None, True)
    parts = _read_blocks(content, ("content",))
    message = Message("assistant", parts, _read_finish_reason(body), NAME, source=source)
    seed = seed_from(body.get("id"))
    return build_conversation(
        NAME, "response", body, messages=(message,), settings=settings, seed=seed
    )


def _read_finish_reason(body: Object) -> str | None:
    reason = body.get("stop_reason")
    return FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None


def read_outcome(body: Object) -> Outcome | None:
    """The outcome of a response; None if its content decides, because a turn may end with calls."""
    content, stop = body.get("content"), _read_finish_reason(body)
    if not isinstance(content, list) or (stop == "stop" and not types_in(content) <= _TEXT):
        return None
    return read_usage(RESPONSE, body), stop


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    if not context.native:
        if "max_tokens" not in body:
            body["max_tokens"] = context.record_default("max_tokens", default_max_tokens(body))
        choice = body.get("tool_choice")
        if isinstance(choice, dict):
            # The flag is inside the choice, whichever of the two settings was written first.
            parallel = conversation.settings.get("parallel")
            flag: Object = {}
            if isinstance(parallel, bool):
                flag["disable_parallel_tool_use"] = not parallel
            body["tool_choice"] = {"type": "auto", **choice, **flag}
    history = HISTORY.write(conversation, context)
    history.put_system(body, "system")
    body["messages"] = history.messages
    if not context.native or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, context))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    message = answer_message(conversation)
    patched = patch_message(message, context, _read_message)
    content = (
        patched["content"] if isinstance(patched, dict) else HISTORY.write_parts(message, context)
    )
    if context.native:
        return {**body, "content": content}
    reason = body.get("stop_reason") or write_finish_reason(
        message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
    )
    return complete_answer({**body, "content": content, "stop_reason": reason}, ANSWER, context)


# --- recognition ----------------------------------------------------------------------------------

_OWN_TYPES = keys(
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "image",
    "document",
)
_FOREIGN_TYPES = keys("image_url", "input_audio", "file", "refusal")
_OWN_FIELDS = keys("system", "stop_sequences", "anthropic_version")


def match_score(body: JSON) -> int:
    """How well a body matches this wire, from 0 to 3."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("content"), list) and body.get("role") == "assistant":
        return 3 if body.get("type") == "message" else 2
    messages = body.get("messages")
    if not isinstance(messages, list):
        return 0
    score = 1 if _OWN_FIELDS.isdisjoint(body) else 2
    for message in messages:
        if not isinstance(message, dict) or "tool_calls" in message:
            return 0
        content = message.get("content")
        types = types_in(content)
        is_result = "tool_use_id" in message or "tool_result" in types
        if not isinstance(content, str | list) or not (
            str(message.get("role")) in _OWN_ROLES or (is_result and message.get("role") == "tool")
        ):
            return 0
        if types & _FOREIGN_TYPES:
            return 0
        if types & _OWN_TYPES:
            score = 3
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        return 3 if all(map(_is_own_tool, tools)) else 0
    return score


def _is_own_tool(tool: JSON) -> bool:
    if not isinstance(tool, dict):
        return False
    return "input_schema" in tool or ("type" in tool and "function" not in tool)
