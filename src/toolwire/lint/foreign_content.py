"""Content that a client wrote in the format of another wire: texts and images as blocks of a type
that the wire does not know, calls in a field that it does not have, and roles.

This module knows no rule and no wire.
"""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Media, Message, Opaque, Part, Text
from toolwire.lint.facts import Facts
from toolwire.lint.items import input_items
from toolwire.lint.memo import once_per_history
from toolwire.wires.engine.media import split_data_url

_TEXT_TYPES = ("text", "input_text", "output_text", None)
_IMAGE_TYPES = ("image_url", "input_image", "image")


@once_per_history
def foreign_content(facts: Facts) -> PartMap[Message, tuple[Part, ...]]:
    """The messages with content of another wire, each with all parts that it means."""
    found: PartMap[Message, tuple[Part, ...]] = PartMap()
    if not facts.own_wire or facts.conversation.kind != "request":
        return found
    for message in facts.messages:
        calls = foreign_calls(message)
        if is_unread(message):
            content = _read_content(message.raw) if calls else None
            if content is not None:
                found[message] = (*content, *calls)
        elif has_foreign_role(facts, message):
            found[message] = (*message.parts, *calls)
        elif calls or any(part.__class__ is Opaque for part in message.parts):
            parts = tuple([_known_part(part) or part for part in message.parts])
            if calls or any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                found[message] = (*parts, *calls)
    return found


def is_unread(message: Message) -> bool:
    """True if the wire read nothing of a message, because it does not know the role."""
    only = message.parts[0] if len(message.parts) == 1 else None
    return isinstance(only, Opaque) and only.path == message.path


def _read_content(message: JSON | UnsetType) -> tuple[Part, ...] | None:
    """The texts of a message; None if it also holds something else."""
    content = message.get("content") if isinstance(message, dict) else None
    if content is None or isinstance(content, str):
        return (Text(content),) if content else ()
    texts: list[Part] = []
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, dict) else block
        if not isinstance(text, str):
            return None
        texts.append(Text(text))
    return tuple(texts)


def has_foreign_role(facts: Facts, message: Message) -> bool:
    """True if a message has a role that its provider does not know."""
    accepted, raw = facts.profile.accepted_roles, message.raw
    role = raw.get("role") if accepted and isinstance(raw, dict) else None
    return isinstance(role, str) and role not in accepted


@once_per_history
def foreign_call_ids(facts: Facts) -> set[str]:
    """The ids of calls in the field `tool_calls` of messages and items that do not have it."""
    entries = [call.id for message in facts.messages for call in foreign_calls(message)]
    for _, _, item in input_items(facts):
        calls = item.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            call_id = call.get("id") if isinstance(call, dict) else None
            if isinstance(call_id, str):
                entries.append(call_id)
    return set(entries)


def foreign_calls(message: Message) -> list[Call]:
    """The calls in the field `tool_calls` of a message whose wire does not read it."""
    raw = message.raw
    entries = raw.get("tool_calls") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or any(part.__class__ is Call for part in message.parts):
        return []
    return [call for call in map(_read_call, entries) if call is not None]


def _read_call(entry: JSON) -> Call | None:
    function = entry.get("function") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(function, dict):
        return None
    call_id, name = entry.get("id"), function.get("name")
    if not isinstance(call_id, str) or not call_id or not isinstance(name, str):
        return None
    arguments = function.get("arguments", "{}")
    return Call(call_id, name, LazyJson(arguments if arguments is not None else "{}"))


def _known_part(part: Part) -> Part | None:
    """What a block of an unknown type means; None if it is not known."""
    value = part.raw if part.__class__ is Opaque else None
    if not isinstance(value, dict):
        return None
    kind, text = value.get("type"), value.get("text")
    if kind in _TEXT_TYPES and isinstance(text, str) and value.keys() <= {"type", "text"}:
        return Text(text)
    return _read_image(value) if kind in _IMAGE_TYPES else None


def _read_image(block: Object) -> Media | None:
    """An image that is given by a URL, or by base64 data with a type."""
    place = block.get("image_url")
    url = place.get("url") if isinstance(place, dict) else place
    source = block.get("source")
    if isinstance(source, dict):
        url, data, mime = source.get("url"), source.get("data"), source.get("media_type")
        if isinstance(data, str) and isinstance(mime, str):
            return Media("image", mime, data)
    if not isinstance(url, str) or not url:
        return None
    mime_and_data = split_data_url(url)
    return Media("image", url=url) if mime_and_data is None else Media("image", *mime_and_data)
