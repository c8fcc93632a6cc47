"""What comes in as the events of a wire: bytes and text in any framing, dicts, official SDK
objects.

What is no event is a fault, never an exception: a stream that is under way cannot be taken back.
Knows wires only through their tables.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TypeAlias

from toolwire.codec import resolve
from toolwire.conversation.json import load, parse, text_of
from toolwire.errors import LocalError, RemoteError
from toolwire.streaming.events import Chunk, StreamError
from toolwire.streaming.framing import Decoder, Frame
from toolwire.streaming.framing.sniff import Sniffed
from toolwire.wires.engine.specs import Wire
from toolwire.wires.engine.stream import StreamSpec

Item: TypeAlias = "object"
"""What a stream is made of: pieces of bytes or text, or events as dicts or official SDK objects; it
is looked at."""
BYTES = (bytes, bytearray, memoryview, str)
"""What has to be cut into events."""


def resolve_stream(name: str) -> tuple[Wire, StreamSpec]:
    spoken, _ = resolve(name)
    if spoken.stream is None:
        raise LocalError(spoken.name, (), "this wire does not stream")
    return spoken, spoken.stream


def _texts(value: object) -> object:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else value


class EventInput:
    """What comes in, in whatever form, as the events of a wire."""

    def __init__(self, wire: str, stream: StreamSpec) -> None:
        self._wire = wire
        self._unwrap = stream.unwrap
        self._frames: Decoder = Sniffed()
        self.framed = False
        """Whether bytes or text came, and not events."""
        self.done = False
        """Whether the end was marked."""

    def cut(self, item: Item) -> list[bytes]:
        """The pieces that bytes or text complete."""
        self.framed = True
        frames = self._frames
        if isinstance(frames, Sniffed) and frames.decoder is not None:
            self._frames = frames.decoder
        return self._frames.cut(
            item.encode("utf-8", "surrogatepass") if isinstance(item, str) else bytes(item)  # type: ignore[call-overload]
        )

    @property
    def idle(self) -> bool:
        """Whether all that came was whole events."""
        return self._frames.idle

    def take(self, item: Item) -> list[Chunk | StreamError]:
        """The events that an item completes."""
        if isinstance(item, BYTES):
            return [event for piece in self.cut(item) if (event := self.event(piece)) is not None]
        return [self.given(item)]

    def given(self, item: Item) -> Chunk | StreamError:
        """An event that came as a value. Some SDKs give as bytes what is base64 on the wire."""
        try:
            value, _ = load(item, self._wire)
        except RemoteError:
            try:
                value, _ = load(_texts(item), self._wire)
            except (RemoteError, RecursionError) as broken:
                return StreamError(f"not an event: {broken}")
        return (
            value
            if isinstance(value, dict)
            else StreamError(f"not an event: {text_of(value)[:200]}")
        )

    def rest(self) -> list[Chunk | StreamError]:
        """What stands at the end without its mark; an event that was cut in two is none."""
        found = [self._framed(frame) for frame in self._frames.end()]
        return [
            event for event in found if event is not None and not isinstance(event, StreamError)
        ]

    def event(self, piece: bytes) -> Chunk | StreamError | None:
        """The event of a piece; None if it is none, as a comment is, or the mark of the end."""
        frame = self._frames.frame(piece)
        return None if frame is None else self._framed(frame)

    def _framed(self, frame: Frame) -> Chunk | StreamError | None:
        try:
            value = parse(frame.data)
        except ValueError:
            if frame.data.strip() == b"[DONE]":
                self.done = True
                return None
            try:
                value, _ = load(
                    frame.data, self._wire
                )  # it says why, and takes what is only oddly spelled
            except RemoteError:
                return StreamError(f"not an event: {frame.data[:200].decode('utf-8', 'replace')}")
        if self._unwrap is not None:
            value = self._unwrap(frame.event, value)
        return (
            value
            if isinstance(value, dict)
            else StreamError(f"not an event: {text_of(value)[:200]}")
        )
