"""One gateway for every upstream, as long as the tests of this folder run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gateway.serving import Doors, doors


@pytest.fixture(scope="session")
def door() -> Iterator[Doors]:
    """All upstreams, each behind a gateway."""
    with doors() as found:
        yield found
