"""Write docs/reference/clients.md: the results of each real client, from files of its tests.

`make clients` runs the tests and then this script. A client that was not run keeps its last files.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from clients_real.agents import AGENTS  # noqa: E402
from clients_real.harness import CLIENTS, RESULTS, UPSTREAMS, package_version  # noqa: E402
from clients_real.rows import NOTES, PACKAGES, TITLES  # noqa: E402
from clients_real.test_frameworks import COMPATIBLE, FRAMEWORKS  # noqa: E402
from mcp_conformance.test_conformance import NOT_SERVED, SCENARIOS, SUITE  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "clients.md"
TEXT = """\
<!-- written by scripts/clients_page.py (make clients); do not edit -->

# Real clients

For people who want to know whether their agent or framework works through the gateway, and with which version that was tried.

Each client is installed from its registry and knows only the address of the gateway. In the first turn it calls one tool
twice at once with different arguments, then a tool that fails, then (see the column) a tool that returns an image. In the
second turn, for which coding agents are started again and resume the conversation, it calls the first tool twice again. The upstream
is a strict mock, which refuses what the provider refuses. A conversation counts if nothing was refused, and if the upstream got the
text of every result with its call.

A cell shows how many conversations work, and how many there are: whole and streamed, where the client can do both.

"""
MCP_TEXT = f"""\
## Clients of `toolwire serve`

The same tools, served over MCP. Agents start the server themselves and call its tools through the gateway.

The conformance suite of MCP (`@modelcontextprotocol/conformance` {SUITE}) passes {SCENARIOS - len(NOT_SERVED)} of {SCENARIOS} scenarios.
The others are about subscriptions to resources, which a server of functions does not offer: nothing tells it that a value has changed.
`server-sse-polling` checks nothing: it asks as a client of a version before events could be resumed.
"""
IMAGES = {agent.client.name: agent.client.apis for agent in AGENTS if agent.view is not None} | {
    framework.client.name: framework.images for framework in FRAMEWORKS
}
"""The APIs on which a tool of a client returns an image."""
CLIENTS_BY_NAME = {entry.client.name: entry.client for entry in (*AGENTS, *FRAMEWORKS)}


def read_results() -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """The outcomes of the cells, by client, version and API."""
    found: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for file in sorted(RESULTS.glob("*.json")):
        row = json.loads(file.read_bytes())
        found[row["client"], row["version"], row["api"]].append(row)
    order = list(TITLES)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][2])))


def table(lines: list[list[str]]) -> str:
    """Rows of cells as a table; the first one is its head."""
    head, *rows = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def api_title(client: str, api: str) -> str:
    """The API of a row, and the package that speaks it if a client has several."""
    package = PACKAGES.get((client, api))
    if package is None:
        return f"`{api}`"
    version = package_version(CLIENTS_BY_NAME[client], package)
    return f"`{api.replace(COMPATIBLE, 'openai-chat')}`, `{package}` {version}"


def gateway_table(results: dict[tuple[str, str, str], list[dict[str, str]]]) -> str:
    """How many conversations work through the gateway."""
    lines = [["client", "version", "client API", "image", *(f"`{wire}`" for wire in UPSTREAMS)]]
    for (client, version, api), all_rows in results.items():
        rows = [row for row in all_rows if not row["form"].startswith("mcp")]
        if not rows:
            continue
        image = "yes" if api in IMAGES.get(client, ()) else "no"
        cells = [
            f"{sum(not row['problem'] for row in found)}/{len(found)}"
            for upstream in UPSTREAMS
            for found in [[row for row in rows if row["upstream"] == upstream]]
        ]
        lines.append([TITLES[client], version, api_title(client, api), image, *cells])
    return table(lines)


def mcp_table(results: dict[tuple[str, str, str], list[dict[str, str]]]) -> str:
    """Which clients call the tools of a server, and over which transport."""
    lines = [["client", "version", "transport", "works"]]
    for (client, version, _), rows in results.items():
        for row in rows:
            if row["form"].startswith("mcp-"):
                outcome = "no" if row["problem"] else "yes"
                lines.append([TITLES[client], version, row["form"].removeprefix("mcp-"), outcome])
    return table(lines)


def list_problems(results: dict[tuple[str, str, str], list[dict[str, str]]]) -> list[str]:
    """The scenarios that fail, and the clients that could not be installed."""
    problems = [
        f"- {TITLES[client]}, `{api}`, model of `{row['upstream']}`, {row['form']}: {row['problem']}"
        for (client, _, api), rows in results.items()
        for row in rows
        if row["problem"]
    ]
    reasons = [(name, CLIENTS / f"{name}.reason") for name in TITLES]
    return problems + [
        f"- {TITLES[name]} could not be installed: {' '.join(file.read_text().split())}"
        for name, file in reasons
        if file.exists() and file.read_text()
    ]


def page() -> str:
    """The whole page."""
    results = read_results()
    clients = {client for client, _, _ in results}
    notes = [f"- {TITLES[name]}: {note}" for name, note in NOTES.items() if name in clients]
    parts = [TEXT + gateway_table(results), "Notes:", "\n".join(notes)]
    parts += [MCP_TEXT + "\n" + mcp_table(results)]
    if problems := list_problems(results):
        parts += ["## What fails", "\n".join(problems)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
