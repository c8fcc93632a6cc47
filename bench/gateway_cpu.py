"""CPU time and latency of a request through the gateway, against a bare pass-through in the same run.

All servers use the same model server, get the load of the same client, and take turns. The measure
is the CPU time of the server process per request: unlike requests per second, it depends little on
the load of the machine. The name of a row says what is sent: new conversations, new questions after
a known history, or the same bytes again.

The events of a stream are some milliseconds apart. Otherwise a busy or slower server would read
several at once, and would need fewer reads and writes than the other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product

from gateway_traffic import Traffic
from load import Order
from msgspec import Struct
from processes import Client, Server, Turns, client, in_turns, server
from progress import report

CONNECTIONS = 16
EVENT_MS = 2
"""Milliseconds between two events of a stream."""
ROUNDS_OF_TURNS = 9
REQUESTS = {False: 400, True: 32}
"""Requests of a turn: whole responses, and streams. A stream lasts a tenth of a second, most of
which both servers wait. In turns three times as long, the ratios of neighbouring turns differ more,
because the machine changes in between."""
OURS, BARE = "gateway", "bare"
TRAFFIC: tuple[Traffic, ...] = ("new conversation", "new last question", "same bytes")
ROUNDS = {0: "1", 1: "5", 15: "61"}
"""Rounds of four messages before the question, and the resulting number of messages."""
MARKS = {"translated whole": 1.6, "same wire": 1.4, "translated stream": 1.6}
"""The maximum CPU time of the gateway, in multiples of the pass-through's, for new conversations of
one and of five messages."""
ROUNDS_WITH_LIMIT = (0, 1)
SHARE = 0.5
"""The pace of the latency table, as a share of the maximum rate of the pass-through."""
ADDED_MS = 1.0
"""Milliseconds that the gateway may add to the median latency."""


class Row(Struct, frozen=True):
    """The same kind of request to both servers, at full load."""

    same_wire: bool
    stream: bool
    rounds: int
    traffic: Traffic
    turns: Turns

    @property
    def cpu_ratio(self) -> float:
        """CPU time of the gateway, in multiples of the pass-through's."""
        return self.turns.cpu_ratio(OURS, BARE)

    @property
    def mark(self) -> float | None:
        """The limit of the ratio, if this row has one."""
        if self.traffic != "new conversation" or self.rounds not in ROUNDS_WITH_LIMIT:
            return None
        if self.same_wire:
            return MARKS["same wire"]
        return MARKS["translated stream" if self.stream else "translated whole"]


class PacedRow(Struct, frozen=True):
    """The same requests to both servers at the same pace."""

    what: str
    pace: float
    turns: Turns


def rows(rounds: int = ROUNDS_OF_TURNS, share: float = 1.0) -> list[Row]:
    """Every combination of wire, kind of response, length of history and traffic."""
    found: list[Row] = []
    with ExitStack() as stack:
        servers = _servers(stack, str(EVENT_MS))
        load = stack.enter_context(client())
        cases = list(product((False, True), (False, True), ROUNDS, TRAFFIC))
        for number, (same_wire, stream, before, traffic) in enumerate(cases, 1):
            row = _row(
                load,
                servers,
                rounds,
                requests=max(int(share * REQUESTS[stream]), CONNECTIONS),
                same_wire=same_wire,
                stream=stream,
                before=before,
                traffic=traffic,
            )
            report(f"{number} of {len(cases)}: {line(row)}")
            found.append(row)
    return found


def latency_rows(rounds: int = 5) -> list[PacedRow]:
    """New conversations at half of the maximum rate of the pass-through."""
    found: list[PacedRow] = []
    with ExitStack() as stack:
        servers = _servers(stack)
        load = stack.enter_context(client())
        for what, kind, many in (("whole", "whole", 1600), ("streams of 50 events", "stream", 480)):

            def orders(
                pace: float = 0.0, *, kind: str = kind, many: int = many
            ) -> dict[str, Order]:
                return {
                    name: Order(kind, one.port, CONNECTIONS, many, pace)
                    for name, one in servers.items()
                }

            in_turns(load, servers, orders(), 1)
            pace = in_turns(load, servers, orders(), 3).rate(BARE) * SHARE
            found.append(PacedRow(what, pace, in_turns(load, servers, orders(pace), rounds)))
    return found


def _servers(stack: ExitStack, *model_arguments: str) -> dict[str, Server]:
    model = stack.enter_context(server("model_server.py", *model_arguments))
    return {
        name: stack.enter_context(server("gateway_servers.py", name, model.url))
        for name in (OURS, BARE)
    }


def _row(
    load: Client,
    servers: dict[str, Server],
    rounds: int,
    *,
    requests: int,
    same_wire: bool,
    stream: bool,
    before: int,
    traffic: Traffic,
) -> Row:
    def orders(many: int) -> dict[str, Order]:
        return {
            name: Order(
                "stream" if stream else "whole",
                one.port,
                CONNECTIONS,
                many,
                wire="anthropic" if same_wire else "openai-chat",
                traffic=traffic,
                rounds=before,
            )
            for name, one in servers.items()
        }

    in_turns(load, servers, orders(max(requests // 4, CONNECTIONS)), 1)
    turns = in_turns(load, servers, orders(requests), rounds)
    return Row(same_wire, stream, before, traffic, turns)


def line(row: Row) -> str:
    """A row of the table."""
    wires = "same wire" if row.same_wire else "translated"
    kind = "stream" if row.stream else "whole"
    cpu = f"{row.turns.cpu[OURS]:.0f} | {row.turns.cpu[BARE]:.0f} | {row.cpu_ratio:.2f}"
    return f"| {wires} | {kind} | {ROUNDS[row.rounds]} | {row.traffic} | {cpu} |"


def describe_pieces(found: Sequence[Row]) -> str:
    """In how many pieces the streams passed both servers; rows with different numbers cannot be
    compared."""
    counts = [
        [round(row.turns.pieces(name)) for row in found if row.stream] for name in (OURS, BARE)
    ]
    ours, bare = ("–".join(map(str, sorted({min(each), max(each)}))) for each in counts)
    return f"A stream passed the gateway in {ours} pieces, and the pass-through in {bare}."


if __name__ == "__main__":
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS_OF_TURNS
    measured = rows(turns, float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
    print(*map(line, measured), describe_pieces(measured), sep="\n")
