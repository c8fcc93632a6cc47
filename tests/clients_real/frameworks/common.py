"""What the programs of all frameworks share: the request that they read, and what their tools do.

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
PROMPT: str = REQUEST["prompt"]
STREAM: bool = REQUEST["stream"]
KEY = "any-key"
DEGREES = {"Oslo": "4 degrees", "Rome": "21 degrees"}
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE_BYTES = base64.b64decode(IMAGE)


async def measure(city: str) -> str:
    """The weather of a city. The first city that is asked for takes longest."""
    await asyncio.sleep(0.2 if city == "Oslo" else 0)
    return f"{city}: {DEGREES[city]}"


def fail(station: str) -> str:
    """Fail as a tool does that cannot reach a station."""
    raise ValueError(f"station {station} is closed")
