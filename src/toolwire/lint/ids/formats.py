"""Formats of ids: who generates them, which are composite, and which ids models generate
themselves.

The table serves only to describe ids and to split them: no id is refused because of its format.
This module knows no rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"

_MAKERS: tuple[tuple[str, str], ...] = (
    # The first match counts: distinctive formats come first, common ones last.
    (r"tw-[0-9a-f]{16}", "toolwire"),
    (r"toolu_vrtx_\w+", "Claude on Vertex AI"),
    (r"toolu_bdrk_\w+", "Claude on Bedrock"),
    (r"srvtoolu_\w+", "Anthropic, for a tool that it runs itself"),
    (r"mcptoolu_\w+", "Anthropic, for an MCP server"),
    (r"toolu_\w+", "Anthropic"),
    (r"tooluse_[A-Za-z0-9_-]{22}", "Bedrock"),
    (r"chatcmpl-tool-[0-9a-f]+", "vLLM"),
    (rf"adk-{_UUID}", "Google ADK"),
    (r"lc-tool-call-.+", "LangChain, for a call without an id"),
    (r"call_function_[a-z0-9]+_\d+", "MiniMax"),
    (r"call_0\d_[A-Za-z0-9]+", "DeepSeek"),
    (r"call_[A-Za-z0-9]{24}", "OpenAI"),
    (rf"call_{_UUID}", "an adapter, from a UUID"),
    (r"call_[0-9a-f]{32}", "an adapter, from a UUID"),
    (r"call_\d{5,}", "Gemini or GLM"),
    (r"(?:fc|rs|msg|ws|ctc)_[0-9a-f]{32,}", "OpenAI, for an item"),
    (rf"functions\.{_NAME}:\d+", "Kimi"),
    (rf"tool_\d+_{_NAME}", "OpenRouter, for Gemini"),
    (rf"{_NAME}:\d+", "Kimi"),
    (r"[a-z_]+-(?=[A-Za-z]*\d)[A-Za-z0-9]{8}", "Antigravity"),
    (rf"{_UUID}", "an adapter, from a UUID"),
    (r"call_\d{1,4}", "a server that numbers the calls of each response"),
    (r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{9}", "Mistral"),
    (r"\d+", "a server that uses numbers"),
)
_COMPILED = tuple((re.compile(pattern), name) for pattern, name in _MAKERS)


def maker(text: str) -> str:
    """Who generates ids of this format; empty if unknown."""
    return next((name for pattern, name in _COMPILED if pattern.fullmatch(text)), "")


def provider(text: str) -> str:
    """The product that generates ids of this format; empty if unknown, or if several products
    do."""
    name = maker(text)
    return name if name[:1].isupper() else ""


def describe_maker(text: str) -> str:
    """Who generates ids of this format, as an addition to an id in a message."""
    name = maker(text)
    return f" (the format of {name})" if name else ""


def shorten(text: str) -> str:
    """An id for a message: printable, on one line, and of at most 48 characters."""
    shown = text if len(text) <= 48 else f"{text[:32]}…{text[-8:]}"
    return (
        shown if shown.isprintable() else shown.encode("unicode_escape", "surrogatepass").decode()
    )


MAX_LISTED = 5
"""The maximum number of ids in one message: a message for each of many results that lists as many
calls would take memory in the square of the history."""


def list_some(texts: Sequence[str], separator: str = ", ") -> str:
    """Ids or names for a message: the first few, and the number of the others."""
    listed = separator.join(texts[:MAX_LISTED])
    more = len(texts) - MAX_LISTED
    return f"{listed} and {more} more" if more > 0 else listed


# --- composite ids --------------------------------------------------------------------------------

_ITEM = r"(?P<item>(?:fc|ctc|rs|msg|ws|item)[_-][^|\n]+)"
_CALL_AND_ITEM = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<call>[^|\n]+)[|\n]{_ITEM}",
        rf"{_ITEM}[|\n](?P<call>(?:call|toolu|tooluse)[_-][^|\n]+)",
        r"(?P<item>resp_[^:|\n]+):(?P<call>call[_-][^:|\n]+)",
    )
)
_PAYLOAD = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?P<id>.+?)__thought__(?P<payload>.+)",
        r"(?P<id>.+?)_ts_(?P<payload>[A-Za-z0-9+/=_-]{16,})",
    )
)
_REPEATED = re.compile(r"([A-Za-z]+[_.-].{1,200}?|.{6,200}?)\1+", re.DOTALL)


def split_composite(text: str) -> tuple[str, str] | None:
    """The call id and the item id of an id that joins both; otherwise None."""
    matches = (pattern.fullmatch(text) for pattern in _CALL_AND_ITEM)
    match = next(filter(None, matches), None)
    return (match["call"], match["item"]) if match is not None else None


def split_payload(text: str) -> tuple[str, str] | None:
    """The id and the payload of an id with an appended payload; otherwise None."""
    matches = (pattern.fullmatch(text) for pattern in _PAYLOAD)
    match = next(filter(None, matches), None)
    return (match["id"], match["payload"]) if match is not None else None


def unit_of_repetition(text: str) -> str | None:
    """The id that a text repeats several times; otherwise None. A repeated character does not
    count."""
    match = _REPEATED.fullmatch(text) if len(text) < 4096 else None
    return str(match[1]) if match is not None and len(set(match[1])) > 1 else None


def call_half(text: str) -> str | None:
    """The call id of an id that joins a call id and an item id; otherwise None."""
    halves = split_composite(text)
    return halves[0] if halves is not None else None


def without_payload(text: str) -> str | None:
    """The id without its appended payload; None if it has none."""
    halves = split_payload(text)
    return halves[0] if halves is not None else None


def is_composite(text: str) -> bool:
    """True if an id holds another id, a payload, or itself several times."""
    return (
        call_half(text) is not None
        or without_payload(text) is not None
        or unit_of_repetition(text) is not None
    )


SIGNATURE_PATHS: dict[str, tuple[str, ...]] = {
    "gemini": ("thoughtSignature",),
    "openai-chat": ("extra_content", "google", "thought_signature"),
}
"""The path of the signature in the block of a call, on wires whose servers require it."""

# --- ids that models generate ---------------------------------------------------------------------


def native_id_text(name: str, n: int) -> str:
    """The id of the n-th call of a history in the format of models that generate ids themselves."""
    return f"functions.{name}:{n}"


_NOT_WORD = re.compile(r"[^A-Za-z0-9]")
_HASH_SUFFIX = re.compile(r"_[0-9A-Za-z]{8}")


def is_mangled_native_id(text: str, name: str) -> bool:
    """True if a model generated an id, and its punctuation was replaced or removed, as in
    `functionsread0`; a hash may follow."""
    match = re.match(rf"functions[_-]?{_name_pattern(name)}[_-]?\d+", text)
    return match is not None and (
        match.end() == len(text) or _HASH_SUFFIX.fullmatch(text, match.end()) is not None
    )


def _name_pattern(name: str) -> str:
    """A pattern for the name with punctuation that may be replaced or missing."""
    return "".join("[^A-Za-z0-9]?" if _NOT_WORD.match(char) else char for char in name)
