"""One request of a connection and its response, as ASGI messages.

uvicorn writes the headers of a response and its body one after the other, which takes two system
calls and two packets, and checks each header by itself. Here both are written together.
"""

from __future__ import annotations

import asyncio
import re

from uvicorn._types import ASGISendEvent, HTTPResponseBodyEvent, HTTPResponseStartEvent
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

SMALL_WRITE = 64 * 1024
"""Bytes up to which copying is cheaper than writing two buffers."""
_INVALID_NAME = re.compile(rb'[\x00-\x20\x7f()<>@,;:\[\]={}\\"]')
_INVALID_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_VALID_HEADERS: set[tuple[bytes, bytes]] = set()
"""Headers that were checked before and do not concern the connection: most responses have the same
ones."""
_MAX_VALID_HEADERS = 256
_WITHOUT_BODY = frozenset({204, 304})


class ResponseCycle(RequestResponseCycle):
    """A request and its response."""

    disconnected = False
    more_body = True
    response_started = False
    response_complete = False
    chunked_encoding: bool | None = None
    expected_content_length = 0
    _head = b""
    """The headers, until the first part of the body is sent."""

    def __init__(self, connection: HttpToolsProtocol, *, keep_alive: bool) -> None:
        """Set the attributes that uvicorn sets, without its eleven arguments."""
        self.scope = connection.scope
        self.transport = connection.transport
        self.flow = connection.flow
        self.logger = connection.logger
        self.default_headers = connection.server_state.default_headers
        self.message_event = asyncio.Event()
        self.on_response = connection.on_response_complete
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = connection.expect_100_continue
        self.body = bytearray()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message of the application."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.body" and self.response_started:
            self._send_body(message)
        elif message["type"] == "http.response.start" and not self.response_started:
            self._start(message)
        else:
            raise RuntimeError(f"the application sent {message['type']} at the wrong time")

    def _start(self, message: HTTPResponseStartEvent) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        status, closes = message["status"], False
        lines = [STATUS_LINE[status]]
        for name, value in self.default_headers:  # the date, and whether the server is stopping
            if name == b"connection":
                closes = self._read_header(name, value)
            lines += (name, b": ", value, b"\r\n")
        for given, value in message.get("headers", ()):
            name = given.lower()
            if name == b"content-length":
                self._note_length(value)
            elif (name, value) not in _VALID_HEADERS:
                closes = self._read_header(name, value) or closes
            lines += (name, b": ", value, b"\r\n")
        if not self.keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        declares_length = self.chunked_encoding is not None
        if not declares_length and self.scope["method"] != "HEAD" and status not in _WITHOUT_BODY:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)
        if not self.expected_content_length:  # the first part of a stream may come much later
            asyncio.get_running_loop().call_soon(self._flush)

    def _note_length(self, value: bytes) -> None:
        if not value.isdigit():
            raise RuntimeError("the application sent an invalid Content-Length")
        if self.chunked_encoding is None:
            self.expected_content_length = int(value)
            self.chunked_encoding = False

    def _read_header(self, name: bytes, value: bytes) -> bool:
        """Check a header, and note what it says about the end of the response.

        Returns True if the connection ends with the response.
        """
        if _INVALID_NAME.search(name) or _INVALID_VALUE.search(value):
            raise RuntimeError("the application sent an invalid header")
        if name == b"connection":
            closes = b"close" in [token.strip() for token in value.lower().split(b",")]
            self.keep_alive = self.keep_alive and not closes
            return closes
        if name == b"transfer-encoding":
            if value.lower() == b"chunked":
                self.expected_content_length = 0
                self.chunked_encoding = True
            return False
        if len(_VALID_HEADERS) >= _MAX_VALID_HEADERS:
            _VALID_HEADERS.clear()
        _VALID_HEADERS.add((name, value))
        return False

    def _send_body(self, message: HTTPResponseBodyEvent) -> None:
        if self.response_complete:
            raise RuntimeError("the application sent a body after the end of its response")
        body, more = message.get("body", b""), message.get("more_body", False)
        data = body
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
            data = b""
        elif self.chunked_encoding:
            if body:
                data = b"%x\r\n%b\r\n" % (len(body), body)
            if not more:
                data += b"0\r\n\r\n"
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0:
                raise RuntimeError("the body of the response is longer than its Content-Length")
        if not more and self.expected_content_length:
            raise RuntimeError("the body of the response is shorter than its Content-Length")
        self._write(data)
        if not more:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def _flush(self) -> None:
        """Send the headers, if no body was sent with them."""
        if self._head and not self.transport.is_closing():
            self._write(b"")

    def _write(self, data: bytes) -> None:
        """Send data, after the headers if they were not sent yet.

        uvloop raises an error if the connection is closed.
        """
        head, self._head = self._head, b""
        try:
            if not head:
                self.transport.write(data)
            elif len(data) < SMALL_WRITE:
                self.transport.write(head + data)
            else:
                self.transport.writelines((head, data))
        except RuntimeError:
            if not self.transport.is_closing():
                raise
