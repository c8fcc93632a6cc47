"""The pytest plugin of toolwire: the fixture `toolwire_mock`.

    def test_my_agent(toolwire_mock):
        server = toolwire_mock("anthropic")
        run_my_agent(base_url=server.base_url, api_key=server.api_key)
        assert server.requests[-1].status == 200

pytest imports this module at every start, so toolwire itself is imported by the first test that
uses the fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from toolwire.testing import MockServer


@pytest.fixture
def toolwire_mock() -> Iterator[Callable[..., MockServer]]:
    """Start strict mocks of providers: `toolwire_mock(provider="openai", strict=True)`."""
    from toolwire.testing import MockServer

    with ExitStack() as stack:

        def start(provider: str = "openai", *, strict: bool = True) -> MockServer:
            return stack.enter_context(MockServer(provider, strict=strict))

        yield start
