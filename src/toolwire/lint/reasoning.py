"""Reasoning in a request: whether it is enabled, and where the current turn starts.

This module knows no rule and no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.json import get
from toolwire.conversation.parts import Result
from toolwire.lint.facts import Facts

_SWITCH_PATHS = (
    ("thinking", "type"),
    ("additionalModelRequestFields", "thinking", "type"),
    ("extra_body", "thinking", "type"),
)
"""Paths of the field that enables or disables thinking."""


def thinking_switch(facts: Facts) -> str:
    """The value of the field that enables thinking; empty if it is absent."""
    if facts.own_wire:
        values = (get(facts.body, path) for path in _SWITCH_PATHS)
        return next((value for value in values if isinstance(value, str)), "")
    budget = facts.conversation.settings.get("budget")
    if not isinstance(budget, int):
        return ""
    return "enabled" if budget > 0 else "disabled"


def thinking_path(facts: Facts) -> tuple[str, ...]:
    """The path of the object that enables thinking; empty if it is absent."""
    return next((path[:-1] for path in _SWITCH_PATHS if isinstance(get(facts.body, path), str)), ())


def is_reasoning_model(facts: Facts) -> bool:
    """True if the model of the request must get its reasoning back."""
    model = facts.conversation.settings.get("model")
    return (
        bool(facts.profile.reasoning_models)
        and isinstance(model, str)
        and re.search(facts.profile.reasoning_models, model) is not None
    )


def may_be_reasoning_model(facts: Facts) -> bool:
    """True if the model of the request must get its reasoning back, or is not named."""
    return is_reasoning_model(facts) or not facts.conversation.settings.get("model")


def current_turn_start(facts: Facts) -> int:
    """The index of the first message of the turn in progress: the one after the last user or system
    message with content other than results.
    """
    for n in range(len(facts.messages) - 1, -1, -1):
        message = facts.messages[n]
        if message.role in ("user", "system") and any(
            part.__class__ is not Result for part in message.parts
        ):
            return n + 1
    return 0
