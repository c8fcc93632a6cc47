"""The rows of a test: each that fails has a name of its own, by which it can be selected."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import DEEP, child_environment

CONFTEST = """\
import rows
from pytest import hookimpl

def pytest_configure(config):
    config.addinivalue_line("markers", "rows(names, rows): parameters of a test")

@hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    rows.parametrize(metafunc)

@hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return rows.run(pyfuncitem) or None

@hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    rows.rename(report)
"""
TESTS = """\
from rows import gap, rows

NUMBERS = ["one", "two", "three", "four"]

@rows("number", NUMBERS)
@rows("letter", "ab")
def test_row(number, letter):
    assert (number, letter) not in [("three", "b"), ("four", "a")]

@rows("number", NUMBERS)
def test_gap(number):
    with gap("known" if number == "two" else None):
        assert number != "two"

@rows("number", ["one"])
def test_closed_gap(number):
    with gap("known"):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_sample.py").write_text(TESTS)
    return tmp_path


def run_sample(folder: Path, *options: str) -> tuple[list[str], dict[str, int]]:
    """Run the sample. Returns the names of the failed rows, and how many items had each outcome."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:randomly", *options]
    process = subprocess.run(
        [*command, "--tb=no", "test_sample.py"],
        cwd=folder,
        env=child_environment("0"),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    matches = re.findall(r"^FAILED test_sample\.py::(\S+)", process.stdout, re.MULTILINE)
    counts = re.findall(r"(\d+) (\w+)", process.stdout.splitlines()[-1])
    return sorted(matches), {outcome: int(count) for count, outcome in counts}


FAILED = ["test_closed_gap[one]", "test_row[b-three]", "test_row[a-four]"]


def test_every_failed_row_is_reported_by_its_name(folder: Path) -> None:
    failed, counts = run_sample(folder)
    assert failed == sorted(FAILED)
    assert (counts["failed"], counts["xfailed"]) == (3, 1)


def test_the_last_failed_rows_are_run_again_without_the_others(folder: Path) -> None:
    run_sample(folder)
    failed, counts = run_sample(folder, "--lf")
    assert failed == sorted(FAILED)
    assert "passed" not in counts


def test_a_keyword_selects_single_rows(folder: Path) -> None:
    failed, counts = run_sample(folder, "-k", "test_row and three")
    assert failed == ["test_row[b-three]"]
    assert counts["passed"] == 1


SHARED = """\
from rows import rows

@rows("number", [0, 1, 2, 3, 4], share=2)
def test_fails(number):
    raise AssertionError
"""


@pytest.mark.skipif(DEEP, reason="a deep run takes all rows")
def test_a_run_takes_a_share_of_the_rows_and_the_next_seed_the_others(folder: Path) -> None:
    (folder / "test_sample.py").write_text(SHARED)
    first, second = (run_sample(folder, f"--hypothesis-seed={seed}")[0] for seed in (6, 7))
    assert first == ["test_fails[0]", "test_fails[2]", "test_fails[4]"]
    assert second == ["test_fails[1]", "test_fails[3]"]
    assert run_sample(folder, "--hypothesis-seed=6", "-k", "test_fails")[0] == sorted(
        first + second
    )
