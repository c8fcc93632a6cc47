"""Requirements of only some models of a provider, recognized by the model name.

This module knows no rule and no wire.
"""

from __future__ import annotations

from toolwire.lint.facts import Facts
from toolwire.profiles.profile import names_model


def refuses_assistant_at_end(facts: Facts) -> bool:
    """True if a request for this model must not end with an assistant message."""
    profile = facts.profile
    return profile.must_end_with_user_or_tool or is_named_by(facts, profile.no_prefill_models)


def is_named_by(facts: Facts, pattern: str) -> bool:
    """True if the request names a model that a pattern matches."""
    model = facts.conversation.settings.get("model")
    return bool(pattern) and isinstance(model, str) and names_model(pattern, model)
