"""The program as a process: pipes, signals, terminals, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.shell import PROGRAM, ROOT, at_terminal, environment, run_with_pipes

LONG = json.dumps({"contents": [{"role": "user", "parts": [{"text": "x" * 1000}]}] * 2000}).encode()


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )


def test_control_c_ends_it_with_130_and_without_a_word() -> None:
    code = (
        "import os, signal, sys, threading\n"
        # a job in the background inherits that it is ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import toolwire.cli, toolwire.cli.translate\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "sys.argv[1:] = ['translate', '--to', 'gemini']\n"
        "toolwire.cli.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.wait(timeout=600) == 130  # Its stdin is still open: it was reading.
    assert process.communicate() == (b"", b"")


INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handling})
sys.argv[1:] = ["tour"]
from toolwire.cli import main
sys.meta_path.insert(0, Finder())
main()
"""


def interrupt_import_of(module: str, handling: str) -> subprocess.CompletedProcess[bytes]:
    """Run the tour, with a Ctrl-C when a module is about to be imported."""
    code = INTERRUPTED.format(module=module, handling=handling)
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=environment(),
        check=False,
        timeout=600,
    )


@pytest.mark.parametrize(
    "module",
    ["toolwire.cli.framework.group", "click", "click.core", "toolwire.cli.tour", "rich.console"],
)
def test_control_c_while_it_is_still_being_loaded_ends_it_the_same_way(module: str) -> None:
    done = interrupt_import_of(module, "default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_control_c_that_is_ignored_in_the_background_stays_ignored() -> None:
    done = interrupt_import_of("click", "SIG_IGN")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"1. A conversation that went wrong")


def test_python_m_toolwire_is_the_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolwire", "check", "--help"],
        capture_output=True,
        cwd=tmp_path,
        env=environment(),
        check=True,
        timeout=600,
    )
    assert done.stdout.startswith(b"Usage: toolwire check [OPTIONS]")


def test_the_package_of_the_command_line_imports_no_heavy_module() -> None:
    seen = modules_after("import toolwire.cli")
    assert "toolwire.cli" in seen
    assert (
        seen
        & {"click", "rich", "toolwire.cli.framework.group", "toolwire.cli.framework.usage_error"}
        == set()
    )


def test_a_reader_that_goes_away_leaves_no_traceback() -> None:
    with start("translate", "--from", "gemini", "--to", "openai-chat") as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(LONG)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=600) == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    "line", ["tour", "wires", "--help", "--version", "tour --help", "translate --help"]
)
def test_whatever_is_written_into_a_closed_pipe_ends_with_141(line: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*PROGRAM, *line.split()],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=600,
        cwd=ROOT,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_head_gets_the_beginning_of_a_long_body_without_an_error(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_bytes(LONG)
    line = (
        f"'{sys.executable}' -m toolwire translate '{file}' --from gemini --to openai-chat |"
        " head -c 14"
    )
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, env=environment(), check=True, timeout=600
    )
    assert (done.stdout, done.stderr) == (b'{"messages":[{', b"")


def test_the_tour_survives_a_reader_that_goes_away() -> None:
    line = f"'{sys.executable}' -m toolwire tour | head -n 1"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, env=environment(), check=True, timeout=600
    )
    assert done.stdout.startswith(b"1. A conversation that went wrong")
    assert done.stderr == b""


def test_a_closed_stdin_is_reported_in_one_line() -> None:
    line = f"'{sys.executable}' -m toolwire translate --to gemini <&-"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, env=environment(), check=False, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        b"",
        b"toolwire: stdin is closed; name a file\n",
    )


@pytest.mark.parametrize("verb", ["tour", "wires", "translate --from gemini --to gemini", "--help"])
def test_a_full_disk_is_reported_in_one_line(verb: str) -> None:
    line = f"echo '{{\"contents\": []}}' | '{sys.executable}' -m toolwire {verb} > /dev/full"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, env=environment(), check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (
        2,
        b"toolwire: cannot write: no space left on device\n",
    )


@pytest.mark.parametrize("verb", ["tour", "wires"])
def test_a_closed_stdout_is_no_reason_to_complain(verb: str) -> None:
    line = f"'{sys.executable}' -m toolwire {verb} >&-"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, env=environment(), check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_body_that_would_go_nowhere_is_misuse_and_no_id_map_is_left_behind(
    tmp_path: Path,
) -> None:
    ids = tmp_path / "ids.json"
    line = (
        f"'{sys.executable}' -m toolwire translate examples/weather.json --to gemini --save-ids"
        f" '{ids}' >&-"
    )
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        env=environment(),
        check=False,
        timeout=600,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (2, b"toolwire: stdout is closed\n")
    assert not ids.exists()


def test_the_installed_program_is_this_one() -> None:
    script = Path(sys.executable).with_name("toolwire")
    done = subprocess.run([script, "--version"], capture_output=True, check=True, timeout=600)
    assert done.stdout.decode().startswith("toolwire ")


def modules_after(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        input=b"",
        capture_output=True,
        env=environment(),
        check=True,
        timeout=600,
    )
    return set(shown.stderr.decode().split())


def test_importing_the_library_imports_no_command_line() -> None:
    assert modules_after("import toolwire") & {"click", "rich", "toolwire.cli"} == set()


@pytest.mark.parametrize(
    "verb", ["['translate', '--from', 'gemini', '--to', 'gemini', '/dev/null']", "['wires']"]
)
def test_a_verb_in_a_pipe_does_not_pay_for_drawing(verb: str) -> None:
    seen = modules_after(
        "from click.testing import CliRunner\nfrom toolwire.cli.framework.group import"
        f" commands\nCliRunner().invoke(commands, {verb})"
    )
    assert "toolwire.cli.output.json_view" in seen or "toolwire.cli.translate" in seen
    assert "rich" not in seen
    assert "toolwire.cli.tour" not in seen


TERMINAL = """\
{
  "model": "some-model",
  "max_tokens": 4096,
  "messages": [
"""

TABLE = """\
1 loss
pointer  reason
/seed    this wire has no such setting: seed
"""


def test_at_a_terminal_the_body_is_indented_and_losses_are_a_table_below_it() -> None:
    code, text = at_terminal(
        "translate", "examples/weather.json", "--from", "openai-chat", "--to", "anthropic"
    )
    assert code == 1
    assert text.startswith(TERMINAL)
    assert text.endswith("\n}\n" + TABLE)


def test_at_a_terminal_without_input_the_help_is_shown() -> None:
    code, text = at_terminal("translate", "--to", "gemini")
    assert code == 2
    assert text.startswith("Usage: toolwire translate [OPTIONS] [FILE]\n")


def test_at_a_terminal_wires_are_a_table() -> None:
    code, text = at_terminal("wires", "gemini", "anthropic")
    head, first, second = text.splitlines()
    assert (code, head.split()) == (0, ["wire", "title", "types", "calls", "results", "profiles"])
    assert first.startswith("anthropic  Anthropic Messages")
    assert second.startswith("gemini     Gemini generateContent")


def test_at_a_terminal_types_are_a_table_of_ids() -> None:
    code, text = at_terminal("wires", "gemini", "--types", columns=140)
    assert code == 0
    assert (
        text.splitlines()[1].split()
        == "gemini functionCall part_field=functionCall call function client id? nullable".split()
    )


def test_json_can_be_had_at_a_terminal_too() -> None:
    code, text = at_terminal("wires", "gemini", "--json", columns=400)
    assert (code, json.loads(text)[0]["title"]) == (0, "Gemini generateContent")


def test_the_same_input_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    runs = {run_with_pipes("tour", PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
    assert len(runs) == 1
