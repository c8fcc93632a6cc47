"""Whether a figure reaches its mark, in the words of the tables."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """What stands behind a limit."""

    OK = "ok"
    MISSED = "MISSED"


def most(value: float, limit: float) -> str:
    """The limit that may not be exceeded, and whether it is kept."""
    return f"{limit} {Word.OK if value <= limit else Word.MISSED}"


def least(value: float, limit: float) -> str:
    """The limit that has to be reached, and whether it is."""
    return f"{limit} {Word.OK if value >= limit else Word.MISSED}"
