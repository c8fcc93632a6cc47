"""Every client API against every upstream: official clients over loopback, strict mocks behind the
gateway.

The cells and what each owes stand in `cells.py`; `docs/gateway-matrix.md` is printed from them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cases import DEEP
from gateway.cells import SCENARIOS, paged, pages, ways
from gateway.clients import CLIENTS
from gateway.serving import FRONTS, UPSTREAMS, Doors

ROOT = Path(__file__).parents[2]


def some(api: str, scenario: str) -> list[str]:
    """All upstreams when there is time; else three of them, others for each scenario, so that no
    cell goes without."""
    names = list(UPSTREAMS)
    first = list(CLIENTS).index(api) + 3 * list(SCENARIOS).index(scenario)
    return names if DEEP else [names[(first + n) % len(names)] for n in range(3)]


def test_every_cell_is_tried_also_when_there_is_little_time() -> None:
    tried = {
        (api, upstream)
        for api in CLIENTS
        for scenario in SCENARIOS
        for upstream in some(api, scenario)
    }
    assert len(tried) == len(CLIENTS) * len(UPSTREAMS)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("api", CLIENTS)
def test_an_official_client_of_a_api_wire_gets_what_it_should_from_every_upstream(
    door: Doors, api: str, scenario: str
) -> None:
    for upstream in some(api, scenario):
        for stream in ways(api, scenario):
            SCENARIOS[scenario](door, api, upstream, stream)


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "aborts"])
def test_a_page_with_use_chat_gets_what_it_should_from_every_upstream(
    door: Doors, scenario: str
) -> None:
    for upstream, chat in pages(door, scenario).items():
        paged(door, upstream, scenario, chat)


def test_a_page_that_leaves_stops_every_upstream(door: Doors) -> None:
    for upstream in UPSTREAMS:
        SCENARIOS["aborts"](door, "ai-sdk", upstream, True)


def test_the_page_of_the_matrix_is_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/gateway_matrix.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_the_matrix_has_six_fronts_and_eight_upstreams() -> None:
    assert (len(FRONTS), len(UPSTREAMS), len(SCENARIOS)) == (6, 8, 6)
