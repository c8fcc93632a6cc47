"""The tables about tools: calls that are recorded per second, and calls that are answered over HTTP
per second."""

from __future__ import annotations

import records
import records_pg
import tool_http
from marks import least


def ledger_page() -> list[str]:
    """The ledgers compared with one transaction per write."""
    lines = [
        "A call needs two durable writes: a claim before the tool runs, and a result of one kilobyte",
        "afterwards. The ledger commits the writes of concurrent callers together. × compares its calls",
        "per second with a transaction for each write, on the same disk: in SQLite one connection in a",
        f"thread and a bare table; in PostgreSQL {records_pg.POOL} connections, first the same ledger",
        "without batches, then a bare table without leases and fences. A single caller shares no commits.",
        "",
        (
            "| ledger | callers | calls/s | a transaction for each write, calls/s | × |"
            " CPU µs per call | limit |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for row in [*records.rows(), *records_pg.rows()]:
        has_limit = row.callers == records.CALLERS_WITH_LIMIT and row.ledger != records_pg.BARE
        limit = least(row.ratio, records.LIMIT) if has_limit else ""
        figures = f"{row.calls:.0f} | {row.plain:.0f} | {row.ratio:.1f} | {row.micros:.0f}"
        lines.append(f"| {row.ledger} | {row.callers} | {figures} | {limit} |")
    return lines


def tool_page() -> list[str]:
    """Calls over HTTP, compared with servers that record nothing."""
    lines = [
        "`POST /tools/call` for a tool that adds two numbers. Every call has a new id and is recorded in",
        "SQLite: two commits are on the disk before the caller gets the result. The same tool runs on a",
        "bare MCP server of the official SDK (stateless, JSON) and on FastAPI, which record nothing. Each",
        "server is one process under uvicorn with uvloop and httptools, the client is another, and the",
        "servers take turns. × is our requests per second divided by theirs. CPU time is that of the whole",
        "server, including the thread that writes. With one connection, a call does little but wait for",
        "the disk, twice.",
        "",
        (
            "| connections | requests/s | MCP | FastAPI | × MCP | × FastAPI | CPU µs per request, all"
            " three | median, p99 ms | limit |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    names = (tool_http.OURS, *tool_http.OTHERS)
    for connections, found in tool_http.rows().items():
        ratios = [found.ratio(tool_http.OURS, name) for name in tool_http.OTHERS]
        rates = " | ".join(f"{found.rate(name):.0f}" for name in names)
        times = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        cpu = ", ".join(f"{found.cpu[name]:.0f}" for name in names)
        waits = f"{found.median_ms(tool_http.OURS):.1f}, {found.p99_ms(tool_http.OURS):.1f}"
        limit = (
            least(min(ratios), tool_http.LIMIT)
            if connections == tool_http.CONNECTIONS_WITH_LIMIT
            else ""
        )
        lines.append(f"| {connections} | {rates} | {times} | {cpu} | {waits} | {limit} |")
    return lines
