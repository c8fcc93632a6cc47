"""Compare the HTTP client of toolwire with aiohttp: CPU time of a request, whole and streamed.

    python bench/http_client.py

Both clients send the same requests to the same server (`model_server.py`, another process) from this
process, alternately, and read every byte of the responses. Only the CPU time of this process
counts.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).parent))

import aiohttp
import uvloop
from processes import server

from toolwire.providers.endpoints import find_endpoint
from toolwire.providers.http.upstream import Upstream

CONNECTIONS = 32
REQUESTS = {False: 640, True: 160}
"""Requests of a turn: whole responses, and streams, each of which is as much work as ten others."""
ROUNDS = 9
Send = Callable[[], Awaitable[int]]


def body(*, stream: bool) -> bytes:
    return b'{"model":"m","max_tokens":9,"messages":[],"stream":%b}' % (
        b"true" if stream else b"false"
    )


async def measure(send: Send, requests: int) -> float:
    """Return the microseconds of CPU time of one request."""

    async def worker(many: int) -> None:
        for _ in range(many):
            assert await send() > 100

    await asyncio.gather(*(worker(1) for _ in range(CONNECTIONS)))  # opens the connections
    start = process_time()
    await asyncio.gather(*(worker(requests // CONNECTIONS) for _ in range(CONNECTIONS)))
    return (process_time() - start) / requests * 1e6


async def compare(url: str, *, stream: bool) -> tuple[float, float]:
    """Return the median microseconds of a request with toolwire's client, and with aiohttp."""
    data = body(stream=stream)
    endpoint = find_endpoint("anthropic:m", {}, base_url=url, api_key="k")
    upstream = Upstream()
    headers = {
        "content-type": "application/json",
        "x-api-key": "k",
        "anthropic-version": "2023-06-01",
        "accept-encoding": "identity",
    }
    target = endpoint.url(stream=stream)

    async def ours() -> int:
        response = await upstream.post(endpoint, data, stream=stream)
        size = 0
        while piece := await response.read():
            size += len(piece)
        response.close()
        return size

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def theirs() -> int:
            size = 0
            async with session.post(target, data=data, headers=headers) as response:
                async for piece in response.content.iter_any():
                    size += len(piece)
            return size

        rounds: list[tuple[float, float]] = []
        many = REQUESTS[stream]
        for number in range(ROUNDS):
            if number % 2:
                rounds.append((await measure(ours, many), await measure(theirs, many)))
            else:
                second, first = await measure(theirs, many), await measure(ours, many)
                rounds.append((first, second))
    await upstream.close()
    return median(one for one, _ in rounds), median(other for _, other in rounds)


def client_page() -> list[str]:
    """Return the lines of the page."""
    lines = [
        (
            f"CPU time of the client per request, with {CONNECTIONS} connections to the same server,"
            " measured in turns."
        ),
        "",
        "| response | toolwire, µs | aiohttp, µs | aiohttp / toolwire |",
        "|---|---|---|---|",
    ]
    with (
        server("model_server.py") as started,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        for name, stream in (("whole", False), ("stream of 50 events", True)):
            ours, theirs = runner.run(compare(started.url, stream=stream))
            lines.append(f"| {name} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(client_page()))
