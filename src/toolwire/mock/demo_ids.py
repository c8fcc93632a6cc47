"""The ids that the offline model gives its calls: as each provider's own look, and always the same
for the same conversation.

A row is a form; what fills it is made from the conversation, never from a clock or chance. A
provider without ids has no row of its own form: its calls get one that is not sent. Knows providers
by the rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from toolwire.conversation.ids import mint

_SMALL = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def spelled(alphabet: str, length: int, *words: str | int) -> str:
    """So many characters that depend on every word."""
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
    """So many letters and digits that depend on every word."""
    return spelled(_BASE62, length, *words)


def _led(prefix: str, length: int, alphabet: str = _BASE62) -> Callable[[str, int, str], str]:
    return lambda seed, n, name: prefix + spelled(alphabet, length, seed, n, name)


FORMS: dict[str, Callable[[str, int, str], str]] = {
    "": _led("call_", 24),
    "anthropic": _led("toolu_01", 22),
    "vertex-anthropic": _led("toolu_vrtx_01", 22),
    "bedrock": _led("tooluse_", 22),
    "bedrock-mistral": _led("", 9),
    "mistral": _led("", 9),
    "mistral-legacy": _led("", 9),
    "gemini": mint,
    "vertex-gemini": mint,
    "cohere": lambda seed, n, name: f"{name}_{spelled(_SMALL, 12, seed, n, name)}",
    "ollama": _led("call_", 8, _SMALL),
    "kimi": lambda seed, n, name: f"functions.{name}:{n}",
    "deepseek": lambda seed, n, name: f"call_{n % 100:02}_{token(20, seed, n, name)}",
    "minimax": lambda seed, n, name: f"call_function_{spelled(_SMALL, 12, seed, name)}_{n + 1}",
    "minimax-anthropic": lambda seed, n, name: (
        f"call_function_{spelled(_SMALL, 12, seed, name)}_{n + 1}"
    ),
    "glm": _led("call_", 19, "123456789"),
    "groq": _led("", 9, _SMALL),
    "fireworks": lambda seed, n, name: f"functions.{name}:{n}",
    "vllm": _led("chatcmpl-tool-", 32, "0123456789abcdef"),
    "llama.cpp": _led("", 32),
    "lm-studio": _led("", 9, "0123456789"),
    "gemini-openai": _led("function-call-", 19, "123456789"),
}
"""A profile, or the wire it speaks, and the form of its ids; the first row is everybody else's."""


def call_id(house: tuple[str, ...], seed: str, n: int, name: str) -> str:
    """The id of the n-th call of a conversation, in the form of the first of these names that has
    one."""
    form = next((FORMS[one] for one in house if one in FORMS), FORMS[""])
    return form(seed, n, name)
