"""Commands on session files: positions are lines of the file, and the output is a session file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sessions.session_files import (
    chat_call,
    chat_result,
    claude_answer,
    claude_user,
    codex_call,
    codex_message,
    codex_session,
    jsonl,
    text,
    tool_use,
)

from toolwire.cli.framework.group import commands
from toolwire.conversation.json import JSON

STUCK: list[JSON] = [
    claude_user("u1", None, "Run it."),
    claude_answer("a1", "u1", tool_use("toolu_01A"), answer="msg_1"),
    claude_user("u2", "a1", "Are you there?"),
    claude_answer("a2", "u2", text("Yes."), answer="msg_2"),
]
REFUSAL = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A."


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(STUCK))
    return str(path)


def toolwire(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(commands, arguments, input=stdin)


def test_check_names_file_line_and_place(file: str) -> None:
    result = toolwire("check", file)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{file}:2:281: TW021 missing-result: ")
    assert result.stdout.endswith("^ /message/content/0\n")
    [row] = json.loads(toolwire("check", file, "--format", "json").stdout)
    assert (row["line"], row["pointer"], row["wire"]) == (2, "/message/content/0", "anthropic")


def test_annotations_have_the_column_in_the_line(file: str) -> None:
    line = jsonl(STUCK).split(b"\n")[1].decode()
    column = line.index('{"type":"tool_use"') + 1
    result = toolwire("check", file, "--format", "github")
    assert f"line=2,col={column}::" in result.stdout


def test_a_folder_of_sessions_is_checked(file: str, tmp_path: Path) -> None:
    (tmp_path / "rollout.jsonl").write_bytes(jsonl(codex_session()))
    (tmp_path / "notes.jsonl").write_bytes(b'{"weather":"fine"}\n{"weather":"bad"}\n')
    result = toolwire("check", str(tmp_path))
    assert (result.exit_code, result.stdout.count("TW021")) == (1, 1)
    assert "2 bodies; 1 error" in result.stderr


def test_repair_writes_the_session_to_stdout_in_place_or_elsewhere(
    file: str, tmp_path: Path
) -> None:
    before = Path(file).read_bytes()
    printed = toolwire("repair", file)
    assert printed.exit_code == 0
    assert len(printed.stdout_bytes.splitlines()) == len(STUCK) + 1
    elsewhere = str(tmp_path / "b.jsonl")
    assert toolwire("repair", file, "--output", elsewhere).stdout == ""
    assert Path(elsewhere).read_bytes() == printed.stdout_bytes
    assert Path(file).read_bytes() == before
    in_place = toolwire("repair", file, "--in-place")
    assert in_place.stderr.splitlines()[-1] == f"backup {file}.bak"
    assert Path(file).read_bytes() == printed.stdout_bytes
    assert Path(f"{file}.bak").read_bytes() == before
    assert toolwire("check", file).exit_code == 0


def test_a_diff_of_a_session_shows_its_lines(file: str) -> None:
    lines = toolwire("repair", file, "--diff").stdout.splitlines()
    assert [line[:1] for line in lines if line[:3] not in ("---", "+++")].count("+") == 2
    assert lines[0] == f"--- a/{file}"


def test_a_session_may_come_from_stdin(file: str) -> None:
    data = Path(file).read_bytes()
    repaired = toolwire("repair", "-", stdin=data)
    assert repaired.stdout_bytes == toolwire("repair", file).stdout_bytes
    assert toolwire("check", "-", stdin=repaired.stdout_bytes).exit_code == 0
    assert toolwire("check", "-", stdin=data).stdout.startswith("stdin:2:281: TW021 ")


def test_translate_reports_the_lines_of_the_session(file: str) -> None:
    result = toolwire("translate", file, "--to", "openai-chat")
    roles = [message["role"] for message in json.loads(result.stdout)["messages"]]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]
    assert result.stderr.splitlines()[-1].startswith("repair 2:/message/content/0: TW021 ")
    signed = claude_answer("a2", "u2", {"type": "thinking", "thinking": "Hm."}, answer="msg_2")
    losses = toolwire(
        "translate", "-", "--to", "openai-chat", stdin=jsonl([STUCK[0], signed])
    ).stderr
    assert losses.startswith("loss 2:/message/content/0: ")


def test_explain_points_at_the_line(file: str) -> None:
    [first, *_] = json.loads(toolwire("explain", "--body", file, REFUSAL).stdout)
    assert (first["name"], first["line"], first["pointer"]) == (
        "missing-result",
        2,
        "/message/content/0",
    )


def test_cut_writes_a_session_with_fewer_lines(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(jsonl(codex_session()))
    result = toolwire("cut", str(path), "--messages", "3")
    assert result.exit_code == 0
    lines = result.stdout_bytes.split(b"\n")
    before = jsonl(codex_session()).split(b"\n")
    assert all(line in before for line in lines)
    assert b'"call_1"' not in result.stdout_bytes
    assert b'"call_2"' in result.stdout_bytes
    assert toolwire("check", "-", stdin=result.stdout_bytes).exit_code == 0


def test_a_line_chooses_a_body(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    clean: JSON = {
        "messages": [{"role": "user", "content": "Look."}, chat_call("c1"), chat_result("c1")]
    }
    stuck: JSON = {
        "messages": [
            {"role": "user", "content": "Look."},
            chat_call("c1"),
            {"role": "user", "content": "?"},
        ]
    }
    path.write_bytes(jsonl([{"request": clean, "status": 200}, {"request": stuck, "status": 400}]))
    assert toolwire("repair", str(path)).stderr == (
        f"toolwire: {path}: each of 2 lines is a body; choose one: line=N, or --line N\n"
    )
    checked = toolwire("check", str(path)).stdout
    assert checked.startswith(f"{path}:2:108: TW021 ")
    assert checked.endswith("^ /request/messages/1/tool_calls/0\n")
    assert toolwire("repair", str(path), "--line", "2", "--in-place").exit_code == 0
    assert path.read_bytes().split(b"\n")[0] == jsonl([{"request": clean, "status": 200}]).rstrip()
    assert toolwire("check", str(path)).exit_code == 0
    assert (
        len(
            json.loads(toolwire("translate", str(path), "--line", "1", "--to", "anthropic").stdout)[
                "messages"
            ]
        )
        == 3
    )


def test_a_profile_of_another_wire_is_refused(file: str) -> None:
    result = toolwire("check", file, "--from", "openai-chat")
    assert result.exit_code == 2
    assert (
        "this is a session of claude-code on the wire anthropic, not openai-chat" in result.stderr
    )


def test_a_torn_line_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    rows: list[JSON] = [*codex_session(), codex_call("call_3"), codex_message("user", "Go.")]
    path.write_bytes(jsonl(rows) + b'{"timestamp":"2026-')
    result = toolwire("repair", str(path))
    assert f"line {len(rows) + 1} is not JSON and stays as it is" in result.stderr
    assert result.stdout_bytes.endswith(b'\n{"timestamp":"2026-')
