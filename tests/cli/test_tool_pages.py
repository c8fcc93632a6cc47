"""The pages about tools: their diagram matches the table of moves, and their tables match the
responses."""

from __future__ import annotations

import re
from typing import get_args, get_type_hints

import pytest
from cli.shell import ROOT

from toolwire.execution.ledger.base import MOVES, Failure, Outcome
from toolwire.execution.tool_call import ToolCallResult
from toolwire.mcp import protocol as mcp
from toolwire.mcp import results
from toolwire.oxp import protocol as oxp
from toolwire.server.asgi import BodyLimits
from toolwire.server.run import ConnectionLimits

PAGES = ["docs/how-to/tools.md", "docs/reference/server.md", "docs/explanation/guarantees.md"]
GUARANTEES = (ROOT / "docs/explanation/guarantees.md").read_text()
LINK = re.compile(r"\]\(([^)#:]+)\)")
ANSWERS = {
    "done": ToolCallResult(state="done", call_id="c", outcome=Outcome(1)),
    "failed": ToolCallResult(state="failed", call_id="c", outcome=Outcome(None, Failure("no"))),
    **{
        state: ToolCallResult(state=state, call_id="c")
        for state in ("running", "lost", "gone", "mismatch", "unavailable", "too-old")
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    links = LINK.findall((ROOT / page).read_text())
    assert (
        links and [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
    )


def test_the_page_lists_and_draws_every_move_of_a_record() -> None:
    table = GUARANTEES.split("<!-- moves -->\n")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip(" `") for cell in line.split("|")] for line in table]
    moves = [(old or "", event, new or "") for (old, event), new in MOVES.items()]
    assert [(row[1], row[2], row[3]) for row in cells] == moves
    picture = (ROOT / "docs" / "images" / "ledger.svg").read_text()
    drawn = re.findall(r'data-move="(\S+) (\S+) (\S+)"', picture)
    assert sorted(drawn) == sorted(
        (old or "start", event, new or "end") for old, event, new in moves
    )


def rows() -> dict[str, list[str]]:
    """The cells of each state in the table of the page."""
    table = GUARANTEES.split("<!-- states -->\n")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {first.strip("`"): rest for first, *rest in cells}


def test_the_table_has_every_state_of_an_answer() -> None:
    assert set(rows()) == set(get_args(get_type_hints(ToolCallResult)["state"])) == set(ANSWERS)


@pytest.mark.parametrize("state", ANSWERS)
def test_the_table_says_what_oxp_answers(state: str) -> None:
    told, reply = rows()[state][1], oxp.call_response(ANSWERS[state])
    assert told.startswith(str(reply.status))
    assert ("X-Should-Retry: true" in told) == ((b"x-should-retry", b"true") in reply.headers)
    error = reply.body.get("error")
    assert ("success: false" in told) == (reply.body.get("success") is False)
    if isinstance(error, dict):
        assert f"can_retry: {str(error['can_retry']).lower()}" in told
        assert f"kind `{error['kind']}`" in told if "kind" in error else "kind" not in told


@pytest.mark.parametrize("state", ANSWERS)
def test_the_table_says_what_mcp_answers(state: str) -> None:
    told = rows()[state][2]
    try:
        meta = results.write_result(ANSWERS[state])["_meta"]
    except mcp.McpRejection as refused:
        assert f"`{refused.kind}`" in told and str(-refused.code) in told
        return
    assert isinstance(meta, dict)
    error = meta.get("toolwire/error")
    assert ("isError" in told) == isinstance(error, dict)
    if isinstance(error, dict):
        assert f"`{error['kind']}`" in told
        assert "can_retry: true" not in told or error["can_retry"] is True


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    page = (ROOT / "docs/reference/server.md").read_text()
    limits, bounds = BodyLimits(), ConnectionLimits()
    assert f"| a body | {limits.body >> 20} MiB, within {limits.seconds:.0f} s |" in page
    assert f"| all incoming bodies together | {limits.buffered >> 20} MiB |" in page
    assert f"| calls at once | {limits.calls:,} |" in page
    assert f"| connections | {bounds.connections:,} |" in page
    assert f"| the header of a request | {bounds.head >> 10} KiB |" in page
    assert f"| calls in progress when the server stops | {bounds.grace} s |" in page
