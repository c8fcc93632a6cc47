"""One address in front of all models, for the clients of every API.

from toolwire.gateway import Gateway

app = Gateway.from_config("gateway.toml")  # an ASGI application
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.gateway.app import Gateway
    from toolwire.gateway.observe.observer import Observer
    from toolwire.gateway.observe.recorder import Recorder
    from toolwire.gateway.tools.gateway_tools import GatewayTools

__all__ = ["Gateway", "GatewayTools", "Observer", "Recorder"]
_MODULES = {
    "toolwire.gateway.app": "Gateway",
    "toolwire.gateway.observe.observer": "Observer",
    "toolwire.gateway.observe.recorder": "Recorder",
    "toolwire.gateway.tools.gateway_tools": "GatewayTools",
}
"""Imported on first use: if the extra `server` is missing, the error names it."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
