"""Ids by their shapes: who makes such ids, which hold two ids or something else besides, and how a
model's own are spelled.

A table with no other use than to say where an id came from and to take it apart: nothing is ever
refused for its shape alone. Knows no rule.
"""

from __future__ import annotations

import re

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"

_MAKERS: tuple[tuple[str, str], ...] = (
    # The first that fits speaks: the peculiar ones come first, those that others may share last.
    (r"tw-[0-9a-f]{16}", "toolwire"),
    (r"toolu_vrtx_\w+", "Claude on Vertex AI"),
    (r"toolu_bdrk_\w+", "Claude on Bedrock"),
    (r"srvtoolu_\w+", "Anthropic, for a tool that it runs itself,"),
    (r"mcptoolu_\w+", "Anthropic, for an MCP server,"),
    (r"toolu_\w+", "Anthropic"),
    (r"tooluse_[A-Za-z0-9_-]{22}", "Bedrock"),
    (r"chatcmpl-tool-[0-9a-f]+", "vLLM"),
    (rf"adk-{_UUID}", "Google ADK"),
    (r"lc-tool-call-.+", "LangChain, where there was none,"),
    (r"call_function_[a-z0-9]+_\d+", "MiniMax"),
    (r"call_0\d_[A-Za-z0-9]+", "DeepSeek"),
    (r"call_[A-Za-z0-9]{24}", "OpenAI"),
    (rf"call_{_UUID}", "an adapter, from a UUID,"),
    (r"call_[0-9a-f]{32}", "an adapter, from a UUID,"),
    (r"call_\d{5,}", "Gemini or GLM"),
    (r"(?:fc|rs|msg|ws|ctc)_[0-9a-f]{32,}", "OpenAI, for an item,"),
    (rf"functions\.{_NAME}:\d+", "Kimi"),
    (rf"tool_\d+_{_NAME}", "OpenRouter, for Gemini,"),
    (rf"{_NAME}:\d+", "Kimi"),
    (r"[a-z_]+-(?=[A-Za-z]*\d)[A-Za-z0-9]{8}", "Antigravity"),
    (rf"{_UUID}", "an adapter, from a UUID,"),
    (r"call_\d{1,4}", "a server that counts anew in each answer"),
    (r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{9}", "Mistral"),
    (r"\d+", "a server that counts or draws numbers"),
)
_COMPILED = tuple((re.compile(pattern), who) for pattern, who in _MAKERS)


def maker(text: str) -> str:
    """Who makes ids of this shape; empty if nobody known does."""
    return next((who for pattern, who in _COMPILED if pattern.fullmatch(text)), "")


def provider(text: str) -> str:
    """Who makes ids of this shape, if that is somebody by name and not a habit that many have."""
    who = maker(text)
    return who if who[:1].isupper() else ""


def describe_maker(text: str) -> str:
    """Who makes such ids, as words to put after an id."""
    who = maker(text)
    return f" (an id as {who} makes them)" if who else ""


def shorten(text: str) -> str:
    """An id for a message: on one line, and not longer than a line."""
    shown = text if len(text) <= 48 else f"{text[:32]}…{text[-8:]}"
    return (
        shown if shown.isprintable() else shown.encode("unicode_escape", "surrogatepass").decode()
    )


# --- more than an id ------------------------------------------------------------------------------

_ITEM = r"(?P<item>(?:fc|ctc|rs|msg|ws|item)[_-][^|\n]+)"
_HALVES = tuple(
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
        r"(?P<id>.+?)__thought__(?P<load>.+)",
        r"(?P<id>.+?)_ts_(?P<load>[A-Za-z0-9+/=_-]{16,})",
    )
)
_TWICE = re.compile(r"([A-Za-z]+[_.-].{1,200}?|.{6,200}?)\1+", re.DOTALL)


def split_composite(text: str) -> tuple[str, str] | None:
    """The id of the call and that of its item, if both stand in one."""
    found = next((match for pattern in _HALVES if (match := pattern.fullmatch(text))), None)
    return (found["call"], found["item"]) if found is not None else None


def split_payload(text: str) -> tuple[str, str] | None:
    """An id and what was hidden behind it."""
    found = next((match for pattern in _PAYLOAD if (match := pattern.fullmatch(text))), None)
    return (found["id"], found["load"]) if found is not None else None


def repeated_unit(text: str) -> str | None:
    """The id that was written several times in a row."""
    found = _TWICE.fullmatch(text) if len(text) < 4096 else None
    return (
        str(found[1]) if found is not None and len(set(found[1])) > 1 else None
    )  # a row of one letter is no repeated id


def call_half(text: str) -> str | None:
    """The call's half of two ids in one."""
    found = split_composite(text)
    return found[0] if found is not None else None


def without_payload(text: str) -> str | None:
    """An id without what was hidden behind it."""
    found = split_payload(text)
    return found[0] if found is not None else None


def is_composite(text: str) -> bool:
    """Whether an id is odd because it holds more than one id."""
    return (
        call_half(text) is not None
        or without_payload(text) is not None
        or repeated_unit(text) is not None
    )


SIGNATURE_PATHS: dict[str, tuple[str, ...]] = {
    "gemini": ("thoughtSignature",),
    "openai-chat": ("extra_content", "google", "thought_signature"),
}
"""Where the signature of a call stands in its block, on the wires whose servers want it back."""

# --- a model's own ids ----------------------------------------------------------------------------


def native_id_text(name: str, n: int) -> str:
    """The n-th call of a history, as the models name it that want their ids back as they were."""
    return f"functions.{name}:{n}"


_NOT_WORD = re.compile(r"[^A-Za-z0-9]")
_FITTED = re.compile(r"_[0-9A-Za-z]{8}")


def is_mangled_native_id(text: str, name: str) -> bool:
    """Whether an id is a model's own with its signs replaced or taken out: `functionsread0`, also
    with a hash behind it."""
    found = re.match(rf"functions(?P<a>[_-]?){_spelled(name)}(?P<b>[_-]?)\d+", text)
    return found is not None and (
        found.end() == len(text) or _FITTED.fullmatch(text, found.end()) is not None
    )


def _spelled(name: str) -> str:
    """The name with each sign as it is, as another sign, or gone."""
    return "".join("[^A-Za-z0-9]?" if _NOT_WORD.match(sign) else sign for sign in name)
