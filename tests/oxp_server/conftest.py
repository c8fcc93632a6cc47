"""One server for all tests of a module that need nothing special of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oxp_server.serving import RunningServer, serving
from oxp_server.toolkit import tools


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """All tools, a durable record, no authentication."""
    with serving(tools(), tmp_path_factory.mktemp("ledger")) as where:
        yield where
