"""How many more requests two processes of the gateway serve behind one port than one process, on
this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from load import Order
from processes import Server, Turns, client, in_turns, server

CONNECTIONS = 32
REQUESTS = 2400
_PATIENCE = 30.0


def turns(rounds: int = 7) -> Turns:
    """Put the same load on one process and on two, alternately."""
    with ExitStack() as stack:
        model = stack.enter_context(server("model_server.py"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-bench-")))
        row = f'[models.m]\nupstream = "anthropic"\nbase_url = "{model.url}"\nkey_env = "KEY"\n'
        (folder / "gateway.toml").write_text(row)
        servers = {
            str(many): stack.enter_context(_gateway(folder / "gateway.toml", many))
            for many in (1, 2)
        }
        load = stack.enter_context(client())
        orders = {
            name: Order("whole", one.port, CONNECTIONS, REQUESTS, 0.0, "m")
            for name, one in servers.items()
        }
        in_turns(load, servers, orders, 1)
        return in_turns(load, servers, orders, rounds)


@contextmanager
def _gateway(file: Path, workers: int) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).parent / "toolwire"),
        "gateway",
        str(file),
        "--port",
        str(port),
        "--workers",
        str(workers),
    ]
    environment = {**os.environ, "KEY": "any"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet) as process:
        try:
            late = time.monotonic() + _PATIENCE
            while time.monotonic() < late:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            time.sleep(2)  # the others may still be starting
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    found = turns(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
    print({name: round(found.rate(name)) for name in found.rates}, round(found.ratio("2", "1"), 2))
