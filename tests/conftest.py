"""How much the laws try: little on every run, much when TOOLWIRE_DEEP=1. What needs a large program
runs only then.

Also what keeps a run short: thousands of tests, collected by each worker, and hundreds of processes
that they start.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from pathlib import Path

from cases import DEEP
from hypothesis import HealthCheck, settings
from pytest import Config, Item, Session, TerminalReporter, hookimpl

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
settings.register_profile("fast", max_examples=3, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("deep", max_examples=2000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile("deep" if DEEP else "fast")

LARGE = {"temporal": "a Temporal server and its SDK"}
"""Folders of tests that need what `make test` does not install."""
collect_ignore = [] if DEEP else list(LARGE)

# Where bytecode is not written, as in many containers, each of the processes that tests start
# compiles the package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # until all is collected: nothing that is imported or collected becomes garbage


@hookimpl(tryfirst=True)
def pytest_configure(config: Config) -> None:
    """What is drawn is always the same in a short run, and work that is the same for all workers is
    done by one of them."""
    if not DEEP and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = (
            "0"  # `derandomize` reads the source of a test anew each time it is asked
        )
    # Each begins to collect in another place: whoever comes first to a file prepares its asserts
    # for the others.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if config.args_source is Config.ArgsSource.TESTPATHS and worker.isdecimal():
        here = Path(__file__).parent
        found = sorted(
            one for one in here.iterdir() if one.name not in collect_ignore and _has_tests(one)
        )
        start = len(found) * int(worker) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        config.args = [str(one) for one in found[start:] + found[:start]]


def _has_tests(path: Path) -> bool:
    return path.match("test_*.py") or (path.is_dir() and any(path.glob("test_*.py")))


def pytest_collection_modifyitems(items: list[Item]) -> None:
    """Every worker has to have the same tests in the same order."""
    items.sort(key=lambda item: item.path)


def pytest_collection_finish(session: Session) -> None:
    _set_aside()
    gc.enable()


@hookimpl(trylast=True)  # when the fixtures of the file are gone
def pytest_runtest_teardown(item: Item, nextitem: Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        _set_aside()


def _set_aside() -> None:
    """What has outlived the tests of a file need not be looked through again each time memory is
    tidied up."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """What did not run is said, on every run."""
    for folder in collect_ignore:
        terminalreporter.write_line(
            f"not run: tests/{folder}, which needs {LARGE[folder]} (make deep)"
        )
    if shutil.which(os.environ.get("NGINX") or "nginx") is None:
        terminalreporter.write_line("not run: tests/gateway_ops/test_nginx.py, which needs nginx")
