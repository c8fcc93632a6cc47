"""No file makes a command end in a traceback: binary data, deep nesting, huge numbers, folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rows import rows

from toolwire.cli.framework.group import commands
from toolwire.conversation.json import JSON


def with_call(arguments: str, call_id: str = "c1") -> bytes:
    """A history with one call and its result."""
    call: JSON = {
        "id": call_id,
        "type": "function",
        "function": {"name": "f", "arguments": arguments},
    }
    messages: list[JSON] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "x"},
    ]
    return json.dumps({"model": "m", "messages": messages}).encode()


def with_extra(value: bytes) -> bytes:
    """A history with one more field."""
    return b'{"model":"m","messages":[{"role":"user","content":"x"}],"extra":%b}' % value


CONTENTS = {
    "empty": b"",
    "blank": b"  \n",
    "nul-bytes": b"\0" * 100,
    "binary": bytes(range(256)) * 20,
    "nul-in-string": b'{"messages":[{"role":"user","content":"a\\u0000b"}],"model":"x\x00"}',
    "utf-16": '{"model":"m","messages":[]}'.encode("utf-16"),
    "not-utf-8": with_extra(b'"\xff\xfe"'),
    "bom": b"\xef\xbb\xbf" + with_extra(b"1"),
    "deep-list": b"[" * 100_000 + b"]" * 100_000,
    "deep-object": b'{"messages":' * 5000 + b"1" + b"}" * 5000,
    "deep-field": with_extra(b"[" * 900 + b"]" * 900),
    "deep-arguments": with_call("[" * 3000 + "]" * 3000),
    "long-number": with_extra(b"9" * 5000),
    "long-number-in-arguments": with_call('{"a":' + "9" * 5000 + "}"),
    "large-float": with_extra(b"1e400"),
    "nan": with_extra(b"NaN"),
    "lone-surrogate": with_extra(b'"\\ud800"'),
    "lone-surrogate-in-id": with_call("{}", "\ud800"),
    "cut-off": with_extra(b"1")[:40],
    "number": b"42",
    "string": b'"hello"',
    "null": b"null",
    "empty-list": b"[]",
    "odd-list": b'[null, 1, "x", {}]',
    "empty-object": b"{}",
    "odd-messages": b'{"model":"m","messages":[null,1,"x",[],{}]}',
    "event": b"data: {bad\n\ndata: [DONE]\n\n",
    "long-number-in-event": b'data: {"n": ' + b"9" * 5000 + b"}\n\n",
    "deep-event": b"data: " + b"[" * 100_000 + b"\n\n",
}
LINES = {
    "check": "check {file}",
    "check-sarif": "check --format sarif {file}",
    "check-request": "check --from openai-chat {file}",
    "check-response": "check --from anthropic --kind response {file}",
    "check-stream": "check --from openai-chat --kind stream {file}",
    "repair": "repair {file}",
    "repair-diff": "repair --diff --from openai-chat {file}",
    "translate": "translate --to anthropic {file}",
    "translate-request": "translate --from openai-chat --to gemini {file}",
    "translate-response": "translate --from gemini --to openai-chat --kind response {file}",
    "cut": "cut --messages 1 --from openai-chat {file}",
    "cut-tokens": "cut --tokens 5 {file}",
    "stream": "stream --from openai-chat --to anthropic {file}",
    "stream-aws": "stream --from bedrock --to openai-chat {file}",
    "fold": "stream --from anthropic --fold {file}",
    "fold-json": "stream --from gemini --fold {file}",
    "explain": "explain refused --body {file}",
    "explain-request": "explain refused --from openai-chat --body {file}",
    "ids": "translate examples/weather.json --to gemini -q --ids {file}",
    "config": "gateway --check {file}",
    "keys": "gateway --check examples/gateway.toml --keys {file}",
    "tools": "tools {file}",
    "session": "run hi --model demo: --resume {file}",
}


@rows("content", CONTENTS)
@pytest.mark.parametrize("line", LINES)
def test_a_command_reports_an_unusual_file_without_a_traceback(
    line: str, content: str, tmp_path: Path
) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(CONTENTS[content])
    check_run(LINES[line], file)


@pytest.mark.parametrize("line", LINES)
def test_a_command_reports_a_folder_a_loop_of_links_and_a_missing_file_in_one_line(
    line: str, tmp_path: Path
) -> None:
    folder, loop = tmp_path / "folder.json", tmp_path / "loop.json"
    folder.mkdir()
    loop.symlink_to(loop)
    for path in (folder, loop, tmp_path / "missing.json"):
        assert check_run(LINES[line], path) != 0


def check_run(line: str, file: Path) -> int:
    """Run a command on a file; it must end by itself and say why if it fails."""
    arguments = [word.format(file=file) for word in line.split()]
    result = CliRunner().invoke(commands, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2)
    if result.exit_code == 2:
        assert str(file) in result.stderr, result.stderr
    return result.exit_code
