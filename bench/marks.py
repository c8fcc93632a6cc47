"""Limits as the tables show them, and whether a figure keeps its limit."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """The word after a limit."""

    OK = "ok"
    MISSED = "MISSED"


def most(value: float, limit: float) -> str:
    """A maximum, and whether the value keeps it."""
    return f"{limit} {Word.OK if value <= limit else Word.MISSED}"


def least(value: float, limit: float) -> str:
    """A minimum, and whether the value reaches it."""
    return f"{limit} {Word.OK if value >= limit else Word.MISSED}"
