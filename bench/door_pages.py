"""The tables about the gateway: what passes it, what it remembers, what it holds."""

from __future__ import annotations

import door
import door_idle
import door_memory
import door_workers
from door import ADDED_MS, BARE, LIMIT, OURS, TUNED
from marks import Word, least, most
from processes import Turns


def passed() -> list[str]:
    """The gateway against a pass-through on the same stack."""
    many = door.CONNECTIONS
    lines = [
        (
            "A chat client asks an Anthropic model, through the gateway and through a bare"
            " pass-through (uvicorn as it comes in"
        ),
        (
            f"front, aiohttp behind, bytes in, bytes out): one process each, {many} connections, in"
            " turns. The model's server sends"
        ),
        (
            "each event of a stream in a write of its own, as models do; in a row without a mark it"
            " sends them all in one write."
        ),
        (
            "Beside it stands the ratio to the same pass-through on uvicorn as this project runs"
            " it, which is faster than it comes."
        ),
        (
            "At full load every connection asks again as soon as it is answered: this shows how"
            " much passes, and the median only"
        ),
        f"says it again ({many} divided by the rate).",
        "",
        (
            "| full load | gateway, requests/s | pass-through | ratio | to the faster one | CPU µs"
            " of all | median ms | at least |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    found = door.rows()
    for row in found:
        rates = f"{row.full.rate(OURS):.0f} | {row.full.rate(BARE):.0f}"
        ratio = row.full.ratio(OURS, BARE)
        faster = row.full.ratio(OURS, TUNED)
        cpu = ", ".join(f"{row.full.cpu[name]:.0f}" for name in (OURS, BARE, TUNED))
        waits = f"{row.full.median_ms(OURS):.1f}, {row.full.median_ms(BARE):.1f}"
        mark = least(ratio, LIMIT) if row.judged else ""
        lines.append(
            f"| {row.what} | {rates} | {ratio:.2f} | {faster:.2f} | {cpu} | {waits} | {mark} |"
        )
    lines += [
        "",
        (
            f"At an even pace the same {many} connections ask one after the other, both servers"
            f" equally often: {door.SHARE:.0%} of"
        ),
        (
            "what the pass-through can do. This shows how long an answer takes, to its last byte. A"
            " request that is due while its"
        ),
        "connection still waits for an answer is sent after it, and that wait is counted.",
        "",
        (
            "| even pace | requests/s | gateway, median ms | pass-through, median ms | added ms |"
            " 99 % of both, ms | at most |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        waits = f"{row.paced.median_ms(OURS):.2f} | {row.paced.median_ms(BARE):.2f}"
        slow = f"{row.paced.p99_ms(OURS):.1f}, {row.paced.p99_ms(BARE):.1f}"
        added = row.paced.added_ms(OURS, BARE)
        mark = most(added, ADDED_MS) if row.judged else ""
        lines.append(f"| {row.what} | {row.pace:.0f} | {waits} | {added:.2f} | {slow} | {mark} |")
    return lines


def remembered() -> list[str]:
    """Memory over very many requests."""
    found = door_memory.rows()
    first, warm = found[0]
    last, end = found[-1]
    growth = (
        f"{door_memory.GROWTH - 1:.0%} and {door_memory.SPARE:.0f} MB more than after the first"
        f" {first:,} requests"
    )
    lines = [
        (
            "One process of the gateway, chat to Anthropic: turns of conversations that differ in"
            " every text, id, tool and length,"
        ),
        (
            "one in eight as a stream; of each hundred requests two are left in mid-stream by their"
            " clients, and three are refused"
        ),
        f"by the gateway or by the model. At most {growth}.",
        "",
        "| requests | MB in memory | at most |",
        "|---|---|---|",
    ]
    for requests, held in found:
        limit = most(end, round(door_memory.limit(warm), 1)) if requests == last else ""
        lines.append(f"| {requests:,} | {held:.1f} | {limit} |")
    return lines


def held() -> list[str]:
    """Streams that are open and silent."""
    found = door_idle.held()
    cells = (
        f"{found.streams:,}",
        f"{found.opened:,} in {found.opening:.1f} s",
        f"{found.ended:,} in {found.ending:.1f} s",
        f"{found.kilobytes:.0f}",
        f"{found.before.median_ms:.1f}, {found.before.p99_ms:.1f}",
        f"{found.during.median_ms:.1f}, {found.during.p99_ms:.1f}",
        f"all {Word.OK if found.opened == found.ended == found.streams else Word.MISSED}",
    )
    return [
        (
            "Chat streams through one process of the gateway to an Anthropic model that gives the"
            " first event and then says nothing"
        ),
        (
            f"for {found.seconds} s; meanwhile another client asks for {door_idle.PACE:.0f} whole"
            " answers in a second, as before."
        ),
        "",
        (
            "| streams | began | came to a proper end | kB each | whole answers before: median, 99"
            " % ms | meanwhile | limit |"
        ),
        "|---|---|---|---|---|---|---|",
        f"| {' | '.join(cells)} |",
    ]


def shared() -> list[str]:
    """Two processes behind one port."""
    found = door_workers.turns()
    return [
        (
            "`toolwire gateway --workers 2` against one process, whole answers on"
            f" {door_workers.CONNECTIONS} connections, in turns."
        ),
        (
            "The client and the model's server run on the same machine and take their share of its"
            " cores."
        ),
        "",
        "| processes | requests/s | median, 99 % ms | × one |",
        "|---|---|---|---|",
        *(_processes(found, name) for name in found.rates),
    ]


def _processes(found: Turns, name: str) -> str:
    waits = f"{found.median_ms(name):.1f}, {found.p99_ms(name):.1f}"
    return f"| {name} | {found.rate(name):.0f} | {waits} | {found.ratio(name, '1'):.2f} |"
