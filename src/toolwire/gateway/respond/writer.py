"""Send a response to the client piece by piece."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from time import perf_counter

from toolwire.execution.eager_await import finish_await
from toolwire.gateway.errors import raw_headers
from toolwire.gateway.request import GatewayRequest
from toolwire.wires.engine.stream import event_sse

_COMMENT = b": keep-alive\n"
"""A line that clients of server-sent events ignore, also between two lines of an event."""


class ResponseWriter:
    """A response with status 200; nothing is sent before the first piece."""

    __slots__ = ("_capture", "_headers", "_record", "_request", "_send", "quiet", "started")

    def __init__(self, request: GatewayRequest, headers: Mapping[str, str]) -> None:
        self._send = request.send
        self._record = request.record
        self._headers = headers
        self._capture = request.record.capture is not None
        self._request = request
        self.started = False
        self.quiet = False
        """True if nothing was sent since the last run of the keep-alive timer."""

    async def send(self, data: bytes) -> None:
        """Send a piece."""
        await self._start()
        await self._send_body(data, more=True)

    async def end(self, data: bytes) -> None:
        """Send the last piece."""
        await self._start()
        await self._send_body(data, more=False)

    async def _start(self) -> None:
        if self.started:
            return
        self.started = True
        self._record.status, self._record.first_byte_at = 200, perf_counter()
        headers = raw_headers(self._headers)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _send_body(self, data: bytes, *, more: bool) -> None:
        self.quiet = False
        if self._capture:
            self._record.capture_response(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    def send_soon(self, data: bytes) -> Awaitable[None] | None:
        """Send a piece without a separate task; return an awaitable if the client does not keep
        up."""
        if not self.started:
            return self.send(data)
        self.quiet = False
        if self._capture:
            self._record.capture_response(data)
        steps = self._send(
            {"type": "http.response.body", "body": data, "more_body": True}
        ).__await__()
        try:
            waits_for = next(steps)
        except StopIteration:
            return None
        return finish_await(steps, waits_for)

    def keep_alive(self) -> None:
        """Send a comment or a ping, unless the client does not keep up.

        A response that has not started stays unsent while another model could be tried.
        """
        request = self._request
        if not self._headers["content-type"].startswith("text/event-stream"):
            return
        if not self.started and request.target is not request.targets[-1]:
            return
        steps = self.send(self._ping()).__await__()
        try:
            next(steps)
        except StopIteration:
            return
        steps.close()

    def _ping(self) -> bytes:
        """The ping event of the API, if only whole events are sent; otherwise a comment."""
        ping = self._request.api.ping
        if ping is None or not self.started or self._request.upstream_request.passthrough:
            return _COMMENT
        return event_sse(ping)
