"""Strict mocks of providers' servers, and the offline model that answers in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.mock.mock_server import MockServer
    from toolwire.mock.server import MockRequest, app

__all__ = ["MockRequest", "MockServer", "app"]
_MODULES = {"toolwire.mock.mock_server": "MockServer", "toolwire.mock.server": "MockRequest app"}
"""Imported on first use: if the extra `server` is missing, the error names it."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
