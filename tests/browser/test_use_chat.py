"""`useChat` in a real Chromium, on a page of another origin than the gateway."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gateway_ops.running import serve_gateway
from pages import ROOT, blocks

from toolwire.gateway import Gateway

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(not MODULES.exists(), reason="needs tests/browser/node_modules (make deep)"),
]
TWO_CALLS = '[[call weather {"city": "Oslo"}]] [[call weather {"city": "Rome"}]]'


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of the page."""
    folder = tmp_path_factory.mktemp("page")
    build = [str(MODULES / ".bin" / "esbuild"), str(HERE / "page.jsx"), "--bundle"]
    options = ["--jsx=automatic", "--log-level=error", f"--outfile={folder / 'page.js'}"]
    subprocess.run(build + options, check=True)
    body = '<!doctype html><div id="root"></div><script src="page.js"></script>'
    (folder / "index.html").write_text(body)
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


def ask(page: str, folder: Path, server: str) -> dict[str, object]:
    """The state of the chat after one message to a gateway with these settings."""
    assert CHROMIUM is not None
    file = folder / "gateway.toml"
    file.write_text(f'[server]\n{server}\n[models.demo]\nupstream = "demo"\n')
    with serve_gateway(Gateway.from_config(file)) as url:
        place = f"{page}/index.html?api={url}/ai-sdk/chat"
        command = ["node", str(HERE / "drive.mjs"), CHROMIUM, place, TWO_CALLS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    state: dict[str, object] = json.loads(done.stdout)
    return state


def test_two_parallel_calls_of_a_client_tool_get_their_own_results(
    page: str, tmp_path: Path
) -> None:
    state = ask(page, tmp_path, f'cors_origins = ["{page}"]')
    assert state["error"] is None, state
    messages = state["messages"]
    assert isinstance(messages, list)
    parts = [part for message in messages for part in message["parts"]]
    calls = [part for part in parts if part["type"] in ("tool-weather", "dynamic-tool")]
    assert [(call["input"]["city"], call["output"]) for call in calls] == [
        ("Oslo", "weather of Oslo"),
        ("Rome", "weather of Rome"),
    ]
    assert len({call["toolCallId"] for call in calls}) == 2
    answer = parts[-1]["text"]
    assert answer.index("weather of Oslo") < answer.index("weather of Rome"), answer


@pytest.mark.parametrize("server", ["", 'cors_origins = ["https://app.example"]'])
def test_a_page_of_another_origin_gets_nothing(page: str, tmp_path: Path, server: str) -> None:
    state = ask(page, tmp_path, server)
    assert (state["status"], state["error"]) == ("error", "Failed to fetch")


def test_the_chat_page_of_the_guide_is_complete() -> None:
    """The page is compiled with everything that it imports."""
    guide = blocks(ROOT / "docs" / "how-to" / "usechat.md")
    (code,) = (block.text for block in guide if block.title == "Chat.tsx")
    command = [str(MODULES / ".bin" / "esbuild"), "--bundle", "--loader=tsx", "--jsx=automatic"]
    done = subprocess.run(
        [*command, "--log-level=warning", "--outfile=/dev/null", "--allow-overwrite"],
        input=code,
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
