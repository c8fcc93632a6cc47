"""A gateway on a real socket, run by uvicorn in a thread, in front of strict mocks. Knows no wire."""

from __future__ import annotations

import json
import logging
import socket
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import monotonic, sleep

import uvicorn
from msgspec import Struct

from toolwire.execution.executor import ToolExecutor
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.schema import ToolsConfig
from toolwire.gateway.tools.gateway_tools import GatewayTools
from toolwire.tools.registry import ToolSource
from toolwire.tools.runnable import Runnable

UPSTREAMS = {
    "openai-chat": ("openai", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", ""),
    "bedrock": ("bedrock", ""),
    "mistral": ("mistral", "/v1"),
    "cohere": ("cohere", ""),
    "ollama": ("ollama", ""),
}
"""Wires of models: the name of a provider, and the end of its address."""


@contextmanager
def serve_gateway(app: Gateway) -> Iterator[str]:
    """Serve a gateway for as long as the block runs; yields its address."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1, ws="none")
    )
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        late = monotonic() + 60
        while not server.started:
            assert thread.is_alive() and monotonic() < late, "the gateway did not start"
            sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


def gateway_tools(*tools: Runnable | ToolSource, row: ToolsConfig | None = None) -> GatewayTools:
    """Tools of a gateway."""

    async def gather(stack: AsyncExitStack) -> Collection[ToolSource]:
        return list(tools)

    return GatewayTools(gather, ToolExecutor, row or ToolsConfig())


def model(upstream: str, base: str) -> str:
    """The table of one model, under the name of its wire."""
    row, below = UPSTREAMS[upstream]
    return f'[models."{upstream}"]\nupstream = "{row}"\nbase_url = "{base}{below}"\nkey_env = "K"\n'


class HttpAnswer(Struct):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> dict[str, object]:
        """The body."""
        body = json.loads(self.text)
        assert isinstance(body, dict)
        return body


def post(
    url: str, body: object, headers: Mapping[str, str] | None = None, *, method: str = "POST"
) -> HttpAnswer:
    """Send JSON and return the response, whatever its status."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(
        url, data, {"content-type": "application/json", **(headers or {})}, method=method
    )
    try:
        with urllib.request.urlopen(asked, timeout=600) as got:
            return HttpAnswer(
                got.status,
                {name.lower(): value for name, value in got.headers.items()},
                got.read().decode("utf-8", "surrogateescape"),
            )
    except urllib.error.HTTPError as error:
        with error:
            headers = {name.lower(): value for name, value in error.headers.items()}
            return HttpAnswer(error.code, headers, error.read().decode())


@contextmanager
def open_stream(
    url: str, *, text: str = "", model: str = "demo", headers: Mapping[str, str] | None = None
) -> Iterator[HTTPResponse]:
    """Open a stream; leaving the block disconnects the client."""
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}
    )
    with urllib.request.urlopen(request, timeout=600) as stream:
        assert stream.readline().startswith(b"data: "), "it begins"
        yield stream


FIRST_PIECE = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"role":"assistant","content":"So"},"finish_reason":null}]}\n\n'
)


@contextmanager
def endless_server() -> Iterator[str]:
    """A model server whose streams start and do not end before the block does."""
    over = Event()

    class EndlessStream(BaseHTTPRequestHandler):
        """Answers every request with such a stream."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(FIRST_PIECE)
            over.wait()

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), EndlessStream)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def get(url: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    """Send a GET request."""
    return post(url, None, headers, method="GET")
