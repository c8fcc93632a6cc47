"""The page on adding a wire is true: its files, put into a copy of the project in which nothing
else is changed, are a wire that keeps the laws."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest
from cli.shell import ROOT, environment

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILE = re.compile(r"^`((?:src|tests)/[^`\n]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = dict(FILE.findall(PAGE))
"""The files that the page shows, by path."""
PACKAGE = "src/toolwire/wires/langchain/"
REQUEST = FILES["tests/cases/langchain/parallel-calls-of-one-tool/request.json"]
COPIED = ("src", "tests", "scripts", "docs", "changes")
WITH_WIRES = (
    "(langchain or every_wire or another_process or test_house or test_catalogue)"
    " and not api_txt and not as_many_types"
)
"""The laws on the new wire, and the rules of the house and the catalogue; not the tests of the
public names, and not the one that wants a new line for every new type."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the files of the page in it."""
    root = tmp_path_factory.mktemp("contributed") / "project"
    root.mkdir()
    for folder in COPIED:
        ignored = ignore_patterns("__pycache__", "node_modules", ".*")
        copytree(ROOT / folder, root / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        copy(ROOT / file, root / file)
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def run(project: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in the copy. The workers and budgets of this run do not count there."""
    env = {
        key: value
        for key, value in environment(PYTHONPATH=str(project / "src")).items()
        if not key.startswith(("PYTEST_", "TOOLWIRE_"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        env={**env, "TOOLWIRE_WIRES": "langchain,openai-chat,anthropic"},
        check=False,
        timeout=300,
        text=True,
        cwd=project,
    )


def test_a_wire_is_a_package_some_cases_and_a_test_file_and_edits_no_existing_file() -> None:
    assert [path for path in FILES if (ROOT / path).exists()] == []
    folders = (PACKAGE, "tests/cases/langchain/", "tests/wires/test_langchain.py")
    assert [path for path in FILES if not path.startswith(folders)] == []


def test_the_wire_on_the_page_stays_short() -> None:
    lines = [line for path in FILES if path.startswith(PACKAGE) for line in _code(FILES[path])]
    assert len(lines) < 360


def _code(text: str) -> list[str]:
    """The lines of a module without imports and empty ones."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("from ", "import "))]


def test_the_wire_on_the_page_keeps_the_laws(project: Path) -> None:
    tests = ("tests/laws", "tests/wires/test_langchain.py")
    house = ("tests/test_house.py", "tests/test_catalogue.py")
    options = ("-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0")
    done = run(project, "-m", "pytest", *options, "-k", WITH_WIRES, *tests, *house)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 150


def test_the_generated_pages_show_the_new_wire(project: Path) -> None:
    done = run(project, "scripts/gen.py")
    assert done.returncode == 0, done.stderr
    page = (project / "docs" / "wires" / "langchain.md").read_text(encoding="utf-8")
    assert "- fields-under-data: " in page
    assert "| `tool_call` |" in page
    for name, wanted in (
        ("README.md", "[LangChain](docs/wires/langchain.md)"),
        ("docs/catalogue.md", "| [`langchain`](wires/langchain.md) | 2 |"),
    ):
        assert wanted in (project / name).read_text(encoding="utf-8")


def test_the_command_line_recognizes_and_translates_the_new_wire(project: Path) -> None:
    program = ("-m", "toolwire.cli")
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


def test_the_page_names_every_family_and_every_target() -> None:
    families = (ROOT / "src" / "toolwire" / "wires" / "families").glob("*/__init__.py")
    assert [init.parent.name for init in families if f"`{init.parent.name}`" not in PAGE] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    assert set(re.findall(r"^\| `make ([a-z-]+)` \|", PAGE, re.MULTILINE)) == targets
