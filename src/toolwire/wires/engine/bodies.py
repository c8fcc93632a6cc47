"""Shared functions for readers and writers of whole bodies. Knows no wire."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import UNSET

from toolwire.conversation.ids import assign_ids, have_complete_parts
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.parts import Message
from toolwire.wires.engine.settings import SettingsRead
from toolwire.wires.engine.specs import raise_unexpected


def build_conversation(
    wire: str,
    kind: Kind,
    body: JSON,
    *,
    messages: Iterable[Message],
    settings: SettingsRead,
    tools: Iterable[Tool] = (),
    unknown: Iterable[JsonPath] = (),
    seed: str = "",
    ordered: bool = False,
) -> Conversation:
    """Build the conversation of a body that was read.

    Args:
        wire: The wire of the body.
        kind: `request` or `response`.
        body: The body.
        messages: Its messages; missing call ids are minted from `seed`.
        settings: Its settings.
        tools: Its tool definitions.
        unknown: Fields without a neutral form, beside those that `settings` lists.
        seed: The id of a response.
        ordered: True if results without ids follow the order of their calls.
    """
    read = tuple(messages)
    defined = tuple(tools)
    parts_are_complete = have_complete_parts(read)
    if ordered or not parts_are_complete:
        read = assign_ids(read, seed=seed, ordered=ordered)
    source = BodySource(
        body,
        unknown_fields=(*settings.unknown, *unknown),
        setting_paths=settings.paths,
        ordered=ordered,
        messages=read,
        tools=defined,
        settings=settings.values,
        parts_are_complete=parts_are_complete,
    )
    return Conversation(read, defined, settings.values, wire, kind, source)


def unknown_fields(value: Object, path: JsonPath, known: Collection[str]) -> Iterator[JsonPath]:
    """The paths of the unknown fields of an object; null counts as absent."""
    return ((*path, key) for key, item in value.items() if key not in known and item is not None)


def list_in(wire: str, body: Object, field: str) -> list[JSON]:
    """Return the list in a field of a body. Raises DecodeError if there is none."""
    value = body.get(field, UNSET)
    return value if isinstance(value, list) else raise_unexpected(wire, (field,), list, value)


def answer_message(conversation: Conversation) -> Message:
    """Return the message of a response; an empty one if there is none."""
    return conversation.messages[0] if conversation.messages else Message("assistant", ())
