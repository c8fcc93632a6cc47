"""What the server uses of uvicorn beyond its public API. A new release may change it.

pyproject.toml therefore bounds the version of uvicorn. Before the bound moves, these tests must
pass with the new release.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from toolwire.server.asgi import Receive, Scope, Send
from toolwire.server.limited_protocol import LimitedProtocol
from toolwire.server.response_cycle import ResponseCycle
from toolwire.server.run import ConnectionLimits, Server, config

ROOT = Path(__file__).resolve().parents[2]
OVERRIDES: dict[type, tuple[type, tuple[str, ...]]] = {
    LimitedProtocol: (
        HttpToolsProtocol,
        (
            *("connection_made", "connection_lost", "data_received", "resume_writing"),
            *("on_message_begin", "on_headers_complete", "on_body", "on_message_complete"),
            *("on_response_complete", "send_400_response", "handle_websocket_upgrade"),
        ),
    ),
    ResponseCycle: (RequestResponseCycle, ("send",)),
    Server: (uvicorn.Server, ("startup", "shutdown", "capture_signals", "handle_exit")),
}
"""Our classes, the classes of uvicorn that they extend, and the methods that they override."""
ATTRIBUTES: dict[type, tuple[str, ...]] = {
    HttpToolsProtocol: (
        *("loop", "transport", "flow", "cycle", "pipeline", "connections", "server_state"),
        *("headers", "parser", "url", "scope", "server", "client", "scheme", "root_path", "app"),
        *("app_state", "asgi_version", "logger", "access_logger", "expect_100_continue"),
        *("_should_upgrade", "_start_asgi_task"),
    ),
    RequestResponseCycle: (
        *("scope", "transport", "flow", "default_headers", "message_event", "on_response"),
        *("response_complete", "response_started", "more_body", "disconnected", "keep_alive"),
        *("waiting_for_100_continue", "chunked_encoding", "expected_content_length"),
    ),
    FlowControl: ("write_paused", "pause_reading", "resume_reading", "drain"),
    ServerState: ("total_requests", "default_headers"),
    uvicorn.Server: ("should_exit", "force_exit", "started", "server_state"),
}
"""Attributes of uvicorn that our classes use."""


@pytest.mark.parametrize("ours", OVERRIDES, ids=lambda one: one.__name__)
def test_every_overridden_method_exists_in_uvicorn_with_the_same_parameters(ours: type) -> None:
    theirs, names = OVERRIDES[ours]
    assert issubclass(ours, theirs)
    for name in names:
        original = getattr(theirs, name)
        if original.__module__.startswith("uvicorn"):  # sse-starlette replaces handle_exit.
            mine = inspect.signature(getattr(ours, name)).parameters
            assert list(mine) == list(inspect.signature(original).parameters), name
    public = {name for name in vars(ours) if callable(vars(ours)[name]) and name in dir(theirs)}
    assert {name for name in public if not name.startswith("__")} == set(names)


@pytest.mark.parametrize("owner", ATTRIBUTES, ids=lambda one: one.__name__)
def test_every_attribute_of_uvicorn_that_is_used_is_set_by_it(owner: type) -> None:
    source = inspect.getsource(owner)
    for name in ATTRIBUTES[owner]:
        assert f"self.{name}" in source or hasattr(owner, name) or f"    {name}:" in source, name


def test_the_installed_uvicorn_is_inside_the_bounds_of_pyproject() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (line,) = (
        one for one in extras["optional-dependencies"]["server"] if one.startswith("uvicorn")
    )
    lowest, below = line.removeprefix("uvicorn>=").split(",<")
    installed = tuple(map(int, version("uvicorn").split(".")[:2]))
    assert tuple(map(int, lowest.split("."))) <= installed < tuple(map(int, below.split(".")))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop")
def test_a_missing_event_loop_is_noticed_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Never called."""

    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(ModuleNotFoundError, match="uvloop"):
        config(app, ConnectionLimits())
