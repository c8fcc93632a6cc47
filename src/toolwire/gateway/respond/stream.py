"""Send the stream of a model to the client: translated, or byte for byte on the same wire.

Another model can be tried only before the first byte, so the start of a stream is judged before
anything is sent. A stream that breaks off later ends with an error event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from toolwire.conversation.id_map import NO_MAP
from toolwire.gateway.errors import UpstreamFailed, report_headers
from toolwire.gateway.forward import connection_failure, headers_for_client
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.respond.failures import UNREADABLE, stream_failure, unreadable_response
from toolwire.gateway.respond.writer import ResponseWriter
from toolwire.gateway.translation.call_ids import CallIds
from toolwire.gateway.translation.outcome import BinaryStreamTail, StreamTail, read_outcome
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.providers.http.response import LARGEST_BODY, Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS
from toolwire.streaming.framing.aws import complete_size
from toolwire.streaming.stream_translator import StreamTranslator

_DRAIN_SECONDS = 0.25
"""The time a server has to end a stream that is over, so that its connection can be used again."""
_BINARY_MEDIA_TYPE = "application/vnd.amazon.eventstream"
_MAX_LINE_BYTES = 1024 * 1024
"""A longer line is forwarded before its end."""


async def respond_with_stream(request: GatewayRequest, response: Response) -> None:
    """Send a stream. Raises UpstreamFailed if it cannot be read and nothing was sent."""
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
        request.translator, request.upstream_request, array=request.json_array()
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
        failure = stream_failure(stream.fault)
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
    unsent = 0
    last: list[bytes] = []
    feed, send_soon = stream.feed, writer.send_soon
    capture = request.record.capture_upstream_response if request.record.capture else None

    def take(data: bytes) -> Awaitable[None] | bool | None:
        nonlocal unsent, last
        if capture is not None:
            capture(data)
        output = feed(data)
        if stream.source_ended:
            last = output
            return False
        if output:
            unsent = 0
            return send_soon(output[0] if len(output) == 1 else b"".join(output))
        unsent += len(data)
        if unsent > LARGEST_BODY:
            raise ValueError(f"an event of more than {LARGEST_BODY} bytes")
        return None

    await _flow(response, take)
    return last


async def _flow(response: Response, take: Callable[[bytes], Awaitable[None] | bool | None]) -> None:
    """Give each piece to `take` as soon as it arrives.

    `take` returns False to stop, or something to await before the next piece.
    """
    pending: Awaitable[None] | None = None
    stopped = False

    def take_piece(data: bytes) -> bool:
        nonlocal pending, stopped
        outcome = take(data)
        if outcome is None:
            return True
        if outcome is False:
            stopped = True
        elif outcome is not True:
            pending = outcome
        return False

    while True:
        await response.pump(take_piece)
        if stopped or pending is None:
            return
        await pending
        pending = None


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
        self._incomplete = b""
        self._renamed = False
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
            await _flow(self._response, self._take)
        except CONNECTION_ERRORS as error:
            failure = connection_failure(error, f"the response of {record.upstream} broke off")
            if not writer.started:
                raise failure from None
            record.error = failure.message
            wire = self._translator.wire
            errors: StreamTranslator[bytes] = StreamTranslator(wire, wire)
            separator = b"" if self._is_binary else b"\n"
            self._incomplete = separator + b"".join(errors.report_source_failure(error))
        finally:
            keep_alive.remove(writer)
        if not writer.started:
            self._check_start(self._incomplete, complete=True)
        await writer.end(self._edit(self._incomplete))
        if self._is_whole:
            record.usage, record.finish_reason = read_outcome(
                self._tail.content(), self._translator.wire
            )
        else:
            record.usage, record.finish_reason = self._tail.outcome()

    def _take(self, data: bytes) -> Awaitable[None] | None:
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
            return None
        if not self._writer.started:
            self._check_start(data)
        if not self._renamed or self._call_ids is not None:
            data = self._edit(data)
        return self._writer.send_soon(data)

    def _edit(self, data: bytes) -> bytes:
        """Bytes under the model name of the client, and with an id on every call."""
        if not self._renamed:
            upstream_request = self._request.upstream_request
            data, self._renamed = self._translator.rename_model(data, upstream_request)
        return data if self._call_ids is None else self._call_ids.add_to_lines(data)

    def _check_start(self, data: bytes, *, complete: bool = False) -> None:
        """Judge the start of a stream. Raises UpstreamFailed if it is an error, or no stream."""
        provider = self._request.record.upstream
        start = data.lstrip()[:1]
        if self._is_whole:
            if start != b"{":
                raise UpstreamFailed(f"{provider} returned no JSON object", 502)
            return
        if start == b"<":  # a decoder that skips unknown lines would forward it
            raise UpstreamFailed(f"{provider} returned HTML instead of a stream", 502)
        wire = self._translator.wire
        reader: StreamTranslator[bytes] = StreamTranslator(wire, wire, ids=NO_MAP)
        reader.feed(data)
        if complete:
            reader.end()
        if reader.fault is not None:
            raise stream_failure(reader.fault)
