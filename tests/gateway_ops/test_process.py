"""The gateway as a program: start, requests, reload, workers that are killed, and stop."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from gateway_ops.running import get, open_stream, post

from toolwire.cli.output.client_snippets import client_programs, curl_lines

ROOT = Path(__file__).parents[2]
NODE = ROOT / "tests" / "node"
PROGRAM = (sys.executable, "-m", "toolwire", "gateway")
DEMO = '[server]\ndefault = "demo"\n[models.demo]\nupstream = "demo"\n'
ASK: dict[str, object] = {"model": "demo", "messages": [{"role": "user", "content": "hello"}]}
SLOW = "[[slow 0.3]] [[text one two three four]]"
"""Makes the offline model wait between the pieces of its response."""


class Running:
    """A gateway in its own process."""

    def __init__(self, process: subprocess.Popen[str], url: str, output: str, errors: Path) -> None:
        self.process = process
        self.url = url
        self.output = output
        self._errors = errors

    @property
    def log(self) -> str:
        return self._errors.read_text()

    def children(self) -> list[int]:
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(one) for one in found.split()]


def environment() -> dict[str, str]:
    """The environment of this process without API keys of providers."""
    return {
        key: value for key, value in os.environ.items() if not key.endswith(("_API_KEY", "_TOKEN"))
    }


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Running]:
    errors = folder / "stderr.txt"
    with errors.open("w") as out:
        process = subprocess.Popen(
            [*PROGRAM, "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            env=environment(),
            cwd=folder,
        )
    try:
        assert process.stdout is not None
        last = b"\n# ai\n" if "--clients" in arguments else b":generateContent"
        output = _read_until(process.stdout, last)
        found = re.search(r"http://[0-9.]+:\d+", output)
        assert found, (output, errors.read_text())
        yield Running(process, found[0], output, errors)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _read_until(out: IO[str], last: bytes) -> str:
    """The output of the program up to the lines with the last words."""
    data = b""
    late = time.monotonic() + 120
    while time.monotonic() < late and not (last in data and data.endswith(b"\n")):
        if select.select([out], [], [], 0.3)[0]:
            more = os.read(out.fileno(), 65536)
            data += more
            if not more:
                break
    return data.decode()


def until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    late = time.monotonic() + seconds
    while not true():
        if time.monotonic() > late:
            return False
        time.sleep(0.05)
    return True


def run_program(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=folder,
        timeout=300,
        check=False,
    )


def test_without_any_configuration_the_lines_it_prints_work(tmp_path: Path) -> None:
    with running(tmp_path, "--clients") as gateway:
        lines = [line for line in gateway.output.splitlines() if line.startswith("curl ")]
        assert lines == curl_lines(gateway.url, "demo") and len(lines) == 3
        for line in lines:
            done = subprocess.run(
                line, shell=True, capture_output=True, text=True, timeout=600, check=True
            )
            assert "Say hello" in json.dumps(json.loads(done.stdout))
        programs = client_programs(gateway.url, "demo")
        script = "\n".join(programs[name] for name in programs if name != "ai")
        assert all(text in gateway.output for text in programs.values())
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.count("Say hello.") == len(programs) - 1
        if shutil.which("node") and (NODE / "node_modules").is_dir():
            command = ["node", "--input-type=module", "-e", programs["ai"]]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=300, check=False, cwd=NODE
            )
            assert "Say hello." in done.stdout, done.stderr[-2000:]
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(60) == 0


def test_check_reports_mistakes_with_their_lines_and_does_not_serve(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(
        '[models.a]\nupstream = "antropic"\n[models.b]\nupstream = "demo"\nfallbacks = ["c"]\n'
    )
    bad = run_program(tmp_path, "g.toml", "--check")
    assert bad.returncode == 1
    assert bad.stderr.splitlines() == [
        "g.toml:2: [models.a] upstream: unknown provider antropic; did you mean anthropic?",
        "g.toml:5: [models.b] fallbacks: unknown model c; known: a, b",
        "toolwire: 2 mistakes in the configuration",
    ]
    served = run_program(tmp_path, "g.toml")
    assert served.returncode == 2 and "the gateway did not start" in served.stderr
    good = run_program(ROOT, "examples/gateway.toml", "--check")
    assert (good.returncode, good.stderr) == (0, "")
    assert "local: vllm:some-model then demo:openai:demo" in good.stdout


def test_a_page_that_rebinds_its_name_to_loopback_cannot_read_the_metrics(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        assert get(f"{gateway.url}/metrics").status == 200
        assert get(f"{gateway.url}/metrics", {"host": "attacker.example"}).status == 421


def test_it_does_not_open_to_the_world_without_keys(tmp_path: Path) -> None:
    refused = run_program(tmp_path, "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 2 and "toolwire keys add" in refused.stderr
    command = [*PROGRAM[:-1], "keys", "add", "alice", "keys.toml"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    key = made.stdout.strip()
    assert (
        made.returncode == 0
        and key.startswith("tw-")
        and key not in (tmp_path / "keys.toml").read_text()
    )
    with running(tmp_path, "--host", "0.0.0.0", "--keys", "keys.toml") as gateway:
        url = gateway.url.replace("0.0.0.0", "127.0.0.1") + "/v1/chat/completions"
        assert "$TOOLWIRE_KEY" in gateway.output and key not in gateway.output
        assert post(url, ASK).status == 401
        assert post(url, ASK, {"authorization": f"Bearer {key}"}).status == 200
        metrics = url.replace("/v1/chat/completions", "/metrics")
        assert get(metrics).status == 401
        assert get(metrics, {"authorization": f"Bearer {key}"}).status == 200
        assert (
            post(
                url.replace("/chat/completions", "/messages"),
                {**ASK, "max_tokens": 9},
                {"x-api-key": key},
            ).status
            == 200
        )
        (tmp_path / "keys.toml").write_text("")
        assert until(lambda: post(url, ASK, {"authorization": f"Bearer {key}"}).status == 401), (
            "a key is taken back at once"
        )
    assert key not in gateway.log


def test_a_changed_file_counts_at_once_and_a_wrong_one_never_does(tmp_path: Path) -> None:
    file = tmp_path / "g.toml"
    file.write_text(DEMO)
    with running(tmp_path, "g.toml") as gateway:
        at = f"{gateway.url}/v1/chat/completions"

        def names() -> list[str]:
            data = json.loads(get(f"{gateway.url}/v1/models").text)["data"]
            return [one["id"] for one in data]

        slow = {
            **ASK,
            "stream": True,
            "messages": [
                {"role": "user", "content": "[[slow 0.15]] [[text still here, word by word]]"}
            ],
        }
        asked = urllib.request.Request(
            at, json.dumps(slow).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=600) as stream:
            first = stream.read(10)
            file.write_text(DEMO + '[models.more]\nupstream = "demo:anthropic"\n')
            gateway.process.send_signal(signal.SIGHUP)
            assert until(lambda: "more" in names())
            rest = first + stream.read()
        assert b"[DONE]" in rest, "a stream in progress is not cut"
        file.write_text("[models.wrong]\nupstrem = 1\n")
        assert until(lambda: "the configuration is not applied" in gateway.log), (
            "without a signal, too"
        )
        assert (
            "g.toml:2: [models.wrong] upstrem: unknown key; did you mean upstream?" in gateway.log
        )
        assert names() == ["demo", "more"] and post(at, ASK).status == 200
        assert 'reloads_total{result="rejected"} 1' in get(f"{gateway.url}/metrics").text


def test_several_processes_share_the_port_are_replaced_when_they_die_and_finish_what_is_in_progress(
    tmp_path: Path,
) -> None:
    (tmp_path / "g.toml").write_text(DEMO)
    with running(tmp_path, "g.toml", "--workers", "2") as gateway:
        at = f"{gateway.url}/v1/chat/completions"
        before = gateway.children()
        assert len(before) == 2
        with ThreadPoolExecutor(8) as pool:
            assert {
                response.status for response in pool.map(lambda _: post(at, ASK), range(40))
            } == {200}
        counted = re.compile(
            r'requests_total\{api="openai-chat",upstream="openai",status="200"\} (\d+)'
        )

        def total() -> int:
            found = counted.search(get(f"{gateway.url}/metrics").text)
            return int(found[1]) if found else 0

        assert until(lambda: total() == 40), (
            "whichever process is asked, it tells the numbers of all"
        )
        os.kill(before[0], signal.SIGKILL)
        assert until(lambda: len(gateway.children()) == 2 and before[0] not in gateway.children())
        assert until(lambda: "and is replaced" in gateway.log)
        with ThreadPoolExecutor(8) as pool:
            assert {
                response.status for response in pool.map(lambda _: post(at, ASK), range(16))
            } == {200}
        with ExitStack() as stack:
            streams = [stack.enter_context(open_stream(at, text=SLOW)) for _ in range(4)]
            gateway.process.send_signal(signal.SIGTERM)
            assert all(b"[DONE]" in stream.read() for stream in streams), "they finish"
        assert gateway.process.wait(60) == 0


def test_a_worker_that_stops_is_killed_and_replaced(tmp_path: Path) -> None:
    server = "[server]\nworker_timeout = 6\n"
    (tmp_path / "g.toml").write_text(DEMO.replace("[server]\n", server))
    with running(tmp_path, "g.toml", "--workers", "2") as gateway:
        at = f"{gateway.url}/v1/chat/completions"
        before = gateway.children()
        os.kill(before[0], signal.SIGSTOP)
        assert until(lambda: f"worker {before[0]} hangs: no heartbeat" in gateway.log)
        assert until(lambda: "exited with code -9 and is replaced" in gateway.log)
        assert until(lambda: len(gateway.children()) == 2), "there are two again"
        assert before[0] not in gateway.children() and before[1] in gateway.children()
        with ThreadPoolExecutor(8) as pool:
            assert {
                response.status for response in pool.map(lambda _: post(at, ASK), range(16))
            } == {200}


BLOCKING_APP = """import socket, time
from toolwire.gateway.workers import Workers
from toolwire.server.asgi import answer, lifespan

async def nothing():
    pass

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(receive, send, nothing, nothing)
    elif scope["path"] == "/block":
        block_the_loop()
    else:
        await answer(send, 200, b"{}", [])

def block_the_loop():
    time.sleep(600)

listener = socket.create_server(("127.0.0.1", 0))
Workers(lambda: app, listener, 2, hang_timeout=5).run(lambda url: print(url, flush=True))
"""


def test_the_log_has_the_stack_of_a_worker_with_a_blocked_event_loop(tmp_path: Path) -> None:
    errors = tmp_path / "stderr.txt"
    with errors.open("w") as out:
        command = [sys.executable, "-c", BLOCKING_APP]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with pytest.raises(OSError):  # the worker is killed in the middle of the request
            urllib.request.urlopen(f"{url}/block", timeout=600)
        assert "in block_the_loop" in errors.read_text()
        assert get(f"{url}/").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_workers_exit_if_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(DEMO)
    with running(tmp_path, "g.toml", "--workers", "2") as gateway:
        workers = gateway.children()
        gateway.process.kill()
        gateway.process.wait()
        assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 60)


def test_two_processes_make_the_same_bytes_of_one_request(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(DEMO + '[models.a]\nupstream = "demo:anthropic"\n')
    call = {"id": "call.1", "type": "function", "function": {"name": "f.g", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call, {**call, "id": "call:2"}]},
        {"role": "tool", "tool_call_id": "call:2", "content": "two"},
    ]
    with running(tmp_path, "g.toml", "--workers", "2", "--record", "seen") as gateway:
        at = f"{gateway.url}/v1/chat/completions"

        def both() -> bool:
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: post(at, {"model": "a", "messages": history}), range(20)))
            return len(list((tmp_path / "seen").glob("requests-*.jsonl"))) == 2

        assert until(both), "both were asked"
    lines = [
        json.loads(line)
        for file in (tmp_path / "seen").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert len(lines) >= 20 and len({json.dumps(line["upstream_requests"]) for line in lines}) == 1


MORE = """from toolwire.tools import tool


@tool(id="Text.Shout@1.0.0")
def shout(text: str) -> str:
    '''Say it louder.

    Args:
        text: What.
    '''
    return text.upper() + "!"
"""


@contextmanager
def _tool_server(folder: Path) -> Iterator[str]:
    """Serve the tools of `more.py`."""
    words = [*PROGRAM[:-1], "serve", "more.py", "--port", "0", "--ledger", "memory:"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=environment(), cwd=folder
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[0-9.]+:\d+", process.stdout.readline())
            assert found
            yield found[0]
        finally:
            process.terminate()


def test_tools_of_the_command_line_are_run_by_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(MORE)
    started = (
        f"mcp:{sys.executable} -m toolwire serve {ROOT / 'examples' / 'tools.py'} --stdio"
        " --ledger memory:"
    )
    with (
        _tool_server(tmp_path) as oxp,
        running(tmp_path, "--tools", oxp, "--tools", started) as gateway,
    ):
        words = '[[call Calculator_Add {"a": 2, "b": 40}]] [[call Text_Shout {"text": "hi"}]]'
        asked = {"model": "demo", "messages": [{"role": "user", "content": words}]}
        text = post(f"{gateway.url}/v1/chat/completions", asked).text
        assert "gave: 42" in text and "gave: HI!" in text, "one over MCP, one over OXP, in one turn"
    served = run_program(tmp_path, "--tools", str(ROOT / "examples" / "tools.py"), "--workers", "2")
    assert served.returncode == 2 and "memory: belongs to one process" in served.stderr
    absent = run_program(tmp_path, "--tools", "nowhere.py", "--port", "0")
    assert absent.returncode == 2 and "nowhere.py: no such file" in absent.stderr


@pytest.mark.parametrize("ledger", ["memory:", "sqlite:///calls.db"])
def test_other_tools_can_be_loaded_with_the_ledger_that_is_open(
    tmp_path: Path, ledger: str
) -> None:
    (tmp_path / "more.py").write_text(MORE)
    (tmp_path / "less.py").write_text(MORE.replace("Shout", "Whisper"))
    tables = DEMO + f'[tools]\nledger = "{ledger}"\nsources = '
    file = tmp_path / "g.toml"
    file.write_text(tables + '["more.py"]\n')
    with running(tmp_path, "g.toml") as gateway:
        at = f"{gateway.url}/v1/chat/completions"

        def call(tool: str) -> str:
            words = f'[[call {tool} {{"text": "hi"}}]]'
            return post(at, {**ASK, "messages": [{"role": "user", "content": words}]}).text

        assert "gave: HI!" in call("Text_Shout")
        file.write_text(tables + '["more.py", "less.py"]\n')
        assert until(lambda: "gave: HI!" in call("Text_Whisper")), gateway.log
        file.write_text(tables + '["less.py"]\n')
        assert until(lambda: "gave: HI!" not in call("Text_Shout"))
        assert "gave: HI!" in call("Text_Whisper"), "the executor of the first tools is open"


COUNT = """from pathlib import Path
from time import sleep

from toolwire.tools import tool


@tool(id="Bell.Ring@1.0.0")
def ring(door: str) -> str:
    '''Ring a bell.

    Args:
        door: Where.
    '''
    with Path("rings").open("a") as file:
        file.write(f"{door}\\n")
    sleep(0.2)
    return "ding"
"""


def test_workers_share_a_ledger_in_a_file_and_run_a_repeated_request_once(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(COUNT)
    tools = '[tools]\nledger = "sqlite:///calls.db"\nsources = ["count.py"]\n'
    (tmp_path / "g.toml").write_text(DEMO + tools)
    with running(tmp_path, "g.toml", "--workers", "3") as gateway:
        at = f"{gateway.url}/v1/chat/completions"

        def ask(door: str) -> str:
            words = f'[[call Bell_Ring {{"door": "{door}"}}]]'
            return post(at, {**ASK, "messages": [{"role": "user", "content": words}]}).text

        with ThreadPoolExecutor(12) as pool:
            for door in ("front", "back"):
                answers = list(pool.map(ask, [door] * 24))
                assert all("gave: ding" in answer for answer in answers)
                os.kill(gateway.children()[0], signal.SIGKILL)
        assert "gave: ding" in ask("front")
    assert (tmp_path / "rings").read_text().split() == ["front", "back"]


@pytest.mark.parametrize("ledger", ["memory:", "sqlite:///:memory:"])
def test_workers_cannot_share_a_ledger_in_memory(tmp_path: Path, ledger: str) -> None:
    (tmp_path / "count.py").write_text(COUNT)
    (tmp_path / "g.toml").write_text(
        DEMO + f'[tools]\nledger = "{ledger}"\nsources = ["count.py"]\n'
    )
    ended = run_program(tmp_path, "g.toml", "--workers", "2")
    assert ended.returncode == 2 and f"{ledger} belongs to one process" in ended.stderr
    assert "sqlite:///FILE" in ended.stderr, "what to write instead"


def test_tools_and_keys_can_be_added_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text(MORE)
    file = tmp_path / "g.toml"
    file.write_text(DEMO)
    with running(tmp_path, "g.toml") as gateway:
        at = f"{gateway.url}/v1/chat/completions"
        asked = {
            "model": "demo",
            "messages": [{"role": "user", "content": '[[call Text_Shout {"text": "hi"}]]'}],
        }
        assert "HI!" not in post(at, asked).text
        file.write_text(DEMO + '[tools]\nsources = ["more.py"]\n')
        assert until(lambda: "HI!" in post(at, asked).text)
        file.write_text(DEMO + '[tools]\nsources = ["nowhere.py"]\n')
        assert until(lambda: "nowhere.py: no such file" in gateway.log)
        assert "HI!" in post(at, asked).text
        (tmp_path / "keys.toml").write_text("")
        file.write_text(DEMO + '[keys]\nfile = "keys.toml"\n')
        assert until(lambda: post(at, asked).status == 401)
        file.write_text(DEMO)
        assert until(lambda: "keys cannot be removed while the gateway runs" in gateway.log), (
            "a door that was shut stays shut"
        )
        assert post(at, asked).status == 401


@pytest.mark.parametrize("arguments", [("nowhere.toml",), ("--keys", "nowhere.toml")])
def test_misuse_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_program(tmp_path, *arguments)
    assert (
        done.returncode == 2
        and done.stderr.startswith("toolwire: ")
        and done.stderr.count("\n") == 1
    )


def test_pipelined_requests_do_not_fill_the_memory(tmp_path: Path) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def memory(pid: int) -> int:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        assert found is not None
        return int(found[1])

    with running(tmp_path) as gateway:
        before = memory(gateway.process.pid)
        port = int(gateway.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
            sent = 0
            with suppress(TimeoutError):  # the server does not read what it cannot answer
                while sent < 32 * 2**20:
                    sent += client.send(request * 1000)
            assert memory(gateway.process.pid) < 2 * before
            answers = client.recv(2**20)
            assert answers.startswith(b"HTTP/1.1 200") and answers.count(b'"ok"') > 100
