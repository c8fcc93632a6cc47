"""Everything printed on a page works: its programs and commands are run, its files exist."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import postgres
import psycopg
import pytest
from cases import DEEP
from pages import ROOT, PageRun, blocks, page_paths

PAGES = {str(path.relative_to(ROOT)): path for path in page_paths()}
WITH_BLOCKS = [name for name, path in PAGES.items() if any(block.runs for block in blocks(path))]
NOT_RUN = {
    ("docs/contributing/add-a-wire.md", "needs the files of the page in the project"): 1,
    ("docs/how-to/deploy.md", "needs Docker"): 2,
    ("docs/how-to/deploy.md", "needs a Kubernetes cluster"): 1,
    ("docs/how-to/temporal.md", "needs a Temporal server"): 2,
    ("docs/reference/gateway.md", "needs ANTHROPIC_API_KEY"): 1,
}
"""Blocks that a page marks as not run, by page and reason."""
SLOW = {
    "docs/how-to/adk.md": "imports ADK, which takes seconds",
    "docs/how-to/embed-gateway.md": "imports FastAPI; the same program is run as an example",
    "docs/how-to/replicas.md": "starts PostgreSQL and four servers",
    "docs/how-to/test-offline.md": "starts pytest with the SDK of a provider",
    "docs/reference/mock.md": "starts pytest, and imports the SDK of a provider",
}
"""Pages that only a deep run tries, and why."""
INSTALLS = ["README.md", "docs/tutorial/index.md"]
"""Pages with a block that installs toolwire; tests/install does the same with a built wheel."""
RUN_ELSEWHERE = {
    "docs/contributing/add-a-wire.md": "tests/cli/test_contributing.py",
    "docs/how-to/usechat.md:gemini_sdk_server.py": "tests/streams/test_route.py",
}
"""Programs that a page shows and does not start, by page or file, and the test that runs them."""
DATABASE = "postgresql://toolwire:secret@127.0.0.1/toolwire"
"""The database of the pages; a test has another one."""


@pytest.mark.parametrize("name", [name for name in WITH_BLOCKS if name not in SLOW or DEEP])
def test_what_a_page_shows_is_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    replace = {}
    if DATABASE in PAGES[name].read_text():
        known = psycopg.conninfo.conninfo_to_dict(postgres.database())
        replace[DATABASE] = "postgresql:///{dbname}?user={user}&host={host}".format(**known)
    PageRun(PAGES[name], tmp_path, replace=replace).run()


def test_the_blocks_that_are_not_run_are_those_of_the_list() -> None:
    marked = Counter(
        (name, block.reason)
        for name, path in PAGES.items()
        for block in blocks(path)
        if block.reason
    )
    assert dict(marked) == NOT_RUN


def test_every_program_on_a_page_is_run_or_marked() -> None:
    """Blocks of other languages are data, which a test of their page or a program reads."""
    programs = {
        f"{name}:{block.line}"
        for name, path in PAGES.items()
        for block in blocks(path)
        if block.language in ("", "py", "shell", "bash", "zsh", "pycon")
        and not block.reason
        and "─" not in block.text  # a drawing
    }
    assert programs == set()


def test_a_shell_block_installs_toolwire_or_is_marked() -> None:
    found = [
        name
        for name, path in PAGES.items()
        for block in blocks(path)
        if block.language == "sh" and not block.reason
    ]
    assert found == INSTALLS


def test_every_python_file_that_a_page_shows_is_started_by_the_page_or_by_a_named_test() -> None:
    never_started = set()
    for name, path in PAGES.items():
        found = blocks(path)
        for number, block in enumerate(found):
            if block.language != "python" or not block.title:
                continue
            used = re.compile(rf"\b{re.escape(Path(block.title).stem)}\b")
            if not any(used.search(later.text) for later in found[number + 1 :] if later.runs):
                never_started.add((name, block.title))
    elsewhere = {
        (name, title)
        for name, title in never_started
        if name in RUN_ELSEWHERE or f"{name}:{title}" in RUN_ELSEWHERE
    }
    assert never_started - elsewhere == set()
    for test in RUN_ELSEWHERE.values():
        assert (ROOT / test).exists()


FILE_NAME = re.compile(r"[\w./-]*?([\w.-]+\.(?:py|json|jsonl|toml|ya?ml|md|sse))\b")
MADE = re.compile(r"(?:>|--save-ids|--save|--output|keys add \w+) [\w./-]*?([\w.-]+)(?=\s|`)")
FOLDERS = ("src", "docs", "examples", "tests", "scripts", "deploy", "bench", "pytest_plugin")


@cache
def names_of_files() -> frozenset[str]:
    """The names of the files of the project."""
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*"))
    return frozenset(
        path.name for path in (*files, *ROOT.iterdir()) if "node_modules" not in path.parts
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_no_file_that_is_neither_shipped_nor_shown_nor_made(name: str) -> None:
    text, found = PAGES[name].read_text(), blocks(PAGES[name])
    shown = {Path(block.title).name for block in found if block.title}
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose)
    spans += [block.text for block in found if block.language == "console"]
    named = set(FILE_NAME.findall("\n".join(spans)))
    methods = {file for file in named if file[0].isupper() and file.endswith(".json")}
    assert named - shown - names_of_files() - set(MADE.findall(text)) - methods == set()
