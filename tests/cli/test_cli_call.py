"""`toolwire call`: a tool of a file, a server or a program; it runs once for each call id."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.server_process import EXAMPLES, ServerProcess, ToolServerAddress, door, serve_command
from cli.shell import PROGRAM, ROOT, at_terminal, environment, run_with_pipes
from click.testing import CliRunner, Result

from toolwire.cli.framework.group import commands

LEDGERS = "expected sqlite:///FILE, postgresql://HOST/DATABASE or memory:"


def call(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(commands, ["call", *arguments], input=stdin, env=env)


def local(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    return call(*arguments, "--tools", EXAMPLES, stdin=stdin, env=env)


def output_of(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def rung(tmp_path_factory: pytest.TempPathFactory) -> ToolServerAddress:
    return door(tmp_path_factory.mktemp("door"))


@pytest.fixture(scope="module")
def server(rung: ToolServerAddress) -> Iterator[ServerProcess]:
    ledger = f"sqlite:///{rung.counts.with_name('calls.db')}"
    with serve_command(
        "serve",
        EXAMPLES,
        rung.file,
        "--port",
        "0",
        "--ledger",
        ledger,
        lines=5,
        RINGS=str(rung.counts),
    ) as found:
        yield found


# --- from a file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (["Calculator.Add", "a=10", "b=5"], "15"),
        (["Calculator.Add@1", "a=10", "b=5"], "15"),
        (["Calculator.Add@1.0.0", "a:=10", "b=0.5"], "10.5"),
        (["Calculator.Add", "--input", '{"a": 1, "b": 2}'], "3"),
        (["Calculator.Add", "--input", '{"a": 1, "b": 2}', "b=40"], "41"),
        (["Doorbell.Ring", "doorbell_id=doorbell1"], "null"),
    ],
)
def test_arguments_are_words_or_json(line: list[str], value: str) -> None:
    assert output_of(local(*line)) == (0, f"{value}\n", "")


def test_input_is_read_from_stdin() -> None:
    assert output_of(local("Calculator.Add", "--input", "-", stdin='{"a": 20, "b": 22}')) == (
        0,
        "42\n",
        "",
    )


def test_a_version_is_chosen_and_a_word_stays_a_word_where_the_schema_wants_one(
    rung: ToolServerAddress,
) -> None:
    assert output_of(call("Door.Look@1", "--tools", rung.file))[:2] == (
        0,
        'loading the door\n"no one"\n',
    )
    done = call("Door.Look", "at=10", "far=true", "--tools", rung.file)
    assert done.stdout.splitlines()[-1] == '{"at":"10","far":true}'
    done = call("Door.Look", "at:=null", "--tools", rung.file)
    assert done.stdout.splitlines()[-1] == '{"at":null,"far":false}'


def test_secrets_and_tokens_come_from_the_environment_and_are_not_shown() -> None:
    line = ("SMS.Send", "to=+1", "message=hi", "--secret", "TWILIO_API_KEY")
    assert output_of(local(*line, env={"TWILIO_API_KEY": "hunter2"})) == (
        0,
        '{"status":"sent"}\n',
        "",
    )
    mails = local(
        "Gmail.GetEmails",
        "query=parcel",
        "--user",
        "ann",
        "--token",
        "google=MY_TOKEN",
        env={"MY_TOKEN": "hunter2"},
    )
    assert [one["id"] for one in json.loads(mails.stdout)["emails"]] == ["2"]


def test_a_failure_is_reported_with_its_hints_and_exits_with_1() -> None:
    assert output_of(local("Doorbell.Ring", "doorbell_id=none")) == (
        1,
        "",
        (
            "Doorbell.Ring: The doorbell was not found.\n"
            "The doorbells are: doorbell1, doorbell42.\n"
            "the call may be retried after 500 ms\n"
        ),
    )


def test_as_json_a_failure_is_on_stdout_with_all_that_is_known() -> None:
    done = local("Doorbell.Ring", "doorbell_id=none", "--call-id", "c1", "--json")
    row = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (1, "")
    assert (
        row["call_id"],
        row["state"],
        row["failure"]["can_retry"],
        row["failure"]["retry_after_ms"],
    ) == ("c1", "failed", True, 500)


def test_at_a_terminal_the_value_is_indented() -> None:
    code, text = at_terminal(
        "call", "Door.Look", "--input", '{"at":"sea"}', "--tools", str(ROOT / "nowhere.py")
    )
    assert code == 2 and text == f"toolwire: {ROOT / 'nowhere.py'}: no such file\n"
    code, text = at_terminal(
        "call", "Calculator.Add", "a=1", "b=2", "--json", "--call-id", "c1", "--tools", EXAMPLES
    )
    assert code == 0
    assert text.startswith('{\n  "call_id": "c1",\n  "state": "done",\n')


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Calculator.Ad a=1 b=2", "Calculator.Ad: no such tool; did you mean Calculator.Add?"),
        (
            "calculator_add a=1 b=2",
            (
                "expected Toolkit.Tool, Toolkit.Tool@1 or Toolkit.Tool@1.2.3; did you mean"
                " Calculator.Add?"
            ),
        ),
        (
            "Calculator.Add@2 a=1 b=2",
            "Calculator.Add@2.0.0: no such version (2 means 2.0.0); available: 1.0.0",
        ),
        ("Calculator.Add a=1", "Calculator.Add: b: is missing"),
        ("Calculator.Add a=1 b=x", "Calculator.Add: b: expected a number, got a string"),
        ("Calculator.Add a=1 b", "b: expected NAME=VALUE, or NAME:=JSON"),
        ("Calculator.Add a=1 =2", "=2: expected NAME=VALUE, or NAME:=JSON"),
        ("Calculator.Add a=1 a:=2", "a is given twice"),
        ("Calculator.Add a:=x", "a:=x: not JSON"),
        ("Calculator.Add --input [1]", "--input: expected a JSON object"),
        ("Calculator.Add --input {", "--input: not JSON: Input data was truncated"),
        (
            "SMS.Send to=1 message=x",
            "SMS.Send: the tool needs TWILIO_API_KEY (--token, --secret, --user)",
        ),
        (
            "SMS.Send to=1 message=x --secret NO_SUCH_VARIABLE",
            "the environment variable NO_SUCH_VARIABLE is not set",
        ),
        ("Calculator.Add --ledger mysql://me:hunter2@x/y", f"mysql://…@x/y: {LEDGERS}"),
        ("Calculator.Add a=1 b=2 --call-id=", "--call-id: expected an id, got an empty string"),
    ],
)
def test_misuse_is_one_line(line: str, says: str) -> None:
    code, out, err = output_of(local(*line.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("toolwire: ") and err.rstrip().endswith(says)


def test_a_secret_that_was_given_instead_of_its_name_is_not_repeated() -> None:
    code, _, err = output_of(local("Gmail.GetEmails", "--token", "google=ya29.Hunter2"))
    assert (code, err) == (
        2,
        (
            "toolwire: expected the name of an environment variable with the secret or token,"
            " not its value\n"
        ),
    )


def test_a_ledger_beside_a_server_is_misuse() -> None:
    assert output_of(call("A.B", "--ledger", "memory:")) == (
        2,
        "",
        "toolwire: --ledger works only with --tools: a server records its calls itself\n",
    )


def test_the_same_call_id_runs_once_and_another_call_under_it_not_at_all(tmp_path: Path) -> None:
    there = door(tmp_path)
    line = (
        "--tools",
        there.file,
        "--ledger",
        f"sqlite:///{tmp_path / 'calls.db'}",
        "--call-id",
        "c1",
    )
    env = {"RINGS": str(there.counts)}
    for _ in range(2):
        assert call("Door.Ring", "n=1", *line, env=env).stdout.splitlines()[-1] == '"rung 1"'
    other = call("Door.Ring", "n=2", *line, env=env)
    assert (other.exit_code, other.stderr) == (
        1,
        "Door.Ring: this call id belongs to a call with other arguments; the tool did not run\n",
    )
    assert (
        json.loads(call("Door.Ring", "n=1", "--json", *line, env=env).stdout.splitlines()[-1])[
            "replayed"
        ]
        is True
    )
    assert there.rings == ["1"]


def test_after_a_crash_the_outcome_is_reported_as_unknown(tmp_path: Path) -> None:
    there = door(tmp_path)
    line = (
        "call",
        "Door.Ring",
        "n=1",
        "--tools",
        there.file,
        "--ledger",
        f"sqlite:///{tmp_path / 'calls.db'}",
        "--call-id",
        "c1",
    )
    assert run_with_pipes(*line, RINGS=str(there.counts), DIE="1").returncode == -signal.SIGKILL
    done = run_with_pipes(*line, RINGS=str(there.counts))
    says = (
        "Door.Ring: the call started, and its outcome is unknown; this call id does not run again\n"
    )
    assert (done.returncode, done.stderr.decode()) == (1, says)
    assert there.rings == ["1"]


# --- from servers ---------------------------------------------------------------------------------


def test_a_server_is_asked_by_its_url_or_by_the_environment(server: ServerProcess) -> None:
    assert output_of(call("Calculator.Add", "a=10", "b=5", "--url", server.url)) == (0, "15\n", "")
    assert output_of(call("Calculator.Add", "a=10", "b=5", env={"TOOLWIRE_URL": server.url})) == (
        0,
        "15\n",
        "",
    )
    assert output_of(call("Door.Look@1", "--url", server.url)) == (0, '"no one"\n', "")


def test_on_a_server_the_same_call_id_runs_once(
    server: ServerProcess, rung: ToolServerAddress
) -> None:
    line = ("Door.Ring", "n=41", "--url", server.url, "--call-id", "c41")
    assert [output_of(call(*line)) for _ in range(2)] == [(0, '"rung 41"\n', "")] * 2
    assert call("Door.Ring", "n=42", "--url", server.url, "--call-id", "c41").exit_code == 2
    assert output_of(call("Door.Ring", "n=43", "--url", server.url)) == output_of(
        call("Door.Ring", "n=43", "--url", server.url)
    )
    assert [rung.rings.count(n) for n in ("41", "42", "43")] == [1, 0, 2]


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("Doorbell.Ring doorbell_id=none", 1, "Doorbell.Ring: The doorbell was not found."),
        ("Door.Break", 1, "Door.Break: The door is made of steel."),
        ("Calculator.Add a=1", 2, "toolwire: Calculator.Add: b: is missing"),
        (
            "Calculator.Add a=1 b=x",
            2,
            "toolwire: Calculator.Add: b: expected a number, got a string",
        ),
        (
            "Calculator.Ad a=1",
            2,
            "toolwire: Calculator.Ad: no such tool; did you mean Calculator.Add?",
        ),
        (
            "SMS.Send to=1 message=x",
            2,
            "toolwire: SMS.Send: the tool needs TWILIO_API_KEY (--token, --secret, --user)",
        ),
    ],
)
def test_results_of_a_server_are_reported_like_those_of_local_tools(
    server: ServerProcess, line: str, code: int, says: str
) -> None:
    done = call(*line.split(), "--url", server.url)
    assert (done.exit_code, done.stdout, done.stderr.splitlines()[0]) == (code, "", says)


def test_what_a_tool_on_a_server_needs_is_handed_on(server: ServerProcess) -> None:
    line = ("SMS.Send", "to=1", "message=x", "--secret", "TWILIO_API_KEY", "--url", server.url)
    assert output_of(call(*line, env={"TWILIO_API_KEY": "hunter2"})) == (
        0,
        '{"status":"sent"}\n',
        "",
    )


def test_a_missing_server_is_reported_in_one_line() -> None:
    assert output_of(call("A.B", "--url", "http://127.0.0.1:1")) == (
        2,
        "",
        "toolwire: nothing is listening at http://127.0.0.1:1; start the tool server (`toolwire"
        " serve`), or correct the address\n",
    )


def test_a_server_over_mcp_and_a_program_are_asked_alike(
    server: ServerProcess, tmp_path: Path
) -> None:
    assert (
        output_of(
            call("Toolwire.Calculator_Add", "a=1", "b=2", "--tools", f"mcp+{server.url}/mcp")
        )[0]
        == 2
    )
    assert output_of(call("Calculator.Add", "a=1", "b=2", "--tools", f"mcp+{server.url}/mcp")) == (
        0,
        "3\n",
        "",
    )
    there = door(tmp_path)
    command = shlex.join([*PROGRAM, "serve", there.file, "--stdio", "--ledger", "memory:"])
    done = run_with_pipes("call", "Door.Look", "at=sea", "--tools", f"mcp:{command}")
    assert (done.returncode, done.stdout) == (0, b'{"at":"sea","far":false}\n')


# --- as a process ---------------------------------------------------------------------------------


def test_control_c_ends_it_with_130_and_without_a_word(tmp_path: Path) -> None:
    there = door(tmp_path)
    line = [*PROGRAM, "call", "Door.Ring", "n=1", "seconds=30", "--tools", there.file]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(RINGS=str(there.counts)),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while not there.rings:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr is not None and process.stderr.read() == b""


def test_control_c_while_a_file_is_loaded_ends_it_the_same_way(tmp_path: Path) -> None:
    there = tmp_path / "there"
    # in small steps: a signal that comes just before a long sleep is heard after it
    slow = (
        f"import time\nfrom pathlib import Path\nPath({str(there)!r}).touch()\nfor _ in"
        " range(3000): time.sleep(0.01)\n"
    )
    (tmp_path / "slow.py").write_text(slow)
    line = [*PROGRAM, "call", "A.B", "--tools", str(tmp_path / "slow.py")]
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while not there.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr is not None and process.stderr.read() == b""


def test_a_reader_that_went_away_is_no_surprise_and_with_stdout_closed_nothing_is_run(
    tmp_path: Path,
) -> None:
    there = door(tmp_path)
    ours, theirs = os.pipe()
    os.close(ours)
    line = [*PROGRAM, "call", "Calculator.Add", "a=1", "b=2", "--tools", EXAMPLES]
    done = subprocess.run(
        line, stdout=theirs, stderr=subprocess.PIPE, env=environment(), check=False, timeout=600
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
    shell = f"'{sys.executable}' -m toolwire call Door.Ring n=1 --tools '{there.file}' >&-"
    done = subprocess.run(
        ["sh", "-c", shell],
        capture_output=True,
        env=environment(RINGS=str(there.counts)),
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stderr, there.rings) == (2, b"toolwire: stdout is closed\n", [])
