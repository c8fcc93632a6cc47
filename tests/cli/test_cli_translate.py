"""`toolwire translate` in a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import toolwire
from toolwire.cli.framework.group import commands

HISTORY = """{"model": "m", "messages": [
  {"role": "user", "content": [{"type": "text", "text": "hi", "citations": [{}]}]},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
  {"role": "tool", "tool_call_id": "functions.f:0", "content": "1"}]}"""

TRANSLATED = """\
{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use",\
"id":"functions_f_0_EqvWIZQd","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result",\
"tool_use_id":"functions_f_0_EqvWIZQd","content":"1"}]}]}
"""

LOSS = "loss /messages/0/content/0/citations: no such field on this wire\n"

CLEAN = '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}'

GEMINI = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'

SEARCHED = json.dumps(
    {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "server_tool_use",
                        "id": "srvtoolu_1",
                        "name": "web_search",
                        "input": {"query": "q"},
                    },
                    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                    {"type": "text", "text": "done"},
                ],
            },
        ],
    }
)


def translate(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(commands, ["translate", *arguments], input=stdin)


def output_of(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr


def test_a_lossy_translation_writes_the_body_reports_each_loss_on_a_line_and_exits_with_one() -> (
    None
):
    assert output_of(translate("--from", "openai-chat", "--to", "anthropic", stdin=HISTORY)) == (
        1,
        TRANSLATED,
        LOSS,
    )


def test_a_translation_without_loss_exits_with_zero_and_no_report() -> None:
    result = translate("--from", "gemini", "--to", "openai-chat", stdin=GEMINI)
    assert output_of(result) == (0, '{"messages":[{"role":"user","content":"hi"}]}\n', "")


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_silences_the_report_but_not_the_exit_code(flag: str) -> None:
    assert output_of(
        translate("--from", "openai-chat", "--to", "anthropic", flag, stdin=HISTORY)
    ) == (1, TRANSLATED, "")


def test_strict_writes_neither_body_nor_id_map_when_something_is_lost(tmp_path: Path) -> None:
    ids = tmp_path / "ids.json"
    result = translate(
        "--from",
        "openai-chat",
        "--to",
        "anthropic",
        "--strict",
        "--save-ids",
        str(ids),
        stdin=HISTORY,
    )
    assert output_of(result) == (1, "", LOSS)
    assert not ids.exists()


def test_strict_changes_nothing_when_nothing_is_lost() -> None:
    result = translate("--from", "anthropic", "--to", "openai-chat", "--strict", stdin=CLEAN)
    assert (result.exit_code, json.loads(result.stdout)["messages"]) == (
        0,
        [{"role": "user", "content": "hi"}],
    )


def test_the_source_wire_is_found_out_when_from_is_missing() -> None:
    result = translate("--to", "openai-chat", stdin=GEMINI)
    assert output_of(result) == (0, '{"messages":[{"role":"user","content":"hi"}]}\n', "")


def test_a_body_for_its_own_wire_is_given_back_byte_by_byte() -> None:
    odd = b'{ "messages" : [ ],\n "n": 1.10 }\n'
    result = translate("--from", "openai-chat", "--to", "openai-chat", stdin=odd)
    assert (result.exit_code, result.stdout_bytes) == (0, odd)


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert (
        translate(
            "--from", "anthropic", "--to", "openai-chat", stdin=b"\xef\xbb\xbf" + CLEAN.encode()
        ).exit_code
        == 0
    )


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_a_dash_or_no_file_means_stdin(dash: list[str]) -> None:
    assert (
        translate(*dash, "--from", "openai-chat", "--to", "anthropic", stdin=HISTORY).stdout
        == TRANSLATED
    )


def test_a_file_is_read_where_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text(HISTORY)
    assert output_of(translate(str(file), "--from", "openai-chat", "--to", "anthropic")) == (
        1,
        TRANSLATED,
        LOSS,
    )


def test_a_saved_id_map_brings_every_id_back(tmp_path: Path) -> None:
    ids = str(tmp_path / "ids.json")
    there = translate(
        "--from", "openai-chat", "--to", "anthropic", "--save-ids", ids, stdin=HISTORY
    )
    assert (
        Path(ids).read_text()
        == '{"ids":{"functions_f_0_EqvWIZQd":"functions.f:0"},"names":{},"calls":{},"results":{},'
        '"defaults":{"max_tokens":4096}}\n'
    )
    back = translate("--from", "anthropic", "--to", "openai-chat", "--ids", ids, stdin=there.stdout)
    conversation = toolwire.decode(back.stdout, "openai-chat")
    assert [call.id for call in conversation.calls()] == ["functions.f:0"]
    assert [result.call_id for result in conversation.results()] == ["functions.f:0"]


def test_a_response_is_translated_as_a_response() -> None:
    answer = '{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}]}'
    result = translate("--kind", "response", "--to", "anthropic", stdin=answer)
    body = json.loads(result.stdout)
    assert (result.exit_code, body["type"], body["stop_reason"]) == (0, "message", "end_turn")


@pytest.mark.parametrize(
    ("policy", "reason", "shown"),
    [
        ("text", "replaced by a text description", "web_search was called"),
        ("call", "sent as a call and its result", "tool_calls"),
        ("drop", "left out", "done"),
    ],
)
def test_server_tools_decides_what_becomes_of_a_tool_that_the_provider_ran(
    policy: str, reason: str, shown: str
) -> None:
    result = translate(
        "--from", "anthropic", "--to", "openai-chat", "--server-tools", policy, stdin=SEARCHED
    )
    assert f"loss /messages/1/content/0: a tool that the provider ran; {reason}\n" in result.stderr
    assert shown in result.stdout


def test_keys_that_a_terminal_would_obey_are_reported_as_escapes_on_one_line() -> None:
    body = '{"messages": [{"role": "user", "content": "hi"}], "a\\u001b[2J\\nb~/": 1}'
    result = translate("--from", "openai-chat", "--to", "gemini", stdin=body)
    assert result.stderr == "loss /a\\x1b[2J\\nb~0~1: no such field on this wire\n"


MISUSES = [
    (
        ["--from", "gemini", "--to", "gemini", "--save-ids", "-"],
        GEMINI,
        "stdout is for the body; name a file",
    ),
    (["--to", "antropic"], "{}", "no such wire: antropic; did you mean anthropic?"),
    (["--to", "OpenAI_Chat"], "{}", "no such wire: OpenAI_Chat; did you mean openai-chat?"),
    (["--from", "gemni", "--to", "gemini"], "{}", "no such wire: gemni; did you mean gemini?"),
    (["--from", "anthropic"], "{}", "Missing option '--to' (see toolwire translate --help)"),
    (
        ["--to", "gemini", "--strikt"],
        "{}",
        "No such option '--strikt'. Did you mean '--strict'? (see toolwire translate --help)",
    ),
    (["--to", "gemini", "no/such/file"], "", "no/such/file: no such file or directory"),
    (["--to", "gemini", "/"], "", "/: is a directory"),
    (["--to", "gemini"], "", "broken JSON: the input is empty"),
    (
        ["--from", "anthropic", "--to", "gemini"],
        " \n",
        "anthropic: broken JSON: the input is empty",
    ),
    (
        ["--from", "anthropic", "--to", "gemini"],
        '{"a":\n]',
        "anthropic: broken JSON: expecting value at line 2, column 1",
    ),
    (
        ["--from", "anthropic", "--to", "gemini"],
        b'{"a": "\xff"}',
        "anthropic: broken JSON: byte 7 is not UTF-8",
    ),
    (
        ["--from", "openai-chat", "--to", "gemini"],
        '{"messages": [7]}',
        "openai-chat /messages/0: expected an object, got a number",
    ),
    (["--from", "gemini", "--to", "openai-chat"], "7", "gemini: expected an object, got a number"),
    (
        ["--from", "openai-chat", "--to", "gemini"],
        '{"choices": []}',
        (
            "openai-chat /messages: expected a list, got nothing; it can be read with --kind"
            " response"
        ),
    ),
    (["--to", "gemini", "--ids", "no/ids"], "{}", "no/ids: no such file or directory"),
    (
        ["--from", "gemini", "--to", "gemini", "--save-ids", "no/such/folder/ids"],
        '{"contents": []}',
        "no/such/folder/ids: no such file or directory",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "stdin", "line"), MISUSES, ids=[line for *_, line in MISUSES]
)
def test_misuse_is_one_line_on_stderr_and_exit_code_two(
    arguments: list[str], stdin: str | bytes, line: str
) -> None:
    assert output_of(translate(*arguments, stdin=stdin)) == (2, "", f"toolwire: {line}\n")


@pytest.mark.parametrize(
    ("provider", "wire"),
    [("openai", "openai-chat"), ("google", "gemini"), ("azure", "openai-chat")],
)
def test_the_name_of_a_provider_names_its_wire(provider: str, wire: str) -> None:
    body = toolwire.encode(toolwire.Conversation([toolwire.Message("user", "Hi")]), wire).json()
    result = translate("--from", provider, "--to", provider, stdin=body)
    assert output_of(result) == (0, body.decode() + "\n", "")


def test_a_wire_name_like_no_other_is_answered_with_the_list() -> None:
    result = translate("--to", "morse", stdin="{}")
    assert output_of(result) == (
        2,
        "",
        f"toolwire: no such wire: morse; there are {', '.join(toolwire.profiles())}\n",
    )


def test_a_body_of_no_wire_is_answered_with_the_list_and_the_way_out() -> None:
    line = f"this is not a body of any known wire ({', '.join(toolwire.wires())}); name the wire with --from WIRE"
    assert output_of(translate("--to", "gemini", stdin='{"weather": "fine"}')) == (
        2,
        "",
        f"toolwire: {line}\n",
    )


def test_a_body_of_several_wires_is_answered_with_the_candidates() -> None:
    result = translate("--to", "gemini", stdin='{"messages": [{"role": "user", "content": "hi"}]}')
    assert result.exit_code == 2
    assert result.stderr.startswith("toolwire: this could be a body of ")
    assert result.stderr.endswith("; name the wire with --from WIRE\n")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"ids": 3}',
        '{"ids": {"a": 1}}',
        "7",
        "{}",
        '{"a": "b"}',
        '{"names": ["a"]}',
        '{"ids": {}, "calls": null}',
        '{"calls": {"a": {"raw_arguments": "yes"}}}',
        '{"results": {"a": {}}}',
    ],
)
def test_what_is_no_id_map_is_refused_by_name(text: str, tmp_path: Path) -> None:
    ids = tmp_path / "ids.json"
    ids.write_text(text)
    result = translate("--from", "anthropic", "--to", "gemini", "--ids", str(ids), stdin=CLEAN)
    assert output_of(result) == (2, "", f"toolwire: {ids}: not an id map as --save-ids writes it\n")


def test_an_id_map_that_is_not_json_is_refused_by_name(tmp_path: Path) -> None:
    ids = tmp_path / "ids.json"
    ids.write_text("{")
    result = translate("--from", "anthropic", "--to", "gemini", "--ids", str(ids), stdin=CLEAN)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"toolwire: {ids}: broken JSON: ")


def test_an_unreadable_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        Path, "read_bytes", refuse
    )  # The tests may run as root, who may read anything.
    assert output_of(translate("secret.json", "--to", "gemini")) == (
        2,
        "",
        "toolwire: secret.json: permission denied\n",
    )


def test_an_unknown_verb_is_misuse_too() -> None:
    result = CliRunner().invoke(commands, ["translat"])
    assert result.exit_code == 2
    assert result.stderr.startswith("toolwire: No such command 'translat'")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("tranlsate", "translate"), ("translat", "translate"), ("Wire", "wires"), ("TOUR", "tour")],
)
def test_an_unknown_verb_is_answered_with_the_nearest_one(typed: str, meant: str) -> None:
    line = f"toolwire: No such command '{typed}'. Did you mean '{meant}'? (see toolwire --help)\n"
    assert output_of(CliRunner().invoke(commands, [typed, "x"])) == (2, "", line)


def test_a_verb_like_no_other_is_answered_without_a_guess() -> None:
    assert output_of(CliRunner().invoke(commands, ["zzz"])) == (
        2,
        "",
        "toolwire: No such command 'zzz' (see toolwire --help)\n",
    )


@pytest.mark.parametrize("text", ['{"ids": {}}', '{"names": {"a": "b"}}', '{"calls": {}}'])
def test_an_id_map_may_lack_empty_fields(text: str, tmp_path: Path) -> None:
    ids = tmp_path / "ids.json"
    ids.write_text(text)
    assert (
        translate("--from", "anthropic", "--to", "gemini", "--ids", str(ids), stdin=CLEAN).exit_code
        == 0
    )
