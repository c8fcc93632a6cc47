"""The store that a configuration names."""

from __future__ import annotations

from toolwire.gateway.config.schema import ResponsesConfig
from toolwire.gateway.responses_state.database import DatabaseStore
from toolwire.gateway.responses_state.store import MemoryStore, ResponseStore, StoreLimits
from toolwire.server.asgi import MIB


def build_store(config: ResponsesConfig) -> ResponseStore | None:
    """The store of a configuration that was checked, not open yet; None if there is none."""
    if config.store is None:
        return None
    limits = StoreLimits(size=int(config.max_mb * MIB), age=config.max_age)
    return MemoryStore(limits) if config.store == "memory:" else DatabaseStore(config.store, limits)
