"""What each provider refuses, as dated data: a wire as one provider speaks it.

A row is a fact with its source and the day it was last seen to hold. No code here: rules read the rows.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.errors import LocalError
from toolwire.identity import IdRule

_WORD = "a-zA-Z0-9_-"


class Profile(Struct, frozen=True):
    """A wire as one provider speaks it."""

    name: str
    wire: str
    ids: IdRule = IdRule()
    names: IdRule = IdRule()
    unique: bool = False
    """Whether a call id may occur only once in a whole request, and not just once in a turn."""
    seen: str = ""
    source: str = ""


PROFILES: dict[str, Profile] = {
    row.name: row
    for row in (
        Profile("openai-chat", "openai-chat", IdRule(longest=40), IdRule(_WORD, 64), seen="2026-08",
                source="40 characters at older servers, 64 at newer: litellm#11392, llm-rosetta#596; names: OpenAPI description"),
        Profile("anthropic", "anthropic", IdRule(_WORD), IdRule(_WORD, 128), unique=True, seen="2026-08",
                source="ids ^[a-zA-Z0-9_-]+$, unique in a request: litellm#21114, claude-code#28515; names: copilot-cli#1879"),
        Profile("gemini", "gemini", IdRule(), IdRule("a-zA-Z0-9_.-", 64, first="[a-zA-Z_]"), seen="2026-08",
                source="ids optional and opaque; names: CLIProxyAPI#218"),
        Profile("openai-responses", "openai-responses", IdRule(longest=64), IdRule(_WORD, 64), seen="2026-08",
                source="call_id 1..64: OpenAPI description, fastllm#45"),
        Profile("azure-foundry", "azure-foundry", IdRule(longest=64), IdRule(_WORD, 64), seen="2026-08",
                source="as the wire it extends"),
        Profile("bedrock", "bedrock", IdRule(_WORD, 64), IdRule(_WORD, 64), seen="2026-08",
                source="1..64, the narrower of two documented charsets; names checked in histories too: hermes-agent#90008"),
        Profile("mistral", "mistral", IdRule("a-zA-Z0-9", 9, exact=True), IdRule(_WORD, 64), seen="2026-08",
                source="error 3280, exactly nine letters or digits: magentic#276, vllm#9019"),
        Profile("ai-sdk", "ai-sdk", unique=True, seen="2026-11",
                source="a repeated toolCallId in one message: the second call overwrites the first; ran on ai 5, 6 and 7"),
        Profile("mcp", "mcp", unique=True, seen="2026-07", source="JSON-RPC ids are not used twice in a session"),
        Profile("cohere", "cohere", IdRule(), IdRule(_WORD, 64), seen="2026-08", source="no limit documented"),
        Profile("ollama", "ollama", IdRule(), IdRule(_WORD, 64), seen="2026-08",
                source="ids ignored by most templates: ollama#11417"),
    )
}  # fmt: skip


def profile(name: str) -> Profile:
    """The profile of that name; a wire without one of its own accepts anything."""
    found = PROFILES.get(name)
    if found is None:
        raise LocalError(str(name), (), f"no such wire or profile; there are {', '.join(sorted(PROFILES))}")
    return found
