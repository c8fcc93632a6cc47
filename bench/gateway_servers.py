"""The servers that are compared in front of a model, one process each: the gateway, and a bare
pass-through.

The pass-through is the minimum cost of any gateway on this stack: uvicorn as the server, aiohttp as
the client, bytes in, bytes out. It has one upstream, parses no body, forwards no header field of the
client, and does not notice a client that disconnects.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping

import aiohttp
from plain import plain

from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.server.process import freeze_startup_objects, tune_process
from toolwire.server.run import serve

NAMES = ("m", "once", "idle", "refused")
"""The models, as `model_server.py` knows them."""
Scope = MutableMapping[str, object]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]


class Bare:
    """The pass-through: bytes in, bytes out."""

    def __init__(self, base: str) -> None:
        self._url = f"{base}/v1/messages"
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while True:
                asked = await receive()
                if asked["type"] == "lifespan.startup":
                    self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
                    await send({"type": "lifespan.startup.complete"})
                else:
                    assert self._session is not None
                    await self._session.close()
                    await send({"type": "lifespan.shutdown.complete"})
                    return
        body = b""
        while True:
            piece = await receive()
            more = piece.get("body", b"")
            assert isinstance(more, bytes)
            body += more
            if not piece.get("more_body"):
                break
        assert self._session is not None
        async with self._session.post(
            self._url, data=body, headers={"content-type": "application/json"}
        ) as response:
            kind = response.headers["content-type"].encode()
            headers = [(b"content-type", kind)]
            start = {"type": "http.response.start", "status": response.status, "headers": headers}
            if kind == b"application/json":
                data = await response.read()
                headers.append((b"content-length", str(len(data)).encode()))
                await send(start)
                await send({"type": "http.response.body", "body": data})
                return
            await send(start)
            async for data in response.content.iter_any():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def gateway(base: str) -> Gateway:
    rows = (
        f'[models.{name}]\nupstream = "anthropic"\nbase_url = "{base}"\nkey_env = "KEY"\n'
        for name in NAMES
    )
    return Gateway(ModelTable(read_config("".join(rows)), {"KEY": "any"}))


def start_measured(url: str) -> None:
    """Print the address of the server, and tune the process as `toolwire gateway` does."""
    freeze_startup_objects()
    print(url, flush=True)


if __name__ == "__main__":
    kind, base = sys.argv[1:]
    if kind == "bare":
        plain(Bare(base))
    else:
        app = Bare(base) if kind == "tuned" else gateway(base)
        tune_process()
        serve(app, port=0, ready=start_measured)
