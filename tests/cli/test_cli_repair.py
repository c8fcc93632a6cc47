"""`toolwire repair`: the repaired body, a report of every change, and no original lost."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolwire.atomic_write import replace_file
from toolwire.cli.framework.group import commands
from toolwire.conversation.json import Object
from toolwire.errors import UsageError
from toolwire.lint import repair as repaired

USER: Object = {"role": "user", "content": "hi"}
CALL: Object = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS: Object = {"role": "assistant", "content": None, "tool_calls": [CALL]}
BROKEN: Object = {"model": "m", "messages": [USER, ASKS, USER]}
BAD = json.dumps(BROKEN)
CLEAN = '{"messages" : [{"role": "user", "content": "hi"}], "n": 1.50}'
ORPHAN = json.dumps(
    {"model": "m", "messages": [USER, {"role": "tool", "tool_call_id": "c9", "content": "1"}, USER]}
)
PENDING = json.dumps({"messages": [USER, ASKS]})
"""A call that waits for its result: an info, which no repair changes."""


def repair(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(commands, ["repair", *arguments], input=stdin)


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def repair_body(text: str) -> object:
    return repaired(text, "openai-chat").body


def test_the_repaired_body_goes_to_stdout_and_each_change_to_a_line_of_stderr() -> None:
    result = repair(stdin=BAD)
    assert (result.exit_code, json.loads(result.stdout)) == (0, repair_body(BAD))
    assert json.loads(result.stdout) != BROKEN
    (line,) = result.stderr.splitlines()
    assert line.startswith("change /messages/1/tool_calls/0: TW021 missing-result: ")


def test_a_clean_body_is_returned_byte_for_byte_without_a_report() -> None:
    result = repair("--from", "openai-chat", stdin=CLEAN)
    assert (result.exit_code, result.stdout, result.stderr) == (0, CLEAN + "\n", "")


def test_a_result_without_its_call_is_repaired_by_default() -> None:
    result = repair("--from", "openai-chat", stdin=ORPHAN)
    assert result.exit_code == 0
    assert result.stderr.startswith("change /messages/1: TW02")


def test_a_remaining_finding_is_reported_and_the_body_is_unchanged() -> None:
    result = repair("--from", "openai-chat", "--strict", stdin=PENDING)
    assert result.exit_code == 1
    assert json.loads(result.stdout) == json.loads(PENDING)
    (line,) = result.stderr.splitlines()
    assert line.startswith("remaining /messages/1/tool_calls/0: TW")


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_silences_the_report_but_not_the_exit_code(flag: str) -> None:
    result = repair("--from", "openai-chat", "--strict", flag, stdin=PENDING)
    assert (result.exit_code, result.stderr) == (1, "")


def test_an_info_that_is_left_counts_only_if_strict() -> None:
    assert repair("--from", "openai-chat", stdin=PENDING).exit_code == 0
    assert repair("--from", "openai-chat", "--strict", stdin=PENDING).exit_code == 1


def test_diff_shows_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(BAD)
    result = repair("--diff", str(file))
    lines = result.stdout.splitlines()
    assert lines[:2] == [f"--- a/{file}", f"+++ b/{file}"]
    assert '+      "role": "tool",' in lines
    assert not [line for line in lines[2:] if line.startswith("-")]
    assert (file.read_text(), inside(tmp_path)) == (BAD, ["a.json"])


@pytest.mark.parametrize(
    "text",
    [b"\xef\xbb\xbf" + BAD.encode(), BAD.replace("hi", "\\ud83d").encode()],
    ids=["mark", "surrogate"],
)
def test_a_diff_takes_a_byte_order_mark_and_a_lone_surrogate(text: bytes) -> None:
    result = repair("--diff", stdin=text)
    assert (result.exit_code, result.stdout.splitlines()[:2]) == (0, ["--- a/stdin", "+++ b/stdin"])
    removed = [line for line in result.stdout.splitlines()[2:] if line.startswith("-")]
    assert all("\\ud83d" in line for line in removed), "the lone surrogate is replaced"


def test_the_diff_of_a_clean_body_is_empty() -> None:
    result = repair("--diff", "--from", "openai-chat", stdin=CLEAN)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


# --- in place -------------------------------------------------------------------------------------


def test_in_place_keeps_the_original_beside_the_repaired_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(BAD)
    file.chmod(0o640)
    result = repair("--in-place", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1] == f"backup {file}.bak"
    assert json.loads(file.read_text()) == repair_body(BAD)
    assert (tmp_path / "a.json.bak").read_text() == BAD
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert inside(tmp_path) == ["a.json", "a.json.bak"]


def test_no_backup_is_ever_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    (tmp_path / "a.json.bak").write_text("precious")
    for n in (1, 2):
        text = BAD.replace("hi", f"hi {n}")
        file.write_text(text)
        assert repair("--in-place", str(file)).exit_code == 0
        assert (tmp_path / f"a.json.bak{n}").read_text() == text
    assert (tmp_path / "a.json.bak").read_text() == "precious"


def test_in_place_does_not_touch_a_clean_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(CLEAN)
    before = file.stat()
    assert repair("--in-place", "--from", "openai-chat", str(file)).exit_code == 0
    assert (file.stat().st_mtime_ns, file.stat().st_ino, inside(tmp_path)) == (
        before.st_mtime_ns,
        before.st_ino,
        ["a.json"],
    )


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("end", ["", "\n"])
def test_in_place_keeps_the_margins_of_the_file(
    indent: int | None, end: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(BROKEN, indent=indent) + end)
    repair("--in-place", str(file))
    text = file.read_text()
    assert text.endswith("}" + end)
    assert text.startswith("{" if indent is None else "{\n" + " " * indent + '"')
    assert ("\n" in text.strip()) is (indent is not None)


def test_in_place_follows_a_link_and_leaves_it_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "a.json", tmp_path / "link.json"
    file.write_text(BAD)
    link.symlink_to(file)
    assert repair("--in-place", str(link)).exit_code == 0
    assert link.is_symlink()
    assert json.loads(file.read_text()) == repair_body(BAD)
    assert (tmp_path / "real" / "a.json.bak").read_text() == BAD


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text(BAD)

    def full(path: Path, target: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = repair("--in-place", str(file))
    assert (result.exit_code, result.stderr) == (
        2,
        f"toolwire: {file}: no space left on device; nothing was written\n",
    )
    assert file.read_text() == BAD
    assert inside(tmp_path) == ["a.json", "a.json.bak"]


def test_a_file_that_another_program_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("newer")
    with pytest.raises(UsageError, match="changed while it was being repaired"):
        replace_file(str(file), b"older", b"repaired")
    assert (file.read_text(), inside(tmp_path)) == ("newer", ["a.json"])


# --- misuse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "stdin", "line"),
    [
        (["--diff", "--in-place", "x"], "", "toolwire: give either --diff or --in-place\n"),
        (["--in-place"], BAD, "toolwire: --in-place needs the name of a file\n"),
        (["--in-place", "-"], BAD, "toolwire: --in-place needs the name of a file\n"),
        (["none.json"], "", "toolwire: none.json: no such file or directory\n"),
        (
            [],
            f"{BAD}\n{BAD}",
            "toolwire: each of 2 lines is a body; choose one: line=N, or --line N\n",
        ),
        ([], "data: {}\n\n", "toolwire: stdin: expected a body or a session, not a stream\n"),
        (
            ["--from", "openai-chat"],
            "{",
            "toolwire: openai-chat: broken JSON: the input ends too early, at line 1\n",
        ),
    ],
)
def test_misuse_is_one_line_and_exit_code_two(arguments: list[str], stdin: str, line: str) -> None:
    result = repair(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)
