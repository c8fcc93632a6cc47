"""How much the laws try: little on every run, much when TOOLWIRE_DEEP=1."""

from __future__ import annotations

from cases import DEEP
from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
settings.register_profile("fast", max_examples=10, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("deep", max_examples=2000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile("deep" if DEEP else "fast")
