"""Run tools as standalone activities of Temporal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwire.lazy_imports import import_on_first_use

if TYPE_CHECKING:
    from toolwire.execution.temporal.runner import TemporalRunner

__all__ = ["TemporalRunner"]
_MODULES = {"toolwire.execution.temporal.runner": "TemporalRunner"}
"""Imported on first use: if the extra `temporal` is missing, the error names it."""
if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__, __dir__ = import_on_first_use(globals(), _MODULES)
