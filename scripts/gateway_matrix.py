"""Write docs/reference/gateway-matrix.md: every client API of the gateway against every upstream.

Official clients try every cell over loopback, and the page lists the failures. With --check, nothing
is tried or written: the script fails unless the page is the one on which every cell works, which the
tests of the cells assert.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from gateway.cells import (  # noqa: E402
    ALL_CLIENTS,
    NO_EMBEDDINGS,
    SCENARIOS,
    assert_page,
    embeddings,
    pages,
    ways,
)
from gateway.serving import CLIENT_APIS, UPSTREAMS, Gateways, serve_gateways  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "gateway-matrix.md"
CLIENT = {
    "openai-chat": "`openai` (chat)",
    "openai-responses": "`openai` (responses)",
    "anthropic": "`anthropic`",
    "gemini": "`google-genai`",
    "gemini-interactions": "`google-genai` (interactions)",
    "bedrock": "`boto3` (converse)",
    "mistral": "`mistralai`",
    "cohere": "`cohere`",
    "ollama": "`ollama`",
    "ai-sdk": "npm `ai` (`useChat`)",
    "openai-responses over WebSocket": "`openai` (responses over WebSocket)",
}
EMBEDDINGS = "embeddings"
TEXT = """\
<!-- written by scripts/gateway_matrix.py; do not edit -->

# Every client to every model

For people who want to know what a client gets from a model of another API, feature by feature.

Each row is a client API of the gateway with its official client, each column the wire of the model: a strict mock, which refuses
what the provider refuses. A cell shows how many scenarios work, and how many there are, whole and streamed (pages and WebSockets only
stream). The last row is one scenario: embeddings are passed to a scripted upstream, and a dash marks an upstream without them.

"""


def says(scenario: str) -> str:
    """The description of a scenario."""
    return (SCENARIOS[scenario].__doc__ or "").partition("\n")[0]


def page(holds: Callable[[str, str, str, bool], str | None]) -> str:
    """The whole page. `holds` returns why a cell fails; None if it works."""
    lines = [["client", *(f"`{name}`" for name in UPSTREAMS)], ["---"] * (len(UPSTREAMS) + 1)]
    missing: list[str] = []
    for api in CLIENT_APIS:
        cells = [CLIENT[api]]
        for upstream in UPSTREAMS:
            trials = [(name, stream) for name in SCENARIOS for stream in ways(api, name)]
            wrong = [
                (name, stream, why)
                for name, stream in trials
                if (why := holds(api, upstream, name, stream)) is not None
            ]
            missing += [
                f"- {api} to {upstream}, {name}{' streamed' * stream}: {why}"
                for name, stream, why in wrong
            ]
            cells.append(f"{len(trials) - len(wrong)}/{len(trials)}")
        lines.append(cells)
    lines.append(embeddings_row(holds, missing))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    about = "\n".join(f"- **{name}**: {says(name)}" for name in SCENARIOS)
    left = "\n".join([*(missing or ["- No scenario fails."]), *ABSENT])
    return f"{TEXT}{about}\n\n{table}\n\n## What is missing\n\n{left}\n\n{LIMITS}\n"


ABSENT = [f"- embeddings to {upstream}: {why}" for upstream, why in NO_EMBEDDINGS.items()]
LIMITS = """\
These scenarios are short conversations with mocks: no long histories, no results with errors or images, no tools that a provider runs.
[Real clients](clients.md) shows what works with agents and frameworks and what does not, [Answers](answers.md#what-is-missing) what
answers lack, and [Design](../explanation/design.md#known-gaps) what translations cannot do."""


def embeddings_row(
    holds: Callable[[str, str, str, bool], str | None], missing: list[str]
) -> list[str]:
    """The row of embeddings."""
    cells = ["`openai` (embeddings)"]
    for upstream in UPSTREAMS:
        why = holds(EMBEDDINGS, upstream, EMBEDDINGS, False)
        if why is not None:
            missing.append(f"- embeddings to {upstream}: {why}")
        works = "–" if upstream in NO_EMBEDDINGS else "1/1"
        cells.append(works if why is None else "0/1")
    return cells


def cell_runner(gateways: Gateways) -> Callable[[str, str, str, bool], str | None]:
    """A function that tries a cell."""
    chats = {name: pages(gateways, name) for name in SCENARIOS if name != "aborts"}

    def holds(api: str, upstream: str, scenario: str, stream: bool) -> str | None:
        try:
            if api == EMBEDDINGS:
                embeddings(upstream)
            elif api in ALL_CLIENTS or scenario == "aborts":
                SCENARIOS[scenario](gateways, api, upstream, stream)
            else:
                assert_page(gateways, upstream, scenario, chats[scenario][upstream])
        except Exception as error:  # whatever a client raises is what is wrong
            return f"{type(error).__name__}: {str(error)[:200]}"
        return None

    return holds


def main() -> int:
    """Write the page, or check it."""
    if "--check" in sys.argv:
        stale = not PAGE.is_file() or PAGE.read_text() != page(lambda *cell: None)
        if stale:
            print(
                "docs/reference/gateway-matrix.md is stale: run python scripts/gateway_matrix.py",
                file=sys.stderr,
            )
        return int(stale)
    with serve_gateways() as gateways:
        PAGE.write_text(page(cell_runner(gateways)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
