"""An MCP server of the official SDK alone, without toolwire; a program on stdio."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer
from mcp_types import ToolAnnotations


def foreign(folder: Path) -> MCPServer:
    """A server of the official SDK alone."""
    server = MCPServer("weather station/7")

    def record_run(name: str) -> None:
        with (folder / "effects").open("a") as file:
            file.write(f"{name}\n")

    @server.tool(
        name="get-current.v2",
        annotations=ToolAnnotations(read_only_hint=True),
        structured_output=False,
    )
    def current(city: str) -> str:
        """Return the weather."""
        return f"rain in {city}"

    @server.tool(name="get_current_v2", structured_output=False)
    def picture() -> list[str | Image]:
        """Return a picture."""
        return ["look", Image(data=b"png", format="png")]

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ValueError("no weather today")

    @server.tool()
    def vanish() -> str:
        """End the process in the middle of the call."""
        record_run("vanish")
        os._exit(1)

    return server


if __name__ == "__main__":
    foreign(Path(sys.argv[1])).run("stdio")
