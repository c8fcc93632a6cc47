"""A real server on loopback, in a thread, and a plain client that sends any bytes."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.server.asgi import App
from toolwire.server.process import raise_file_limit
from toolwire.server.run import ConnectionLimits, Server, config, url_of
from toolwire.tool_server import ToolServer
from toolwire.tools import Tools

LONG = 300.0
"""Seconds after which a test stops waiting: reached only if something hangs."""
API = Path(__file__).parents[3] / "shared" / "data" / "oxp-openapi.json"


class Reply(Struct, frozen=True):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Object:
        """The body, which must be an object."""
        value: JSON = json.loads(self.body)
        assert isinstance(value, dict), value
        return value


class RunningServer(Struct, frozen=True):
    """A running server."""

    url: str
    app: App

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, for a socket."""
        parts = urlsplit(self.url)
        assert parts.hostname and parts.port
        return parts.hostname, parts.port

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request on a new connection. The response is checked against the
        specification."""
        connection = http.client.HTTPConnection(*self.address, timeout=LONG)
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def call(
        self, body: JSON, headers: Mapping[str, str] | None = None, *, path: str = "/tools/call"
    ) -> Reply:
        """Post a call as JSON."""
        given = {"Content-Type": "application/json", **(headers or {})}
        return self.ask("POST", path, json.dumps(body).encode(), given)

    def connect(self) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(self.address, timeout=LONG)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request and read the response."""
    connection.request(method, path, body, dict(headers or {}))
    response = connection.getresponse()
    got = Reply(
        response.status,
        {name.lower(): value for name, value in response.getheaders()},
        response.read(),
    )
    check(method, path, got)
    return got


def head(method: str, path: str, length: int) -> bytes:
    """The head of a request, for a bare connection."""
    kind = "Content-Type: application/json"
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n".encode()


@contextmanager
def running(app: App, bounds: ConnectionLimits | None = None) -> Iterator[RunningServer]:
    """Serve an app until the end of the block."""
    raise_file_limit()
    held = bounds or ConnectionLimits()
    listener = socket.create_server(("127.0.0.1", 0), backlog=held.backlog)
    listening = Event()
    server = Server(
        config(app, held), app, limits=held, url=url_of(listener), ready=lambda url: listening.set()
    )
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not listening.wait(0.05):
            assert thread.is_alive(), "the server did not start"
        yield RunningServer(url_of(listener), app)
    finally:
        server.should_exit = True
        thread.join(LONG)
        listener.close()
        assert not thread.is_alive()


def executor_in(folder: Path, *, wait: float = 55.0) -> ToolExecutor:
    """An executor with a durable ledger in a folder."""
    return ToolExecutor(SqliteLedger(folder / "calls.db"), wait=wait)


@contextmanager
def serving(tools: Tools, folder: Path) -> Iterator[RunningServer]:
    """Serve tools with a durable ledger and default settings."""
    with running(ToolServer(tools, executor=executor_in(folder))) as where:
        yield where


# --- the specification ----------------------------------------------------------------------------


def check(method: str, path: str, got: Reply) -> None:
    """Check what holds for every response; also by the published schema if it is available."""
    path = path.rstrip("/")
    if path == "/metrics" or got.status == 304:
        return
    assert got.headers["oxp-version"] == "1.0"
    assert got.headers["content-type"] == "application/json"
    if method == "HEAD":
        return
    body = got.json
    if got.status >= 400 and path != "/health":
        assert isinstance(body["message"], str) and body["message"]
    schema = _schema(path, got.status, "result" in body)
    if schema is not None:
        Draft202012Validator(schema).validate(body)


NAMES = {400: "ServerErrorResponse", 422: "ValidationErrorResponse"}
_api: dict[str, JSON] = {}


def _schema(path: str, status: int, enveloped: bool) -> Object | None:
    if not _api and API.is_file():
        _api.update(json.loads(API.read_text()))
        _mend(_api)
    if not _api:
        return None
    if path == "/tools" and status == 200:
        return _of("/tools", "get")
    if path in ("/call", "/tools/call") and status == 200:
        return (
            _of("/tools/call", "post")
            if enveloped
            else {"$ref": "#/components/schemas/CallToolResponse", **_api}
        )
    if status in NAMES:
        return {"$ref": f"#/components/schemas/{NAMES[status]}", **_api}
    return None


def _of(path: str, method: str) -> Object:
    place: JSON = _api
    for step in (
        "paths",
        path,
        method,
        "responses",
        "200",
        "content",
        "application/json",
        "schema",
    ):
        assert isinstance(place, dict)
        place = place[step]
    assert isinstance(place, dict)
    return {**place, "components": _api["components"]}


def _mend(api: dict[str, JSON]) -> None:
    """The published schema forbids the keys of its own variants: a closed object beside `oneOf`
    cannot have any."""
    components = api["components"]
    assert isinstance(components, dict)
    schemas = components["schemas"]
    assert isinstance(schemas, dict)
    response = schemas["CallToolResponse"]
    assert isinstance(response, dict)
    response["unevaluatedProperties"] = response.pop("additionalProperties", False)
