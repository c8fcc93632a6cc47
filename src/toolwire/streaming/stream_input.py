"""Turn the items of a source stream into events of its wire.

Items are bytes or text in any framing, dicts, or objects of official SDKs. An item that is not an
event becomes a `StreamError`, not an exception, because part of the stream has been sent on. Knows
wires only through their specs.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TypeAlias

from toolwire.codec import resolve
from toolwire.conversation.json import JSON, load, parse, text_of
from toolwire.errors import DecodeError, UsageError
from toolwire.streaming.events import Chunk, StreamError
from toolwire.streaming.framing import Decoder, Frame
from toolwire.streaming.framing.sniff import SniffingDecoder
from toolwire.wires.engine.specs import Wire
from toolwire.wires.engine.stream import StreamSpec

Item: TypeAlias = "object"
"""One item of a stream: a piece of bytes or text, or an event as a dict or official SDK object. Its
type is checked when it arrives."""
BYTES = (bytes, bytearray, memoryview, str)
"""The types of items that are pieces of framed bytes or text."""


def resolve_stream(name: str) -> tuple[Wire, StreamSpec]:
    """The wire with this name, and how it streams.

    Raises:
        UsageError: The wire does not exist or does not stream.
    """
    wire, _ = resolve(name)
    if wire.stream is None:
        raise UsageError("this wire does not stream", wire=wire.name)
    return wire, wire.stream


class EventInput:
    """Reads the items of one stream as events of its wire."""

    def __init__(self, wire: str, stream: StreamSpec) -> None:
        self._wire = wire
        self._unwrap = stream.unwrap
        self._decoder: Decoder = SniffingDecoder()
        self.framed = False
        """True if the stream is bytes or text, not events."""
        self.done = False
        """True if the stream has sent `[DONE]`."""

    @property
    def at_event_start(self) -> bool:
        """True if the bytes so far are complete events."""
        return self._decoder.at_frame_start

    @property
    def has_checksums(self) -> bool:
        """True if a different text changes other bytes of an event, too."""
        return self._decoder.has_checksums

    def read(self, item: Item) -> list[Chunk | StreamError]:
        """The events that an item completes."""
        if not isinstance(item, BYTES):
            return [self.read_value(item)]
        events = map(self.read_piece, self.cut(item))
        return [event for event in events if event is not None]

    def cut(self, item: Item) -> list[bytes]:
        """The pieces that bytes or text complete, one for each event, as input for `read_piece`."""
        self.framed = True
        decoder = self._decoder
        if isinstance(decoder, SniffingDecoder) and decoder.decoder is not None:
            self._decoder = decoder.decoder
        return self._decoder.cut(
            item.encode("utf-8", "surrogatepass") if isinstance(item, str) else bytes(item)  # type: ignore[call-overload]
        )

    def read_piece(self, piece: bytes) -> Chunk | StreamError | None:
        """The event in a piece; None if the piece has no data, like a comment, or is `[DONE]`."""
        frame = self._decoder.frame(piece)
        return None if frame is None else self._read_frame(frame)

    def read_value(self, item: Item) -> Chunk | StreamError:
        """The event in an item that is not bytes or text."""
        try:
            value, _ = load(item, self._wire)
        except DecodeError:
            try:
                value, _ = load(_encode_bytes(item), self._wire)
            except (DecodeError, RecursionError) as error:
                return StreamError(f"not an event of a stream: {error}")
        return _require_object(value)

    def end(self) -> list[Chunk | StreamError]:
        """The events in the buffered rest when the stream ends; an event that was cut off is
        skipped."""
        events = map(self._read_frame, self._decoder.end())
        return [
            event for event in events if event is not None and not isinstance(event, StreamError)
        ]

    def _read_frame(self, frame: Frame) -> Chunk | StreamError | None:
        try:
            value = parse(frame.data)
        except ValueError:
            text = frame.data.strip()
            self.done = self.done or text == b"[DONE]"
            if text in (b"", b"[DONE]"):  # some servers keep a connection alive with empty events
                return None
            try:
                value, _ = load(frame.data, self._wire)  # more tolerant than `parse`, and slower
            except DecodeError:
                return StreamError(
                    f"not an event of a stream: {frame.data[:200].decode('utf-8', 'replace')}"
                )
        if self._unwrap is not None:
            value = self._unwrap(frame.event, value)
        return _require_object(value)


def _require_object(value: JSON) -> Chunk | StreamError:
    if isinstance(value, dict):
        return value
    return StreamError(f"not an event of a stream: {text_of(value)[:200]}")


def _encode_bytes(value: object) -> object:
    """A copy with bytes in base64, because some SDKs decode values that are base64 on the wire."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _encode_bytes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encode_bytes(item) for item in value]
    return value
