"""Read, write and recognize whole bodies of Cohere Chat."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation, Tool
from toolwire.wires.cohere.blocks import CHAT
from toolwire.wires.cohere.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    FINISH_REASONS,
    REQUEST,
    RESPONSE,
    TOOLS,
    write_tool,
)
from toolwire.wires.engine.answers import AnswerFields, answer_id
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import flag_or_none, keys
from toolwire.wires.families.chat.bodies import SingleMessageBodies


class CohereBodies(SingleMessageBodies, frozen=True, eq=False, kw_only=True):
    """The bodies of a chat wire on which all tools share one strict flag."""

    def request_fields(self, body: Object) -> frozenset[str]:
        known = super().request_fields(body)
        has_flag = body.get("tools") and flag_or_none(body.get("strict_tools")) is not None
        return known | {"strict_tools"} if has_flag else known

    def read_tools(self, body: Object) -> tuple[Tool, ...]:
        tools, strict = super().read_tools(body), flag_or_none(body.get("strict_tools"))
        return tools if strict is None else tuple(replace(tool, strict=strict) for tool in tools)

    def write_tools(self, body: Object, conversation: Conversation, context: EncodeContext) -> None:
        if context.native and conversation.same_tools:
            return
        body.pop("strict_tools", None)
        super().write_tools(body, conversation, context)
        tools = conversation.tools
        flags = {tool.strict for tool in tools}
        if len(flags) > 1:
            for tool in tools:
                if tool.strict is not None:
                    reason = "all tools share one strict flag here, and these tools differ"
                    context.report_loss(tool, reason)
        elif (strict := flags.pop() if flags else None) is not None:
            body["strict_tools"] = strict


BODIES = CohereBodies(
    chat=CHAT,
    request=REQUEST,
    response=RESPONSE,
    tools=TOOLS,
    write_tool=write_tool,
    finish_from_wire=FINISH_REASON_FROM_WIRE,
    finish_to_wire=FINISH_REASON_TO_WIRE,
    answer=AnswerFields.of({"id": answer_id(""), "finish_reason": "COMPLETE"}),
    answer_fields=keys("message", "finish_reason"),
)

# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = keys("k", "p", "strict_tools", "safety_mode", "citation_options")
_MODELS = ("command", "c4ai")


def match_score(body: JSON) -> int:
    """How well a body matches this wire, from 0 to 3."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("message"), dict) and "done" not in body:
        return 3 if str(body.get("finish_reason")) in FINISH_REASONS else 0
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
    # The only other wire with `stop_sequences` has no tool messages; a model name is only a hint.
    if has_tools and "stop_sequences" in body:
        return 2
    return 2 if str(body.get("model")).startswith(_MODELS) else 0


def _has_documents(message: Object) -> bool:
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, list):
        return False
    return get(content, (0, "type")) == "document"
