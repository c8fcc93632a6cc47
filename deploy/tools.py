"""The tools of the gateways; replace them by yours."""

from __future__ import annotations

from datetime import UTC, datetime

from toolwire import tool


@tool(id="System.GetTime@1.0.0", read_only=True)
def get_time() -> str:
    """Tell the time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
