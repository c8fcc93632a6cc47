"""One address in front of all models, for the clients of every API.

from toolwire.gateway import Gateway

app = Gateway.from_config("gateway.toml")  # an ASGI application
"""

from toolwire.gateway.app import Gateway
from toolwire.gateway.observe.observer import Observer
from toolwire.gateway.observe.recorder import Recorder
from toolwire.gateway.tools.gateway_tools import GatewayTools

__all__ = ["Gateway", "GatewayTools", "Observer", "Recorder"]
