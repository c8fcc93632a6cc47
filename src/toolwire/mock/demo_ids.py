"""The call ids of the offline model: in the format of each provider, and always the same for the
same conversation.

The characters are made from the conversation, never from a clock or a random number. A provider
without ids has no format: its calls get an id that is not sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b

from toolwire.conversation.ids import mint
from toolwire.profiles.table import Profile

_SMALL = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def characters(alphabet: str, length: int, *words: str | int) -> str:
    """Return `length` characters that depend on every word."""
    number = int.from_bytes(
        blake2b(
            "\x1f".join(map(str, words)).encode("utf-8", "surrogatepass"), digest_size=40
        ).digest()
    )
    out = ""
    for _ in range(length):
        number, digit = divmod(number, len(alphabet))
        out += alphabet[digit]
    return out


def token(length: int, *words: str | int) -> str:
    """Return letters and digits that depend on every word."""
    return characters(_BASE62, length, *words)


def _with_prefix(
    prefix: str, length: int, alphabet: str = _BASE62
) -> Callable[[str, int, str], str]:
    return lambda seed, n, name: prefix + characters(alphabet, length, seed, n, name)


GEMINI_3 = re.compile(r"gemini-(?:[3-9]|\d\d)")
FORMS: dict[str, Callable[[str, int, str], str]] = {
    "": _with_prefix("call_", 24),
    "anthropic": _with_prefix("toolu_01", 22),
    "vertex-anthropic": _with_prefix("toolu_vrtx_01", 22),
    "bedrock": _with_prefix("tooluse_", 22),
    "bedrock-mistral": _with_prefix("", 9),
    "mistral": _with_prefix("", 9),
    "mistral-legacy": _with_prefix("", 9),
    "gemini-3": _with_prefix("call_", 7, "123456789"),
    "gemini": mint,
    "vertex-gemini": mint,
    "cohere": lambda seed, n, name: f"{name}_{characters(_SMALL, 12, seed, n, name)}",
    "ollama": _with_prefix("call_", 8, _SMALL),
    "kimi": lambda seed, n, name: f"functions.{name}:{n}",
    "deepseek": lambda seed, n, name: f"call_{n % 100:02}_{token(20, seed, n, name)}",
    "minimax": lambda seed, n, name: f"call_function_{characters(_SMALL, 12, seed, name)}_{n + 1}",
    "minimax-anthropic": lambda seed, n, name: (
        f"call_function_{characters(_SMALL, 12, seed, name)}_{n + 1}"
    ),
    "glm": _with_prefix("call_", 19, "123456789"),
    "groq": _with_prefix("", 9, _SMALL),
    "fireworks": lambda seed, n, name: f"functions.{name}:{n}",
    "vllm": _with_prefix("chatcmpl-tool-", 32, "0123456789abcdef"),
    "llama.cpp": _with_prefix("", 32),
    "lm-studio": _with_prefix("", 9, "0123456789"),
    "gemini-openai": _with_prefix("function-call-", 19, "123456789"),
}
"""A profile or wire, and the format of its ids; the first row is the default. Since version 3,
Gemini models give every call an id: https://ai.google.dev/gemini-api/docs/function-calling"""


def id_form(profile: Profile, model: str) -> str:
    """The profile whose id format a model uses."""
    gives_ids = profile.wire == "gemini" and profile.has_id_field
    return "gemini-3" if gives_ids and GEMINI_3.search(model) else profile.name


def call_id(names: tuple[str, ...], seed: str, n: int, name: str) -> str:
    """The id of the n-th call of a conversation, in the format of the first of these names that has
    one."""
    form = next((FORMS[name] for name in names if name in FORMS), FORMS[""])
    return form(seed, n, name)
