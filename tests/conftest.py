"""How much the laws try: little on every run, much when TOOLWIRE_DEEP=1. What needs a large program runs only then."""

from __future__ import annotations

import gc
import os
import shutil

from cases import DEEP
from hypothesis import HealthCheck, settings
from pytest import Session, TerminalReporter

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
settings.register_profile("fast", max_examples=3, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("deep", max_examples=2000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile("deep" if DEEP else "fast")

LARGE = {"temporal": "a Temporal server and its SDK"}
"""Folders of tests that need what `make test` does not install."""
collect_ignore = [] if DEEP else list(LARGE)


def pytest_collection_finish(session: Session) -> None:
    """Tens of thousands of tests need not be looked through again each time memory is tidied up."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """What did not run is said, on every run."""
    for folder in collect_ignore:
        terminalreporter.write_line(f"not run: tests/{folder}, which needs {LARGE[folder]} (make deep)")
    if shutil.which(os.environ.get("NGINX") or "nginx") is None:
        terminalreporter.write_line("not run: tests/gateway_ops/test_nginx.py, which needs nginx")
