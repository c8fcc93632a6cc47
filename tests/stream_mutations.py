"""Mutations of streams: what servers and proxies do to events.

They repeat, lose and delay events, send empty ones, fail in the middle, and number and name parts in
ways of their own. `scripts/fuzz.py` mixes them with its mutations of any JSON.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy

from cases import DELETE, nodes, set_at
from global_mutations import ID_KEYS
from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath, get

INDEX_KEYS = frozenset(
    "index contentBlockIndex output_index content_index summary_index step_index".split()
)
TEXT_KEYS = frozenset(
    "text delta content partial_json arguments input thinking refusal reasoning_content".split()
)
ERRORS: tuple[JSON, ...] = (
    {"error": {"message": "overloaded", "type": "server_error", "code": 503}},
    {"error": "overloaded"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
    {"type": "error", "code": "server_error", "message": "overloaded", "param": None},
    {"type": "error", "errorText": "overloaded"},
    {"event_type": "error", "error": {"code": "unavailable", "message": "overloaded"}},
    {"throttlingException": {"message": "overloaded"}},
    {"type": "message-end", "delta": {"finish_reason": "ERROR"}},
)
"""What servers send when they fail in mid-stream."""
HEARTBEATS: tuple[JSON, ...] = (
    {},
    {"type": "ping"},
    {"choices": []},
    {"choices": [{"index": 0, "delta": {}}]},
    {"choices": [{"index": 0, "delta": {"content": "", "tool_calls": []}}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
    {"usageMetadata": {"promptTokenCount": 3}},
)
"""Events without content."""


def repeat_events(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Repeat one event, each event, or the whole stream."""
    n = chance.randrange(len(events))
    match chance.randrange(3):
        case 0:
            return [*events[:n], deepcopy(events[n]), *events[n:]]
        case 1:
            return [deepcopy(event) for event in events for _ in range(2)]
    return [*events, *deepcopy(events)]


def move_event(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Swap an event with the next one, or move it to the end."""
    n = chance.randrange(len(events))
    rest = [*events[:n], *events[n + 1 :]]
    position = chance.choice((n + 1, len(rest)))
    return [*rest[:position], events[n], *rest[position:]]


def drop_similar_events(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Leave out all events of a kind, such as all starts."""
    kind = _kind(chance.choice(events))
    return [event for event in events if _kind(event) != kind]


def insert_event(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Insert an error or an event without content."""
    n = chance.randrange(len(events) + 1)
    event = chance.choice(chance.choice((ERRORS, HEARTBEATS)))
    return [*events[:n], deepcopy(event), *events[n:]]


def insert_empty_copy(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Insert a copy of an event with empty texts before or after it."""
    n = chance.randrange(len(events))
    empty = chance.choice(("", None, DELETE))
    texts = [path for path in _places(events[n], TEXT_KEYS) if _is_text(events[n], path)]
    copy = _set_all(events[n], texts, lambda _: empty)
    position = n + chance.randrange(2)
    return [*events[:position], copy, *events[position:]]


def split_text(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Send the text of an event in two events."""
    n = chance.randrange(len(events))
    texts = [path for path in _places(events[n], TEXT_KEYS) if _is_text(events[n], path)]
    if len(texts) != 1:
        return events
    text = get(events[n], texts[0])
    assert isinstance(text, str)
    cut = chance.randrange(len(text) + 1)
    halves = [set_at(events[n], texts[0], half) for half in (text[:cut], text[cut:])]
    return [*events[:n], *halves, *events[n + 1 :]]


def renumber(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Give an index field one value everywhere, or count it from one."""
    value = chance.choice((0, None, "0", -1, DELETE, "shift"))

    def change(old: JSON) -> object:
        if value != "shift":
            return value
        return old + 1 if isinstance(old, int) else old

    return _change_field(events, INDEX_KEYS, change, chance)


def change_ids(events: list[JSON], chance: random.Random) -> list[JSON]:
    """Leave out an id field at first or everywhere, or send a new or the same id in every event."""
    first = chance.choice((DELETE, "", None, "same"))
    form = chance.choice(("late", "all", "new"))
    seen: list[JSON] = []

    def change(old: JSON) -> object:
        seen.append(old)
        if form == "new":
            return f"id_{len(seen)}"
        return first if form == "all" or len(seen) == 1 else old

    return _change_field(events, ID_KEYS, change, chance)


STREAM_MUTATIONS: tuple[Callable[[list[JSON], random.Random], list[JSON]], ...] = (
    repeat_events,
    move_event,
    drop_similar_events,
    insert_event,
    insert_empty_copy,
    split_text,
    renumber,
    change_ids,
)


def _kind(event: JSON) -> str:
    """What distinguishes the events of a stream: their type, or their fields."""
    fields = event if isinstance(event, dict) else {}
    return str(fields.get("type") or fields.get("event_type") or sorted(fields))


def _is_text(event: JSON, path: JsonPath) -> bool:
    return isinstance(get(event, path), str)


def _places(body: JSON, keys: frozenset[str]) -> list[JsonPath]:
    return [path for path in nodes(body) if path and path[-1] in keys]


def _change_field(
    events: list[JSON],
    keys: frozenset[str],
    change: Callable[[JSON], object],
    chance: random.Random,
) -> list[JSON]:
    """Change every value of one of some fields."""
    places = _places(events, keys)
    if not places:
        return events
    key = chance.choice(places)[-1]
    changed = _set_all(events, [path for path in places if path[-1] == key], change)
    assert isinstance(changed, list)
    return changed


def _set_all(body: JSON, paths: list[JsonPath], change: Callable[[JSON], object]) -> JSON:
    """A copy of a body with other values at some paths; what is inside of a replaced value stays
    as it is."""
    for path in paths:
        old = get(body, path)
        if not isinstance(old, dict | list | UnsetType):
            body = set_at(body, path, change(old))  # type: ignore[arg-type]
    return body
