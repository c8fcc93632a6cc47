"""How many examples the laws draw: few in every run, many with TOOLWIRE_DEEP=1, which also runs the
tests that need a large program.

Also what keeps a run short: each worker collects thousands of tests, and they start hundreds of
processes.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType

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

EXAMPLES = 1000 if DEEP else 20
"""How many examples a law draws for each of its rows."""
settings.register_profile(
    "laws",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
settings.load_profile("laws")

SEED = "TOOLWIRE_TEST_SEED"
"""The environment variable with the seed of a run: xdist passes only options of the command line."""
DATA_NAMES = frozenset({"CATALOGUE", "DATA", "recorded_streams"})
"""What tests of a wire call the files of ../shared/data."""
LARGE = {
    "temporal": "a Temporal server and its SDK",
    "clients_real": "agents and frameworks, which it installs into .clients",
}
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
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = os.environ[SEED] if is_worker else str(_seed())
    os.environ[SEED] = str(config.option.hypothesis_seed)
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


def _seed() -> int:
    """A fresh seed for each run; in continuous integration one for each commit, so that a commit
    that passed once passes again."""
    if os.environ.get("CI"):
        root = Path(__file__).parents[1]
        command = ["git", "-C", str(root), "rev-parse", "--short=8", "HEAD"]
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if commit.strip():
            return int(commit, 16) % 2**32
    return random.SystemRandom().randrange(2**32)


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
    """Every worker has to have the same tests in the same order. Tests of a wire that read
    ../shared/data are skipped where it is absent: they would pass over nothing."""
    items.sort(key=lambda item: item.path)
    if HAS_RECORDINGS:
        return
    absent = mark.skip(reason="../shared/data is absent")
    for item in items:
        if (
            item.path.parent.name in ("wires", "streams")
            and isinstance(item, Function)
            and isinstance(item.obj, FunctionType)
            and _reads_data(item.obj, helpers=True)
        ):
            item.add_marker(absent)


def _reads_data(function: FunctionType, *, helpers: bool) -> bool:
    """True if a function of a test module uses a file of ../shared/data, itself or by a helper of
    the same module."""
    used = _names(function.__code__)
    if used & DATA_NAMES:
        return True
    found = (function.__globals__.get(name) for name in used if helpers)
    return any(
        isinstance(helper, FunctionType)
        and helper.__module__ == function.__module__
        and _reads_data(helper, helpers=False)
        for helper in found
    )


def _names(code: CodeType) -> set[str]:
    """The names that a function uses, also in the functions and comprehensions inside of it."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return {*code.co_names, *(name for const in inner for name in _names(const))}


def pytest_collection_finish(session: Session) -> None:
    _freeze_objects()
    gc.enable()


@hookimpl(trylast=True)  # when the fixtures of the file are gone
def pytest_runtest_teardown(item: Item, nextitem: Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        _freeze_objects()


def _freeze_objects() -> None:
    """Exclude what is alive after the tests of a file from later garbage collections."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the seed of the laws, and what did not run."""
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
