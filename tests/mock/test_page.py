"""The page about the mock matches the code."""

from __future__ import annotations

import re
from pathlib import Path

from toolwire.mock.demo_model import DIRECTIVES
from toolwire.mock.paths import ROUTES, find_route

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mock.md").read_text()


def test_the_table_of_directives_is_the_one_in_the_code() -> None:
    rows = [
        f"| `[[{one.word}{' ' if one.takes else ''}{one.takes}]]` | {one.does} |"
        for one in DIRECTIVES.values()
    ]
    assert re.findall(r"^\| `\[\[.*$", PAGE, re.MULTILINE) == rows


def test_the_directives_that_are_part_of_an_answer_come_first_and_are_as_many_as_the_page_says() -> (
    None
):
    are_content = [one.is_content for one in DIRECTIVES.values()]
    assert are_content == sorted(are_content, reverse=True)
    assert "one of the first five" in PAGE and are_content.count(True) == 5


def test_every_path_on_the_page_is_one_where_the_mock_listens() -> None:
    rows = re.findall(r"^\| ([a-z-]+) \| (`/.*) \|$", PAGE, re.MULTILINE)
    assert {wire for wire, _ in rows} == {*ROUTES} - {"text", "azure-foundry"}
    for wire, cell in rows:
        paths = re.findall(r"`(?:GET )?(/[^`]*)`", cell)
        assert paths
        for path in paths:
            method = "GET" if f"`GET {path}`" in cell else "POST"
            assert isinstance(find_route(wire, method, re.sub(r"\{\w+\}", "m1", path)), tuple), path
