"""`toolwire explain`: the explanation of a refusal."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from cli.shell import at_terminal
from click.testing import CliRunner, Result

from toolwire.cli.explain import NO_EXPLANATION
from toolwire.cli.framework.group import commands
from toolwire.conversation.json import Object
from toolwire.lint import all_rules
from toolwire.lint.rule import Rule

REFUSED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: c1"
)
CALL: Object = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER: Object = {"role": "user", "content": "hi"}
BAD = json.dumps(
    {
        "model": "m",
        "messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, USER],
    }
)


def explain(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(commands, ["explain", *arguments], input=stdin)


def test_the_likeliest_meaning_comes_first() -> None:
    result = explain(REFUSED)
    assert (result.exit_code, result.stderr) == (0, "")
    first = json.loads(result.stdout)[0]
    assert (first["code"], first["name"]) == ("TW021", "missing-result")
    assert set(first) == {"code", "name", "pointer", "message", "fix", "likely", "command"}
    assert first["command"] == "toolwire repair FILE"


def test_with_the_body_it_says_where(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(BAD)
    first = json.loads(explain(REFUSED, "--body", str(tmp_path / "a.json")).stdout)[0]
    assert (first["name"], first["pointer"], first["fix"]) == (
        "missing-result",
        "/messages/1/tool_calls/0",
        "safe",
    )


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_the_error_text_may_come_from_stdin(arguments: list[str]) -> None:
    assert explain(*arguments, stdin=REFUSED).stdout == explain(REFUSED).stdout


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        ((REFUSED, "a.json"), ""),
        (("a.json", REFUSED), ""),
        ((*REFUSED.split(), "a.json"), ""),
        (("-", "a.json"), REFUSED),
        (("a.json",), REFUSED),
        (("-", "--body", "a.json"), REFUSED),
    ],
    ids=["last", "first", "unquoted", "stdin", "stdin-implied", "option"],
)
def test_a_file_beside_the_text_is_the_body(
    arguments: tuple[str, ...], stdin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(BAD)
    result = explain(*arguments, stdin=stdin)
    assert result.stdout == explain(REFUSED, "--body", "a.json").stdout
    assert json.loads(result.stdout)[0]["command"].split()[:3] == ["toolwire", "repair", "a.json"]


def test_a_word_is_a_file_only_if_one_of_that_name_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    assert explain(REFUSED, "folder").stdout == explain(f"{REFUSED} folder").stdout
    assert explain(REFUSED, "no.json").stdout == explain(f"{REFUSED} no.json").stdout
    assert explain("tool_call_id " * 1000).exit_code == 0


def test_words_without_quotes_are_one_text() -> None:
    assert explain(*REFUSED.split()).stdout == explain(REFUSED).stdout


def test_an_unknown_text_exits_with_one() -> None:
    result = explain("the moon is full")
    assert (result.exit_code, result.stdout) == (1, "[]\n")


def test_at_a_terminal_it_is_for_people(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(BAD)
    code, seen = at_terminal("explain", REFUSED, "--body", str(tmp_path / "a.json"))
    assert (code, seen.splitlines()[0]) == (0, "TW021 missing-result at /messages/1/tool_calls/0")
    command = f"  toolwire repair {tmp_path / 'a.json'} --from openai-chat"
    assert seen.splitlines()[-1] == command
    assert at_terminal("explain", "the moon is full") == (1, NO_EXPLANATION + "\n")


def test_the_command_can_be_pasted_whatever_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "FILE of me.json"
    path.write_text(BAD)
    first = json.loads(explain(REFUSED, "--body", str(path)).stdout)[0]
    words = shlex.split(first["command"])
    assert words[:3] == ["toolwire", "repair", str(path)]
    assert CliRunner().invoke(commands, words[1:]).exit_code == 0


def test_the_command_for_calls_that_wait_at_the_end_gives_them_results(tmp_path: Path) -> None:
    body = tmp_path / "a.json"
    body.write_text(json.dumps({"model": "m", "messages": json.loads(BAD)["messages"][:2]}))
    (only,) = json.loads(explain(REFUSED, str(body)).stdout)
    assert (only["name"], only["likely"]) == ("pending-tail", True)
    program, *arguments = shlex.split(only["command"])
    assert (program, arguments[:3]) == ("toolwire", ["repair", str(body), "--abandon-pending"])
    repaired = CliRunner().invoke(commands, arguments)
    assert repaired.exit_code == 0
    assert json.loads(repaired.stdout)["messages"][2]["tool_call_id"] == "c1"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_every_explanation_of_a_body_ends_with_a_command_that_runs(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for example in rule.bad[:2]:
        if example.kind != "request":
            continue
        Path("a.json").write_text(json.dumps(example.body))
        result = explain(REFUSED, "a.json", "--from", example.target)
        for line in {row["command"] for row in json.loads(result.stdout)}:
            program, *arguments = shlex.split(line)
            assert program == "toolwire"
            assert CliRunner().invoke(commands, arguments).exit_code in (0, 1), line


def test_an_error_that_is_not_about_tool_calls_exits_with_one() -> None:
    result = explain("429 Too Many Requests: rate limit exceeded")
    (row,) = json.loads(result.stdout)
    assert (result.exit_code, row["code"], row["name"]) == (1, "TW000", "rate-limit")


def test_an_error_about_tools_that_no_rule_explains_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(BAD)
    result = explain("this model does not support tools", str(file))
    first, *findings = json.loads(result.stdout)
    assert (result.exit_code, first["name"]) == (0, "tools-unsupported")
    assert findings
    program, *arguments = shlex.split(first["command"])
    assert program == "toolwire"
    assert CliRunner().invoke(commands, arguments).exit_code == 0


def test_what_makes_no_sense_is_misuse() -> None:
    both = explain("-", "--body", "-", stdin=BAD)
    assert (both.exit_code, both.stderr) == (
        2,
        "toolwire: stdin is either the text or the body; name a file for the other\n",
    )
    missing = explain(REFUSED, "--body", "none.json")
    assert (missing.exit_code, missing.stderr) == (
        2,
        "toolwire: none.json: no such file or directory\n",
    )


@pytest.mark.parametrize("columns", [1, 24, 40])
def test_lines_fit_a_narrow_terminal(tmp_path: Path, columns: int) -> None:
    """So do the rule and its path. A command stays on one line, so that it can be pasted."""
    (tmp_path / "a.json").write_text(BAD)
    code, seen = at_terminal(
        "explain", REFUSED, "--body", str(tmp_path / "a.json"), columns=columns
    )
    *lines, command = seen.rstrip("\n").split("\n")
    assert code == 0
    assert command.startswith("  toolwire repair ")
    assert max(map(len, lines)) <= max(columns, 20)
    assert "/messages/1/tool_calls/0" in "".join(line.strip() for line in lines)
