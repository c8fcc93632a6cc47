"""How many requests pass the gateway from a chat client to an Anthropic model, against a bare
pass-through in the same run.

All stand on the same stack, in front of the same server, under the same client, and take turns.
First every connection asks again at once, which shows how much passes; then they are asked at one
pace that leaves them time, which shows how long it takes. The pass-through runs on uvicorn as it
comes, and once more on uvicorn as this project runs it, which is faster.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

from load import Order
from msgspec import Struct
from processes import Client, Server, Turns, client, in_turns, server

CONNECTIONS = 16
LIMIT = 0.75
"""Of the pass-through's requests in a second."""
ADDED_MS = 1.0
"""What the gateway may add to the median of an answer."""
SHARE = 0.5
"""Of the most that the pass-through can do: the pace at which both are asked."""
OURS, BARE, TUNED = "gateway", "bare", "tuned"
KINDS = (
    ("whole answers", "whole", "m", 2400),
    ("streams of 50 events, one by one", "stream", "m", 480),
    ("streams of 50 events at once", "stream", "once", 800),
)
"""What is asked for, how, of which model, and how often in a round."""
JUDGED = ("whole", "m"), ("stream", "m")
"""What the marks hold for: no model sends a stream at once."""


class Row(Struct, frozen=True):
    """The same requests to both, as fast as they can, and at the same pace."""

    what: str
    judged: bool
    full: Turns
    pace: float
    paced: Turns


def rows(rounds: int = 9) -> list[Row]:
    """Whole answers, streams that come event by event, and streams that come all at once."""
    with ExitStack() as stack:
        model = stack.enter_context(server("model_server.py"))
        servers = {
            name: stack.enter_context(server("door_servers.py", name, model.url))
            for name in (OURS, BARE, TUNED)
        }
        load = stack.enter_context(client())
        return [_row(load, servers, rounds, *kind) for kind in KINDS]


def _row(
    load: Client,
    servers: dict[str, Server],
    rounds: int,
    what: str,
    kind: str,
    model: str,
    many: int,
) -> Row:
    def orders(requests: int, pace: float = 0.0) -> dict[str, Order]:
        return {
            name: Order(kind, one.port, CONNECTIONS, requests, pace, model)
            for name, one in servers.items()
        }

    in_turns(load, servers, orders(many // 4), 1)
    full = in_turns(load, servers, orders(many), rounds)
    pace = full.rate(BARE) * SHARE
    return Row(
        what,
        (kind, model) in JUDGED,
        full,
        pace,
        in_turns(load, servers, orders(many, pace), rounds),
    )


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 9):
        print(row)
