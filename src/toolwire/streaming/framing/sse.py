"""Server-sent events.

Lines end in CR, LF or CRLF and in nothing else; U+2028 is text here. A frame without its closing
blank line is given at the end all the same: a socket that just closes must not swallow the last
event. Knows no wire.
"""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, Frame, Held

_BOM = b"\xef\xbb\xbf"


class SSE(Decoder):
    """Cuts bytes into events."""

    __slots__ = ("_events", "_held", "_started", "_swallow")

    def __init__(self) -> None:
        self._events = Held(b"\n\n")
        self._held = b""
        """The beginning of a byte order mark."""
        self._started = False
        self._swallow = False

    @property
    def idle(self) -> bool:
        """Whether it holds nothing back."""
        return self._started and not self._events and not self._swallow

    def cut(self, chunk: bytes) -> list[bytes]:
        """The events that these bytes complete, as lines."""
        if not chunk:
            return []
        if not self._started:
            chunk = self._held + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._held = chunk
                return []
            self._held = b""
            chunk = chunk.removeprefix(_BOM)
            self._started = True
        if self._swallow and chunk[:1] == b"\n":  # the LF of a CRLF that was cut in two
            chunk = chunk[1:]
        self._swallow = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._events.cut(chunk)

    def frame(self, piece: bytes) -> Frame | None:
        """The event of some lines; None if it holds no data."""
        if piece[:6] == b"data: " and b"\n" not in piece:
            return Frame("", piece[6:])
        event = ""
        data: list[bytes] = []
        for line in piece.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name in (
                b"data",
                b"error",
            ):  # a field of no standard, in which some frameworks report errors
                data.append(value)
            elif name == b"event":
                event = value.decode("utf-8", "replace")
        return Frame(event, b"\n".join(data)) if data else None

    def end(self) -> list[Frame]:
        """What stands at the end without its blank line."""
        held, self._held = self._held + self._events.take(), b""
        frame = self.frame(held)
        return [] if frame is None else [frame]


def write(data: bytes, event: str = "") -> bytes:
    """One event. JSON has no line breaks of its own, so its data are one line."""
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        data = b"\ndata: ".join(lines)
    if event:
        return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
    return b"data: " + data + b"\n\n"
