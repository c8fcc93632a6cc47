"""The cost of tokens, by the prices of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from toolwire.conversation.model import Usage

_MILLION = 1_000_000


class Price(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[prices.MODEL]`, for a name or a pattern with `*`; per million tokens, in any currency."""

    input: float
    """Input tokens."""
    output: float
    """Output tokens, reasoning included."""
    cached_input: float | None = None
    """Input tokens read from a cache; by default the price of input."""
    cache_write: float | None = None
    """Input tokens written to a cache; by default the price of input."""

    def cost(self, usage: Usage) -> float:
        """The cost of a request."""
        cached, written = usage.cached or 0, usage.cache_write or 0
        plain = max(0, (usage.input or 0) - cached - written)
        cached_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        return (
            plain * self.input
            + cached * cached_price
            + written * write_price
            + (usage.output or 0) * self.output
        ) / _MILLION


def find_price(prices: Mapping[str, Price], model: str) -> Price | None:
    """The price of a model: of its name, else of the longest pattern that matches."""
    if model in prices:
        return prices[model]
    matches = [pattern for pattern in prices if "*" in pattern and fnmatchcase(model, pattern)]
    return prices[max(matches, key=len)] if matches else None
