"""The tables about tools: how many calls are recorded in a second, and how many are answered over
HTTP."""

from __future__ import annotations

import records
import records_pg
import tool_http
from marks import least


def ledger_page() -> list[str]:
    """The ledgers against one transaction for each write."""
    lines = [
        (
            "A call is two durable writes: claimed before the tool runs, ended with a kilobyte"
            " after it. × is by the calls in a"
        ),
        (
            "second of the same two writes as two transactions, on the same disk in the same run"
            " (SQLite: one connection in a"
        ),
        (
            f"thread and a bare table; PostgreSQL: {records_pg.POOL} connections, once the same"
            " ledger without batches, once a bare"
        ),
        ("table, which has neither leases nor fences). A single caller cannot share its commits."),
        "",
        (
            "| ledger | callers | calls/s | one transaction each, calls/s | × | CPU µs a call |"
            " limit |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for row in [*records.rows(), *records_pg.rows()]:
        judged = row.callers == records.JUDGED and row.ledger != records_pg.BARE
        limit = least(row.ratio, records.LIMIT) if judged else ""
        figures = f"{row.calls:.0f} | {row.plain:.0f} | {row.ratio:.1f} | {row.micros:.0f}"
        lines.append(f"| {row.ledger} | {row.callers} | {figures} | {limit} |")
    return lines


def tool_page() -> list[str]:
    """Calls over HTTP against servers that record nothing."""
    lines = [
        (
            "`POST /tools/call` of a tool that adds two numbers, every call under a new id and"
            " recorded in SQLite (two commits"
        ),
        (
            "that are on the disk before the caller gets the result), against the same tool on a bare MCP"
            " server of the official SDK"
        ),
        (
            "(stateless, JSON) and on FastAPI, which record nothing. One process each under uvicorn"
            " with uvloop and httptools, the"
        ),
        (
            "client in another; they take turns. × is our requests in a second by theirs. The CPU"
            " time is of the whole server, with"
        ),
        (
            "the thread that writes. One connection alone waits for the disk twice in every call,"
            " and does little else."
        ),
        "",
        (
            "| connections | requests/s | MCP | FastAPI | × MCP | × FastAPI | CPU µs of the three |"
            " ms: median, 99 % | limit |"
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
        limit = least(min(ratios), tool_http.LIMIT) if connections == tool_http.JUDGED else ""
        lines.append(f"| {connections} | {rates} | {times} | {cpu} | {waits} | {limit} |")
    return lines
