"""Whether a request has its model think, and which messages belong to the turn that is under way.
Knows no rule and no wire."""

from __future__ import annotations

import re

from toolwire.conversation.json import get
from toolwire.conversation.parts import Result
from toolwire.lint.facts import Facts

_SWITCHES = (
    ("thinking", "type"),
    ("additionalModelRequestFields", "thinking", "type"),
    ("extra_body", "thinking", "type"),
)
"""Where a request says whether its model thinks."""


def thinking_switch(facts: Facts) -> str:
    """What a request says about thinking; nothing if it does not."""
    if not facts.own_wire:
        budget = facts.conversation.settings.get("budget")
        return {True: "enabled", False: "disabled"}[budget > 0] if isinstance(budget, int) else ""
    return next((said for path in _SWITCHES if isinstance(said := get(facts.body, path), str)), "")


def thinking_path(facts: Facts) -> tuple[str, ...]:
    """Where it says so."""
    return next((path[:-1] for path in _SWITCHES if isinstance(get(facts.body, path), str)), ())


def is_reasoning_model(facts: Facts) -> bool:
    """Whether the model that a request names is one of those that must get back what they
    thought.
    """
    model = facts.conversation.settings.get("model")
    return (
        bool(facts.profile.reasoning_models)
        and isinstance(model, str)
        and re.search(facts.profile.reasoning_models, model) is not None
    )


def current_turn_start(facts: Facts) -> int:
    """The place after the last message in which somebody spoke to the model: the turn that is under
    way begins there."""
    for n in range(len(facts.messages) - 1, -1, -1):
        message = facts.messages[n]
        if message.role in ("user", "system") and any(
            part.__class__ is not Result for part in message.parts
        ):
            return n + 1
    return 0
