"""A server for an app that is not of this project: uvicorn with its defaults, its fastest parts,
and no log.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

import uvicorn


def plain(app: Callable[..., Awaitable[None]]) -> None:
    """Serve it on loopback, and say where."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        settings = uvicorn.Config(
            app, loop="uvloop", http="httptools", access_log=False, log_level="error", ws="none"
        )
        uvicorn.Server(settings).run([listener])
