"""Compare ASGI servers: CPU time per request of one small application.

The application reads a small JSON body and sends a small JSON response, so that most of the time is
the server's. `python bench/asgi_servers.py` prints one row per server; docs/decisions/asgi-server.md
has the numbers. granian runs from .peers/granian (make .peers/granian/ready).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn
from load import Order
from processes import HERE, Server, client, in_turns

from toolwire.server.asgi import Message, Receive, Scope, Send
from toolwire.server.run import ConnectionLimits, config

GRANIAN = HERE.parent / ".peers" / "granian" / "bin" / "granian"
REQUESTS = int(os.environ.get("REQUESTS", "4000"))
ROUNDS = 5
CONNECTIONS = 16
BODY = b'{"success":true,"value":15}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body and send a fixed response."""
    if scope["type"] == "lifespan":
        message: Message = await receive()
        while message["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
            message = await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


class ServerTree(Server):
    """A server and its worker processes."""

    def cpu(self) -> float:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        pids = [self.pid, *map(int, children)]
        return sum(Server(self.url, pid).cpu() for pid in pids)


def serve(name: str, port: int) -> None:
    """Serve the application in this process."""
    if name == "uvicorn with our limits":
        settings = config(app, ConnectionLimits())
        settings.port = port
    else:
        settings = uvicorn.Config(
            app, port=port, http="httptools", loop="uvloop", ws="none", log_config=None
        )
    uvicorn.Server(settings).run()


@contextmanager
def start(name: str) -> Iterator[ServerTree]:
    """Start a server and wait until it listens."""
    port = free_port()
    if name == "granian":
        command = [str(GRANIAN), "--interface", "asgi", "--port", str(port), "--workers", "1"]
        command += ["--no-access-log", "--log-level", "error", "asgi_servers:app"]
    else:
        command = [sys.executable, str(HERE / "asgi_servers.py"), name, str(port)]
    paths = os.pathsep.join([str(HERE), *sys.path]) if name == "granian" else str(HERE)
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.Popen(command, cwd=HERE, env=environment)
    try:
        wait_for(port)
        yield ServerTree(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    """Wait until a server accepts connections."""
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def main() -> None:
    """Run all servers alternately and print their CPU time per request."""
    names = ["uvicorn", "uvicorn with our limits", "granian"]
    if not GRANIAN.exists():
        names.remove("granian")
        print("granian is not installed: run make .peers/granian/ready")
    with client() as load, ExitStack() as stack:
        servers: dict[str, Server] = {name: stack.enter_context(start(name)) for name in names}
        orders = {
            name: Order(
                what="fastapi", port=server.port, connections=CONNECTIONS, requests=REQUESTS
            )
            for name, server in servers.items()
        }
        in_turns(load, servers, orders, 1)  # warm up
        turns = in_turns(load, servers, orders, ROUNDS)
    report({name: (turns.cpu[name], turns.rate(name)) for name in names})


def report(figures: dict[str, tuple[float, float]]) -> None:
    """Print one row per server."""
    print("| server | CPU µs per request | requests per second |\n|---|---|---|")
    for name, (cpu, rate) in figures.items():
        print(f"| {name} | {cpu:.0f} | {rate:,.0f} |")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        serve(sys.argv[1], int(sys.argv[2]))
    else:
        main()
