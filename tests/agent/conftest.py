"""One server for all tests of the agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agent.house import House


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    """Where mocks are made."""
    with House.opened() as house:
        yield house
