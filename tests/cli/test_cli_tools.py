"""`toolwire tools`: the tools of files and servers, as a table and as JSON."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from cli.server_process import EXAMPLES, door
from cli.shell import PROGRAM, at_terminal, run_with_pipes
from click.testing import CliRunner, Result
from clients.dialects import ScriptedResponse, in_turn, speaking

from toolwire.cli.framework.group import commands

IDS = [
    "Calculator.Add@1.0.0",
    "Doorbell.Ring@0.1.0",
    "Gmail.GetEmails@1.2.0",
    "SMS.Send@0.1.2",
    "System.GetTimestamp@1.0.0",
]


def tools(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["tools", *arguments])


def test_in_a_pipe_it_is_json_with_everything_that_is_known() -> None:
    found = json.loads(tools(EXAMPLES).stdout)
    assert [one["id"] for one in found] == IDS
    assert found[3] == {
        "id": "SMS.Send@0.1.2",
        "name": "SMS_Send",
        "description": "Send a text message.",
        "input_schema": {
            "type": "object",
            "properties": {
                "to": {
                    "type": "string",
                    "description": "The telephone number, with its country code.",
                },
                "message": {"type": "string", "description": "What to say."},
            },
            "additionalProperties": False,
            "required": ["to", "message"],
        },
        "output_schema": found[3]["output_schema"],
        "authorization": [],
        "secrets": ["TWILIO_API_KEY"],
        "user_id": False,
        "on_crash": "report",
        "read_only": False,
        "timeout": 55.0,
    }


def test_at_a_terminal_it_is_a_table() -> None:
    code, text = at_terminal("tools", EXAMPLES, columns=140)
    lines = text.splitlines()
    assert code == 0
    assert lines[0].split() == ["id", "parameters", "needs", "description"]
    assert [line.split()[0] for line in lines[1:]] == IDS
    assert (
        "[query]" in lines[3]
        and "google, user id" in lines[3]
        and lines[3].endswith("Find e-mails of the user.")
    )


def test_json_can_be_had_at_a_terminal_too() -> None:
    code, text = at_terminal("tools", EXAMPLES, "--json", columns=20_000)
    assert (code, [one["id"] for one in json.loads(text)]) == (0, IDS)


def test_files_and_a_program_that_speaks_mcp_are_listed_together(tmp_path: Path) -> None:
    there = door(tmp_path)
    command = shlex.join([*PROGRAM, "serve", there.file, "--stdio", "--ledger", "memory:"])
    done = run_with_pipes("tools", EXAMPLES, f"mcp:{command}")
    listed = [one["id"].partition("@")[0] for one in json.loads(done.stdout)]
    assert done.returncode == 0
    assert {"Calculator.Add", "Door.Ring"} <= set(listed)
    assert len(listed) == 9


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "http://127.0.0.1:1",
            "nothing is listening at http://127.0.0.1:1; start the tool server (`toolwire serve`), or"
            " correct the address",
        ),
        (
            "http://me:hunter2@127.0.0.1:1",
            "http://…@127.0.0.1:1: credentials do not belong in the address; pass them as auth=",
        ),
        ("mcp:", "mcp:: name a command, as in mcp:'uvx some-server'"),
        ("mcp:'", "mcp:': no closing quotation"),
        (
            "ftp://me:hunter2@there",
            "ftp://…@there: expected a file, a package, http://…, mcp+http://… or mcp:COMMAND",
        ),
        ("nowhere.py", "nowhere.py: no such file"),
    ],
)
def test_a_place_without_tools_is_reported_in_one_line(source: str, says: str) -> None:
    done = tools(source)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"toolwire: {says}\n")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("http://[", "expected an http or https address, such as https://tools.example/v1"),
        ("mcp+http://[", "expected an http or https address, or a command as a list"),
        (
            "mcp+http://127.0.0.1:1/mcp",
            "nothing is listening at http://127.0.0.1:1; start the MCP server, or correct the address",
        ),
        (
            "mcp+http://127.0.0.1:1",
            "nothing is listening at http://127.0.0.1:1; start the MCP server, or correct the address;"
            " most MCP servers have a path, such as /mcp",
        ),
    ],
)
def test_an_address_without_a_tool_server_is_reported_in_one_line(source: str, says: str) -> None:
    done = tools(source)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"toolwire: {source}: {says}\n")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "mcp:no-such-command-anywhere",
            "cannot start no-such-command-anywhere: no such file or directory",
        ),
        ("mcp:true", "true ended before it answered; does it speak MCP over stdio?"),
    ],
)
def test_a_program_that_is_no_tool_server_is_reported_in_one_line(source: str, says: str) -> None:
    done = run_with_pipes("tools", source)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        2,
        b"",
        f"toolwire: {source}: {says}\n",
    )


def test_a_web_server_without_tools_is_reported_in_one_line() -> None:
    page = b"<!DOCTYPE html><html><head><title>Welcome to nginx!</title></head></html>"
    with speaking(in_turn(ScriptedResponse(404, page))) as server:
        done = run_with_pipes("tools", server.url)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        2,
        b"",
        f"toolwire: {server.url}: the server sent an HTML page (Welcome to nginx!) instead of an"
        " OXP response (status 404); check the address\n",
    )


def test_one_tool_from_two_places_is_misuse(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(Path(EXAMPLES).read_text())
    done = tools(str(tmp_path / "one.py"), str(tmp_path / "two.py"))
    says = (
        f"toolwire: {tmp_path / 'two.py'}: Calculator.Add@1.0.0: two tools have this id: change"
        " the name or the version of one of them\n"
    )
    assert (done.exit_code, done.stderr) == (2, says)
