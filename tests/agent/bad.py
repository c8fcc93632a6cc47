"""Tools that misbehave. None has a parameter."""

from __future__ import annotations

import asyncio
import math
import time

from toolwire.tools import tool
from toolwire.tools.errors import RetryableToolError, ToolError
from toolwire.tools.function import Function


@tool(id="Bad.Raises@1.0.0")
def raises() -> str:
    """Raise an exception."""
    raise ZeroDivisionError("by zero")


@tool(id="Bad.Says@1.0.0")
def says() -> str:
    """Fail with a message."""
    raise ToolError("no such city")


@tool(id="Bad.Later@1.0.0")
def later() -> str:
    """Fail with an error that may be retried."""
    raise RetryableToolError("too many", additional_prompt_content="ask for fewer")


@tool(id="Bad.Hangs@1.0.0", timeout=0.1)
async def hangs() -> str:
    """Never end."""
    await asyncio.sleep(600)
    return ""


@tool(id="Bad.Blocks@1.0.0", timeout=0.1)
def blocks() -> str:
    """Never end, and block the thread."""
    time.sleep(1.0)
    return ""


@tool(id="Bad.Huge@1.0.0")
def huge() -> str:
    """Return 50 MB."""
    return "x" * 50_000_000


@tool(id="Bad.Many@1.0.0")
def many() -> list[int]:
    """Return many numbers."""
    return list(range(200_000))


@tool(id="Bad.Number@1.0.0")
def number() -> float:
    """Return NaN."""
    return math.nan


@tool(id="Bad.Deep@1.0.0")
def deep() -> float:
    """Return a number that is too large."""
    return math.inf


@tool(id="Bad.Half@1.0.0")
def half() -> str:
    """Return a lone surrogate."""
    return "a\ud800b"


@tool(id="Bad.Wrong@1.0.0")
def wrong() -> int:
    """Return a text instead of a number."""
    return "three"  # type: ignore[return-value]


@tool(id="Bad.Nothing@1.0.0")
def nothing() -> None:
    """Return nothing."""


@tool(id="Bad.Cancels@1.0.0")
async def cancels() -> str:
    """Raise CancelledError."""
    raise asyncio.CancelledError


@tool(id="Bad.Exits@1.0.0")
def exits() -> str:
    """Raise SystemExit."""
    raise SystemExit(3)


TOOLS: dict[str, tuple[Function[[], object], str, bool]] = {
    "raises": (raises, "ZeroDivisionError", True),
    "says": (says, "no such city", True),
    "later": (later, "ask for fewer", True),
    "hangs": (hangs, "", True),
    "blocks": (blocks, "", True),
    "huge": (huge, "[toolwire] cut: 50,000,000 characters", False),
    "many": (many, "[toolwire] cut: 1,288,", False),
    "number": (number, "", True),
    "deep": (deep, "", True),
    "half": (half, "a\ufffdb", False),
    "wrong": (wrong, "", True),
    "nothing": (nothing, "", False),
    "cancels": (cancels, "", True),
    "exits": (exits, "", True),
}
"""Each tool, words of its result, and whether it is an error."""
