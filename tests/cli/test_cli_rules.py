"""`toolwire rules`: the list, and the page of each rule."""

from __future__ import annotations

import json
import re

import pytest
from cli.shell import ROOT, at_terminal
from click.testing import CliRunner, Result
from rows import rows

from toolwire.cli.framework.group import commands
from toolwire.cli.output.rule_page import EXAMPLES_SHOWN, format_json, markdown_page
from toolwire.lint import all_rules
from toolwire.lint.rule import Rule

RULES = rows("rule", all_rules(), ids=lambda rule: rule.name)


def rules(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["rules", *arguments])


def test_into_a_pipe_the_list_is_json_with_every_rule() -> None:
    listed = json.loads(rules().stdout)
    assert [(one["code"], one["name"], one["title"]) for one in listed] == [
        (one.code, one.name, one.title) for one in all_rules()
    ]
    assert all(set(one) == {"code", "name", "title", "severity", "fix", "loss"} for one in listed)
    assert {word for one in listed for word in one["fix"].split(" or ")} <= {
        "safe",
        "unsafe",
        "none",
    }


def test_at_a_terminal_the_list_is_a_table() -> None:
    code, seen = at_terminal("rules", columns=160)
    head, *lines = seen.splitlines()
    assert (code, head.split()) == (0, ["code", "name", "severity", "fix", "what", "is", "wrong"])
    assert [line.split()[:2] for line in lines if line.startswith("TW")] == [
        [rule.code, rule.name] for rule in all_rules()
    ]


def test_text_is_a_table_in_a_pipe_too_and_json_is_json() -> None:
    assert "missing-result" in rules("--format", "text").stdout
    assert not rules("--format", "text").stdout.startswith("[")
    assert json.loads(rules("--format", "json").stdout) == json.loads(rules().stdout)


@pytest.mark.parametrize("word", ["missing-result", "TW021", "tw021", "missing-res"])
def test_a_rule_is_named_by_name_by_code_or_by_how_they_begin(word: str) -> None:
    result = rules(word)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "# missing-result (TW021)")


def test_a_page_as_json_has_the_words_and_the_examples() -> None:
    (one,) = json.loads(rules("missing-result", "--format", "json").stdout)
    assert one["page"].startswith("A call has no result")
    assert one["bad"][0]["wire"] == "openai-chat"
    assert one["good"]


def test_at_a_terminal_a_page_is_drawn() -> None:
    code, seen = at_terminal("rules", "missing-result")
    assert code == 0
    assert "missing-result (TW021)" in seen
    assert "# missing" not in seen


def test_a_rule_that_does_not_exist_is_misuse() -> None:
    result = rules("mising-result")
    assert (result.exit_code, result.stderr) == (
        2,
        "toolwire: no such rule: mising-result; did you mean missing-result?\n",
    )


@RULES
def test_a_page_shows_what_is_wrong_in_each_bad_example(rule: Rule) -> None:
    shown = markdown_page(rule)
    bad, good = shown.split("\n## Good\n")
    shown_bad = min(EXAMPLES_SHOWN, len(rule.bad))
    assert bad.count("```json") == shown_bad
    assert good.count("```json") == min(EXAMPLES_SHOWN, len(rule.good))
    assert len(re.findall(r" \((?:safe|unsafe|no) fix\)$", bad, re.MULTILINE)) >= shown_bad


def test_every_rule_has_its_page_among_the_docs_and_its_line_in_their_table() -> None:
    docs = ROOT / "docs" / "reference" / "rules"
    lines = [f"| {rule.code} | [{rule.name}]({rule.name}.md) |" for rule in all_rules()]
    assert [line for line in lines if line not in (docs / "README.md").read_text()] == []
    for rule in all_rules():
        title, _, text = markdown_page(rule).partition("\n")
        page = (docs / f"{rule.name}.md").read_text()
        assert title in page.splitlines() and text in page, rule.name


@RULES
def test_json_on_a_page_is_the_example_whatever_its_lines(rule: Rule) -> None:
    for example in (*rule.bad, *rule.good):
        assert json.loads(format_json(example.body)) == example.body
