"""The page on adding a wire is true: with its files added to a copy of the project, and nothing else
changed, the wire keeps the laws and every test about all wires passes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from cases import DEEP
from cli.shell import ROOT, environment
from pages import blocks

PAGE = ROOT / "docs" / "contributing" / "add-a-wire.md"
FILES = {block.title: block.text for block in blocks(PAGE) if block.title}
"""The files that the page shows, by path."""
PACKAGE = "src/toolwire/wires/langchain/"
REQUEST = FILES["tests/cases/langchain/parallel-calls-of-one-tool/request.json"]
NOT_COPIED = ignore_patterns(".*", "__pycache__", "node_modules")
SOME_LAWS = ("lossless", "paired", "streams", "there_and_back")
LAWS = ["tests/laws"] if DEEP else [f"tests/laws/test_{law}.py" for law in SOME_LAWS]
"""All laws in a deep run, otherwise some that read, write, pair and stream."""
ON_THE_NEW_WIRE = "langchain or every_wire or another_process"
"""The laws with the new wire as source or target, and those that look at all wires at once."""
ABOUT_ALL_WIRES = [
    *("tests/lint", "tests/tools", "tests/streams", "tests/wires"),
    *("tests/cli/test_cli_wires.py", "tests/cli/test_pages.py"),
    *(f"tests/{file.name}" for file in (ROOT / "tests").glob("test_*.py")),
]
"""The tests of the core, and those that list wires, or pages and tables about them."""
NOT_ABOUT_WIRES = (
    "tests/cli/test_pages.py::test_python_in",
    "tests/cli/test_pages.py::test_commands_in",
    "tests/cli/test_pages.py::test_every_example",
    "tests/test_house.py::test_names_and_comments_use_the_words_of_the_field",
    "tests/test_house.py::test_pages_use_the_words_of_the_field",
)
"""Tests that only run what the pages show, or look at the words of the whole project."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the files of the page in it, and the generated pages written."""
    root = tmp_path_factory.mktemp("contributed") / "project"
    copytree(ROOT, root, ignore=NOT_COPIED)
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    done = run(root, "scripts/gen.py")
    assert done.returncode == 0, done.stderr
    return root


def run(
    project: Path, *arguments: str, stdin: str = "", wires: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, without the workers and budgets of this run."""
    env = {
        key: value
        for key, value in environment(PYTHONPATH=str(project / "src")).items()
        if not key.startswith(("PYTEST_", "TOOLWIRE_"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        env={**env, "TOOLWIRE_WIRES": wires} if wires else env,
        check=False,
        timeout=3600 if DEEP else 1800,
        text=True,
        cwd=project,
    )


def run_tests(project: Path, *arguments: str, wires: str = "") -> int:
    """Run tests in the copy and assert that all pass. Returns how many there were."""
    options = ("-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0")
    done = run(project, "-m", "pytest", *options, *arguments, wires=wires)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    return int(passed[1]) if passed else 0


def test_a_wire_is_a_package_some_cases_and_a_test_file_and_edits_no_existing_file() -> None:
    assert [path for path in FILES if (ROOT / path).exists()] == []
    folders = (PACKAGE, "tests/cases/langchain/", "tests/wires/test_langchain.py")
    assert [path for path in FILES if not path.startswith(folders)] == []


def test_the_wire_on_the_page_stays_short() -> None:
    lines = [line for path in FILES if path.startswith(PACKAGE) for line in _code(FILES[path])]
    assert len(lines) < 320


def _code(text: str) -> list[str]:
    """The lines of a module without imports and empty ones."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("from ", "import "))]


def test_the_wire_on_the_page_keeps_the_laws(project: Path) -> None:
    wires = "langchain,openai-chat,anthropic"
    tests = (*LAWS, "tests/wires/test_langchain.py")
    assert run_tests(project, "-k", ON_THE_NEW_WIRE, *tests, wires=wires) > (150 if DEEP else 50)


@pytest.mark.skipif(not DEEP, reason="runs most tests of the core again (make deep)")
def test_the_tests_about_all_wires_need_no_edit(project: Path) -> None:
    left_out = [f"--deselect={name}" for name in NOT_ABOUT_WIRES]
    assert run_tests(project, *left_out, *ABOUT_ALL_WIRES) > 100


def test_the_generated_pages_show_the_new_wire(project: Path) -> None:
    page = (project / "docs" / "reference" / "wires" / "langchain.md").read_text(encoding="utf-8")
    assert "- **stream-of-parallel-calls**: " in page
    assert "([source](https://github.com/langchain-ai/" in page
    assert "| `tool_call` " in page
    for name, wanted in (
        ("docs/reference/wires/README.md", "[LangChain](langchain.md)"),
        ("docs/reference/catalogue.md", "| [`langchain`](wires/langchain.md) | 2 |"),
        ("docs/reference/profiles.md", "| `langchain` | `langchain` |"),
    ):
        assert wanted in (project / name).read_text(encoding="utf-8")


def test_the_command_line_recognizes_and_translates_the_new_wire(project: Path) -> None:
    program = ("-m", "toolwire")
    there = run(project, *program, "translate", "--to", "anthropic", stdin=REQUEST)
    assert (there.returncode, there.stderr) == (0, "")
    assert [message["role"] for message in json.loads(there.stdout)["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    direction = ("--from", "anthropic", "--to", "langchain")
    back = run(project, *program, "translate", *direction, stdin=there.stdout)
    assert json.loads(back.stdout)["messages"] == json.loads(REQUEST)["messages"]
    listed = run(project, *program, "wires", "langchain")
    assert [wire["title"] for wire in json.loads(listed.stdout)] == ["LangChain"]


def test_the_code_on_the_page_is_formatted_and_has_no_lint_findings(project: Path) -> None:
    modules = [path for path in FILES if path.endswith(".py")]
    for command in (["check"], ["format", "--check"]):
        done = run(project, "-m", "ruff", *command, "--no-cache", *modules)
        assert done.returncode == 0, done.stdout


WIRES = ROOT / "src" / "toolwire" / "wires"
FAMILIES = sorted(init.parent.name for init in (WIRES / "families").glob("*/__init__.py"))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_says_when_to_choose_a_family_and_which_wires_use_it(family: str) -> None:
    rows = re.findall(rf"^\| `{family}` \|.*\|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 1
    *_, examples, _ = rows[0].split("|")
    wires = re.findall(r"`([a-z-]+)`", examples)
    assert wires
    for wire in wires:
        modules = (WIRES / wire.replace("-", "_")).glob("*.py")
        assert any(f"families.{family}" in module.read_text() for module in modules), wire


def test_the_page_lists_the_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `make ([a-z-]+)` \|", page, re.MULTILINE)) == targets
