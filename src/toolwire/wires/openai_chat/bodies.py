"""Whole bodies of OpenAI Chat Completions: requests and responses."""

from __future__ import annotations

from toolwire.conversation.json import JSON, get
from toolwire.conversation.model import Conversation, Kind
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import write_settings
from toolwire.wires.engine.specs import keys, raise_unexpected, types_in
from toolwire.wires.families.chat.bodies import read_request, read_response, write_choices
from toolwire.wires.families.chat.settings import replace_tools
from toolwire.wires.openai_chat.blocks import CHAT, NAME
from toolwire.wires.openai_chat.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    read_tool,
    write_tool,
)


def read(body: JSON, kind: Kind) -> Conversation:
    """Read a request or a response."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return read_response(CHAT, body, settings=RESPONSE, finish_reasons=FINISH_REASON_FROM_WIRE)
    fields = ("tools", "functions")
    return read_request(CHAT, body, settings=REQUEST, read_tool=read_tool, tool_fields=fields)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    replace_tools(body, conversation, context, read=read_tool, write=write_tool)
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"id": "", "object": "chat.completion", "created": 0, "model": "", **body}
    body["choices"] = write_choices(
        CHAT,
        conversation,
        context,
        to_wire=FINISH_REASON_TO_WIRE,
        from_wire=FINISH_REASON_FROM_WIRE,
    )
    return body


# --- recognition ----------------------------------------------------------------------------------

_FOREIGN_FIELDS = ("system", "stop_sequences", "anthropic_version")
_FOREIGN_BLOCKS = keys("tool_use", "tool_result", "thinking", "image", "document")
_OWN_BLOCKS = keys("image_url", "input_audio", "file", "refusal")
_OWN_ROLES = keys("tool", "developer", "system", "function")


def match_score(body: JSON) -> int:
    """How likely a body is of this wire; see `Wire.match_score`."""
    if not isinstance(body, dict):
        return 0
    choices, messages, tools = body.get("choices"), body.get("messages"), body.get("tools")
    if isinstance(choices, list):
        contents = (get(choice, ("message", "content")) for choice in choices)
        if any(types_in(content) & _FOREIGN_BLOCKS for content in contents):  # type: ignore[arg-type]
            return 0
        return 3 if str(body.get("object", "")).startswith("chat.completion") else 2
    if not isinstance(messages, list) or any(key in body for key in _FOREIGN_FIELDS):
        return 0
    objects = [message for message in messages if isinstance(message, dict)]
    if any(types_in(message.get("content")) & _FOREIGN_BLOCKS for message in objects):
        return 0
    has_functions = isinstance(tools, list) and any(
        isinstance(tool, dict) and "function" in tool for tool in tools
    )
    marked = any(
        "tool_calls" in message
        or "function_call" in message
        or str(message.get("role")) in _OWN_ROLES
        or types_in(message.get("content")) & _OWN_BLOCKS
        for message in objects
    )
    return 2 if has_functions or marked else 1
