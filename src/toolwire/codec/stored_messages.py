"""Messages as frameworks store them, and the messages of a chat that they stand for.

A framework keeps the kind of a class instead of a role, wraps the message, or has its own parts for
calls and results: `{"type": "human", "data": …}`, `{"lc": 1, "id": […, "HumanMessage"], "kwargs":
…}`, `{"kind": "response", "parts": [{"part_kind": "tool-call", …}]}`, `{"role": "assistant",
"items": [{"content_type": "function_call", …}]}`.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, snake, text_of

_ROLE_OF_KIND = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "chatbot": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
    "functionexecutionresult": "tool",
    "tool_execution_result": "tool",
    "request": "user",
    "response": "assistant",
}
"""Kind of a message → role of a chat."""
_PART_LISTS = ("content", "parts", "items", "blocks", "contents", "text", "message")
"""The fields with the text or the parts of a message."""
_CALL_LISTS = ("tool_calls", "invalid_tool_calls", "tool_execution_requests")
_MESSAGE_FIELDS = ("name", "tool_call_id", "function_call", "refusal")
"""The fields of a chat message beside its content. All others are notes of the framework."""
_KIND_FIELDS = ("part_kind", "content_type", "block_type")
"""The fields with the kind of a part, which no API has."""
_CALL_KINDS = ("tool-call", "tool_call", "function_call", "functioncallcontent")
_RESULT_KINDS = (
    "tool-return",
    "retry-prompt",
    "tool_call_result",
    "function_result",
    "functionresultcontent",
)


def unwrap_message(message: JSON | UnsetType) -> list[Object] | None:
    """Return the messages of a chat that a stored one stands for; None if it is not a stored
    one."""
    if not isinstance(message, dict) or ("role" in message and not _is_stored(message)):
        return None
    role, fields = _unwrap(message)
    responses = fields.get("tool_responses")
    if isinstance(responses, list):
        return [response for response in responses if isinstance(response, dict)]
    extra = _extra_fields(fields)
    calls = [call for name in _CALL_LISTS for call in _list(fields.get(name))]
    calls = calls or _list(extra.get("tool_calls"))
    rest: Object = {}
    for name in _MESSAGE_FIELDS:
        if value := fields.get(name) or extra.get(name):
            rest[name] = value
    name = next((name for name in _PART_LISTS if name in fields), "")
    if not role or not (name or calls or rest):
        return None
    if role == "tool" and isinstance(fields.get("id"), str):
        rest.setdefault("tool_call_id", fields["id"])
    content, thought = fields.get(name), fields.get("thought")
    if isinstance(thought, str) and thought:
        content = [{"type": "text", "text": thought}, *_list(content)]
    return _as_messages(role, content, calls, rest)


def _is_stored(message: Object) -> bool:
    """True for a message with a role in which a framework keeps calls and results elsewhere than
    every API."""
    if not _extra_fields(message).keys().isdisjoint((*_CALL_LISTS, *_MESSAGE_FIELDS)):
        return True
    if isinstance(message.get("tool_responses"), list):
        return True
    if isinstance(message.get("message"), str) and "content" not in message:
        return True
    parts = [part for name in _PART_LISTS for part in _list(message.get(name))]
    return any(isinstance(part, dict) and _part_kind(part) for part in parts)


def _extra_fields(message: Object) -> Object:
    """The fields of the API's own message that a framework keeps beside its own."""
    extra = message.get("additional_kwargs")
    return extra if isinstance(extra, dict) else {}


def _unwrap(message: Object) -> tuple[str, Object]:
    """The role of a message in a chat, and its fields; an empty role if it is not a message."""
    kind = message.get("type", message.get("kind"))
    path, keywords, data = message.get("id"), message.get("kwargs"), message.get("data")
    if isinstance(keywords, dict) and isinstance(path, list) and path:
        kind, fields = path[-1], keywords
    else:
        fields = data if isinstance(data, dict) else message
    fields = _with_plain_names(fields)
    name = fields.get("role", kind)
    if isinstance(name, dict):
        name = name.get("Label")
    role = _ROLE_OF_KIND.get(_kind_of_class(name), "") if isinstance(name, str) else ""
    source = fields.get("source")
    if not role and isinstance(source, str) and "content" in fields:
        role = "user" if source == "user" else "assistant"
    return role, fields


def _with_plain_names(fields: Object) -> Object:
    """The fields with names in snake case, as most frameworks write them."""
    if fields.keys().isdisjoint(("Role", "_role")) and all(map(str.islower, fields)):
        return fields
    return {snake(name[:1].lower() + name[1:]).lstrip("_"): fields[name] for name in fields}


def _kind_of_class(name: str) -> str:
    """The kind of messages that a class holds; other names are kinds already."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _as_messages(role: str, content: JSON, calls: list[JSON], rest: Object) -> list[Object]:
    """The messages of a chat with this content: one, and one for each result and system text."""
    messages: list[Object] = []
    blocks: list[JSON] = []
    calls = [_as_chat_call(call) for call in calls]
    for part in _list(content):
        fields = _with_plain_names(part) if isinstance(part, dict) else {}
        kind = _part_kind(fields)
        inner = fields.get(kind)
        half = inner if isinstance(inner, dict) else fields
        if kind in _CALL_KINDS:
            calls.append(_as_chat_call(half))
        elif kind in _RESULT_KINDS and (result := _as_tool_message(half)) is not None:
            messages.append(result)
        elif kind == "system-prompt":
            messages.append({"role": "system", "content": fields.get("content")})
        else:
            blocks += _as_blocks(part, kind, fields)
    message: Object = {"role": role, "content": _shortest(content, blocks), **rest}
    if calls:
        message["tool_calls"] = calls
    return [*messages, message] if calls or message["content"] or not messages else messages


def _shortest(content: JSON, blocks: list[JSON]) -> JSON:
    """The content of a message: a text alone as it is, and blocks if there are more."""
    if not isinstance(content, list):
        return content
    match blocks:
        case []:
            return ""
        case [{"type": "text", "text": str() as text}]:
            return text
    return blocks


def _part_kind(part: Object) -> str:
    """The kind of a part of a framework; empty for a block that an API may have."""
    kind = next((part[name] for name in _KIND_FIELDS if name in part), part.get("$type"))
    if isinstance(kind, str):
        return kind.lower() if "$type" not in part or kind.endswith("Content") else ""
    if "type" in part:
        return ""
    if {"call_id", "content"} <= part.keys():
        return "function_result"
    if {"id", "name", "arguments"} <= part.keys():
        return "function_call"
    return next((name for name in ("tool_call", "tool_call_result") if name in part), "")


def _as_blocks(part: JSON, kind: str, fields: Object) -> list[JSON]:
    """The blocks of a part that is neither a call nor a result."""
    text = fields.get("text", fields.get("content") if kind else None)
    if kind == "thinking":
        return [{"type": "thinking", "thinking": text, "signature": fields.get("signature") or ""}]
    if isinstance(text, str) and (kind or len(fields) == 1 or fields.get("type") == "TEXT"):
        return [{"type": "text", "text": text}] if text else []
    return text if kind and isinstance(text, list) else [part]


def _as_chat_call(call: JSON) -> JSON:
    """A stored call, whose name and arguments are not in a function, as a call of a chat."""
    if not isinstance(call, dict) or "function" in call:
        return call
    values = ("args", "arguments", "tool_kwargs", "parameters")
    arguments = next((call[name] for name in values if call.get(name) is not None), {})
    text = arguments if isinstance(arguments, str) else text_of(arguments)
    function: Object = {"name": _tool_name(call), "arguments": text}
    return {"id": _call_id(call), "type": "function", "function": function}


def _as_tool_message(result: Object) -> Object | None:
    """A stored result as a message of a chat; None without the id of its call."""
    origin = result.get("origin")
    call_id = _call_id(origin if isinstance(origin, dict) else result)
    if not call_id:
        return None
    output = next((result[name] for name in ("result", "content") if name in result), None)
    content = output if isinstance(output, str | None) else text_of(output)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _call_id(half: Object) -> JSON:
    names = ("call_id", "tool_call_id", "id")
    return next((half[name] for name in names if half.get(name)), None)


def _tool_name(call: Object) -> JSON:
    """The name of the tool of a call; a plugin is a part of it, as the framework sends it."""
    name = next((call[key] for key in ("name", "tool_name") if call.get(key)), None)
    plugin, function = call.get("plugin_name"), call.get("function_name")
    return name or (f"{plugin}-{function}" if plugin else function)


def unwrap_messages(body: JSON) -> JSON:
    """Return a list of messages, or a body with one, with its stored messages as those of a chat;
    any other value is returned unchanged."""
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        return {**body, "messages": unwrap_messages(body["messages"])}
    if not isinstance(body, list):
        return body
    return [new for message in body for new in unwrap_message(message) or (message,)]
