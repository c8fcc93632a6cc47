"""Code that the programs of all frameworks share: the request that they read, and their tools.

Each program runs in the environment of its framework, where toolwire is not installed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys

REQUEST = json.loads(sys.argv[1])
API: str = REQUEST["api"]
URL: str = REQUEST["url"]
MODEL: str = REQUEST["model"]
SCRIPTS: list[list[str]] = REQUEST["scripts"]
"""The directives for the model in each turn, step by step."""
PROMPTS = [" [[then]] ".join(script) for script in SCRIPTS]
STREAM: bool = REQUEST["stream"]
KEY = "any-key"
DEGREES = {"Oslo": 4, "Rome": 21, "Bern": 11, "Kyiv": 17}
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE_BYTES = base64.b64decode(IMAGE)


async def measure(city: str) -> str:
    """The weather of a city. The first city that is asked for takes longest."""
    await asyncio.sleep(0.2 if city in ("Oslo", "Bern") else 0)
    return f"{city}: {DEGREES[city]} degrees"


def fail(station: str) -> str:
    """Fail like a tool that cannot reach a station."""
    raise ValueError(f"station {station} is closed")
