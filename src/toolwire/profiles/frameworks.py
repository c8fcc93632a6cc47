"""Profiles of frameworks and protocols, which check little themselves."""

from __future__ import annotations

from toolwire.profiles.profile import Profile, without_checks

PROFILES = (
    without_checks(
        Profile(
            "ai-sdk",
            "ai-sdk",
            ids_unique_in_request=True,
            results_need_calls=True,
            last_seen="2026-11",
            source=(
                "a repeated toolCallId in one message: the second call overwrites the first; ran on"
                " ai 5, 6 and 7; a result is a field of its call in a UI message: types of ai 5"
            ),
        )
    ),
    without_checks(
        Profile(
            "mcp",
            "mcp",
            ids_unique_in_request=True,
            last_seen="2026-07",
            source="JSON-RPC ids are not used twice in a session",
        )
    ),
    without_checks(
        Profile(
            "adk",
            "adk",
            last_seen="2026-08",
            source="makes adk- ids and takes them off again: aimock#19",
        )
    ),
    without_checks(
        Profile(
            "genkit",
            "genkit",
            results_in_any_order=True,
            accepted_roles=("system", "user", "model", "tool"),
            last_seen="2026-08",
            confidence="medium",
            source="refs are optional: genkit#4112, genkit#5830; roles: MessageSchema of Genkit",
        )
    ),
    without_checks(
        Profile(
            "meai",
            "meai",
            last_seen="2026-04",
            source="a call id is never null: dotnet/extensions#6248",
        )
    ),
    without_checks(
        Profile("oxp", "oxp", last_seen="2026-08", source="call_id is optional: OXP 1.0")
    ),
    without_checks(
        Profile(
            "text",
            "text",
            last_seen="2026-08",
            confidence="low",
            source="a convention of prompts, without any check",
        )
    ),
)
