"""The meaning of message roles on all wires: clients that switched their API leave roles in a
history that its wire does not know."""

from __future__ import annotations

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Role

_ROLE_MEANINGS: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "developer": "system",
    "system": "system",
    "function": "tool",
    "tool": "tool",
}
"""The meaning of roles that only some wires know; any other is a user's."""


def meant_role(message: JSON) -> Role:
    """Return the role that a message means: by its fields for calls and results, or by its role."""
    if not isinstance(message, dict):
        return "user"
    if isinstance(message.get("tool_calls"), list):
        return "assistant"
    if isinstance(message.get("tool_call_id"), str):
        return "tool"
    return _ROLE_MEANINGS.get(str(message.get("role")).lower(), "user")


def role_of_unread(message: JSON) -> Role:
    """Return the role of a message that its wire does not read.

    The assistant's under another name starts a turn, so results after it belong to no earlier call.
    """
    return "assistant" if meant_role(message) == "assistant" else "user"
