"""Calls of a chat without the field `type`. Knows no rule and no wire."""

from __future__ import annotations

from toolwire.conversation.json import JSON, put
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts


def calls_without_type(facts: Facts) -> list[Call]:
    """The calls without a type, for a target that requires it; some wires do not send one."""
    if not facts.profile.requires_call_type or not facts.own_wire:
        return []
    return [
        call
        for call in facts.observations.calls
        if (raw := call.source.raw).__class__ is dict and "function" in raw and not raw.get("type")
    ]


def with_call_types(body: JSON, calls: list[Call]) -> JSON:
    """The body with a type on these calls."""
    for call in calls:
        body = put(body, (*call.path, "type"), "function")
    return body
