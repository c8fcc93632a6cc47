"""What message roles mean on all wires. Clients that switched their API leave roles in a history
that its wire does not know."""

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
"""The meaning of roles that only some wires know; any other role counts as the user's."""


def meant_role(message: JSON) -> Role:
    """Return the role of a message by its fields for calls and results, otherwise by its role
    field."""
    if not isinstance(message, dict):
        return "user"
    if isinstance(message.get("tool_calls"), list):
        return "assistant"
    if isinstance(message.get("tool_call_id"), str):
        return "tool"
    return _ROLE_MEANINGS.get(str(message.get("role")).lower(), "user")


def role_of_unread(message: JSON) -> Role:
    """Return the role of a message that its wire cannot read.

    An assistant message under another name starts a turn, so that results after it are not paired
    with earlier calls.
    """
    return "assistant" if meant_role(message) == "assistant" else "user"
