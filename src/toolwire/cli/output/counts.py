"""Numbers with their nouns."""

from __future__ import annotations


def count(number: int, singular: str, plural: str) -> str:
    """A number and the form of the noun that belongs to it: `1 body`, `2 bodies`."""
    return f"{number} {singular if number == 1 else plural}"
