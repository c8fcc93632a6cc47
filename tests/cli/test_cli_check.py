"""`toolwire check`: findings in four formats, over files, folders, lines and streams."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from cli.shell import at_terminal
from click.testing import CliRunner, Result

from toolwire.cli.framework.group import commands
from toolwire.cli.input.source_positions import Position, find_positions
from toolwire.conversation.json import JSON, Object, get
from toolwire.lint import all_rules

USER: Object = {"role": "user", "content": "hi"}
CALL: Object = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS: Object = {"role": "assistant", "content": None, "tool_calls": [CALL]}
BAD = json.dumps({"model": "m", "messages": [USER, ASKS, USER]})
CLEAN = json.dumps(
    {"model": "m", "messages": [USER, ASKS, {"role": "tool", "tool_call_id": "c1", "content": "1"}]}
)
OPEN = json.dumps({"model": "m", "messages": [USER, ASKS]})
ANSWER = json.dumps(
    {
        "id": "r",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": ASKS, "finish_reason": "stop"}],
    }
)
PLACE = "/messages/1/tool_calls/0"
OTHER = json.dumps({"name": "some-package", "version": "1.0.0"})


def check(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(commands, ["check", *arguments], input=stdin)


def names(result: Result) -> list[str]:
    """The names of the rules in the lines of a result."""
    return re.findall(r": TW\d{3} ([a-z-]+): ", result.stdout)


def locations(result: Result) -> list[str]:
    """File, line and column of each finding."""
    return re.findall(r"^(\S+): TW\d{3} ", result.stdout, re.MULTILINE)


def rows(*arguments: str, stdin: str | bytes = "") -> list[dict[str, JSON]]:
    """The findings as JSON."""
    found: list[dict[str, JSON]] = json.loads(
        check("--format", "json", *arguments, stdin=stdin).stdout
    )
    return found


# --- exit codes -----------------------------------------------------------------------------------


def test_a_finding_has_file_line_column_code_name_message_fix_and_an_excerpt(
    tmp_path: Path,
) -> None:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(json.loads(BAD), indent=1))
    result = check(str(file))
    first, excerpt, caret = result.stdout.splitlines()
    assert re.fullmatch(
        rf"{re.escape(str(file))}:12:5: TW021 missing-result: .+ \[safe fix\]", first
    )
    assert (excerpt, caret) == ("  12 |     {", f"     |     ^ {PLACE}")
    assert result.exit_code == 1
    summary, command = result.stderr.splitlines()
    assert summary == "1 body; 1 error; fixes: 1 safe"
    assert command == f"fix with: toolwire repair {file} --from openai-chat --in-place"


def test_the_command_that_check_prints_fixes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a history.json"
    file.write_text(BAD)
    *_, command = check(str(file)).stderr.splitlines()
    words = shlex.split(command.removeprefix("fix with: toolwire "))
    assert CliRunner().invoke(commands, words).exit_code == 0
    assert check(str(file), "--from", "openai-chat").exit_code == 0


def test_a_long_line_is_shown_around_its_column(tmp_path: Path) -> None:
    result = check("--from", "openai-chat", stdin=BAD)
    _, excerpt, caret = result.stdout.splitlines()
    assert excerpt.startswith("  1 | …") and excerpt.endswith("…") and len(excerpt) <= 80
    assert excerpt[caret.index("^")] == "{"
    assert "fix with" not in result.stderr, "stdin cannot be repaired in place"


def test_a_clean_history_exits_with_zero_and_is_reported_on_stderr() -> None:
    result = check("--from", "openai-chat", stdin=CLEAN)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 body; clean\n")


def test_a_finding_of_level_info_is_shown_and_counts_only_if_strict() -> None:
    result = check("--from", "openai-chat", stdin=OPEN)
    assert (result.exit_code, names(result)) == (0, ["pending-tail"])
    assert ": info: " in result.stdout
    assert result.stderr == "1 body; clean; 1 info\n"
    assert check("--from", "openai-chat", "--strict", stdin=OPEN).exit_code == 1


def test_quiet_leaves_the_exit_code_and_nothing_else() -> None:
    result = check("-q", "--from", "openai-chat", stdin=BAD)
    assert (result.exit_code, result.output) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--from", "antropic"], "toolwire: no such wire: antropic; did you mean anthropic?\n"),
        (
            ["--select", "missing-rseult"],
            "toolwire: no such rule: missing-rseult; did you mean missing-result?\n",
        ),
        (["--ignore", "TW999x"], "toolwire: no such rule: TW999x; toolwire rules lists them\n"),
        (
            ["--format", "xml"],
            re.compile(
                r"toolwire: Invalid value for '--format': .*\(see toolwire check --help\)\n"
            ),
        ),
    ],
)
def test_misuse_is_one_line_and_exit_code_two(
    arguments: list[str], line: str | re.Pattern[str]
) -> None:
    result = check(*arguments, stdin=BAD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(line if isinstance(line, re.Pattern) else re.escape(line), result.stderr)


# --- what it reads --------------------------------------------------------------------------------


def test_a_broken_file_is_named_and_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"messages": [')
    (tmp_path / "b.json").write_text(BAD)
    result = check(str(tmp_path / "a.json"), str(tmp_path / "none.json"), str(tmp_path / "b.json"))
    assert (result.exit_code, names(result)) == (2, ["missing-result"])
    broken, missing, summary, command = result.stderr.splitlines()
    assert broken.startswith(f"toolwire: {tmp_path}/a.json: broken JSON: ")
    assert missing == f"toolwire: {tmp_path}/none.json: no such file or directory"
    assert summary == "1 body; 1 error; fixes: 1 safe; 2 unreadable"
    assert command.startswith(f"fix with: toolwire repair {tmp_path}/b.json ")


def test_a_folder_is_looked_through_and_what_is_of_no_wire_is_passed_over_and_counted(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "deep" / "er" / "b.json").write_text(BAD)
    (tmp_path / ".hidden" / "b.json").write_text(BAD)
    (tmp_path / "package.json").write_text(OTHER)
    (tmp_path / "notes.txt").write_text("not looked at")
    result = check(str(tmp_path))
    assert (result.exit_code, names(result)) == (1, ["missing-result"])
    assert result.stderr.startswith("1 body; 1 error; fixes: 1 safe; 1 skipped (no known wire)\n")


def test_a_named_file_of_no_known_wire_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(OTHER)
    result = check(str(tmp_path / "package.json"))
    assert result.exit_code == 2
    assert "this is not a body of any known wire" in result.stderr
    assert "--from WIRE" in result.stderr


def test_a_body_that_could_be_of_several_wires_is_never_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"model": "m", "messages": [USER]}))
    result = check(str(tmp_path))
    assert result.exit_code == 2
    assert "; name the wire with --from WIRE" in result.stderr
    assert check(str(tmp_path), "--to", "openai-chat").exit_code == 0


def test_what_was_looked_through_without_a_body_is_not_called_clean(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(OTHER)
    result = check(str(tmp_path))
    assert (result.exit_code, result.stderr) == (
        2,
        "nothing was checked; 1 skipped (no known wire)\n",
    )


@pytest.mark.parametrize("content", [b"", b"\n\n"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.sse"])
def test_an_empty_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    result = check(str(tmp_path / name), "--from", "openai-chat")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"toolwire: {tmp_path / name}: ")


def test_a_folder_without_anything_to_look_at_is_misuse(tmp_path: Path) -> None:
    result = check(str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        result.stderr == f"toolwire: {tmp_path}: no file in it ends in .json, .jsonl, .ndjson,"
        " .sse\n"
    )


def test_each_line_of_a_file_of_lines_is_a_body_and_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(f"{CLEAN}\n\n{BAD}\nnot json\n{BAD}\n")
    result = check(str(file), "--from", "openai-chat")
    assert locations(result) == [f"{file}:3:118", f"{file}:5:118"]
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0].startswith(
        f"toolwire: {file}:4: openai-chat: broken JSON: "
    )
    assert result.stderr.splitlines()[1] == "3 bodies; 2 errors; fixes: 2 safe; 1 unreadable"


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_on_stdin_are_distinguished_from_one_body(end: str) -> None:
    result = check("--from", "openai-chat", stdin=f"{CLEAN}\n{BAD}{end}")
    assert locations(result) == ["stdin:2:118"]
    whole = check("--from", "openai-chat", stdin=json.dumps(json.loads(BAD), indent=1) + end)
    assert locations(whole) == ["stdin:12:5"]


_CALL: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGE_LINES: dict[str, tuple[str, list[JSON]]] = {
    "a trimmed chat": (
        "openai-chat",
        [
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
    ),
    "trimmed blocks": (
        "anthropic",
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
            },
        ],
    ),
    "items of Interactions": (
        "gemini-interactions",
        [
            {"type": "user_input", "content": [{"type": "text", "text": "hi"}]},
            {"type": "function_call", "id": "c1", "name": "f", "arguments": {}},
            {"type": "function_result", "call_id": "c1", "result": "1"},
        ],
    ),
    "events of ADK": (
        "adk",
        [
            {"author": "user", "content": {"role": "user", "parts": [{"text": "hi"}]}},
            {"author": "agent", "content": {"role": "model", "parts": [{"text": "hello"}]}},
        ],
    ),
}


@pytest.mark.parametrize("name", MESSAGE_LINES)
@pytest.mark.parametrize("with_wire", [False, True])
def test_lines_of_messages_are_one_history_whatever_comes_first(
    name: str, with_wire: bool, tmp_path: Path
) -> None:
    wire, messages = MESSAGE_LINES[name]
    file = tmp_path / "history.jsonl"
    file.write_text("\n".join(map(json.dumps, messages)))
    result = check(str(file), *(["--from", wire] if with_wire else []))
    assert result.stderr.startswith("1 body;"), result.stderr
    assert result.exit_code == 0


def test_an_answer_is_read_as_one_without_being_asked() -> None:
    (one,) = rows("--from", "openai-chat", "--strict", stdin=ANSWER) or [{"kind": "response"}]
    assert one["kind"] == "response"
    assert check("--from", "openai-chat", stdin=ANSWER).exit_code == 0
    assert check("--from", "openai-chat", "--kind", "request", stdin=ANSWER).exit_code == 2


def stream(*deltas: JSON) -> str:
    chunks: list[JSON] = [
        {
            "id": "r",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def test_a_recorded_stream_is_checked_if_its_wire_is_known() -> None:
    whole = stream({"role": "assistant", "content": "hi"})
    result = check("--from", "openai-chat", stdin=whole)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 body; clean\n")
    unknown = check(stdin=whole)
    assert (unknown.exit_code, unknown.stderr.splitlines()[0]) == (
        2,
        "toolwire: stdin: the wire of a stream cannot be detected; name it with --from WIRE",
    )
    assert check("--from", "openai-chat", stdin="data: nonsense\n\n").exit_code == 2


# --- rules and targets ----------------------------------------------------------------------------

LONG = json.dumps(
    {
        "model": "m",
        "messages": [
            USER,
            {**ASKS, "tool_calls": [{**CALL, "id": "call_" + "a" * 80}]},
            {**USER, "content": "well?"},
        ],
    }
)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], ["id-too-long", "missing-result"]),
        (["--select", "id-too-long"], ["id-too-long"]),
        (["--select", "TW021"], ["missing-result"]),
        (["--select", "tw021, id-too-long"], ["id-too-long", "missing-result"]),
        (["--select", "TW021", "--select", "TW004"], ["id-too-long", "missing-result"]),
        (["--select", "id-"], ["id-too-long"]),
        (["--select", "TW02"], ["missing-result"]),
        (["--ignore", "TW021"], ["id-too-long"]),
        (["--select", "TW0", "--ignore", "missing,id-"], []),
    ],
)
def test_rules_are_chosen_by_name_by_code_and_by_how_they_begin(
    arguments: list[str], found: list[str]
) -> None:
    result = check("--from", "openai-chat", *arguments, stdin=LONG)
    assert names(result) == found
    assert result.exit_code == (1 if found else 0)


def test_the_rules_are_those_of_the_target() -> None:
    shared = json.dumps(
        {"messages": [USER, {**ASKS, "tool_calls": [{**CALL, "id": "functions.f:0"}]}, USER]}
    )
    (one,) = rows("--from", "openai-chat", "--to", "openai-chat", stdin=shared)
    assert (one["wire"], one["target"]) == ("openai-chat", "openai-chat")
    other = check("--from", "openai-chat", "--to", "anthropic", stdin=shared)
    assert other.exit_code == 1
    assert "missing-result" in other.stdout


def test_the_command_that_fixes_a_finding_runs(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    for target, word in ((None, "repair"), ("azure-openai", "repair"), ("anthropic", "translate")):
        file.write_text(LONG)
        to = [] if target is None else ["--to", target]
        result = check("--from", "openai-chat", *to, str(file))
        (command,) = re.findall(r"^fix with: toolwire (.+)$", result.stderr, re.MULTILINE)
        assert command.startswith(f"{word} ")
        assert CliRunner().invoke(commands, shlex.split(command)).exit_code == 0, command


# --- formats --------------------------------------------------------------------------------------


def test_json_is_a_list_with_all_there_is_to_know(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f"{BAD}\n")
    (one,) = rows(str(file))
    assert one.pop("message")
    assert one == {
        "file": str(file),
        "line": 1,
        "wire": "openai-chat",
        "target": "openai-chat",
        "kind": "request",
        "code": "TW021",
        "name": "missing-result",
        "severity": "error",
        "pointer": PLACE,
        "fix": "safe",
    }
    assert rows("--from", "openai-chat", stdin=CLEAN) == []


def test_annotations_name_the_line_and_the_column(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(json.loads(BAD), indent=2))
    result = check("--format", "github", str(file))
    line = (
        next(n for n, text in enumerate(file.read_text().splitlines(), 1) if '"id": "c1"' in text)
        - 1
    )
    begin = f"::error file={file},title=TW021 missing-result,line={line},col=9::{PLACE}: "
    assert result.stdout.startswith(begin)
    assert len(result.stdout.splitlines()) == 1


def test_a_body_cannot_command_the_reader_of_annotations_nor_a_terminal() -> None:
    evil = "f\n::set-env name=PATH::x\x1b[2J%0A"
    body = json.dumps(
        {
            "messages": [
                USER,
                {**ASKS, "tool_calls": [{**CALL, "function": {"name": evil, "arguments": "{}"}}]},
                USER,
            ]
        }
    )
    for form in ("github", "text"):
        result = check(
            "--from", "openai-chat", "--select", "missing-result", "--format", form, stdin=body
        )
        line, *excerpt = result.stdout.splitlines()
        assert "set-env" in line
        assert "\x1b" not in result.stdout
        assert len(excerpt) == (2 if form == "text" else 0)
    assert (
        "%250A"
        in check(
            "--from", "openai-chat", "--select", "TW021", "--format", "github", stdin=body
        ).stdout
    )


def test_a_sarif_log_describes_every_rule_and_points_at_every_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a b.json"
    file.write_text(BAD)
    (tmp_path / "broken.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    log = json.loads(check("--format", "sarif", "a b.json", "broken.json").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    described = run["tool"]["driver"]["rules"]
    assert [one["id"] for one in described] == [rule.name for rule in all_rules()]
    (found,) = run["results"]
    assert described[found["ruleIndex"]]["id"] == found["ruleId"] == "missing-result"
    (place,) = found["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "a%20b.json"}
    assert place["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": BAD.index('{"id": "c1"') + 1,
    }
    assert place["logicalLocations"] == [{"fullyQualifiedName": PLACE}]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 1


TEXTS = [
    '{"a": [1, {"b": "x,]}"}], "c": {}}',
    '\n{\n "é": [\n  [],\n  {"k\\u0041": null}\n ]\n}',
    "[]",
    '{"a": ""}',
    "7",
]


def paths(value: JSON, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path in a value."""
    items: list[tuple[str | int, JSON]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [here, *(path for step, one in items for path in paths(one, (*here, step)))]


@pytest.mark.parametrize("text", TEXTS)
def test_a_pointer_leads_to_the_line_and_column_where_its_value_begins(text: str) -> None:
    value = json.loads(text)
    every_path = paths(value)
    for wanted in (every_path, *([path] for path in every_path)):
        found = find_positions(text.encode(), wanted)
        assert set(found) == set(wanted)
        for path, position in found.items():
            rest = "\n".join(text.split("\n")[position.line - 1 :])[position.column - 1 :]
            assert json.JSONDecoder().raw_decode(rest)[0] == get(value, path)


def test_what_is_not_in_a_text_has_no_line() -> None:
    assert find_positions(b'{"a": 1, broken', [("a",), ("b",)]) == {
        ("a",): Position(line=1, column=7)
    }


# --- people ---------------------------------------------------------------------------------------


def test_at_a_terminal_many_files_end_with_their_findings_and_the_summary(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"{n}.json").write_text(BAD if n == 3 else CLEAN)
    code, seen = at_terminal("check", str(tmp_path), "--from", "openai-chat", columns=200)
    assert code == 1
    assert f"{tmp_path}/3.json:1:118: TW021 missing-result: " in seen
    *_, summary, command = seen.splitlines()
    assert summary == "5 bodies; 1 error; fixes: 1 safe"
    assert command == f"fix with: toolwire repair {tmp_path}/3.json --from openai-chat --in-place"
