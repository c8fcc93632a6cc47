"""Cut bytes into server-sent events (SSE), and write them.

Lines end in CR, LF or CRLF and in nothing else; U+2028 is text. An event without its closing blank
line is still returned at the end of the stream: a socket that just closes must not swallow the last
event. Knows no wire.
"""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, DelimitedBuffer, Frame

_BOM = b"\xef\xbb\xbf"


class SSE(Decoder):
    """Cuts bytes into events."""

    __slots__ = ("_bom_start", "_buffer", "_skip_lf", "_started")

    def __init__(self) -> None:
        self._buffer = DelimitedBuffer(b"\n\n")
        self._bom_start = b""
        """The first bytes, if they may be the start of a byte order mark."""
        self._started = False
        self._skip_lf = False
        """True if the last byte was a CR, so that an LF belongs to the same line break."""

    @property
    def at_frame_start(self) -> bool:
        """True if the bytes so far are complete events."""
        return self._started and not self._buffer and not self._skip_lf

    def cut(self, chunk: bytes) -> list[bytes]:
        """The events that these bytes complete, each as bytes of its lines."""
        if not chunk:
            return []
        if not self._started:
            chunk = self._bom_start + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._bom_start = chunk
                return []
            self._bom_start = b""
            chunk = chunk.removeprefix(_BOM)
            self._started = True
        if self._skip_lf and chunk[:1] == b"\n":  # the second byte of a CRLF that was cut in two
            chunk = chunk[1:]
        self._skip_lf = chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._buffer.cut(chunk)

    def frame(self, piece: bytes) -> Frame | None:
        """The event in these lines; None if it has no data."""
        if piece[:6] == b"data: " and b"\n" not in piece:
            return Frame("", piece[6:])
        if piece[:7] == b"event: ":
            name, _, value = piece[7:].partition(b"\ndata: ")
            if value and b"\n" not in value and b"\n" not in name:
                return Frame(name.decode("utf-8", "replace"), value)
        event = ""
        data: list[bytes] = []
        for line in piece.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name in (b"data", b"error"):  # some frameworks report errors in a field `error`
                data.append(value)
            elif name == b"event":
                event = value.decode("utf-8", "replace")
        return Frame(event, b"\n".join(data)) if data else None

    def end(self) -> list[Frame]:
        """The last event, if it has no closing blank line."""
        lines, self._bom_start = self._bom_start + self._buffer.take(), b""
        frame = self.frame(lines)
        return [] if frame is None else [frame]


def write(data: bytes, event: str = "") -> bytes:
    """One event. Compact JSON has no line breaks, so it needs one `data` line."""
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        data = b"\ndata: ".join(lines)
    if event:
        return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
    return b"data: " + data + b"\n\n"
