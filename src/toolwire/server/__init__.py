"""Shared parts of all ASGI applications: bodies, hosts, authentication, limits, running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.server.asgi import App, BodyLimits
    from toolwire.server.auth import Auth
    from toolwire.server.limited_protocol import ConnectionLimits
    from toolwire.server.run import serve

__all__ = ["App", "Auth", "BodyLimits", "ConnectionLimits", "serve"]
_MODULES = {
    "toolwire.server.asgi": "App BodyLimits",
    "toolwire.server.auth": "Auth",
    "toolwire.server.limited_protocol": "ConnectionLimits",
    "toolwire.server.run": "serve",
}
"""Imported on first use: the parts need different packages."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
