"""Send the stream of a model to the client: translated, or byte for byte on the same wire.

Another model can be tried only before the first byte, so the start of a stream is checked before
anything is sent. A stream that breaks off later ends with an error event.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from toolwire.gateway.errors import UpstreamFailed, report_headers
from toolwire.gateway.forward import headers_for_client
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.respond.failures import (
    UNREADABLE,
    broken_response,
    cut_message,
    is_page,
    stream_failure,
    unreadable_response,
    wrong_content,
)
from toolwire.gateway.respond.writer import ResponseWriter
from toolwire.gateway.translation.call_ids import CallIds
from toolwire.gateway.translation.outcome import (
    BinaryStreamTail,
    StreamEnd,
    StreamTail,
    find_fault,
    read_outcome,
)
from toolwire.gateway.translation.response_identity import IdentityFiller
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.providers.http.response import LARGEST_BODY, Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS
from toolwire.streaming.framing.aws import complete_size
from toolwire.streaming.stream_translator import StreamTranslator

_DRAIN_SECONDS = 0.25
"""Seconds that a server has to end a stream after its last event, so that the connection can be
reused."""
_BINARY_MEDIA_TYPE = "application/vnd.amazon.eventstream"
_HTML_MEDIA_TYPE = "text/html"
_MAX_LINE_BYTES = 1024 * 1024
"""The maximum size of a line that is held back until it is complete."""


async def respond_with_stream(request: GatewayRequest, response: Response) -> None:
    """Send a stream. Raises UpstreamFailed if it cannot be read and nothing was sent."""
    if response.headers.get("content-type", "").startswith(_HTML_MEDIA_TYPE):
        raise wrong_content(b"<", request.record.upstream, expected="a stream")
    if request.upstream_request.passthrough and request.json_array() is None:
        await _PassthroughStream(request, response).run()
    else:
        await _respond_translated(request, response)


def _is_whole(request: GatewayRequest, response: Response) -> bool:
    """True if a server sent a whole response although it was asked for a stream."""
    media_type = response.headers.get("content-type", "")
    is_json = media_type.startswith("application/json")
    return is_json and request.translator.stream_media_type != "application/json"


# --- another wire ---------------------------------------------------------------------------------


async def _respond_translated(request: GatewayRequest, response: Response) -> None:
    record = request.record
    stream = ResponseStream(
        request.translator,
        request.upstream_request,
        array=request.json_array(),
        cut_message=cut_message(record.upstream),
    )
    writer = ResponseWriter(
        request,
        {
            "content-type": stream.media_type,
            "cache-control": "no-cache",
            **stream.headers,
            **headers_for_client(response),
            **report_headers(request.upstream_request),
        },
    )
    is_whole = _is_whole(request, response)
    last: list[bytes] = []
    failure: UpstreamFailed | None = None
    request.state.keep_alive.add(writer)
    try:
        if is_whole:
            last = stream.feed_whole(await response.read_all())
        else:
            last = [*await _pump(request, response, stream, writer), *stream.end()]
    except UNREADABLE as error:
        failure = unreadable_response(error, record.upstream)
    finally:
        request.state.keep_alive.remove(writer)
    if failure is None and stream.fault is not None:
        failure = stream_failure(stream.fault, record.upstream)
    if failure is not None:
        if not writer.started:
            raise failure
        last += stream.fail(failure.message)
        record.error = failure.message
    await writer.end(b"".join(last) + stream.trailer)
    record.losses += tuple(map(str, stream.losses))
    record.usage, record.finish_reason = stream.usage, stream.finish_reason
    if failure is None and not is_whole and not response.ended:
        response.drain(_DRAIN_SECONDS)


async def _pump(
    request: GatewayRequest, response: Response, stream: ResponseStream, writer: ResponseWriter
) -> list[bytes]:
    """Translate and send pieces as they arrive; return what is left to send at the end.

    Raises:
        ValueError: an event exceeds the limit of a whole response.
    """
    consumer = _TranslatedPieces(request, stream, writer)
    await _flow(response, consumer)
    return consumer.last


class _Consumer(Protocol):
    """Takes the pieces of a stream as soon as they arrive."""

    pending: Awaitable[None] | None
    """The awaitable before the next piece, after `take` returned False; None at the end."""

    def take(self, data: bytes) -> bool:
        """Take a piece; False if no further piece is wanted now."""


class _TranslatedPieces:
    """Translates pieces and sends them."""

    __slots__ = ("_capture", "_feed", "_send_soon", "_stream", "_unsent", "last", "pending")

    def __init__(
        self, request: GatewayRequest, stream: ResponseStream, writer: ResponseWriter
    ) -> None:
        self.pending: Awaitable[None] | None = None
        self.last: list[bytes] = []
        """The translation of the last piece."""
        self._stream = stream
        self._feed = stream.feed
        self._send_soon = writer.send_soon
        self._unsent = 0
        record = request.record
        self._capture = record.capture_upstream_response if record.capture else None

    def take(self, data: bytes) -> bool:
        """Take a piece; False if no further piece is wanted now."""
        if self._capture is not None:
            self._capture(data)
        output = self._feed(data)
        if self._stream.source_ended:
            self.last = output
            return False
        if output:
            self._unsent = 0
            self.pending = self._send_soon(output[0] if len(output) == 1 else b"".join(output))
            return self.pending is None
        self._unsent += len(data)
        if self._unsent > LARGEST_BODY:
            raise ValueError(f"an event of more than {LARGEST_BODY} bytes")
        return True


async def _flow(response: Response, consumer: _Consumer) -> None:
    """Give each piece to a consumer as soon as it arrives."""
    take = consumer.take
    while True:
        await response.pump(take)
        pending, consumer.pending = consumer.pending, None
        if pending is None:
            return
        await pending


# --- the same wire --------------------------------------------------------------------------------


class _PassthroughStream:
    """Forwards a stream byte for byte. Only complete lines, or messages of a binary stream, go out,
    so that an error event can follow one that breaks off."""

    def __init__(self, request: GatewayRequest, response: Response) -> None:
        self._request = request
        self._response = response
        self._translator = request.translator
        media_type = response.headers.get("content-type", "text/event-stream")
        self._writer = ResponseWriter(
            request,
            {
                "content-type": media_type,
                "cache-control": "no-cache",
                **headers_for_client(response),
                **report_headers(request.upstream_request),
            },
        )
        self._is_whole = _is_whole(request, response)
        self._is_binary = media_type.startswith(_BINARY_MEDIA_TYPE)
        tail = BinaryStreamTail if self._is_binary else StreamTail
        self._tail = tail(self._translator.wire)
        self.pending: Awaitable[None] | None = None
        self._incomplete = b""
        self._renamed = False
        self._identity = IdentityFiller(self._translator.api, request.upstream_request)
        self._call_ids: CallIds | None = None
        if self._translator.api.call_marks:
            self._call_ids = CallIds(self._translator.api, request.upstream_request)
        record = request.record
        self._capture = record.capture_upstream_response if record.capture else None

    async def run(self) -> None:
        """Forward the stream. Raises UpstreamFailed if it cannot be read and nothing was sent."""
        record, writer = self._request.record, self._writer
        keep_alive = self._request.state.keep_alive
        keep_alive.add(writer)
        try:
            await _flow(self._response, self)
        except CONNECTION_ERRORS as error:
            failure = broken_response(error, record.upstream)
            if not writer.started:
                raise failure from None
            self._end_with_error(failure)
        finally:
            keep_alive.remove(writer)
        if not writer.started:
            self._check_start(self._incomplete, complete=True)
        end = self._read_end()
        if writer.started and not record.error and end.cut:
            self._end_with_error(UpstreamFailed(cut_message(record.upstream), 502))
        await writer.end(self._edit(self._incomplete))
        record.usage, record.finish_reason = end.usage, end.finish_reason

    def _read_end(self) -> StreamEnd:
        if self._is_whole:
            return StreamEnd(*read_outcome(self._tail.content(), self._translator.wire))
        return self._tail.read_end()

    def _end_with_error(self, failure: UpstreamFailed) -> None:
        """Send an error event in the place of an incomplete line, because the stream ends here."""
        self._request.record.error = failure.message
        wire = self._translator.wire
        errors: StreamTranslator[bytes] = StreamTranslator(wire, wire)
        separator = b"" if self._is_binary else b"\n"
        self._incomplete = separator + b"".join(errors.fail(failure.message))

    def take(self, data: bytes) -> bool:
        """Take a piece; False if no further piece is wanted now."""
        if self._capture is not None:
            self._capture(data)
        self._tail.add(data)
        if self._incomplete:
            data = self._incomplete + data
        if self._is_binary:
            end = complete_size(data)
        else:
            end = len(data) if len(data) > _MAX_LINE_BYTES else data.rfind(b"\n") + 1
        if end == len(data):
            self._incomplete = b""
        else:
            data, self._incomplete = data[:end], data[end:]
        if not end:
            return True
        if not self._writer.started:
            self._check_start(data)
        if not self._renamed or not self._identity.settled or self._call_ids is not None:
            data = self._edit(data)
        self.pending = self._writer.send_soon(data)
        return self.pending is None

    def _edit(self, data: bytes) -> bytes:
        """The bytes with the client's name of the model, the identity of the response, and an id on
        every call."""
        if not self._renamed:
            upstream_request = self._request.upstream_request
            data, self._renamed = self._translator.rename_model(data, upstream_request)
        if not self._identity.settled and not self._is_binary:
            data = self._identity.fill_lines(data)
        return data if self._call_ids is None else self._call_ids.add_to_lines(data)

    def _check_start(self, data: bytes, *, complete: bool = False) -> None:
        """Check the start of a stream. Raises UpstreamFailed if it is an error, or not a stream."""
        provider = self._request.record.upstream
        if self._is_whole:
            if data.lstrip()[:1] != b"{":
                raise wrong_content(data, provider, expected="JSON")
            return
        if is_page(data):  # a decoder that skips unknown lines would forward it
            raise wrong_content(data, provider, expected="a stream")
        fault = find_fault(data, self._translator.wire, complete=complete)
        if fault is not None:
            raise stream_failure(fault, provider)
