"""Mutations of a body that keep it consistent: every occurrence of an id, name or field changes.

`scripts/fuzz.py` mutates single places; such a body mostly has broken pairs. These mutations keep the
pairs, and make ids and names that only an injective fitting keeps apart.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy

from cases import DELETE, nodes, set_at
from msgspec import UNSET

from toolwire import profiles
from toolwire.codec import resolve
from toolwire.conversation.fitting import fit
from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, get, snake

ID_KEYS = frozenset(
    "id call_id tool_call_id tool_use_id toolUseId toolCallId callId requestId item_id ref".split()
)
NAME_KEYS = frozenset("name toolName tool_name".split())
IDENTITY_KEYS = ID_KEYS | NAME_KEYS | {"index", "role"}
PROFILES = [resolve(name)[1] for name in profiles()]
TWINS: tuple[Callable[[str], tuple[JSON, JSON]], ...] = (
    lambda text: (f"{text}!", f"{text}?"),
    lambda text: (f"{text * 30}a", f"{text * 30}b"),
    lambda text: (text.upper(), text.lower()),
    lambda text: (text, f" {text}"),
    lambda text: (f"{text}|fc_1", f"{text}|fc_2"),
    lambda text: (f"srvtoolu_{text}", text),
    lambda text: (f"{text}\ud800", f"{text}\udc00"),
    lambda text: ("é", "e"),
    lambda text: ("1", 1),
    lambda text: ("", text),
    lambda text: (text, text),
    lambda text: (mint("", 0, text), mint("", 1, text)),
)
"""Two values that are easily confused: they differ only in what a target may not accept."""


def rename_two(body: JSON, chance: random.Random) -> JSON:
    """Give every occurrence of two ids, or of two names, values that are easily confused."""
    keys = chance.choice((ID_KEYS, ID_KEYS, NAME_KEYS))
    places = _places(body, keys)
    if not places:
        return body
    chosen = chance.sample(sorted(places), min(2, len(places)))
    names = sorted(_places(body, NAME_KEYS)) or ["f"]
    text = chance.choice((chosen[0], chance.choice(names)))
    twins = chance.choice(TWINS)(text)
    if chance.random() < 0.25:  # an id that another id becomes when it is fitted
        profile = chance.choice(PROFILES)
        rule = profile.id_rule if keys is ID_KEYS else profile.name_rule
        twins = (f"{text}é", fit(f"{text}é", rule))
    return _set_each(body, [(places[old], new) for old, new in zip(chosen, twins, strict=False)])


def restart_ids(body: JSON, chance: random.Random) -> JSON:
    """Number the ids in the order of their first occurrence, and restart after a few."""
    places = _places(body, ID_KEYS)
    count, prefix = chance.choice((1, 2, 3, 99)), chance.choice(("", "call_", "functions.f:"))
    return _set_each(
        body, [(paths, f"{prefix}{n % count}") for n, paths in enumerate(places.values())]
    )


def change_field(body: JSON, chance: random.Random) -> JSON:
    """Remove a field everywhere, rename it, or make it null or text; for ids and names above all."""
    fields: dict[str, list[JsonPath]] = {}
    for path in nodes(body):
        if path and isinstance(path[-1], str):
            fields.setdefault(path[-1], []).append(path)
    names = sorted(fields.keys() & IDENTITY_KEYS) if chance.random() < 0.7 else sorted(fields)
    if not names:
        return body
    name = chance.choice(names)
    match chance.randrange(4):
        case 0:
            return _set_each(body, [(_innermost_first(fields[name]), DELETE)])
        case 1:
            return _set_each(body, [(_innermost_first(fields[name]), None)])
        case 2:
            other = chance.choice((snake(name), name.replace("_", ""), *names))
            for path in _innermost_first(fields[name]):
                value = get(body, path)
                if value is not UNSET:  # the new name may be that of a field around another
                    body = set_at(set_at(body, path, DELETE), (*path[:-1], other), value)
            return body
        case _:
            for path in _innermost_first(fields[name]):
                value = get(body, path)
                if value is not UNSET:
                    body = set_at(body, path, _other_type(value))
            return body


def _other_type(value: JSON) -> JSON:
    """A value of another type with the same meaning: a number as text, an object as JSON."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 9 else [value]
    if isinstance(value, list):
        return value[0] if len(value) == 1 else {str(n): item for n, item in enumerate(value)}
    return json.dumps(value)


def repeat_span(body: JSON, chance: random.Random) -> JSON:
    """Repeat or move several neighbours of a list, such as a whole turn, or reverse them."""
    lists = [path for path in nodes(body) if isinstance(get(body, path), list)]
    lists = [path for path in lists if get(body, path)]
    if not lists:
        return body
    path = chance.choice(lists)
    items = get(body, path)
    assert isinstance(items, list)
    start = chance.randrange(len(items))
    end = chance.randrange(start, len(items)) + 1
    span, rest = items[start:end], [*items[:start], *items[end:]]
    at = chance.randrange(len(rest) + 1)
    match chance.randrange(3):
        case 0:
            changed = [*items[:end], *deepcopy(span), *items[end:]]
        case 1:
            changed = [*rest[:at], *span, *rest[at:]]
        case _:
            changed = [*items[:start], *reversed(span), *items[end:]]
    return set_at(body, path, changed)


def _places(body: JSON, keys: frozenset[str]) -> dict[str, list[JsonPath]]:
    """The paths of each text that a field with one of these names holds."""
    places: dict[str, list[JsonPath]] = {}
    for path in nodes(body):
        if path and path[-1] in keys:
            value = get(body, path)
            if isinstance(value, str):
                places.setdefault(value, []).append(path)
    return places


def _innermost_first(paths: list[JsonPath]) -> list[JsonPath]:
    """The paths in an order in which a change of one does not remove the next."""
    return sorted(paths, key=len, reverse=True)


def _set_each(body: JSON, changes: list[tuple[list[JsonPath], JSON]]) -> JSON:
    for paths, value in changes:
        for path in paths:
            body = set_at(body, path, value)
    return body


GLOBAL_MUTATIONS = (rename_two, restart_ids, change_field, repeat_span)
