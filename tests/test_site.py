"""The pages as a site: who each is for, where links lead, and what the reference says of the code."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import DEEP

from toolwire.gateway.forward import FORWARDED_RESPONSE_HEADERS
from toolwire.oxp.protocol import HEADER
from toolwire.providers.table import PROVIDERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(ROOT / "changes").glob("README.md"), *DOCS.rglob("*.md")]
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
MODULES = sorted((ROOT / "src").rglob("*.py"))
ZENSICAL = Path(sys.executable).with_name("zensical")


def without_code(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_every_link_and_picture_of_every_page_exists() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(without_code(page.read_text()))
        if not page.parent.joinpath(link).exists()
    ]
    assert broken == []


def test_every_page_says_first_who_it_is_for() -> None:
    opening = re.compile(r"(?:<!--.*?-->\n+)?# .+\n\nFor ", re.DOTALL)
    silent = [
        str(page.relative_to(ROOT))
        for page in DOCS.rglob("*.md")
        if page.parent.name != "decisions" and not opening.match(page.read_text())
    ]
    assert silent == []


def pages_of_the_navigation() -> list[str]:
    """The pages that mkdocs.yml lists."""
    return re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text())


def test_every_page_is_in_the_navigation() -> None:
    pages = [page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"]
    assert sorted(str(page.relative_to(DOCS)) for page in pages) == sorted(
        pages_of_the_navigation()
    )


def test_the_list_for_language_models_names_every_page_of_the_navigation() -> None:
    """The pages of single rules and wires are in their indexes."""
    text = (DOCS / "llms.txt").read_text()
    listed = set(re.findall(r"\]\(([\w/-]+\.md)\)", text))
    single = re.compile(r"reference/(?:rules|wires)/[a-z]")
    wanted = {page for page in pages_of_the_navigation() if not single.match(page)}
    assert wanted - listed == {"index.md"}


def test_the_list_for_language_models_says_who_each_page_is_for() -> None:
    entries = re.findall(
        r"\]\(([\w/-]+\.md)\): (.+)$", (DOCS / "llms.txt").read_text(), re.MULTILINE
    )
    assert len(entries) > 20
    for page, audience in entries:
        opening = re.search(r"^# .+\n\n((?:.+\n)+)", (DOCS / page).read_text(), re.MULTILINE)
        assert opening is not None
        assert " ".join(opening[1].split()).casefold().startswith(audience.casefold()), page


@pytest.mark.parametrize("picture", sorted((DOCS / "images").glob("*.svg")), ids=lambda p: p.stem)
def test_every_colour_of_a_picture_has_a_dark_one(picture: Path) -> None:
    style, _, drawing = picture.read_text().partition("</style>")
    used = re.compile(r'(?:fill|stroke)="#[0-9a-f]{6}"')
    assert set(used.findall(drawing)) == set(used.findall(style)) != set()


def test_the_page_about_the_environment_names_every_variable_of_the_code() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    page = (DOCS / "reference" / "environment.md").read_text()
    known = set(re.findall(r"TOOLWIRE_[A-Z_]+", source))
    assert known - set(re.findall(r"TOOLWIRE_[A-Z_]+", page)) == set()
    assert set(re.findall(r"^\| `_?(TOOLWIRE_[A-Z_]+)", page, re.MULTILINE)) - known == set()


def test_the_page_about_headers_names_every_header_of_the_code() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    page = (DOCS / "reference" / "headers.md").read_text()
    pattern = r"\b(?:x-toolwire|toolwire-findings|toolwire-recorded)[a-z-]*"
    ours = set(re.findall(pattern, source))
    assert len(ours) > 5 and ours == set(re.findall(pattern, page))
    named = set(re.findall(r"`([a-z-]+)[`:]", page))
    assert {*FORWARDED_RESPONSE_HEADERS, HEADER.lower(), "idempotent-replayed"} <= named


def test_no_entry_of_the_python_reference_is_a_module() -> None:
    page = (DOCS / "reference" / "python.md").read_text()
    entries = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    assert len(entries) > 50
    modules = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in MODULES}
    assert [entry for entry in entries if entry in modules] == []


def printed_texts(module: Path) -> list[str]:
    """The texts of a module without its docstrings, and without the values in them."""
    tree = ast.parse(module.read_text())
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    texts = [
        "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        for node in joined
    ]
    return texts + [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
    ]


def test_troubleshooting_is_headed_by_texts_that_the_code_prints() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    headings = re.findall(r"^## (?:toolwire: )?(.+)$", page, re.MULTILINE)
    printed = "\n".join(text for module in MODULES for text in printed_texts(module))
    shown = [text for text in headings if text != "command not found"]  # the text of the shell
    assert [text for text in shown if re.sub(r"\b\d+\b", "", text) not in printed] == []


def test_every_provider_is_on_its_page_with_its_key() -> None:
    rows = (DOCS / "reference" / "providers.md").read_text()
    for provider in PROVIDERS:
        keys = ", ".join(f"`{key}`" for key in provider.key_envs)
        assert f"| `{provider.name}` | {keys}" in rows


@pytest.mark.skipif(not DEEP or not ZENSICAL.exists(), reason="builds the site (make site)")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [str(ZENSICAL), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stderr
    reference = (tmp_path / "site" / "reference" / "python" / "index.html").read_text()
    assert "Make a history acceptable to its provider" in reference
