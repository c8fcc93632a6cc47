"""A tool server gets its own key and its own secrets, never those of another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from gateway_ops.running import post
from gateway_ops.test_process import DEMO, environment, running

from toolwire.errors import ConfigError
from toolwire.gateway import Gateway

KEY = "k" * 4 + "-0123456789-abcdefghijklmnop"


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server, and the credentials that it received."""
    arrived: list[str] = []

    class ToolHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            arrived.extend(
                value for name, value in self.headers.items() if KEY in value and name != "Host"
            )
            self.send_response(404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), ToolHandler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", arrived
        server.shutdown()
        thread.join()


def list_tools(*urls: str, **variables: str) -> str:
    """The output of `toolwire tools` on stderr."""
    command = [sys.executable, "-m", "toolwire", "tools", *urls]
    env = {**environment(), **variables}
    return subprocess.run(command, env=env, capture_output=True, text=True).stderr


def suffix(url: str) -> str:
    return "127_0_0_1_" + url.rpartition(":")[2]


def test_a_key_is_sent_to_a_tool_server_only_if_it_is_the_only_one() -> None:
    with listening() as (one, first), listening() as (two, second):
        list_tools(one, TOOLWIRE_API_KEY=KEY)
        assert first, "alone it gets the key"
        first.clear()
        stderr = list_tools(one, two, TOOLWIRE_API_KEY=KEY)
        assert (first, second) == ([], [])
        assert f"{one} gets no key" in stderr and f"TOOLWIRE_API_KEY_{suffix(one)}" in stderr
        variables = {f"TOOLWIRE_API_KEY_{suffix(one)}": KEY}
        list_tools(one, two, **variables)
        assert first and not second


SECRET_TOOL = '''from toolwire.tools import ToolContext, tool


@tool(id="Vault.Open@1.0.0", secrets=["VAULT_CODE"])
def open_vault(context: ToolContext) -> str:
    """Tell the code of the vault."""
    return "code " + context.secrets["VAULT_CODE"]
'''
CALL = {"model": "demo", "messages": [{"role": "user", "content": "[[call Vault_Open {}]]"}]}


@contextmanager
def vault(folder: Path) -> Iterator[str]:
    """A tool server whose tool asks for a secret."""
    (folder / "vault.py").write_text(SECRET_TOOL)
    command = [sys.executable, "-m", "toolwire", "serve", "vault.py", "--port", "0"]
    with subprocess.Popen(
        [*command, "--ledger", "memory:"], stdout=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://[0-9.]+:\d+", line)
            assert found
            yield found[0]
        finally:
            process.terminate()


@pytest.mark.parametrize("named", [False, True])
def test_a_server_gets_only_the_secrets_of_its_own_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setitem(os.environ, "VAULT_CODE", "7777")
    with vault(tmp_path) as url:
        table = f'[tools]\nsources = ["{url}"]\nsecrets = ["VAULT_CODE"]\n'
        if named:
            table += f'[tools.servers."{url}"]\nsecrets = ["VAULT_CODE"]\n'
        (tmp_path / "g.toml").write_text(DEMO + table)
        with running(tmp_path, "g.toml") as gateway:
            text = post(f"{gateway.url}/v1/chat/completions", CALL).text
    assert ("code 7777" in text) == named
    assert named or "VAULT_CODE" in text, "the model reads what is missing"


def test_python_tools_get_the_secrets_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "VAULT_CODE", "7777")
    (tmp_path / "vault.py").write_text(SECRET_TOOL)
    table = '[tools]\nsources = ["vault.py"]\nsecrets = ["VAULT_CODE"]\n'
    (tmp_path / "g.toml").write_text(DEMO + table)
    with running(tmp_path, "g.toml") as gateway:
        assert "code 7777" in post(f"{gateway.url}/v1/chat/completions", CALL).text


def test_mistakes_in_the_table_of_a_server_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "g.toml"
    file.write_text(
        '[models.demo]\nupstream = "demo"\n[tools]\nsources = ["http://127.0.0.1:1"]\n'
        '[tools.servers."http://127.0.0.1:1"]\nkey_env = "NO_SUCH_KEY"\n'
        '[tools.servers."http://127.0.0.1:2"]\n'
    )
    with pytest.raises(ConfigError) as error:
        Gateway.from_config(file, env={})
    text = "\n".join(error.value.mistakes)
    assert "g.toml:6:" in text and "the environment variable NO_SUCH_KEY is not set" in text
    assert "http://127.0.0.1:2 is not in sources" in text
