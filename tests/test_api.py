"""The public API: everything is listed, importable, light, and its types have a documented home."""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import typing

import pytest
from rows import rows

import toolwire
from toolwire import UsageError, decode, providers, types
from toolwire.codec import resolve
from toolwire.providers.table import BY_NAME

API = pathlib.Path(__file__).with_name("api.txt").read_text().splitlines()
ELSEWHERE = (builtins, typing, collections.abc, contextlib, os, pathlib)
"""Modules of Python whose names need no home of ours."""
FOREIGN = {"TracerProvider"}
TYPE_VARIABLES = {"Out", "P", "R", "Report"}


@rows("line", API, ids=lambda line: line.partition("(")[0])
def test_every_type_in_a_public_signature_is_exported(line: str) -> None:
    names = set(re.findall(r"\b[A-Z]\w*", re.sub(r"= [^,)]*", "", line)))
    unknown = {
        name
        for name in names - set(toolwire.__all__) - set(types.__all__) - FOREIGN - TYPE_VARIABLES
        if not any(hasattr(module, name) for module in ELSEWHERE)
    }
    assert unknown == set()


def _public_functions(name: str) -> list[object]:
    """A public function, or the constructor and the methods of a public class."""
    value = getattr(toolwire, name)
    if not isinstance(value, type):
        return [value]
    members = vars(value).items()
    return [method for key, method in members if key == "__init__" or not key.startswith("_")]


@pytest.mark.parametrize("name", toolwire.__all__)
def test_a_type_in_a_public_signature_is_the_one_that_is_exported(name: str) -> None:
    for function in _public_functions(name):
        module = sys.modules.get(str(getattr(function, "__module__", "")))
        annotations = getattr(function, "__annotations__", {}).values()
        for word in set(re.findall(r"\b[A-Z]\w*", " ".join(map(str, annotations)))):
            used, exported = (
                getattr(module, word, None),
                getattr(toolwire, word, getattr(types, word, None)),
            )
            assert None in (used, exported) or used == exported, f"{function}: {word}"


@pytest.mark.parametrize("module", (toolwire, types), ids=lambda module: module.__name__)
def test_every_listed_name_can_be_imported_and_is_shown_by_dir(module: object) -> None:
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert set(names) <= set(dir(module))
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Agnet"):
        toolwire.Agnet  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="Jason"):
        types.Jason  # type: ignore[attr-defined]  # noqa: B018


def test_importing_an_agent_starts_no_server_and_no_mock() -> None:
    code = (
        "import sys; from toolwire import Agent, HttpModel;"
        " print([name for name in ('uvicorn', 'toolwire.mock', 'toolwire.gateway', 'aiohttp')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@rows("name", providers())
def test_the_name_of_a_provider_is_understood_where_a_wire_is(name: str) -> None:
    if name != "text":  # which is also the name of a wire
        assert resolve(name)[1].name == BY_NAME[name].profile


@pytest.mark.parametrize(
    ("name", "near"),
    (("antropic", "anthropic"), ("OpenAI", "openai"), ("open_ai", "openai"), ("gemni", "gemini")),
)
def test_a_wrong_name_of_a_wire_gets_a_suggestion(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=rf"did you mean {near}\?"):
        decode({"messages": []}, name)
