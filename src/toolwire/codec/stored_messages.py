"""Messages as frameworks store them: with the kind of their class instead of a role, and often in a
wrapper.

The three usual forms of one message are `{"type": "human", "content": …}`, the same inside of
`{"type": "human", "data": …}`, and `{"lc": 1, "id": […, "HumanMessage"], "kwargs": …}`.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, text_of

_ROLE_OF_KIND = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
}
"""Kind of a message → role of a chat."""


def unwrap_message(message: JSON | UnsetType) -> Object | None:
    """Return a stored message as a message of a chat; None if it is not a stored one."""
    if not isinstance(message, dict) or "role" in message:
        return None
    kind, fields = message.get("type"), message
    path, keywords, data = message.get("id"), message.get("kwargs"), message.get("data")
    if isinstance(keywords, dict) and isinstance(path, list) and path:
        kind, fields = path[-1], keywords
    elif isinstance(data, dict):
        fields = data
    role = _ROLE_OF_KIND.get(_kind_of_class(kind)) if isinstance(kind, str) else None
    if role is None or "content" not in fields:
        return None
    rest: Object = {
        name: value
        for name, value in fields.items()
        if name == "content" or (name != "type" and value not in (None, [], {}))
    }
    calls = rest.get("tool_calls")
    if isinstance(calls, list):
        rest["tool_calls"] = [_as_chat_call(call) for call in calls]
    return {"role": role, **rest}


def _as_chat_call(call: JSON) -> JSON:
    """A stored call, whose name and arguments are not in a function, as a call of a chat."""
    if not isinstance(call, dict) or "args" not in call:
        return call
    function: Object = {"name": call.get("name"), "arguments": text_of(call["args"])}
    return {"id": call.get("id"), "type": "function", "function": function}


def _kind_of_class(name: str) -> str:
    """The kind of messages that a class holds; other names are kinds already."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def unwrap_messages(body: JSON) -> JSON:
    """Return a list of messages, or a body with one, with its stored messages as those of a chat;
    any other value is returned unchanged."""
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        return {**body, "messages": unwrap_messages(body["messages"])}
    if not isinstance(body, list):
        return body
    return [unwrap_message(message) or message for message in body]
