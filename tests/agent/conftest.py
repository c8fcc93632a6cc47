"""One server for all tests of the agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agent.mock_server import MockServer


@pytest.fixture(scope="session")
def mock_server() -> Iterator[MockServer]:
    """The server of all mocks."""
    with MockServer.serve() as mock_server:
        yield mock_server
