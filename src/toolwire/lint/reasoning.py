"""Reasoning in a request: whether it is enabled, and where the current turn starts.

This module knows no rule and no wire.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from functools import lru_cache

from toolwire.conversation.json import get
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Result
from toolwire.lint.facts import Facts
from toolwire.lint.model_names import is_named_by
from toolwire.profiles.table import Profile
from toolwire.wires.engine.cache_breakpoints import is_cache_mark

_SWITCH_PATHS = (
    ("thinking", "type"),
    ("additionalModelRequestFields", "thinking", "type"),
    ("extra_body", "thinking", "type"),
)
"""Paths of the field that enables or disables thinking."""


def ruled_out_without_thinking(profile: Profile) -> tuple[int, ...]:
    """The observations that rule out a violation, for a target that signs thinking blocks; none for
    a target that signs calls."""
    return (Observation.NO_REASONING,) if profile.reasoning_to_return == "thinking" else ()


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
    return is_named_by(facts, facts.profile.reasoning_models)


def needs_every_turn(facts: Facts) -> bool:
    """True if the model of the request must get the reasoning of every turn back."""
    profile = facts.profile
    return profile.reasoning_needed_in_every_turn or is_named_by(facts, profile.every_turn_models)


def may_be_reasoning_model(facts: Facts) -> bool:
    """True if the model of the request must get its reasoning back, or is not named."""
    return is_reasoning_model(facts) or not facts.conversation.settings.get("model")


def current_turn_start(facts: Facts) -> int:
    """The index of the first message of the current turn: the one after the last user or system
    message with content other than results."""
    for n in range(len(facts.messages) - 1, -1, -1):
        message = facts.messages[n]
        if message.role in ("user", "system") and any(
            type(part) is not Result and not is_cache_mark(part) for part in message.parts
        ):
            return n + 1
    return 0


_HEADER = 400
"""The number of characters of a signature that hold the model name; the rest is encrypted."""
_RELEASE = re.compile(r"(?:-latest|[-@]\d{8}|-v\d+)+$")
"""The suffix of a model name for a release or a platform."""


def base_model(name: str, pattern: str) -> str:
    """The name of a model without its platform and release; empty if it does not match.

    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `anthropic/claude-sonnet-4.5` are one model.
    """
    found = re.search(pattern, name)
    return _RELEASE.sub("", found[0].replace(".", "-")) if found else ""


def signed_model(signature: str, pattern: str) -> str:
    """The model name in a signature; empty if there is none.

    A signature is a message in the format of protocol buffers: the name is its string field 6.
    """
    header = signature[:_HEADER].replace("+", "-").replace("/", "_")
    try:
        data = urlsafe_b64decode(header[: len(header) // 4 * 4])
    except (Base64Error, ValueError):
        return ""
    found = _model_field(pattern).search(data)
    if found is None:
        return ""
    return base_model(found[2][: found[1][0]].decode("latin-1"), pattern)


@lru_cache(maxsize=8)
def _model_field(pattern: str) -> re.Pattern[bytes]:
    return re.compile(rb"2([\x01-\x7f])(" + pattern.encode() + rb")")
