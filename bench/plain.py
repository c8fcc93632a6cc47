"""A server for applications of other projects: uvicorn with its defaults, its fastest parts, and no
log.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

import uvicorn


def plain(app: Callable[..., Awaitable[None]]) -> None:
    """Serve an application on loopback, and print its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        settings = uvicorn.Config(
            app, loop="uvloop", http="httptools", access_log=False, log_level="error", ws="none"
        )
        uvicorn.Server(settings).run([listener])
