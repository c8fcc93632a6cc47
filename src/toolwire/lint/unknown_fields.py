"""Fields of messages, blocks and items that the API of the target does not have, and blocks without
the fields of their type.

A field that no API has may be newer than the types, so it stays. Reported are fields that the API
has only in other places or that another API has, and fields that streams and stores are known to
add. This module knows no rule and no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Opaque, Result, Source
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.memo import once_per_history
from toolwire.lint.misplaced_outputs import misplaced_outputs
from toolwire.profiles.request_schema import Violation
from toolwire.profiles.request_types import NULL_IS_ABSENT, full_schema, is_accepted, known_names
from toolwire.wires import wire

_MESSAGE_DEPTH = 3
"""The length of a path to a field of a message or an item."""
_READ_ELSEWHERE = frozenset(
    {"content", "parts", "name", "output", "role", "tool_calls", "toolCalls", "tool_call_id"}
    | {"toolCallId", "tool_use_id", "toolUseId", "call_id", "function_call", "tool_name"}
)
"""Fields of messages in which other wires write content, calls and results. Another rule converts
them."""
_NULL_ELSEWHERE = ("content", "summary", "status", "tool_calls", "id", "call_id", "tool_call_id")
"""Fields for which another rule knows what to write instead of null."""
_UNKNOWN_TYPE: frozenset[str] = frozenset()
"""The fields that a wire reads from a block of unknown type."""


@once_per_history
def unknown_fields(facts: Facts) -> list[JsonPath]:
    """The paths of the fields that the API does not have."""
    field = wire(facts.profile.wire).messages_field
    schema = full_schema(facts.profile.name)
    if schema is None or not facts.own_wire or facts.conversation.kind != "request":
        return []
    known = _known_fields(facts)
    elements = facts.body.get(field) if known and isinstance(facts.body, dict) else None
    if not isinstance(elements, list):
        return []
    indexes = sorted({n for path in known if (n := _index_of(path, field)) is not None})
    found: list[JsonPath] = []
    for violation in schema.violations({field: [elements[n] for n in indexes]}):
        path = violation.path
        if violation.fault != "unknown" or path[0] != field or len(path) < _MESSAGE_DEPTH:
            continue
        if path[-1] not in known_names():
            continue
        index = path[1]
        assert isinstance(index, int)
        path = (field, indexes[index], *path[2:])
        if _is_refused(facts, violation, path, known):
            found.append(path)
    return found


@once_per_history
def null_fields(facts: Facts) -> list[JsonPath]:
    """The paths of the optional fields of messages that are null although the API refuses null.

    Dumps of SDK objects contain them. A required field is an empty content, which has a rule.
    """
    profile, raw = facts.profile, facts.conversation.source.raw
    if profile.wire in NULL_IS_ABSENT or not facts.own_wire or (raw and b"null" not in raw):
        return []
    if facts.conversation.kind != "request" or full_schema(profile.name) is None:
        return []
    found: list[JsonPath] = []
    for objects in _objects_with_null(facts).values():
        # Dumps repeat the same null fields, so the first object of a kind mostly decides.
        if _refused_nulls(facts, objects[:1]):
            found += _refused_nulls(facts, objects)
    return sorted(set(found), key=str)


def _objects_with_null(facts: Facts) -> dict[tuple[JSON, ...], list[JsonPath]]:
    """The paths of the messages and blocks with null fields, by role, type and these fields."""
    found: dict[tuple[JSON, ...], list[JsonPath]] = {}
    for message in facts.messages:
        for part in (message, *message.parts):
            raw = part.source.raw
            if raw.__class__ is dict and None in raw.values():
                names = [name for name in raw if raw[name] is None and name not in _NULL_ELSEWHERE]
                if names:
                    kind = (str(raw.get("role")), str(raw.get("type")), *names)
                    found.setdefault(kind, []).append(part.source.path)
    return found


def _refused_nulls(facts: Facts, objects: list[JsonPath]) -> list[JsonPath]:
    """The paths of the null fields that the API refuses, in the messages with these objects."""
    field, schema = wire(facts.profile.wire).messages_field, full_schema(facts.profile.name)
    elements = facts.body.get(field) if isinstance(facts.body, dict) else None
    if schema is None or not isinstance(elements, list):
        return []
    indexes = sorted({n for path in objects if (n := _index_of(path, field)) is not None})
    found: list[JsonPath] = []
    for violation in schema.violations({field: [elements[n] for n in indexes]}):
        path = violation.path
        if violation.value is not None or violation.fault != "type" or len(path) < _MESSAGE_DEPTH:
            continue
        if schema.is_required(violation) or is_accepted(violation, facts.profile):
            continue
        index = path[1]
        assert isinstance(index, int)
        if path[-1] not in _NULL_ELSEWHERE:
            found.append((field, indexes[index], *path[2:]))
    return found


@once_per_history
def broken_blocks(facts: Facts) -> set[JsonPath]:
    """The paths of blocks that the wire could not read because they break their type."""
    field = wire(facts.profile.wire).messages_field
    schema = full_schema(facts.profile.name)
    elements = facts.body.get(field) if isinstance(facts.body, dict) else None
    if schema is None or facts.conversation.kind != "request" or not isinstance(elements, list):
        return set()
    unread = {part.path for part in _unread_blocks(facts)}
    indexes = sorted({n for path in unread if (n := _index_of(path, field)) is not None})
    broken: set[JsonPath] = set()
    for violation in schema.violations({field: [elements[n] for n in indexes]}):
        path = violation.path
        if (
            violation.fault == "unknown"
            or path[0] != field
            or is_accepted(violation, facts.profile)
        ):
            continue
        index = path[1] if len(path) > 1 else None
        if isinstance(index, int):
            path = (field, indexes[index], *path[2:])
            broken.update(path[:n] for n in range(_MESSAGE_DEPTH, len(path) + 1))
    return broken & unread


def _unread_blocks(facts: Facts) -> Iterator[Opaque]:
    """The blocks that became parts of an unknown type, in messages and results."""
    for message in facts.messages:
        for part in message.parts:
            inner = part.output if isinstance(part, Result) else (part,)
            for inner_part in inner if isinstance(inner, tuple) else ():
                if isinstance(inner_part, Opaque) and len(inner_part.path) > _MESSAGE_DEPTH:
                    yield inner_part


def _index_of(path: JsonPath, field: str) -> int | None:
    """The index of the message that a path leads into; None for other parts of the body."""
    index = path[1] if path[:1] == (field,) and len(path) > 1 else None
    return index if isinstance(index, int) else None


def _is_refused(
    facts: Facts, violation: Violation, path: JsonPath, known: Mapping[JsonPath, frozenset[str]]
) -> bool:
    """True if the target refuses a field that is not in its types."""
    profile, name = facts.profile, str(path[-1])
    if len(path) == _MESSAGE_DEPTH and (profile.accepted_message_fields or name in _READ_ELSEWHERE):
        return False  # the profile lists the fields of messages
    if name in known.get(path[:-1], ()) or name in profile.fields_of_other_servers:
        return False
    if path in misplaced_outputs(facts).values():
        return False
    if any(known.get(path[:length]) == _UNKNOWN_TYPE for length in range(2, len(path))):
        return False
    return profile.client_checks_fields or not is_accepted(violation, profile)


def _known_fields(facts: Facts) -> dict[JsonPath, frozenset[str]]:
    """The path of each object with unknown fields, and the fields that the wire reads from it."""
    known: dict[JsonPath, frozenset[str]] = {}
    more_in_messages = not facts.observations.holds(Observation.MESSAGE_FIELDS_READ)
    for message in facts.messages:
        outer = message.source
        if more_in_messages:
            _note_unread(outer, known)
        for part in message.parts:
            source = part.source
            raw = source.raw
            is_read = source.is_complete or source is outer or raw is outer.raw
            if raw.__class__ is dict and not is_read:
                spec = source.spec
                if spec is not None and (spec.inner or not spec.keys.issuperset(raw)):
                    _note_unread(source, known)
            if type(part) is Result and part.output.__class__ is tuple:
                for inner in part.output:
                    _note_unread(inner.source, known)
    return known


def _note_unread(source: Source, known: dict[JsonPath, frozenset[str]]) -> None:
    """Record an object with fields that its wire does not read."""
    spec = source.spec
    if spec is not None and not spec.clean(source.raw):
        known[source.path] = spec.keys
        known.update({(*source.path, name): fields for name, fields in spec.inner})


def without_fields(body: JSON, paths: Iterable[JsonPath]) -> JSON:
    """The body without these fields of its messages. Text in a field `text` that a block must not
    have becomes a text block before it."""
    inside: dict[tuple[str, int], list[JsonPath]] = {}
    for path in paths:
        field, index = path[:2]
        assert isinstance(field, str) and isinstance(index, int)
        inside.setdefault((field, index), []).append(path[2:])
    if not inside or not isinstance(body, dict):
        return body
    (field, _) = next(iter(inside))
    elements = body.get(field)
    assert isinstance(elements, list)
    new = list(elements)
    for (_, index), fields in inside.items():
        new[index] = _with_texts_apart(
            elements[index], remove_paths(elements[index], fields), fields
        )
    return {**body, field: new}


def _with_texts_apart(old: JSON, new: JSON, paths: list[JsonPath]) -> JSON:
    """A message after fields were removed, with the texts of these fields as separate blocks."""
    for path in sorted(paths, key=str, reverse=True):
        content = get(new, path[:-2]) if len(path) > 1 else None
        text, index = get(old, path), path[-2] if len(path) > 1 else None
        if path[-1] != "text" or not isinstance(text, str) or not text.strip():
            continue
        if isinstance(content, list) and isinstance(index, int):
            block: JSON = {"type": "text", "text": text}
            new = put(new, path[:-2], [*content[:index], block, *content[index:]])
    return new
