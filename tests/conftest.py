"""How much the laws try: little on every run, much when TOOLWIRE_DEEP=1. What needs a large program
runs only then.

Also what keeps a run short: thousands of tests, collected by each worker, and hundreds of processes
that they start.
"""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import sys
from pathlib import Path

import rows
from cases import DEEP, HAS_RECORDINGS
from hypothesis import HealthCheck, settings
from pytest import (
    Config,
    Function,
    Item,
    Metafunc,
    Session,
    TerminalReporter,
    TestReport,
    hookimpl,
    mark,
)

EXAMPLES = 2000 if DEEP else 20
"""How many examples a law draws for each of its rows."""
settings.register_profile(
    "laws",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
settings.load_profile("laws")

NEEDS_DATA = re.compile("catalogue|recorded_traffic")
"""Names of tests of a wire that read ../shared/data."""
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
    """Choose the seed of this run, which the workers of xdist share, and spread the work of
    collecting."""
    config.addinivalue_line("markers", "rows(names, rows): parameters of a test, see rows.py")
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    # Each worker starts to collect at another folder: the first one to reach a file rewrites its
    # asserts for the others.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if config.args_source is Config.ArgsSource.TESTPATHS and worker.isdecimal():
        here = Path(__file__).parent
        found = sorted(
            path for path in here.iterdir() if path.name not in collect_ignore and _has_tests(path)
        )
        start = len(found) * int(worker) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        config.args = [str(path) for path in found[start:] + found[:start]]


@hookimpl(tryfirst=True)  # ids of rows come before those of `parametrize`
def pytest_generate_tests(metafunc: Metafunc) -> None:
    rows.parametrize(metafunc)


@hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Function) -> bool | None:
    return rows.run(pyfuncitem) or None


@hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: TestReport) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        rows.rename(report)


def _has_tests(path: Path) -> bool:
    return path.match("test_*.py") or (path.is_dir() and any(path.glob("test_*.py")))


def pytest_collection_modifyitems(items: list[Item]) -> None:
    """Every worker has to have the same tests in the same order. Tests of a wire that read its
    catalogue or its recorded traffic are skipped where there is none."""
    items.sort(key=lambda item: item.path)
    if HAS_RECORDINGS:
        return
    absent = mark.skip(reason="../shared/data is absent")
    for item in items:
        if item.path.parent.name == "wires" and NEEDS_DATA.search(item.name):
            item.add_marker(absent)


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
    """Say with which seed the laws drew, and what did not run."""
    seed = terminalreporter.config.option.hypothesis_seed
    terminalreporter.write_line(
        f"hypothesis: {EXAMPLES} examples per law and wire; repeat with --hypothesis-seed={seed}"
    )
    if not HAS_RECORDINGS:
        terminalreporter.write_line(
            "not run: laws on recorded traffic, which is absent (../shared/data/recorded);"
            " the cases in tests/cases were used"
        )
    for folder in collect_ignore:
        terminalreporter.write_line(
            f"not run: tests/{folder}, which needs {LARGE[folder]} (make deep)"
        )
    if shutil.which(os.environ.get("NGINX") or "nginx") is None:
        terminalreporter.write_line("not run: tests/gateway_ops/test_nginx.py, which needs nginx")
