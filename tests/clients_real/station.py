"""The tools that agents and MCP clients get from `toolwire serve`: they are those of the frameworks."""

from __future__ import annotations

import asyncio
from typing import Annotated

from toolwire.conversation.json import JSON
from toolwire.tools.errors import ToolError
from toolwire.tools.function import tool

DEGREES = {"Oslo": 4, "Rome": 21}
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@tool
async def weather(city: Annotated[str, "The city."]) -> str:
    """Current weather of a city."""
    await asyncio.sleep(0.2 if city == "Oslo" else 0)
    return f"{city}: {DEGREES[city]} degrees"


@tool
def station_status(station: Annotated[str, "The station."]) -> str:
    """Status of a weather station."""
    raise ToolError(f"station {station} is closed")


@tool
def picture(place: Annotated[str, "The place."]) -> list[JSON]:
    """A picture of a place."""
    return [
        {"type": "text", "text": f"a picture of {place}"},
        {"type": "image", "data": IMAGE, "mimeType": "image/png"},
    ]
