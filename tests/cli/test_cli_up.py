"""`toolwire up` and `toolwire probe`: the screen, the command that it prints, and ports in use."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cli.shell import PROGRAM, ROOT, environment, run_with_pipes
from click.testing import CliRunner
from ports import free_port

from toolwire.cli import probe
from toolwire.cli.up import LAST_LINE
from toolwire.conversation.json import JSON, Object

PROBE_OUTPUT = """\
/v1/chat/completions  the model calls one tool twice
  ╭── weather {"city":"Oslo"}  ID-A
  │╭─ weather {"city":"Rome"}  ID-B
/v1/messages  the results go back, last one first
  │╰─ 24 degrees               ID-B
  ╰── -3 degrees               ID-A
the model answers
  weather(city="Oslo") gave: -3 degrees
  weather(city="Rome") gave: 24 degrees
2 calls, 2 results: every result found its call
"""


def _environment() -> dict[str, str]:
    """An environment without keys, and with a proxy that local servers are not behind."""
    left_out = ("_API_KEY", "no_proxy", "NO_PROXY")
    kept = {key: text for key, text in environment().items() if not key.endswith(left_out)}
    return {**kept, "http_proxy": "http://127.0.0.1:1"}


def _heed_signals() -> None:
    """Undo what `nohup`, or a shell in the background, does to the programs that it starts, such as
    this test run."""
    for stop in (signal.SIGHUP, signal.SIGINT):
        signal.signal(stop, signal.SIG_DFL)


@contextmanager
def running_up(ports: tuple[int, int], stop: signal.Signals) -> Iterator[list[str]]:
    """The screen of `toolwire up`, which a signal stops at the end."""
    process = subprocess.Popen(
        [*PROGRAM, "up", "examples/tools.py", "--port", str(ports[0])]
        + ["--tools-port", str(ports[1])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        preexec_fn=_heed_signals,
    )
    try:
        assert process.stdout is not None
        screen: list[str] = []
        for line in process.stdout:
            screen.append(line.rstrip("\n"))
            if LAST_LINE in line:
                break
        yield screen
    finally:
        process.send_signal(stop)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors


def test_up_stops_both_servers_when_its_terminal_is_closed() -> None:
    ports = (free_port(), free_port())
    with running_up(ports, stop=signal.SIGHUP):
        pass
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()


def test_up_prints_a_screen_whose_command_shows_that_ids_hold() -> None:
    with running_up((free_port(), free_port()), stop=signal.SIGINT) as screen:
        (command,) = (line.strip() for line in screen if " probe " in line)
        done = subprocess.run(
            shlex.split(command), cwd=ROOT, capture_output=True, text=True, env=_environment()
        )
    assert max(map(len, screen)) <= 80
    ids = dict.fromkeys(re.findall(r"call_\w+", done.stdout))
    output = done.stdout
    for call_id, name in zip(ids, ("ID-A", "ID-B"), strict=True):
        output = output.replace(call_id, name)
    assert (done.returncode, output) == (0, PROBE_OUTPUT)


@pytest.mark.parametrize(("level", "hint"), [(None, "--port {}"), ("1", "make run PORT={}")])
def test_a_port_in_use_gets_a_hint(
    level: str | None, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    if level is not None:
        monkeypatch.setenv("MAKELEVEL", level)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_with_pipes("up", "examples/tools.py", "--port", str(port))
    start = f"toolwire: port {port} is in use; choose another one: "
    pattern = re.escape(start + hint).replace(re.escape("{}"), r"(\d+)") + "\n"
    match = re.fullmatch(pattern, done.stderr.decode())
    assert done.returncode == 2 and match, done.stderr.decode()
    assert int(match[1]) > port


@contextmanager
def gateway_with_calls(calls: list[JSON], port: int = 0) -> Iterator[str]:
    """A gateway that returns these calls over OpenAI's API, and the text "ok" over Anthropic's."""
    message: Object = {"role": "assistant", "content": None, "tool_calls": calls}
    answers: dict[str, Object] = {
        "/v1/chat/completions": {"choices": [{"index": 0, "message": message}]},
        "/v1/messages": {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
    }

    class GatewayHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path not in answers:
                self.send_error(404)
                return
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps(answers[self.path]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", port), GatewayHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def call(call_id: str, city: str) -> JSON:
    arguments = json.dumps({"city": city})
    function: Object = {"name": "weather", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([call("one", "Oslo"), call("one", "Rome")], id="one id for two calls"),
        pytest.param([call("one", "Oslo")], id="one call instead of two"),
        pytest.param([], id="no call"),
    ],
)
def test_the_probe_fails_if_ids_do_not_hold(calls: list[JSON]) -> None:
    with gateway_with_calls(calls) as url:
        done = run_with_pipes("probe", url)
    assert done.returncode == 1, done.stdout.decode()
    assert "every result found its call" not in done.stdout.decode()


def test_a_probe_of_nothing_says_how_to_start_a_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "START_TIMEOUT", 0.0)
    url = f"http://127.0.0.1:{free_port()}"
    done = CliRunner().invoke(probe.command, [url])
    assert done.exit_code == 2
    assert done.stderr == (
        f"toolwire: {url}/v1/chat/completions: nothing is listening there; start the gateway"
        " (`toolwire gateway`), or correct the address\n"
    )


def test_a_probe_waits_for_a_gateway_that_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with ExitStack() as stack:

        def start_gateway(seconds: float) -> None:
            stack.enter_context(gateway_with_calls([], port=port))

        monkeypatch.setattr(probe, "START_TIMEOUT", 600.0)
        monkeypatch.setattr("toolwire.cli.probe.time.sleep", start_gateway)
        done = CliRunner().invoke(probe.command, [f"http://127.0.0.1:{port}"])
    assert "0 calls, 0 results" in done.stdout, done.output


@pytest.mark.parametrize("url", ["localhost:8080", "gateway", "http://", "http://host:99999"])
def test_a_probe_of_something_else_than_a_url_shows_an_example(url: str) -> None:
    done = CliRunner().invoke(probe.command, [url])
    assert done.exit_code == 2
    assert done.stderr == f"toolwire: {url}: expected a URL such as http://127.0.0.1:8080\n"


def test_a_probe_of_another_server_says_that_it_is_not_a_gateway() -> None:
    with gateway_with_calls([]) as url:
        done = CliRunner().invoke(probe.command, [f"{url}/elsewhere"])
    assert done.exit_code == 2
    assert done.stderr.endswith(": status 404: this is not a gateway\n")


@pytest.mark.parametrize(
    ("level", "options"), [(None, "--port and --tools-port"), ("1", "PORT and TOOLS_PORT")]
)
def test_one_port_for_both_servers_is_refused(
    level: str | None, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKELEVEL", raising=False)
    if level is not None:
        monkeypatch.setenv("MAKELEVEL", level)
    port = str(free_port())
    done = run_with_pipes("up", "examples/tools.py", "--port", port, "--tools-port", port)
    assert done.returncode == 2
    expected = f"toolwire: {options} are both {port}: choose two different ports\n"
    assert done.stderr.decode() == expected


def test_the_installation_shows_its_phases() -> None:
    lines = "Collecting click>=8.2\nCollecting rich\nInstalling collected packages: rich, click\n"
    done = subprocess.run(
        [sys.executable, "scripts/pip_progress.py"],
        input=lines,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    phases = [re.sub(r"\d+ s", "N s", line).split() for line in done.stdout.splitlines()]
    assert phases == [
        ["N", "s", "fetching", "click"],
        ["N", "s", "installing", "2", "packages"],
        ["2", "packages", "in", "N", "s"],
    ]
