"""Instructions of one request through the gateway, against a bare pass-through.

    python bench/gateway_instructions.py [words of cases]

CPU time depends on the load of the machine; instruction counts do not, so that differences of a few
percent show. Each server runs under callgrind (`valgrind` has to be installed), and the same client
sends new conversations over one connection, one after the other. The events of a stream arrive one
by one, so that each is a separate read. Work of the kernel for the servers is not counted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from gateway_cpu import BARE, OURS, ROUNDS
from gateway_servers import Bare, Receive, Scope, Send, gateway, start_measured
from load import KINDS, Order, Shot, send_requests
from plain import plain
from processes import process, server

from toolwire.gateway import cancel_on_disconnect
from toolwire.server.process import tune_process
from toolwire.server.run import serve

SERVE = "--serve"
MARK = "/mark"
WARM_UP = 20
EVENT_MS = 30
"""Milliseconds between two events of a stream: a server is slow under callgrind."""
SLOWNESS = 20
"""The approximate factor by which a request takes longer under callgrind."""
CASES = {
    f"{wires} {kind} {ROUNDS[rounds]}": Order(kind, 0, 1, many, wire=wire, rounds=rounds)
    for wires, wire in (("translated", "openai-chat"), ("same wire", "anthropic"))
    for kind, many in (("whole", 40), ("stream", 8))
    for rounds in (0, 1)
}
"""The orders by name: wires, kind of response, number of messages."""


class Marker:
    """A server that marks where a measurement starts and ends by calling `getpgid`: callgrind dumps
    its counters there, and nothing else calls it. Between two such calls it looks for reference
    cycles: otherwise one of the cases, by chance, would include a pass over all objects."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != MARK:
            await self._app(scope, receive, send)
            return
        os.getpgid(0)
        gc.collect()
        os.getpgid(0)
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def tick(server: uvicorn.Server) -> None:
    """Do what uvicorn does ten times a second, which is once in hundreds of requests, as rarely as
    without callgrind."""
    while not await server.on_tick(0):
        await asyncio.sleep(0.1 * SLOWNESS)


def serve_marked(kind: str, model: str) -> None:
    """Run a server as `gateway_servers.py` does."""
    uvicorn.Server.main_loop = tick  # type: ignore[method-assign,assignment]
    if kind == BARE:
        plain(Marker(Bare(model)))
    else:
        # Without callgrind, no whole response takes so long that its client is watched.
        cancel_on_disconnect.GRACE_SECONDS *= SLOWNESS
        tune_process()
        serve(Marker(gateway(model)), port=0, ready=start_measured)


async def send_case(order: Order) -> None:
    """Send the requests of a case, between two marks."""
    mark = Shot(f"GET {MARK} HTTP/1.1\r\nhost: 127.0.0.1:{order.port}\r\n\r\n".encode())
    shots = KINDS[order.what](order)
    await send_requests(order.port, shots[:WARM_UP], connections=1)
    await send_requests(order.port, [mark, *shots, mark], connections=1)


def count(kind: str, names: list[str]) -> dict[str, int]:
    """The instructions of one request of each case."""
    with TemporaryDirectory() as dumps, server("model_server.py", str(EVENT_MS)) as model:
        options = ("--tool=callgrind", "--dump-before=getpgid", "--combine-dumps=no", "-q")
        start = ("--instr-atstart=no", f"--callgrind-out-file={dumps}/out")
        script = (sys.executable, __file__, SERVE, kind, model.url)
        with process(("valgrind", *options, *start, *script)) as started:
            assert started.stdout is not None
            port = int(started.stdout.readline().rpartition(":")[2])
            _start_counting(started.pid)
            for name in names:
                CASES[name].port = port
                asyncio.run(send_case(CASES[name]))
        totals = dict(map(_read_dump, Path(dumps).iterdir()))
    return {name: totals[4 * n + 3] // CASES[name].requests for n, name in enumerate(names)}


def _start_counting(pid: int) -> None:
    """Count from now on, because starting a server takes a minute under callgrind. Without a process
    id, callgrind_control would change every measurement on this machine."""
    command = ("callgrind_control", "--instr=on", str(pid))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _read_dump(file: Path) -> tuple[int, int]:
    """The number of a dump, and the instructions since the previous one."""
    text = file.read_text()
    part, total = (re.search(p, text, re.M) for p in (r"^part: (\d+)", r"^totals: (\d+)"))
    return int(part[1]) if part else 0, int(total[1]) if total else 0


def main(words: list[str]) -> None:
    os.environ["PYTHONHASHSEED"] = "0"
    names = [name for name in CASES if not words or any(word in name for word in words)]
    ours, bare = count(OURS, names), count(BARE, names)
    for name in names:
        ratio = ours[name] / bare[name]
        print(f"{name:22} {ours[name]:>10,} {bare[name]:>10,} {ratio:6.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        serve_marked(*sys.argv[2:])
    else:
        main(sys.argv[1:])
