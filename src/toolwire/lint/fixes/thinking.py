"""Fix thinking blocks that a provider would refuse. This module knows no rule by name."""

from __future__ import annotations

from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Part, Reasoning
from toolwire.lint.fixes.transforms import parts_as_text, remove_parts
from toolwire.lint.rule import FixedConversation


def thinking_as_text(
    conversation: Conversation, parts: list[Part], reason: str
) -> FixedConversation:
    """Replace thinking blocks by their text, and remove those without text.

    `reason` describes the blocks, such as "without a valid signature".
    """
    texts: PartMap[Part, str] = PartMap(
        (part, f"earlier reasoning: {part.text}")
        for part in parts
        if isinstance(part, Reasoning) and part.text.strip()
    )
    changes = tuple(
        (part.path, f"{verb} a thinking block {reason}")
        for part in parts
        for verb in ["rewrote as text" if part in texts else "removed"]
    )
    empty: PartSet[Part] = PartSet(part for part in parts if part not in texts)
    return FixedConversation(remove_parts(parts_as_text(conversation, texts), empty), changes)
