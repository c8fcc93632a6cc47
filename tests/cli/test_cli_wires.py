"""`toolwire wires` in a pipe."""

from __future__ import annotations

import json

from click.shell_completion import ShellComplete
from click.testing import CliRunner

import toolwire
from toolwire.cli.framework.group import commands
from toolwire.wires import wire


def list_wires(*arguments: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(commands, ["wires", *arguments])
    assert (result.exit_code, result.stderr) == (0, "")
    rows: list[dict[str, object]] = json.loads(result.stdout)
    return rows


def test_every_wire_is_listed_with_its_title_and_counts() -> None:
    rows = list_wires()
    assert [row["name"] for row in rows] == toolwire.wires()
    assert [row["title"] for row in rows] == [wire(name).title for name in toolwire.wires()]
    assert sum(int(str(row["types"])) for row in rows) == len(toolwire.catalogue())


def test_a_type_that_is_call_and_result_in_one_counts_as_both() -> None:
    for row in list_wires():
        mine = [entry for entry in toolwire.catalogue() if entry.wire == row["name"]]
        both = sum(entry.direction == "call+output" for entry in mine)
        assert int(str(row["calls"])) + int(str(row["results"])) == len(mine) + both


def test_types_list_the_whole_catalogue() -> None:
    rows = list_wires("--types")
    assert [(row["wire"], row["type"]) for row in rows] == [
        (entry.wire, entry.type) for entry in toolwire.catalogue()
    ]


def test_a_type_lists_its_form_who_runs_it_and_what_its_id_is() -> None:
    assert list_wires("--types", "openai-chat")[0] == {
        "wire": "openai-chat",
        "type": "function",
        "discriminator": {"path": "tool_calls[]", "type": "function"},
        "direction": "call",
        "family": "function",
        "executor": "client",
        "ids": [{"name": "id", "role": "correlation", "required": True, "nullable": False}],
        "origin": "natural",
        "forms": ["request", "response"],
    }


def test_an_unknown_wire_is_misuse() -> None:
    result = CliRunner().invoke(commands, ["wires", "gemin"])
    assert (result.exit_code, result.stderr) == (
        2,
        "toolwire: no such wire: gemin; did you mean gemini?\n",
    )


def test_a_shell_can_complete_the_names_of_wires_and_verbs() -> None:
    shell = ShellComplete(commands, {}, "toolwire", "_TOOLWIRE_COMPLETE")
    assert [item.value for item in shell.get_completions(["translate", "--to"], "anth")] == [
        "anthropic"
    ]
    assert [item.value for item in shell.get_completions([], "t")] == ["tools", "tour", "translate"]
