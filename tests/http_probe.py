"""Send raw bytes to the servers, and check the responses. See `scripts/fuzz_http.py`."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from oxp_server.serving import RunningServer, running

from toolwire.conversation.json import JSON
from toolwire.gateway import Gateway
from toolwire.mock.server import MockProvider
from toolwire.server.asgi import App
from toolwire.server.limited_protocol import ConnectionLimits
from toolwire.tool_server import ToolServer
from toolwire.tools.function import tool
from toolwire.tools.prompts import prompt
from toolwire.tools.resources import resource

SERVERS = ("gateway", "tools", "mock-openai-chat", "mock-anthropic", "mock-gemini")
LIMITS = ConnectionLimits(connections=64, seconds=5.0, grace=1)
PATIENCE = 20.0
IDLE = 0.5
"""Seconds without an answer after which the server waits for the rest of a request."""
STATUS = re.compile(rb"^HTTP/1\.1 (\d{3}) ", re.MULTILINE)
LAST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LOGGERS = ("toolwire", "uvicorn.error", "asyncio", "mcp")


@tool(id="Echo.Any@1.0.0")
def echo(value: Annotated[JSON, "Anything."]) -> JSON:
    """Return the value."""
    return value


@prompt(complete={"text": lambda typed: [typed]})
def quote(text: str, times: int = 1) -> str:
    """Repeat a text."""
    return text * min(times, 3)


@resource("echo://{text}/{number}")
def echo_text(text: str, number: int) -> JSON:
    """Return the parameters."""
    return [text, number]


class ErrorLog(logging.Handler):
    """The exceptions that servers log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.name}: {record.getMessage()}")


class Probe:
    """A running server, and the errors that it logs."""

    def __init__(self, server: RunningServer, log: ErrorLog) -> None:
        self.server = server
        self._log = log

    def problem(self, raw: bytes) -> str | None:
        """The problem with the responses to these bytes; None if there is none.

        One more request follows the bytes, and ends the connection if they were complete.
        """
        self._log.messages.clear()
        statuses = self.statuses(raw + LAST)
        ours = [status for status in statuses if status >= 500 and status != 503]
        if ours:
            return f"status {ours[0]}"
        if self._log.messages:
            return f"logged: {self._log.messages[0][:200]}"
        return None

    def statuses(self, raw: bytes) -> list[int]:
        """The statuses of all answers on one connection, until it ends or is idle."""
        received = bytearray()
        with socket.create_connection(self.server.address, timeout=PATIENCE) as connection:
            try:
                connection.sendall(raw)
                connection.settimeout(IDLE)
                while part := connection.recv(65536):
                    received += part
            except OSError:
                pass  # the server closed or waits for more; what it said before counts
        return [int(status) for status in STATUS.findall(received)]

    def is_healthy(self) -> bool:
        """True if the server answers a plain request."""
        return self.statuses(LAST) != []


@contextmanager
def probing(name: str) -> Iterator[Probe]:
    """Run one of the servers for a while."""
    log = ErrorLog()
    loggers = [logging.getLogger(each) for each in LOGGERS]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(running(_app(name, folder), LIMITS))
        for logger in loggers:
            logger.addHandler(log)
            stack.callback(logger.removeHandler, log)
        yield Probe(server, log)


def _app(name: str, folder: Path) -> App:
    if name == "gateway":
        file = folder / "gateway.toml"
        file.write_text('[models.demo]\nupstream = "demo"\n')
        return Gateway.from_config(file)
    if name == "tools":
        return ToolServer([echo, quote, echo_text])
    return MockProvider(name.removeprefix("mock-"))
