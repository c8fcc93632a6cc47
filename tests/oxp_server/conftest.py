"""One server for the tests of a module that need no special configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oxp_server.serving import RunningServer, serving
from oxp_server.toolkit import tools


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with all tools and a durable ledger, without authentication."""
    with serving(tools(), tmp_path_factory.mktemp("ledger")) as where:
        yield where
