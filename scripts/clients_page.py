"""Write docs/reference/clients.md: how each real client did, from the files that its tests leave.

`make clients` runs the tests and then this script. A client that was not run keeps its last files.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from clients_real.harness import RESULTS, UPSTREAMS  # noqa: E402
from clients_real.rows import NOTES, TITLES  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "clients.md"
TEXT = """\
<!-- written by scripts/clients_page.py (make clients); do not edit -->

# Real clients

For people who want to know whether their agent or framework works through the gateway, and with which version that was tried.

Each client is installed from its registry and is told nothing but the address of the gateway. It calls one tool twice at once with
different arguments, then a tool that fails. The upstream is a strict mock, which refuses what the provider refuses. A conversation
counts if nothing was refused, and if the upstream got the text of every result with its call. A tool that returns an image was also
called with Claude Code, Codex, Gemini CLI, opencode, Pydantic AI, LangChain, OpenAI Agents SDK (`openai-responses`) and Strands
Agents, except as the notes say; the others were not tried with images.

A cell shows how many conversations work, and how many there are: whole and streamed, where the client can do both.

"""


def read_results() -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """The outcomes of the cells, by client, version and API."""
    found: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for file in sorted(RESULTS.glob("*.json")):
        row = json.loads(file.read_bytes())
        found[row["client"], row["version"], row["api"]].append(row)
    return found


def page() -> str:
    """The whole page."""
    lines = [["client", "version", "client API", *(f"`{wire}`" for wire in UPSTREAMS)]]
    lines.append(["---"] * len(lines[0]))
    problems: list[str] = []
    results = read_results()
    order = list(TITLES)
    for client, version, api in sorted(results, key=lambda key: (order.index(key[0]), key[2])):
        cells = []
        for upstream in UPSTREAMS:
            rows = [row for row in results[client, version, api] if row["upstream"] == upstream]
            cells.append(f"{sum(not row['problem'] for row in rows)}/{len(rows)}")
            problems += [
                f"- {TITLES[client]}, `{api}`, model of `{upstream}`, {row['form']}: {row['problem']}"
                for row in rows
                if row["problem"]
            ]
        lines.append([TITLES[client], version, f"`{api}`", *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    clients = {client for client, _, _ in results}
    notes = [f"- {TITLES[name]}: {note}" for name, note in NOTES.items() if name in clients]
    parts = [TEXT + table, "Notes:", "\n".join(notes)]
    if problems:
        parts += ["What fails:", "\n".join(problems)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
