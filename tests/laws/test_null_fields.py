"""Null fields do not count: a stream whose events were written with every field has the same content.

Serializers that write all fields of a type, such as `model_dump()`, send a null for each field that an
event lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache

from cases import StreamCase, load_streams, streaming
from rows import rows
from stream_oracles import AnswerContent, read_answer

from toolwire import fold, restream
from toolwire.conversation.json import JSON, Object

VALUES = frozenset(
    "input args arguments output result response metadata providerMetadata actions partialArgs".split()
)
"""Fields with values of the user, or in which a null is a value."""
STREAMS = [
    case
    for wire in streaming()
    for case in load_streams(wire)
    if "snake" not in case.name  # a field has one spelling
]


def objects(value: JSON, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Object]]:
    """Every object of an event, with the fields that lead to it and its type."""
    if isinstance(value, dict):
        kind = value.get("type") or value.get("event_type") or value.get("$type")
        yield (*place, str(kind)), value
        for key, item in value.items():
            if key not in VALUES:
                yield from objects(item, (*place, key))
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, place)


@cache
def known_fields(wire: str) -> dict[tuple[str, ...], set[str]]:
    """The fields that the objects of each place have in the cases of a wire."""
    fields: dict[tuple[str, ...], set[str]] = {}
    for case in load_streams(wire):
        if not any(word in case.name for word in ("unknown", "odd", "snake")):
            for place, found in objects(case.events):
                fields.setdefault(place, set()).update(found)
    return fields


def with_nulls(case: StreamCase) -> list[JSON]:
    """The events with null for every field that they lack."""
    events = deepcopy(case.events)
    for place, found in list(objects(events)):
        for field in sorted(known_fields(case.wire).get(place, ())):
            found.setdefault(field, None)
    return events


def contents(events: list[JSON], wire: str) -> tuple[AnswerContent, AnswerContent]:
    """The content of a stream, and of its translation."""
    target = "anthropic" if wire != "anthropic" else "openai-chat"
    written = fold(b"".join(restream(events, wire, target)), target)
    return read_answer(fold(events, wire), wire), read_answer(written, target)


@rows("case", STREAMS)
def test_null_fields_change_nothing(case: StreamCase) -> None:
    assert contents(with_nulls(case), case.wire) == contents(case.events, case.wire)
