"""The pages: the programs that they show are run, and their statements about the code are compared
with it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.shell import ROOT, environment

import toolwire

LINK = re.compile(r"\]\(([^)#:]+)\)")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "changes/README.md",
    "docs/reference/cli.md",
    "docs/reference/catalogue.md",
    "docs/explanation/streams.md",
    "docs/how-to/sessions.md",
]


def run(*command: str, cwd: Path = ROOT) -> str:
    """The output of a command, on both streams."""
    programs = str(Path(sys.executable).parent)
    env = environment(PATH=f"{programs}:{environment()['PATH']}")
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        cwd=cwd,
        check=False,
        timeout=600,
    )
    return done.stdout.decode()


def test_the_readme_names_how_to_run_and_how_to_test() -> None:
    text = (ROOT / "README.md").read_text()
    assert "`make run`" in text
    assert "`make test`" in text


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", (ROOT / page).read_text()))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named and named <= targets


def test_the_readme_fits_on_a_screen_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90


def test_the_readme_names_the_version_of_the_package() -> None:
    assert f"Version {toolwire.__version__}," in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    links = LINK.findall((ROOT / page).read_text())
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_no_generated_page_is_stale() -> None:
    assert run(sys.executable, "scripts/gen.py", "--check") == ""


def test_every_fragment_of_the_changelog_is_of_a_kind_and_in_the_changelog() -> None:
    fragments = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    for path in fragments:
        assert re.fullmatch(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md", path.name), path.name
        assert " ".join(path.read_text().split()) in (ROOT / "CHANGELOG.md").read_text()


EXAMPLES = {
    "answer.py": (
        """\
{"model":"some-model","messages":[{"role":"user","content":"What time is it?"},{"role":"assistant","content":null,\
"tool_calls":[{"id":"call_1","type":"function","function":{"name":"clock","arguments":"{}"}}]},\
{"role":"tool","tool_call_id":"call_1","content":"Half past nine."}]}
{"model":"some-model","contents":[{"role":"user","parts":[{"text":"What time is it?"}]},{"role":"model","parts":[\
{"functionCall":{"id":"call_1","name":"clock","args":{}}}]},{"role":"user","parts":[\
{"functionResponse":{"name":"clock","id":"call_1","response":{"output":"Half past nine."}}}]}]}
"""
    ),
    "pairs.py": (
        """\
{"city":"Oslo"} -> -3 degrees (by order; id minted: tw-d5a45dc10e7165d0)
{"city":"Rome"} -> 24 degrees (by order; id minted: tw-a0f0b50cf2b4accd)
"""
    ),
    "there_and_back.py": (
        """\
functions.weather:0 was sent as functions_weather_0_wN7500xF
functions.weather:1 was sent as functions_weather_1_z8PCT7rp
lost /seed: this wire has no such setting: seed
same messages: True
"""
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_prints_what_it_promises(name: str) -> None:
    assert run(sys.executable, f"examples/{name}") == EXAMPLES[name]
