"""Every program in examples/ runs offline and prints what its docstring says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
PRINTS = "Prints:\n"


def output_in_docstring(path: Path) -> str:
    """The block after `Prints:` in the docstring of a program; empty if it has none."""
    text = ast.get_docstring(ast.parse(path.read_text()), clean=True) or ""
    return dedent(text.partition(PRINTS)[2]).strip("\n")


PROGRAMS = {
    path.name: path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if output_in_docstring(path)
}
RUN_ELSEWHERE = {
    "agent.py": "tests/agent/test_pages.py",
    "answer.py": "tests/cli/test_pages.py",
    "pairs.py": "tests/cli/test_pages.py",
    "there_and_back.py": "tests/cli/test_pages.py",
    "tools.py": "tests/tools/test_discovery.py",
}
"""Programs without `Prints:`, and the tests that run them."""
NEED_SERVER = {"oxp_client.py"}


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip("\n")


@contextmanager
def tool_server() -> Iterator[str]:
    """The address of `toolwire serve examples/tools.py`."""
    command = ["serve", "examples/tools.py", "--port", "0", "--ledger", "memory:"]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolwire", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield found[0]
                return
        pytest.fail("the tool server did not start")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_every_example_is_run_by_a_test() -> None:
    there = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert there == set(PROGRAMS) | set(RUN_ELSEWHERE)
    for name, tests in RUN_ELSEWHERE.items():
        assert name in (ROOT / tests).read_text()


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - NEED_SERVER))
def test_an_example_prints_what_it_says(name: str) -> None:
    assert run(PROGRAMS[name]) == output_in_docstring(PROGRAMS[name])


@pytest.mark.parametrize("name", sorted(NEED_SERVER))
def test_an_example_with_a_server_prints_what_it_says(name: str) -> None:
    with tool_server() as url:
        assert run(PROGRAMS[name], url) == output_in_docstring(PROGRAMS[name])
