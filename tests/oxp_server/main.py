"""A server in its own process: `python main.py FOLDER [PORT]`. Tests send it signals and measure its
memory."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oxp_server.serving import executor_in
from oxp_server.toolkit import tools

from toolwire.server.run import ConnectionLimits, serve
from toolwire.tool_server import ToolServer

if __name__ == "__main__":
    serve(
        ToolServer(tools(), executor=executor_in(Path(sys.argv[1]))),
        port=0,
        limits=ConnectionLimits(notice=float((sys.argv + ["", "0"])[2] or 0)),
    )
