"""Every client API against every upstream: official clients over loopback, strict mocks behind the
gateway.

The cells are in `cells.py`; `docs/reference/gateway-matrix.md` is generated from them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cases import DEEP
from gateway.cells import ALL_CLIENTS, SCENARIOS, assert_page, embeddings, pages, ways
from gateway.serving import CLIENT_APIS, UPSTREAMS, Gateways

ROOT = Path(__file__).parents[2]


def some(api: str, scenario: str) -> list[str]:
    """All upstreams in a deep run; otherwise three of them, different ones for each scenario, so
    that every upstream is tried."""
    names = list(UPSTREAMS)
    first = list(ALL_CLIENTS).index(api) + 3 * list(SCENARIOS).index(scenario)
    return names if DEEP else [names[(first + n) % len(names)] for n in range(3)]


def test_every_cell_is_tried_also_when_there_is_little_time() -> None:
    tried = {
        (api, upstream)
        for api in ALL_CLIENTS
        for scenario in SCENARIOS
        for upstream in some(api, scenario)
    }
    assert len(tried) == len(ALL_CLIENTS) * len(UPSTREAMS)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("api", ALL_CLIENTS)
def test_an_official_client_works_with_every_upstream(
    gateways: Gateways, api: str, scenario: str
) -> None:
    for upstream in some(api, scenario):
        for stream in ways(api, scenario):
            SCENARIOS[scenario](gateways, api, upstream, stream)


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "aborts"])
def test_a_page_with_use_chat_works_with_every_upstream(gateways: Gateways, scenario: str) -> None:
    for upstream, chat in pages(gateways, scenario).items():
        assert_page(gateways, upstream, scenario, chat)


def test_a_closed_page_stops_every_upstream(gateways: Gateways) -> None:
    for upstream in UPSTREAMS:
        SCENARIOS["aborts"](gateways, "ai-sdk", upstream, True)


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_embeddings_reach_an_upstream_or_are_refused_with_its_name(upstream: str) -> None:
    embeddings(upstream)


@pytest.mark.skipif(not DEEP, reason="runs the whole matrix again (make deep)")
def test_the_page_of_the_matrix_is_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/gateway_matrix.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_the_matrix_has_eleven_client_apis_and_nine_upstreams() -> None:
    assert (len(CLIENT_APIS), len(UPSTREAMS), len(SCENARIOS)) == (11, 9, 6)
