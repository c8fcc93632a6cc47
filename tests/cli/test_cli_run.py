"""`toolwire run`: the output of an agent, and what survives when it is stopped."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cases import DEEP
from cli.server_process import EXAMPLES, ToolServerAddress, door, serve_command
from cli.shell import PROGRAM, at_terminal, environment, run_with_pipes
from click.testing import CliRunner, Result

from toolwire.cli.framework.group import commands
from toolwire.codec import resolve
from toolwire.conversation.json import JSON
from toolwire.providers.table import PROVIDERS

THREE = (
    '[[call Door_Ring {"n": 1}]] [[call Door_Ring {"n": 2}]] [[then]] [[call Door_Ring {"n": 3}]]'
)
TIMES = re.compile(r"\(\d+\.\d\d s")
TWO_FILES = "--save and --resume name two files; the conversation continues in its own file"
NO_KEYS = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolServerAddress]:
    found = door(tmp_path)
    monkeypatch.setenv("RINGS", str(found.counts))
    yield found


def run(*arguments: str, model: str = "demo:", stdin: str = "") -> Result:
    return CliRunner().invoke(
        commands, ["run", "--model", model, *arguments], input=stdin, env=NO_KEYS
    )


def transcript_lines(result: Result) -> list[str]:
    """The lines of a transcript, without the output of tool files and without times."""
    return [
        TIMES.sub("(T", line) for line in result.stdout.splitlines() if line != "loading the door"
    ]


def rows(result: Result) -> list[dict[str, JSON]]:
    """The lines of `--json`."""
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


# --- the transcript -------------------------------------------------------------------------------


def test_letters_join_each_call_and_its_result(there: ToolServerAddress) -> None:
    done = run(THREE, "--tools", there.file)
    lines = transcript_lines(done)
    assert (done.exit_code, lines[:2]) == (0, ['A → Door_Ring {"n":1}', 'B → Door_Ring {"n":2}'])
    assert sorted(lines[2:4]) == ["A ← rung 1  (T)", "B ← rung 2  (T)"]
    assert lines[4:] == [
        'C → Door_Ring {"n":3}',
        "C ← rung 3  (T)",
        "Door_Ring(n=1) gave: rung 1",
        "Door_Ring(n=2) gave: rung 2",
        "Door_Ring(n=3) gave: rung 3",
    ]
    assert re.fullmatch(r"\d+ tokens in, \d+ out, 3 turns\n", done.stderr)


@pytest.mark.parametrize(
    "name",
    sorted(
        {row.name if DEEP else resolve(row.profile)[0].name: row.name for row in PROVIDERS}.values()
    ),
)
def test_every_wire_is_spoken_by_the_demo(name: str, there: ToolServerAddress) -> None:
    lines = transcript_lines(run(THREE, "--tools", there.file, model=f"demo:{name}"))
    assert lines[-3:] == [f"Door_Ring(n={n}) gave: rung {n}" for n in (1, 2, 3)]
    assert sorted(there.rings) == ["1", "2", "3"]


@pytest.mark.parametrize("option", ["--no-stream", "--text"])
def test_whole_answers_and_models_without_tools_read_the_same(
    option: str, there: ToolServerAddress
) -> None:
    lines = transcript_lines(run('[[call Door_Ring {"n": 1}]]', option, "--tools", there.file))
    assert lines[-3:] == ['A → Door_Ring {"n":1}', "A ← rung 1  (T)", "Door_Ring(n=1) gave: rung 1"]


def test_as_json_everything_is_a_line(there: ToolServerAddress) -> None:
    done = run('[[call Door_Ring {"n": 1}]]', "--json", "--tools", there.file)
    found = rows(done)
    call, result = (
        next(row for row in found if row["type"] == kind) for kind in ("call", "result")
    )
    assert call["id"] == result["call_id"]
    assert (call["name"], call["arguments"], result["output"], result["state"]) == (
        "Door_Ring",
        '{"n":1}',
        "rung 1",
        "done",
    )
    text = "".join(
        str(row["text"])
        for row in found
        if row["type"] == "delta" and str(row["text"]) in "Door_Ring(n=1) gave: rung 1"
    )
    assert "rung 1" in text
    assert found[-1] == {
        "type": "run_result",
        "phase": "done",
        "why": "stop",
        "text": "Door_Ring(n=1) gave: rung 1",
        "usage": found[-1]["usage"],
    }


def test_at_a_terminal_calls_and_results_have_colours_and_the_same_words(
    there: ToolServerAddress,
) -> None:
    code, text = at_terminal(
        "run",
        "--model",
        "demo:",
        "[[call Door_Break {}]] [[call No_Such {}]]",
        "--tools",
        there.file,
    )
    lines = [TIMES.sub("(T", line) for line in text.splitlines()]
    assert code == 0
    assert "A ← The door is made of steel.  (T)" in lines
    assert any(
        line.startswith("B ← [toolwire] there is no tool 'No_Such'")
        and line.endswith("(T, unknown-tool)")
        for line in lines
    )


def test_tools_of_an_oxp_server_and_of_an_mcp_program_work_together(
    there: ToolServerAddress,
) -> None:
    command = shlex.join([*PROGRAM, "serve", there.file, "--stdio", "--ledger", "memory:"])
    question = '[[call Calculator_Add {"a": 1, "b": 2}]] [[call Door_Look {"at": "sea"}]]'
    with serve_command(
        "serve", EXAMPLES, "--oxp", "--port", "0", "--ledger", "memory:", lines=3
    ) as server:
        done = run_with_pipes(
            "run", "--model", "demo:", question, "--tools", server.url, "--tools", f"mcp:{command}"
        )
    out = done.stdout.decode()
    assert done.returncode == 0
    assert "gave: 3\n" in out and 'gave: {"at":"sea","far":false}\n' in out


def test_more_turns_than_allowed_exit_with_1(there: ToolServerAddress) -> None:
    done = run(THREE, "--tools", there.file, "--turns", "1")
    assert done.exit_code == 1
    assert done.stderr.startswith("stopped: ")
    assert sorted(there.rings) == ["1", "2"]


def test_a_question_is_read_from_stdin(there: ToolServerAddress) -> None:
    assert (
        transcript_lines(run("-", "--tools", there.file, stdin='[[call Door_Ring {"n": 1}]]'))[-1]
        == "Door_Ring(n=1) gave: rung 1"
    )


class Refusing(BaseHTTPRequestHandler):
    """A provider that rejects the key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = (
            b'{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}'
        )
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def test_a_provider_that_refuses_exits_with_1_and_its_words_and_no_key() -> None:
    with HTTPServer(("127.0.0.1", 0), Refusing) as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{provider.server_port}/v1"
        done = CliRunner().invoke(
            commands, ["run", "hello", "--model", f"{url}#vllm:m"], env={"VLLM_API_KEY": "hunter2"}
        )
        provider.shutdown()
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Incorrect API key provided" in done.stderr and "hunter2" not in done.stderr


# --- approvals ------------------------------------------------------------------------------------


def run_with_approval(
    there: ToolServerAddress, answers: str, question: str
) -> tuple[list[str], str]:
    done = run_with_pipes(
        "run",
        "--model",
        "demo:",
        "--approve",
        "--tools",
        there.file,
        question,
        stdin=answers.encode(),
        RINGS=str(there.counts),
    )
    assert done.returncode == 0
    return done.stdout.decode().splitlines(), done.stderr.decode()


def test_each_call_is_asked_about_and_may_be_denied_with_a_reason_or_edited(
    there: ToolServerAddress,
) -> None:
    question = '[[call Door_Ring {"n": 1}]] [[call Door_Ring {"n": 2}]] [[call Door_Ring {"n": 3}]]'
    lines, asked = run_with_approval(
        there, 'no they sleep\nwhat\ne\nnot json\n{"n": 9}\n', question
    )
    assert lines[-3:] == [
        "Door_Ring(n=1) gave: [toolwire] they sleep",
        "Door_Ring(n=9) gave: rung 9",
        "Door_Ring(n=3) gave: [toolwire] no one can approve this call: stdin has ended",
    ]
    assert asked.count('run Door.Ring@1.0.0 with {"n":2}? [y]es, [n]o, [e]dit, [a]ll: ') == 2
    assert "expected a JSON object" in asked
    assert there.rings == ["9"]


def test_no_call_is_asked_about_after_the_answer_all(there: ToolServerAddress) -> None:
    lines, asked = run_with_approval(there, "all\n", THREE)
    assert lines[-1] == "Door_Ring(n=3) gave: rung 3"
    assert asked.count("run Door.Ring") == 1


def test_control_c_at_a_question_ends_it_at_once(there: ToolServerAddress) -> None:
    line = [
        *PROGRAM,
        "run",
        "--model",
        "demo:",
        "--approve",
        "--tools",
        there.file,
        '[[call Door_Ring {"n": 1}]]',
    ]
    with subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.read(3) == b"run"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert (
            process.stderr.read() == b' Door.Ring@1.0.0 with {"n":1}? [y]es, [n]o, [e]dit, [a]ll: '
        )
    assert there.rings == []


# --- stopped and resumed --------------------------------------------------------------------------


def test_after_kill_9_in_the_middle_of_a_tool_nothing_rings_twice(there: ToolServerAddress) -> None:
    kept = str(there.counts.with_name("talk.json"))
    line = ("run", "--model", "demo:anthropic", "--tools", there.file, "--parallel", "1")
    died = run_with_pipes(*line, "--save", kept, THREE, RINGS=str(there.counts), DIE="2")
    assert (died.returncode, there.rings) == (-signal.SIGKILL, ["1", "2"])
    done = run_with_pipes(*line, "--resume", kept, RINGS=str(there.counts))
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, done.stderr
    assert there.rings == ["1", "2", "3"]
    assert "Door_Ring(n=1) gave: rung 1" in lines and "Door_Ring(n=3) gave: rung 3" in lines
    assert (
        "Door_Ring(n=2) failed: [toolwire] the call was started, and its outcome is unknown; it was"
        " not run again" in lines
    )
    again = run_with_pipes(
        *line, "--resume", kept, '[[call Door_Ring {"n": 4}]]', RINGS=str(there.counts)
    )
    assert again.stdout.decode().splitlines()[-1] == "Door_Ring(n=4) gave: rung 4"
    assert there.rings == ["1", "2", "3", "4"]


def test_after_control_c_the_printed_command_continues_the_run(there: ToolServerAddress) -> None:
    kept = str(there.counts.with_name("talk.json"))
    question = '[[call Door_Ring {"n": 1, "seconds": 30}]]'
    line = [*PROGRAM, "run", "--model", "demo:", "--tools", there.file, "--save", kept, question]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while not there.rings:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr is not None
        assert process.stderr.read().decode() == f"stopped; continue with --resume {kept}\n"
    done = run_with_pipes(
        "run", "--model", "demo:", "--tools", there.file, "--resume", kept, RINGS=str(there.counts)
    )
    assert (done.returncode, there.rings) == (0, ["1"])


def test_without_anything_kept_control_c_says_nothing(there: ToolServerAddress) -> None:
    line = [
        *PROGRAM,
        "run",
        "--model",
        "demo:",
        "--tools",
        there.file,
        '[[call Door_Ring {"n": 1, "seconds": 30}]]',
    ]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while not there.rings:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr is not None and process.stderr.read() == b""


def test_a_reader_that_goes_away_ends_it_without_a_traceback(there: ToolServerAddress) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*PROGRAM, "run", "--model", "demo:", "--tools", EXAMPLES, "add 1 and 2"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=600,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--model demo:", "there is no question: give one on the command line or on stdin"),
        ("--model demo: --resume nowhere.json", "nowhere.json: no such file"),
        (
            "hi --model demo: --save {file}",
            "{file}: the file exists; continue it with --resume {file}",
        ),
        ("hi --model demo: --save a --resume {file}", TWO_FILES),
        (
            "- --model demo: --approve",
            "--approve reads decisions from stdin; give the question on the command line",
        ),
        (
            "hi --model demo: --turns 0",
            "Invalid value for '--turns': 0 is not in the range x>=1 (see toolwire run --help)",
        ),
        (
            "hi --model demo: --secret NO_SUCH_VARIABLE",
            "the environment variable NO_SUCH_VARIABLE is not set",
        ),
        ("hi --model demo: --tools nowhere.py", "nowhere.py: no such file"),
        (
            "hi --model demo: --ledger mysql://x",
            "mysql://x: expected sqlite:///FILE, postgresql://HOST/DATABASE or memory:",
        ),
        (
            "hi --model anthropic:some-model",
            "anthropic:some-model: no API key; set the environment variable ANTHROPIC_API_KEY",
        ),
        ("hi --model anthropic:", "anthropic:: name a model, as in anthropic:some-model"),
        ("hi", "Missing option '--model' (see toolwire run --help)"),
    ],
)
def test_misuse_is_one_line(line: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "there.json"
    file.write_text("{}")
    done = CliRunner().invoke(commands, ["run", *line.format(file=file).split()], env=NO_KEYS)
    assert (done.exit_code, done.stdout, done.stderr) == (
        2,
        "",
        f"toolwire: {says.format(file=file)}\n",
    )


@pytest.mark.parametrize("model", ["nope:x", "demo:nope"])
def test_an_unknown_model_gets_the_list_of_models(model: str) -> None:
    done = run("hi", model=model)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "known names: openai, " in done.stderr


def test_an_invalid_conversation_is_reported_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "there.json"
    file.write_text("not json")
    done = run("hi", "--resume", str(file))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"toolwire: {file}: ")


def test_a_database_that_is_away_is_reported_in_one_line_without_its_password() -> None:
    done = run("hi", "--ledger", "postgresql://me:hunter2@127.0.0.1:1/db")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (
        done.stderr.startswith("toolwire: --ledger postgresql://…@127.0.0.1:1/db: ")
        and "hunter2" not in done.stderr
    )
