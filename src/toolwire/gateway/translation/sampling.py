"""Settings that a provider accepts only in an older version of its API, or that a model refuses.

The types of a wire are those of the current version, so the wire does not write sampling settings
that only an older one has. The requests of a gateway name that version
(`Provider.sampling_fields`). Settings that a model refuses are left out and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, dump, get, load
from toolwire.conversation.model import Conversation, Loss, Setting
from toolwire.profiles.model_settings import (
    DEFAULTS,
    LEAST_TOKENS,
    REFUSED_FIELDS,
    fit_ranges,
    refused_settings,
)
from toolwire.profiles.table import Profile

_EFFORT, _EFFORT_OF_OTHERS = "reasoning_effort", ("reasoning", "effort")
"""The fields of chat requests for the reasoning effort: of OpenAI, and of others."""


def sampling_settings(
    settings: Mapping[str, Setting], fields: Sequence[str], body: Object
) -> dict[str, JSON]:
    """Return the sampling settings that a request may have; none beside a thinking budget."""
    if settings.keys().isdisjoint(fields) or get(body, ("thinking", "type")) == "enabled":
        return {}
    return {
        name: value
        for name, value in ((name, settings.get(name)) for name in fields)
        if isinstance(value, int | float)
    }


def fit_settings(
    conversation: Conversation, profile: Profile
) -> tuple[Conversation, tuple[Loss, ...]]:
    """Return the conversation with settings that its model accepts, and the losses."""
    settings, paths = conversation.settings, conversation.source.setting_paths
    reasons = refused_settings(profile, settings)
    defaults = {name for name in reasons if settings[name] == DEFAULTS.get(name)}
    if reasons:
        settings = {name: value for name, value in settings.items() if name not in reasons}
    fitted, changed = fit_ranges(profile, settings)
    most, least = settings.get("max_tokens"), LEAST_TOKENS.get(profile.name, 0)
    if isinstance(most, int) and 0 < most < least:
        fitted["max_tokens"] = least
        changed["max_tokens"] = f"the provider requires at least {least} tokens: max_tokens"
    if not reasons and not changed:
        return conversation, ()
    reasons |= changed
    losses = tuple(
        Loss(paths.get(name) or (name,), reason)
        for name, reason in reasons.items()
        if name not in defaults
    )
    return replace(conversation, settings={**settings, **fitted}), losses


def remove_refused_fields(raw: bytes, profile: Profile) -> tuple[bytes, tuple[Loss, ...]]:
    """Return a request of the provider's wire without fields that only other servers of the wire
    have, and what that loses. An effort goes to the field that the provider has for it.

    Raises:
        DecodeError: the request is not JSON.
    """
    names = [
        name for name in REFUSED_FIELDS.get(profile.name, ()) if b'"%b"' % name.encode() in raw
    ]
    body = load(raw, profile.wire)[0] if names else None
    if not isinstance(body, dict) or body.keys().isdisjoint(names):
        return raw, ()
    kept = {key: value for key, value in body.items() if key not in names}
    effort = get(body, _EFFORT_OF_OTHERS)
    if isinstance(effort, str):
        kept.setdefault(_EFFORT, effort)
    losses = tuple(
        Loss((name,), f"the provider refuses this field: {name}")
        for name in names
        if name in body and body[name] != {_EFFORT_OF_OTHERS[-1]: effort}
    )
    return dump(kept), losses


def losses_without_settings(
    losses: Sequence[Loss], sent: Mapping[str, JSON], conversation: Conversation
) -> list[Loss]:
    """Return the losses without those of settings that are sent with their own values."""
    settings, paths = conversation.settings, conversation.source.setting_paths
    kept = {
        paths.get(name) or (name,) for name, value in sent.items() if settings.get(name) == value
    }
    return [loss for loss in losses if loss.path not in kept]
