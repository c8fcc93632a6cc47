"""Whole bodies of OpenAI Chat Completions: requests and responses."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation
from toolwire.wires.engine.answers import AnswerFields, answer_id, answer_model, answer_time
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import keys, types_in
from toolwire.wires.families.chat.bodies import ChatBodies
from toolwire.wires.openai_chat.blocks import CHAT
from toolwire.wires.openai_chat.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    ID_PREFIX,
    LEGACY_TOOLS,
    REQUEST,
    RESPONSE,
    TOOLS,
    write_tool,
)


class OpenaiChatBodies(ChatBodies, frozen=True, eq=False, kw_only=True):
    """The bodies of a chat wire on which the number of log probabilities needs a switch."""

    def request_fields(self, body: Object) -> frozenset[str]:
        switched = body.get("logprobs") is True and body.get("top_logprobs") is not None
        return self.known_fields | {"logprobs"} if switched else self.known_fields

    def write_request(self, conversation: Conversation, context: EncodeContext) -> Object:
        body = super().write_request(conversation, context)
        if not context.native and "top_logprobs" in body:
            body["logprobs"] = True
        return body


BODIES = OpenaiChatBodies(
    chat=CHAT,
    request=REQUEST,
    response=RESPONSE,
    tools=TOOLS,
    write_tool=write_tool,
    finish_from_wire=FINISH_REASON_FROM_WIRE,
    finish_to_wire=FINISH_REASON_TO_WIRE,
    answer=AnswerFields.of(
        {
            "id": answer_id(ID_PREFIX),
            "object": "chat.completion",
            "created": answer_time,
            "model": answer_model,
        }
    ),
    choice={"logprobs": None},
    legacy_tools=LEGACY_TOOLS,
)

# --- recognition ----------------------------------------------------------------------------------

_FOREIGN_FIELDS = ("system", "stop_sequences", "anthropic_version")
_FOREIGN_BLOCKS = keys("tool_use", "tool_result", "thinking", "image", "document")
_OWN_BLOCKS = keys("image_url", "input_audio", "file", "refusal")
_OWN_ROLES = keys("tool", "developer", "system", "function")


def match_score(body: JSON) -> int:
    """How well a body matches this wire; see `Wire.match_score`."""
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
    if any("type" in message and "role" not in message for message in objects):
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
