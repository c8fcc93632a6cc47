"""The docstring of a wire lists its peculiarities, and its case folders show them.

A peculiarity is an entry `- name: text` whose last line is the address of a page that documents it.
Every entry has a case folder of its name. Every case folder is named after a peculiarity of its wire,
or begins with a subject that any wire may have cases for.
"""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from cases import CASE_FOLDER, load
from msgspec import Struct

from toolwire import wires

SUBJECTS = {
    "answer": "a response, and why the model stopped",
    "approval": "calls that wait for the decision of a user",
    "bare": "messages or a call without the body around them",
    "caching": "marks for the prompt cache",
    "calls": "where calls are",
    "citations": "texts that name their sources",
    "client-tools": "tools of the provider that the client runs",
    "custom-tool": "tools whose input is text",
    "format": "the format that a request asks for",
    "history": "a history that is elsewhere",
    "ids": "ids that repeat, or have other characters",
    "input": "the forms of an input",
    "list-of-tools": "tool definitions alone",
    "mcp-tools": "tools of an MCP server that the provider calls",
    "media": "images, audio, video and files",
    "missing": "ids and other fields that are absent or empty",
    "names": "tool names with unusual characters",
    "odd": "arguments or results of an unexpected type",
    "open-and-stray": "calls without a result, and results without a call",
    "parallel-calls": "several calls in one turn",
    "plain": "a body without anything special",
    "reasoning": "reasoning and its signatures",
    "result": "one result alone",
    "results": "the forms of a result",
    "sampling-settings": "temperature and other settings of a request",
    "server-tools": "tools that the provider runs",
    "settings": "settings and tool definitions of a request",
    "stream": "the events of a response",
    "system": "system prompts",
    "thinking": "reasoning of models",
    "tool-choice": "which tool the model has to call",
    "unknown": "blocks and fields that the wire does not have",
}
"""What a case folder may show on any wire: the first words of its name, and their meaning."""
_ENTRY = re.compile(r"^- ([a-z0-9-]+): (.*(?:\n  .*)*)", re.MULTILINE)


class Peculiarity(Struct, frozen=True):
    """An entry of a docstring."""

    name: str
    text: str
    source: str


def peculiarities(wire: str) -> list[Peculiarity]:
    """The peculiarities that the docstring of a wire lists."""
    docstring = import_module(f"toolwire.wires.{wire.replace('-', '_')}").__doc__ or ""
    found = []
    for name, entry in _ENTRY.findall(docstring):
        text, _, last = entry.rpartition("\n  ")
        found.append(Peculiarity(name, text, last))
    return found


def is_subject(name: str) -> bool:
    """True if the name of a folder begins with a subject of the table."""
    return any(name == subject or name.startswith(f"{subject}-") for subject in SUBJECTS)


@pytest.mark.parametrize("wire", wires())
def test_every_peculiarity_has_a_case_of_its_name(wire: str) -> None:
    names = [entry.name for entry in peculiarities(wire)]
    assert names
    assert len(names) == len(set(names))
    assert set(names) - {case.name for case in load(wire)} == set()


@pytest.mark.parametrize("wire", wires())
def test_every_peculiarity_names_the_page_that_documents_it(wire: str) -> None:
    assert [
        entry.name
        for entry in peculiarities(wire)
        if not re.fullmatch(r"https://\S+", entry.source) or not entry.text
    ] == []


@pytest.mark.parametrize("wire", wires())
def test_every_case_shows_a_peculiarity_or_a_subject_of_all_wires(wire: str) -> None:
    names = {entry.name for entry in peculiarities(wire)}
    folders = [folder.name for folder in (CASE_FOLDER / wire).iterdir() if folder.is_dir()]
    assert [name for name in folders if name not in names and not is_subject(name)] == []


def test_every_subject_has_a_case() -> None:
    folders = [folder.name for folder in CASE_FOLDER.glob("*/*/")]
    for subject in SUBJECTS:
        assert any(name == subject or name.startswith(f"{subject}-") for name in folders), subject
