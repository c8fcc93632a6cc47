"""Calls of a chat without the field `type`. Knows no rule and no wire."""

from __future__ import annotations

from toolwire.conversation.json import JSON, put
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts


def calls_without_type(facts: Facts) -> list[Call]:
    """The calls whose type is absent or null, if the target rejects that; some wires send none."""
    required = facts.profile.requires_call_type
    null_is_rejected = facts.profile.rejects_null_call_type
    if not (required or null_is_rejected) or not facts.own_wire:
        return []
    return [
        call
        for call in facts.observations.calls
        if (raw := call.source.raw).__class__ is dict
        and "function" in raw
        and not raw.get("type")
        and (required or "type" in raw)
    ]


def with_call_types(body: JSON, calls: list[Call]) -> JSON:
    """The body with a type on these calls."""
    for call in calls:
        body = put(body, (*call.path, "type"), "function")
    return body
