"""What each provider refuses, as dated data: a wire as one provider speaks it.

A row is a fact with its source and the day it was last seen to hold. No code here: rules read the rows.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from toolwire.errors import LocalError
from toolwire.identity import IdRule

_WORD = "a-zA-Z0-9_-"


class Profile(Struct, frozen=True):
    """A wire as one provider speaks it. What is not said here, the provider is not known to check."""

    name: str
    wire: str
    ids: IdRule = IdRule()
    """The ids that are written for it."""
    names: IdRule = IdRule()
    """The names of tools that it takes."""
    unique: bool = False
    """Whether a call id may occur only once in a whole request, and not just once in a turn."""
    seen: str = ""
    source: str = ""
    takes: IdRule | None = None
    """The ids that it takes, where that is wider than what is written."""
    sure: Literal["high", "medium", "low"] = "high"
    """How good the evidence is."""
    needs_ids: bool = True
    """Whether calls and results without an id are refused."""
    has_ids: bool = True
    """Whether the field exists at all: some servers refuse it."""
    answers: Literal["", "after", "next", "alone"] = ""
    """Where results stand: anywhere after their call; directly after it, before anybody else speaks; all in the very next
    message; and there alone."""
    batch: bool = False
    """Whether all results of a turn stand in one message."""
    first: bool = False
    """Whether results come before anything else in their message."""
    ordered: bool = False
    """Whether results are taken to stand in the order of their calls."""
    complete: bool = True
    """Whether a call without a result is refused once the history has moved on."""
    owned: bool = True
    """Whether a result without its call is refused."""
    single: bool = True
    """Whether a second result of a call is refused."""
    named: bool = False
    """Whether a result must bear the name of its call."""
    opens: bool = False
    """Whether a call may stand only after a user's message or a result: so it cannot begin a history."""
    rests: bool = False
    """Whether a user may not speak directly after a result."""
    ends: bool = False
    """Whether a request must end with a user's message or a result."""
    offers: bool = False
    """Whether tools must be offered when the history holds calls."""
    arguments: Literal["", "json", "object"] = ""
    """What arguments must be: text that parses; an object."""
    content: Literal["", "text", "some"] = ""
    """What an assistant's content must be beside calls: a plain text; not null."""
    echo: Literal["", "reasoning_content", "thinking", "signature", "reasoning"] = ""
    """What must come back with a call: the text that was thought, a signed block, a signature on the call, the item before it."""
    native: str = ""
    """The pattern of the ids that its models make themselves, and want back unchanged."""


PROFILES: dict[str, Profile] = {
    row.name: row
    for row in (
        Profile("openai-chat", "openai-chat", IdRule(longest=40), IdRule(_WORD, 64), takes=IdRule(longest=64), seen="2026-08",
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
