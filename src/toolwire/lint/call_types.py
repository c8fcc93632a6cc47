"""Calls of a chat without the field `type`, or with another type. Knows no rule and no wire."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, put
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts


def calls_without_type(facts: Facts) -> list[Call]:
    """The calls whose type is not `function`. It may be absent or null if the target accepts that;
    some wires send none."""
    if not facts.own_wire:
        return []
    accepted: list[JSON | UnsetType] = ["function"]
    if not facts.profile.requires_call_type:
        accepted.append(UNSET)
        if not facts.profile.rejects_null_call_type:
            accepted.append(None)
    return [
        call
        for call in facts.observations.calls
        if (raw := call.source.raw).__class__ is dict
        and "function" in raw
        and raw.get("type", UNSET) not in accepted
    ]


def with_call_types(body: JSON, calls: list[Call]) -> JSON:
    """The body with a type on these calls."""
    for call in calls:
        body = put(body, (*call.path, "type"), "function")
    return body
