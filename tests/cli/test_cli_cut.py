"""`toolwire cut`: the newest part of a history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import toolwire
from toolwire.cli.framework.group import commands
from toolwire.conversation.json import JSON
from toolwire.history import cut as cut_off


def turn(n: int) -> list[JSON]:
    call: JSON = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"question {n}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": "1"},
    ]


HISTORY = json.dumps(
    {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, *turn(1), *turn(2), *turn(3)],
    }
)


def cut(*arguments: str, stdin: str | bytes = HISTORY) -> Result:
    return CliRunner().invoke(commands, ["cut", *arguments], input=stdin)


@pytest.mark.parametrize("how", ["messages", "tokens"])
@pytest.mark.parametrize("many", [1, 2, 3, 4, 40, 60, 1000])
def test_what_is_kept_is_what_the_library_keeps_and_no_pair_is_split(how: str, many: int) -> None:
    result = cut("--from", "openai-chat", f"--{how}", str(many))
    kept = cut_off(
        HISTORY,
        "openai-chat",
        messages=many if how == "messages" else None,
        tokens=many if how == "tokens" else None,
    )
    assert (result.exit_code, result.stdout) == (
        1 if kept.losses else 0,
        kept.json().decode() + "\n",
    )
    pairs = toolwire.decode(result.stdout, "openai-chat").pairs()
    assert all(pair.call is not None and pair.result is not None for pair in pairs)


def test_the_newest_messages_and_the_system_prompt_are_kept() -> None:
    kept = json.loads(cut("--messages", "3").stdout)["messages"]
    assert kept == [{"role": "system", "content": "be brief"}, *turn(3)]


def test_a_file_is_read_where_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(HISTORY)
    assert (
        cut("--messages", "3", str(tmp_path / "a.json"), stdin="").stdout
        == cut("--messages", "3").stdout
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "toolwire: give either --messages N or --tokens N\n"),
        (
            ["--messages", "1", "--tokens", "1"],
            "toolwire: give either --messages N or --tokens N\n",
        ),
        (
            ["--messages", "0"],
            (
                "toolwire: Invalid value for '--messages': 0 is not in the range x>=1 (see toolwire"
                " cut --help)\n"
            ),
        ),
        (["--messages", "1", "none.json"], "toolwire: none.json: no such file or directory\n"),
    ],
)
def test_misuse_is_one_line_and_exit_code_two(arguments: list[str], line: str) -> None:
    result = cut(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)
