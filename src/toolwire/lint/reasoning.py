"""Whether a request has its model think, and which messages belong to the turn that is under way.
Knows no rule and no wire."""

from __future__ import annotations

import re

from toolwire.conversation.json import get
from toolwire.conversation.parts import Result
from toolwire.lint.facts import View

_SWITCHES = (
    ("thinking", "type"),
    ("additionalModelRequestFields", "thinking", "type"),
    ("extra_body", "thinking", "type"),
)
"""Where a request says whether its model thinks."""


def switch(view: View) -> str:
    """What a request says about thinking; nothing if it does not."""
    return next((said for path in _SWITCHES if isinstance(said := get(view.body, path), str)), "")


def place(view: View) -> tuple[str, ...]:
    """Where it says so."""
    return next((path[:-1] for path in _SWITCHES if isinstance(get(view.body, path), str)), ())


def thinker(view: View) -> bool:
    """Whether the model that a request names is one of those that must get back what they
    thought.
    """
    model = view.conversation.settings.get("model")
    return (
        bool(view.profile.thinkers)
        and isinstance(model, str)
        and re.search(view.profile.thinkers, model) is not None
    )


def newest(view: View) -> int:
    """The place after the last message in which somebody spoke to the model: the turn that is under
    way begins there."""
    for n in range(len(view.messages) - 1, -1, -1):
        message = view.messages[n]
        if message.role in ("user", "system") and any(
            part.__class__ is not Result for part in message.parts
        ):
            return n + 1
    return 0
