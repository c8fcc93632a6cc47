"""The start of a server over stdio: it answers before it has imported the SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from mcp_server.served_tools import tools
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from oxp_server.serving import LONG, running

from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.mcp.handshake import (
    STATELESS_VERSIONS,
    VERSIONS,
    answer_first_request,
    capabilities_of,
)
from toolwire.tool_server import ToolServer
from toolwire.tools.prompts import prompt
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.resources import resource

GATE = """
import sys, time
from pathlib import Path

gate = Path(sys.argv.pop(1))

class Gate:
    def find_spec(self, name, path=None, target=None):
        while name.startswith(("mcp.", "mcp_types.")) and not gate.exists():
            time.sleep(0.01)

sys.meta_path.insert(0, Gate())
from toolwire.cli import main
main()
"""
TOOLS = '''
from toolwire import tool

@tool
def hello() -> str:
    """Say hello."""
    print("this is no protocol")
    return "hello"
'''


@prompt
def greeting() -> str:
    """A greeting."""
    return "hello"


@resource("test://hello")
def hello() -> str:
    """A greeting."""
    return "hello"


BESIDE_TOOLS = pytest.mark.parametrize(
    "content", [(), (greeting,), (hello,), (greeting, hello)], ids=str
)


def initialize(version: str, id: JSON = 1) -> Object:
    info: Object = {"name": "test", "version": "1"}
    params: Object = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


def discover(version: str, id: JSON = 1) -> Object:
    prefix = "io.modelcontextprotocol/"
    info: Object = {"name": "test", "version": "1"}
    meta: Object = {f"{prefix}protocolVersion": version, f"{prefix}clientInfo": info}
    params: Object = {"_meta": {**meta, f"{prefix}clientCapabilities": {}}}
    return {"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": params}


@BESIDE_TOOLS
@pytest.mark.parametrize("version", [*VERSIONS, "1999-01-01"])
def test_the_early_answer_is_that_of_the_sdk(
    tmp_path: Path, version: str, content: tuple[ToolSource, ...]
) -> None:
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    headers = {"accept": "application/json, text/event-stream"}
    served = Tools(tools(tmp_path), *content)
    with running(ToolServer(served)) as server:
        reply = httpx2.post(f"{server.url}/mcp", json=initialize(version), headers=headers)
    (data,) = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    early = answer_first_request(dump(initialize(version)), "toolwire", capabilities_of(served))
    assert early is not None and parse(early.response) == json.loads(data.removeprefix("data: "))


@BESIDE_TOOLS
@pytest.mark.parametrize("version", STATELESS_VERSIONS)
def test_the_early_discovery_is_that_of_the_sdk(
    tmp_path: Path, version: str, content: tuple[ToolSource, ...]
) -> None:
    assert STATELESS_VERSIONS == MODERN_PROTOCOL_VERSIONS
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": "server/discover",
    }
    served = Tools(tools(tmp_path), *content)
    with running(ToolServer(served)) as server:
        reply = httpx2.post(f"{server.url}/mcp", json=discover(version), headers=headers)
    early = answer_first_request(dump(discover(version)), "toolwire", capabilities_of(served))
    assert early is not None and parse(early.response) == reply.json()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}',
        b'{"jsonrpc": "2.0", "method": "initialize", "params": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}',
        dump(discover("2027-01-01")),
        b"[" * 100_000,
    ],
    ids=["empty", "not-json", "other", "no-params", "no-id", "no-meta", "version", "deep"],
)
def test_any_other_first_line_is_left_to_the_sdk(line: bytes) -> None:
    assert answer_first_request(line, "toolwire", {}) is None


@contextmanager
def start_server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A server that cannot import the SDK until a file exists."""
    (folder / "gate.py").write_text(GATE)
    (folder / "my_tools.py").write_text(TOOLS)
    gate = folder / "open"
    serve = ["serve", "--stdio", "--ledger", "memory:", str(folder / "my_tools.py")]
    command = [sys.executable, str(folder / "gate.py"), str(gate), *serve]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process, gate
        finally:
            process.kill()


def send(process: subprocess.Popen[str], message: Object) -> None:
    assert process.stdin is not None
    process.stdin.write(dump(message).decode() + "\n")


def receive(process: subprocess.Popen[str]) -> Object:
    assert process.stdout is not None
    lines: list[str] = []
    reader = Thread(target=lambda: lines.append(process.stdout.readline()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    reader.join(LONG)
    assert lines, "no answer"
    message = parse(lines[0])
    assert isinstance(message, dict)
    return message


def test_initialize_is_answered_once_and_before_the_sdk_is_imported(tmp_path: Path) -> None:
    with start_server(tmp_path) as (process, gate):
        send(process, initialize("2025-06-18", "first"))
        answer = receive(process)
        assert answer["id"] == "first" and "result" in answer
        gate.touch()
        send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        call: Object = {"name": "MyTools_Hello", "arguments": {}}
        requests: list[tuple[str, Object]] = [("ping", {}), ("tools/call", call)]
        for id, (method, params) in enumerate(requests):
            send(process, {"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            answer = receive(process)
            assert answer["id"] == id, "nothing else is answered in between"
        assert "hello" in str(answer)


def test_discovery_is_answered_once_and_before_the_sdk_is_imported(tmp_path: Path) -> None:
    with start_server(tmp_path) as (process, gate):
        send(process, discover("2026-07-28", "first"))
        answer = receive(process)
        assert answer["id"] == "first" and "result" in answer
        gate.touch()
        params = discover("2026-07-28")["params"]
        assert isinstance(params, dict)
        send(process, {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params})
        answer = receive(process)
        assert answer["id"] == 0, "nothing else is answered in between"
        assert "MyTools_Hello" in str(answer)


def test_a_first_message_that_is_no_handshake_gets_its_answer_too(tmp_path: Path) -> None:
    with start_server(tmp_path) as (process, gate):
        gate.touch()
        send(process, {"jsonrpc": "2.0", "id": 7, "method": "ping"})
        assert receive(process)["id"] == 7
