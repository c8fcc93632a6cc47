"""Tools in plain text: whole requests and responses, and how their bodies are recognized."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Conversation, Tool
from toolwire.wires.engine.answers import AnswerFields, answer_id, answer_model, answer_time
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import list_at
from toolwire.wires.families.chat.bodies import ChatBodies
from toolwire.wires.text.blocks import is_plain
from toolwire.wires.text.messages import CHAT, content_of, role_of
from toolwire.wires.text.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    ID_PREFIX,
    REQUEST,
    RESPONSE,
)
from toolwire.wires.text.tool_definitions import put_tools, read_tools, write_tool


class TextBodies(ChatBodies, frozen=True, eq=False, kw_only=True):
    """The bodies of a chat wire whose tools are defined in system prompts."""

    def request_fields(self, body: Object) -> frozenset[str]:
        return frozenset({"messages"})

    def read_tools(self, body: Object) -> tuple[Tool, ...]:
        return tuple(read_tools(list_at(self.chat.name, body, ("messages",))))

    def write_tools(self, body: Object, conversation: Conversation, context: EncodeContext) -> None:
        if not context.native or not conversation.same_tools:
            messages = list_at(self.chat.name, body, ("messages",))
            body["messages"] = put_tools(conversation.tools, messages, context)


BODIES = TextBodies(
    chat=CHAT,
    request=REQUEST,
    response=RESPONSE,
    tools={},
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
    ordered=True,
)

# --- recognizing bodies ---------------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How well a body matches this wire: only tags distinguish it from a plain chat."""
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
