"""The mock on a real socket, run by uvicorn in a thread.

    with hosted("anthropic") as server:
        client = Anthropic(base_url=server.url, api_key="any")

Knows no wire.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep

import uvicorn
from msgspec import Struct

from toolwire.mock.server import MockProvider


class ServedMock(Struct, frozen=True):
    """The address of the mock, without a slash at the end, and the mock itself."""

    url: str
    mock: MockProvider


@contextmanager
def serve_mock(wire: str, *, strict: bool = True, keys: bool = True) -> Iterator[ServedMock]:
    """Serve a mock for as long as the block runs."""
    mock = MockProvider(wire, strict=strict, keys=keys)
    logging.getLogger("uvicorn.error").setLevel(
        logging.CRITICAL
    )  # an answer that is cut is told there
    server = uvicorn.Server(
        uvicorn.Config(mock, log_config=None, lifespan="on", timeout_graceful_shutdown=1, ws="none")
    )
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        late = monotonic() + 60
        while not server.started:
            assert thread.is_alive() and monotonic() < late, "the mock did not start"
            sleep(0.005)
        try:
            yield ServedMock(f"http://127.0.0.1:{listener.getsockname()[1]}", mock)
        finally:
            server.should_exit = True
            thread.join(10)
