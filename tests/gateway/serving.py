"""A gateway on a real socket, with strict mocks of every upstream wire behind it.

    with serve_gateways() as url:
        client = Anthropic(base_url=url("gemini"), api_key="any")  # a client of one wire, a model
        of another

Each upstream has a gateway of its own below a path, to which any model name leads: clients need not
be told which it is.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Literal

import uvicorn
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from msgspec import Struct

from toolwire.conversation.json import JSON, dump
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.mock.server import MockProvider
from toolwire.server.asgi import App, Receive, Scope, Send

CLIENT_APIS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "ai-sdk",
    "openai-responses over WebSocket",
)
UPSTREAMS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
)
_ROWS = {"openai-chat": "openai"}
"""The name of an upstream in a configuration, if it differs from its wire."""
_BELOW = {"openai-chat": "/v1", "openai-responses": "/v1", "mistral": "/v1"}
"""The path in the address of an upstream."""
DEFAULT_TIMEOUT_CONFIG.__dict__.update(connect=600.0, read=600.0, write=600.0, pool=600.0)
"""The five seconds of httpx are too short on a busy machine."""


@contextmanager
def serving(app: App, *, ws: Literal["none", "websockets-sansio"] = "none") -> Iterator[str]:
    """The address of an app that is served as long as the block runs."""
    logging.getLogger("uvicorn.error").setLevel(
        logging.CRITICAL
    )  # an answer that is cut is told there
    config = uvicorn.Config(
        app,
        log_config=None,
        lifespan="on",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=65,  # as the gateway's own server has it; slow clients reuse connections
        ws=ws,
    )
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        late = monotonic() + 60
        while not server.started:
            assert thread.is_alive() and monotonic() < late, "it did not start"
            sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


class Below:
    """Several apps in one server, each below a path."""

    def __init__(self, apps: Mapping[str, App]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        path = scope["path"]
        assert isinstance(path, str)
        name, _, rest = path.removeprefix("/").partition("/")
        await self._apps[name]({**scope, "path": f"/{rest}"}, receive, send)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        opened = [app for app in self._apps.values() if isinstance(app, Gateway)]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for app in opened:
            await app._state.upstream.close()
        await send({"type": "lifespan.shutdown.complete"})


def row(
    wire: str, url: str, *, name: str = "*", model: str = "", more: Mapping[str, JSON] | None = None
) -> str:
    """The configuration of a model of a wire at an address."""
    fields: dict[str, JSON] = {
        "upstream": _ROWS.get(wire, wire),
        "base_url": url + _BELOW.get(wire, ""),
        "key_env": "KEY",
    }
    fields |= {"model": model} if model else {}
    lines = [
        f"{key} = {dump(value).decode()}" for key, value in (fields | dict(more or {})).items()
    ]
    return "\n".join([f'[models."{name}"]', *lines, ""])


def gateway(toml: str, *, strict: bool | None = None) -> Gateway:
    """A gateway of a configuration."""
    return Gateway(ModelTable(read_config(toml), {"KEY": "a-key-of-the-gateway"}), strict=strict)


class Gateways(Struct, frozen=True):
    """The address of the gateway of each upstream, and the mocks."""

    url: Callable[[str], str]
    apps: dict[str, Gateway]
    mocks: dict[str, MockProvider]
    up: str
    """The address of the mocks."""


@contextmanager
def serve_gateways(*, strict: bool | None = None) -> Iterator[Gateways]:
    """A gateway for every upstream."""
    mocks = {wire: MockProvider(wire) for wire in UPSTREAMS}
    with serving(Below(mocks)) as up:
        apps = {wire: gateway(row(wire, f"{up}/{wire}"), strict=strict) for wire in UPSTREAMS}
        with serving(Below(apps), ws="websockets-sansio") as base:
            yield Gateways(lambda wire: f"{base}/{wire}", apps, mocks, up)
