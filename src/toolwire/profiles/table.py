"""The profiles of all providers: dated facts, each with its source.

The modules beside this one hold the rows, by the shape of the API. A provider that differs from
another one in a few facts is written as this difference.
"""

from __future__ import annotations

from toolwire.errors import UsageError, require_type, suggest
from toolwire.profiles import blocks, chat, contents, frameworks, items, other_apis
from toolwire.profiles.profile import Profile, without_checks
from toolwire.wires import names

__all__ = ["PROFILES", "Profile", "profile"]


def default_profile(wire: str) -> Profile:
    """Return the profile of a wire without an entry here: no check is known."""
    return without_checks(Profile(wire, wire, confidence="low"))


PROFILES: dict[str, Profile] = {
    **{name: default_profile(name) for name in names()},
    **{
        profile.name: profile
        for module in (chat, items, blocks, contents, other_apis, frameworks)
        for profile in module.PROFILES
    },
}
"""All profiles: every wire has one."""


PROVIDER_PROFILES = {
    "azure": "azure-openai",
    "google": "gemini",
    "openai": "openai-chat",
    "vertex": "vertex-gemini",
}
"""Provider name → profile name, for providers whose profile has another name."""


def find_profile(name: object) -> Profile | None:
    """Return the profile of a wire, profile or provider; None if there is none with this name."""
    if not isinstance(name, str):
        return None
    return PROFILES.get(name) or PROFILES.get(PROVIDER_PROFILES.get(name, ""))


def profile(name: str) -> Profile:
    """Return the profile of a wire, profile or provider.

    Raises:
        UsageError: There is none with this name.
    """
    found = find_profile(name)
    if found is None:
        require_type(name, str, "the name of a wire")
        known = sorted({*PROFILES, *PROVIDER_PROFILES})
        why = f"unknown wire, profile or provider{suggest(name, known)}"
        raise UsageError(why, wire=name)
    return found
