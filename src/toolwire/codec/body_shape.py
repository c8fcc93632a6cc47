"""Bodies in a shorter form: a bare list of messages, or one element instead of a list.

Inside the library, bodies are always full. The caller gets back the form that was passed, with
paths into that form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.codec.encoded import Encoded
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import BodySource, Change, Conversation, Finding, Kind, Loss
from toolwire.conversation.parts import Message, Part, Result
from toolwire.wires.engine.specs import Wire

Report = TypeVar("Report", Change, Finding, Loss)


def full_body(given: JSON, wire: Wire, kind: Kind) -> JSON:
    """Return the full body for a list of messages; any other value is returned unchanged."""
    if kind == "request" and wire.messages_field and isinstance(given, list):
        return {wire.messages_field: given}
    return given


def note_shape(source: BodySource, given: JSON, wire: Wire) -> BodySource:
    """Return the source of a conversation with the form in which the caller passed its body."""
    if given is source.body:
        return source
    list_field = wire.messages_field if isinstance(given, list) else ""
    return replace(source, given=given, list_field=list_field)


def present(encoded: Encoded, conversation: Conversation, *, own_wire: bool) -> Encoded:
    """Prepare an encoding for the caller: paths lead into what was passed, and on its own wire the
    body has the form that was passed."""
    source = conversation.source
    if source.given is UNSET:
        encoded.conversation = conversation
        return encoded
    encoded.conversation = with_list_paths(conversation)
    encoded.losses = locate(encoded.losses, source)
    encoded.changes = locate(encoded.changes, source)
    encoded.findings = locate(encoded.findings, source)
    if own_wire:
        changed = bool(encoded.changes)
        encoded.body = body_as_given(encoded.body, source, changed=changed)
    return encoded


def body_as_given(body: JSON, source: BodySource, *, changed: bool) -> JSON:
    """Return a full body in the form in which the caller passed the body before.

    If a list gained tools or settings, the body stays full, because a list cannot hold them. A
    repair that changed something may have changed only the types that were corrected when the body
    was read.
    """
    given = source.given
    is_same = not changed and (body is source.body or body == source.body)
    if is_same and not isinstance(given, UnsetType):
        return given
    if source.list_field and isinstance(body, dict) and len(body) == 1:
        return body[source.list_field]
    return body


def locate(reports: list[Report], source: BodySource) -> list[Report]:
    """Return the reports with paths into what the caller passed."""
    field = source.list_field
    if not field:
        return reports
    return [replace(report, path=_inside(report.path, field)) for report in reports]


def path_as_given(path: JsonPath, given: JSON, wire: Wire) -> JsonPath:
    """Return a path in the full body as a path into what the caller passed."""
    return _inside(path, wire.messages_field) if isinstance(given, list) else path


def with_list_paths(conversation: Conversation) -> Conversation:
    """Return a conversation for the caller: if a list was passed, paths of parts start there."""
    field = conversation.source.list_field
    if not field:
        return conversation
    messages = with_paths(conversation.messages, lambda path: _inside(path, field))
    source = replace(conversation.source, messages=messages)
    return replace(conversation, messages=messages, source=source)


def with_full_paths(conversation: Conversation) -> Conversation:
    """Return a conversation with paths that lead into the full body, as inside the library."""
    field = conversation.source.list_field
    if not field:
        return conversation
    messages = with_paths(conversation.messages, lambda path: _outside(path, field))
    source = conversation.source
    if source.messages is conversation.messages:
        source = replace(source, messages=messages)
    return replace(conversation, messages=messages, source=source)


def with_paths(
    messages: tuple[Message, ...], change: Callable[[JsonPath], JsonPath]
) -> tuple[Message, ...]:
    """Return the messages with changed paths."""

    def move(part: Part) -> Part:
        source = part.source
        if source.original is not None:
            original = source.original
            moved = replace(original.source, path=change(original.path))
            source = replace(source, original=replace(original, source=moved))
        moved_part = replace(part, source=replace(source, path=change(source.path)))
        if isinstance(moved_part, Result) and isinstance(moved_part.output, tuple):
            return replace(moved_part, output=tuple(map(move, moved_part.output)))
        return moved_part

    return tuple(
        replace(
            message,
            parts=tuple(map(move, message.parts)),
            source=replace(message.source, path=change(message.path)),
        )
        for message in messages
    )


def _inside(path: JsonPath, field: str) -> JsonPath:
    return path[1:] if path[:1] == (field,) else path


def _outside(path: JsonPath, field: str) -> JsonPath:
    return (field, *path) if path and isinstance(path[0], int) else path
