"""Messages without a role, or with one that their wire does not know."""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.codec import read_body
from toolwire.codec.stored_messages import unwrap_message
from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.parts import Call, Message, Opaque
from toolwire.errors import DecodeError
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_blocks import read_tool_message
from toolwire.lint.memo import once_per_history
from toolwire.wires import wire
from toolwire.wires.engine.roles import meant_role
from toolwire.wires.engine.specs import Block

_ROLES_WITHOUT_ID = ("user", "function")
"""Roles of messages that refer to no call."""


def unread_messages(message: Message) -> list[Opaque]:
    """The messages that the wire did not read because their role is missing or unknown: this
    message, or items in it."""
    return [
        part
        for part in message.parts
        if isinstance(part, Opaque)
        and len(part.path) == len(message.path)
        and isinstance(part.value, dict)
        and ("role" in part.value or part.value.keys() == {"content"})
    ]


def lacks_role(message: Message) -> bool:
    """True if a message of a chat has no role; it was read with the role that its fields show."""
    raw, spec = message.source.raw, message.source.spec
    if not isinstance(raw, dict) or "role" in raw or not isinstance(spec, Block):
        return False
    if "type" in raw or not ("content" in raw or "tool_calls" in raw):
        return False  # an item or a block of another wire
    return "role" in spec.keys and not spec.keys.isdisjoint(("tool_calls", "tool_call_id"))


def read_stored_message(message: Message) -> list[Object] | None:
    """The messages of a chat that a stored one stands for; None if it is not a stored one, or if
    its own wire reads messages without a role."""
    raw, spec = message.source.raw, message.source.spec
    if spec is not None and "role" not in spec.keys:
        return None
    return unwrap_message(raw)


@once_per_history
def stored_messages(facts: Facts) -> list[tuple[JsonPath, list[Object]]]:
    """The path of each message in the form in which a framework stores it, and the messages of a
    chat that it stands for."""
    if not facts.own_wire or facts.conversation.kind != "request":
        return []
    found = ((message.path, read_stored_message(message)) for message in facts.messages)
    return [(path, messages) for path, messages in found if messages is not None]


@once_per_history
def foreign_roles(facts: Facts) -> list[tuple[JsonPath, str]]:
    """The path and the right role of each message that has no role or one that the wire does not
    know, and of each message that answers a call by its id although its role refers to no call."""
    if not facts.own_wire or facts.conversation.kind != "request":
        return []
    call_ids = {call.id for call in facts.calls}
    found: list[tuple[JsonPath, str]] = []
    for message in facts.messages:
        unread = unread_messages(message)
        if unread and read_tool_message(message.source.raw, message.path) is not None:
            continue  # it is written as a result
        found += [(part.path, role) for part in unread if (role := _meant_role(facts, part.value))]
        raw = message.source.raw
        if unread or not isinstance(raw, dict):
            continue
        if lacks_role(message):
            found.append((message.path, message.role))
        if raw.get("role") not in _ROLES_WITHOUT_ID:
            continue
        call_id = raw.get("tool_call_id")
        if isinstance(call_id, str) and call_id in call_ids:
            found.append((message.path, "tool"))
    if not found:
        return found
    try:
        read_body(with_roles(facts.body, found), facts.conversation.wire, "request")
    except DecodeError:
        return []  # the role is not the only error of a message
    return found


def with_roles(body: JSON, roles: Iterable[tuple[JsonPath, str]]) -> JSON:
    """The body with new roles for the messages at these paths."""
    for path, role in roles:
        body = put(body, (*path, "role"), role)
    return body


def _meant_role(facts: Facts, message: JSON) -> str:
    """The role name of the wire for a message with an unknown role; empty if the message already
    has that role."""
    assert isinstance(message, dict)
    role = meant_role(message)
    names_call = isinstance(message.get("tool_call_id"), str)
    if role == "tool" and not names_call and facts.profile.results_share_one_message:
        role = "user"
    assistant = "model" if "model" in (facts.profile.accepted_roles or ()) else "assistant"
    word = assistant if role == "assistant" or _has_calls(facts, message, assistant) else role
    return "" if word == message.get("role") else word


def _has_calls(facts: Facts, message: Object, assistant: str) -> bool:
    """True if a message without a role has calls, which only the assistant makes."""
    read = wire(facts.conversation.wire).read_message
    if read is None or isinstance(message.get("role"), str):
        return False
    try:
        parts = read({**message, "role": assistant}, ("messages", 0)).parts
    except DecodeError:
        return False
    return any(isinstance(part, Call) for part in parts)
