"""The tables about the gateway: what passes it, what it remembers, what it holds."""

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
        "CPU time of the server process for one request, through the gateway as `toolwire gateway` runs",
        "it, but for the log, and through a bare pass-through (uvicorn as it comes in front, aiohttp",
        "behind, bytes in, bytes out; it reads nothing of a body, so it has one address for all models):",
        "one process each, neither logs requests, clients and model in processes of their own,",
        f"{gateway_cpu.CONNECTIONS} connections that send the next request at once, in turns; × is the median of the ratios",
        "of neighbouring turns. The model server speaks Anthropic. *Translated* requests come from a chat",
        "client, *same wire* requests from an Anthropic client. A stream has 50 events,",
        f"{gateway_cpu.EVENT_MS} ms apart, so that both servers read and write each of them on its own.",
        "",
        "What is sent: every request has one tool and a system prompt. A *new conversation* has texts",
        "and call ids that no other request has. A *new last question* follows a history that was sent",
        "before. *Same bytes* is one request again and again. Histories of more than one message repeat",
        "four: a question, a call, its result, an answer. Nothing is cached between requests.",
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
    """How long a response takes at a pace that both servers can keep."""
    lines = [
        "New conversations of five messages, to the last byte of the response. Both servers get the",
        f"same pace: {gateway_cpu.SHARE:.0%} of what the pass-through can do. A request that is due while its",
        "connection still waits is sent after it, and that wait counts. Needs a quiet machine.",
        "",
        (
            "| response | requests/s | gateway, median ms | pass-through, median ms | added ms |"
            " 99 % of both, ms | at most |"
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
    """Memory over very many requests."""
    found = gateway_memory.rows()
    first, warm = found[0]
    last, end = found[-1]
    growth = (
        f"{gateway_memory.GROWTH - 1:.0%} and {gateway_memory.SPARE:.0f} MB more than after the first"
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
        (
            "Chat streams through one process of the gateway to an Anthropic model that gives the"
            " first event and then says nothing"
        ),
        (
            f"for {found.seconds} s; meanwhile another client asks for {gateway_idle.PACE:.0f} whole"
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


def workers_page() -> list[str]:
    """Two processes behind one port."""
    found = gateway_workers.turns()
    return [
        (
            "`toolwire gateway --workers 2` against one process, whole answers on"
            f" {gateway_workers.CONNECTIONS} connections, in turns."
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
