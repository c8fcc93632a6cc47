"""Whole bodies of Mistral chat completions: requests and responses."""

from __future__ import annotations

from toolwire.conversation.json import JSON, get
from toolwire.wires.engine.answers import AnswerFields, answer_id, answer_model, answer_time
from toolwire.wires.engine.specs import blocks
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL
from toolwire.wires.families.chat.bodies import ChatBodies
from toolwire.wires.mistral.blocks import CHAT, CONTENT
from toolwire.wires.mistral.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    write_tool,
)

BODIES = ChatBodies(
    chat=CHAT,
    request=REQUEST,
    response=RESPONSE,
    tools=blocks(FUNCTION_TOOL),
    write_tool=write_tool,
    finish_from_wire=FINISH_REASON_FROM_WIRE,
    finish_to_wire=FINISH_REASON_TO_WIRE,
    answer=AnswerFields.of(
        {
            "id": answer_id(""),
            "object": "chat.completion",
            "created": answer_time,
            "model": answer_model,
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }
    ),
)

# --- recognition ----------------------------------------------------------------------------------

_OWN_FIELDS = ("random_seed", "safe_prompt", "prompt_mode")
_FOREIGN_FIELDS = ("system", "stop_sequences", "anthropic_version")
_ROLES = ("system", "user", "assistant", "tool")


def match_score(body: JSON) -> int:
    """How well a body matches this wire; see `Wire.match_score`.

    Only its own fields and blocks distinguish it from other chat wires.
    """
    if not isinstance(body, dict):
        return 0
    choices, messages = body.get("choices"), body.get("messages")
    if isinstance(choices, list):
        if any(map(_has_own_answer, choices)):
            return 3
        return 1 if str(body.get("object", "")).startswith("chat.completion") else 0
    if not isinstance(messages, list) or any(key in body for key in _FOREIGN_FIELDS):
        return 0
    score = 3 if any(key in body for key in _OWN_FIELDS) else 1
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            return 0
        content = message.get("content")
        if _has_own_block(content):
            score = 3
        elif isinstance(content, list) and not all(map(_is_known_block, content)):
            return 0
    return score


def _has_own_answer(choice: JSON) -> bool:
    content = get(choice, ("message", "content")) or None
    return get(choice, ("finish_reason",)) == "model_length" or _has_own_block(content)


def _has_own_block(content: JSON) -> bool:
    """True if a block exists only on this wire; on other wires `thinking` is a text."""
    return isinstance(content, list) and any(
        "document_url" in block
        or "reference_ids" in block
        or isinstance(block.get("thinking"), list)
        for block in content
        if isinstance(block, dict)
    )


def _is_known_block(block: JSON) -> bool:
    return isinstance(block, dict) and block.get("type") in tuple(CONTENT)
