"""The tables about the gateway: CPU time, latency, memory, idle streams, workers."""

from __future__ import annotations

import gateway_cpu
import gateway_idle
import gateway_memory
import gateway_workers
from gateway_cpu import ADDED_MS, BARE, OURS
from marks import Word, most
from processes import Turns


def cpu_page() -> list[str]:
    """The gateway against a pass-through on the same stack."""
    lines = [
        "CPU time of the server process per request: of the gateway as `toolwire gateway` runs it, and of",
        "a bare pass-through (plain uvicorn in front, aiohttp behind). The pass-through copies bytes and",
        "does not read bodies, so it can serve only one address for all models. Each is one process and",
        f"logs no requests; clients and model run in separate processes. {gateway_cpu.CONNECTIONS} connections send the next",
        "request as soon as they have a response, and the two servers take turns; × is the median of the",
        "ratios of neighbouring turns. The model server has Anthropic's API. *Translated* requests come",
        "from a chat client, *same wire* requests from an Anthropic client. A stream has 50 events,",
        f"{gateway_cpu.EVENT_MS} ms apart, so that both servers read and write each of them separately.",
        "",
        "Every request has one tool and a system prompt. A *new conversation* has texts and call ids that",
        "no other request has. A *new last question* follows a history that was sent before. *Same bytes*",
        "repeats one request. Longer histories repeat four messages: a question, a call, its result, an",
        "answer. Nothing is cached between requests.",
        "",
        "| wires | response | messages | traffic | gateway, CPU µs | pass-through | × | at most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = gateway_cpu.rows()
    for row in rows:
        mark = "" if row.mark is None else most(row.cpu_ratio, row.mark)
        lines.append(f"{gateway_cpu.line(row)} {mark} |")
    return [*lines, "", gateway_cpu.describe_pieces(rows)]


def latency_page() -> list[str]:
    """The latency of responses at a pace that both servers can keep."""
    lines = [
        "New conversations of five messages, timed to the last byte of the response. Both servers get",
        f"requests at the same rate: {gateway_cpu.SHARE:.0%} of what the pass-through can handle. If a request is due while",
        "its connection is busy, it is sent afterwards, and the wait counts. Needs a quiet machine.",
        "",
        (
            "| response | requests/s | gateway, median ms | pass-through, median ms | added ms |"
            " p99 of both, ms | at most |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for paced in gateway_cpu.latency_rows():
        turns = paced.turns
        medians = f"{turns.median_ms(OURS):.2f} | {turns.median_ms(BARE):.2f}"
        slow = f"{turns.p99_ms(OURS):.1f}, {turns.p99_ms(BARE):.1f}"
        added = turns.extra_ms(OURS, BARE)
        lines.append(
            f"| {paced.what} | {paced.pace:.0f} | {medians} | {added:.2f} | {slow} |"
            f" {most(added, ADDED_MS)} |"
        )
    return lines


def memory_page() -> list[str]:
    """The memory of the gateway over very many requests."""
    found = gateway_memory.rows()
    first, warm = found[0]
    last, end = found[-1]
    growth = (
        f"{gateway_memory.GROWTH - 1:.0%} and {gateway_memory.SPARE:.0f} MB more than after the first"
        f" {first:,} requests"
    )
    lines = [
        "One gateway process translates chat requests for an Anthropic model: turns of conversations with",
        "different texts, ids, tools and lengths. One response in eight is a stream. Of every hundred",
        "requests, two clients disconnect in mid-stream, and the gateway or the model refuses three. The",
        f"limit is {growth}.",
        "",
        "| requests | MB in memory | at most |",
        "|---|---|---|",
    ]
    for requests, megabytes in found:
        limit = most(end, round(gateway_memory.limit(warm), 1)) if requests == last else ""
        lines.append(f"| {requests:,} | {megabytes:.1f} | {limit} |")
    return lines


def idle_page() -> list[str]:
    """Streams that are open and silent."""
    found = gateway_idle.hold_streams()
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
        "Chat streams through one gateway process to an Anthropic model that sends the first event and",
        f"then nothing for {found.seconds} s. Before and during that time, another client requests {gateway_idle.PACE:.0f} whole",
        "responses per second.",
        "",
        (
            "| streams | started | completed | kB each | whole responses before: median, p99 ms"
            " | during | limit |"
        ),
        "|---|---|---|---|---|---|---|",
        f"| {' | '.join(cells)} |",
    ]


def workers_page() -> list[str]:
    """The rate of two processes behind one port."""
    found = gateway_workers.turns()
    return [
        "`toolwire gateway --workers 2` compared with one process: whole responses on",
        f"{gateway_workers.CONNECTIONS} connections, in turns. The client and the model server run on the same machine and use",
        "part of its cores.",
        "",
        "| processes | requests/s | median, p99 ms | × one process |",
        "|---|---|---|---|",
        *(_processes(found, name) for name in found.rates),
    ]


def _processes(found: Turns, name: str) -> str:
    waits = f"{found.median_ms(name):.1f}, {found.p99_ms(name):.1f}"
    return f"| {name} | {found.rate(name):.0f} | {waits} | {found.ratio(name, '1'):.2f} |"
