"""Mocks of providers, to test your own programs.

    with MockServer("anthropic") as server:
        client = anthropic.Anthropic(base_url=server.base_url, api_key=server.api_key)
        ...
        assert server.requests[-1].status == 200

In pytest they are the fixture `toolwire_mock`. A mock refuses what its provider refuses, with the
provider's error text; docs/reference/mock.md describes its responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.mock.mock_server import MockServer
    from toolwire.mock.server import MockRequest

__all__ = ["MockRequest", "MockServer"]
_MODULES = {"toolwire.mock.mock_server": "MockServer", "toolwire.mock.server": "MockRequest"}
"""Imported on first use: if the extra `server` is missing, the error names it."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
