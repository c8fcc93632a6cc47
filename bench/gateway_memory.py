"""The memory of the gateway after very many requests: it stores no conversations, so it must not
grow.

Most requests are turns of conversations that differ in every text, id, tool and length; among them
are streams, requests that the gateway or the model refuses, and clients that disconnect in the
middle of a stream.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice

import uvloop
from load import HELD, Shot, post_request, send_requests
from processes import server

CONNECTIONS = 16
STAGES = (10_000, 50_000, 100_000)
"""Requests after which memory is measured: when the gateway is warm, half way, and at the end."""
TURNS = 7
GROWTH, SPARE = 1.10, 5.0
"""The allowed growth since the gateway was warm: a factor, plus megabytes."""
LENGTHS = {50: 60_000, 5: 4_000, 1: 100}
"""Characters of the first result of every 50th, 5th and 1st conversation."""
_UNUSUAL = {50: "disconnects", 51: "disconnects", 52: "broken", 53: "unknown", 54: "refused"}
"""The requests of each hundred that fail or disconnect; every eighth of the others is a stream."""


def rows(stages: tuple[int, ...] = STAGES) -> list[tuple[int, float]]:
    """Measure at each stage: the requests so far, and the megabytes."""
    found = []
    with ExitStack() as stack:
        model = stack.enter_context(server("model_server.py"))
        gateway = stack.enter_context(server("gateway_servers.py", "gateway", model.url))
        coming = shots(gateway.port)
        so_far = 0
        for stage in stages:
            while so_far < stage:
                batch = list(islice(coming, min(stage - so_far, 2500)))
                uvloop.run(_send_batch(gateway.port, batch))
                so_far += len(batch)
            found.append((so_far, gateway.megabytes()))
            print(f"{so_far:,} requests, {found[-1][1]:.1f} MB", file=sys.stderr, flush=True)
    return found


async def _send_batch(port: int, batch: list[Shot]) -> None:
    await send_requests(port, batch, connections=CONNECTIONS)


def limit(warm: float) -> float:
    """The maximum number of megabytes at the end."""
    return warm * GROWTH + SPARE


def shots(port: int) -> Iterator[Shot]:
    """Yield requests without end, no two of them alike."""
    for n in count():
        unusual = _UNUSUAL.get(n % 100, "")
        stream = unusual == "disconnects" or n % 8 == 0
        body = conversation(n // TURNS, n % TURNS)
        body["model"] = {"unknown": "no-such-model", "refused": "refused"}.get(unusual, "m")
        body["stream"] = stream and unusual != "refused"
        raw = json.dumps(body).encode()
        data = post_request(
            port, "/v1/chat/completions", raw[:-9] if unusual == "broken" else raw, {}
        )
        status = {"broken": 400, "refused": 400, "unknown": 404}.get(unusual, 200)
        yield Shot(data, status, HELD if status == 200 else b"error", unusual == "disconnects")


def conversation(number: int, turn: int) -> dict[str, object]:
    """A conversation up to a turn; it contains the turns before."""
    name = f"look_up_{number}"
    messages: list[object] = [{"role": "system", "content": f"You are assistant number {number}."}]
    for n in range(turn):
        call = {"id": f"call_{number}_{n}", "type": "function"}
        text = f"This is turn {n} of conversation {number}. "
        length = (
            next(length for every, length in LENGTHS.items() if number % every == 0)
            if n == 0
            else len(text)
        )
        messages += [
            {"role": "user", "content": text * 3},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        **call,
                        "function": {
                            "name": name,
                            "arguments": json.dumps({"key": f"{number}/{n}"}),
                        },
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call["id"], "content": text * (length // len(text))},
            {"role": "assistant", "content": f"The answer to question {n} is {number * n}."},
        ]
    messages.append({"role": "user", "content": f"And what about {number}, {turn}?"})
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "description": f"A key of {number}."}},
        "required": ["key"],
    }
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"Look up in {number}.",
                "parameters": schema,
            },
        }
    ]
    return {"messages": messages, "tools": tools}


if __name__ == "__main__":
    share = int(sys.argv[1]) if len(sys.argv) > 1 else STAGES[-1]
    rows(tuple(stage * share // STAGES[-1] for stage in STAGES))
