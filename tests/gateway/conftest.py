"""One gateway for every upstream, as long as the tests of this folder run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gateway.serving import Gateways, serve_gateways


@pytest.fixture(scope="session")
def gateways() -> Iterator[Gateways]:
    """All upstreams, each behind a gateway."""
    with serve_gateways() as found:
        yield found
