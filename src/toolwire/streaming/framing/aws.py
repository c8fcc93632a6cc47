"""AWS event streams: binary messages with typed headers and two checksums. Knows no wire.

Layout: total length, header length, CRC of these eight bytes; headers; payload; CRC of all bytes
before it. Integers are big-endian.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from zlib import crc32

from toolwire.conversation.json import dump
from toolwire.errors import DecodeError
from toolwire.streaming.framing import MAX_FRAME_SIZE, Decoder, Frame

_VALUE_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The size of a header value by its type; values of types 6 and 7 start with their length."""
_STRING = 7


class AwsEvents(Decoder):
    """Cuts bytes into messages. Raises DecodeError if a checksum is wrong."""

    __slots__ = ("_buffer",)

    has_checksums = True

    def __init__(self) -> None:
        self._buffer = b""

    def cut(self, chunk: bytes) -> list[bytes]:
        """The messages that these bytes complete."""
        buffer = self._buffer + chunk
        messages: list[bytes] = []
        while len(buffer) >= 12:
            total, headers_size, checksum = struct.unpack_from(">III", buffer)
            if checksum != crc32(buffer[:8]):
                raise DecodeError("an event stream message with a wrong prelude checksum")
            if total > MAX_FRAME_SIZE or total < headers_size + 16:
                raise DecodeError(f"an event stream message of {total} bytes")
            if len(buffer) < total:
                break
            if struct.unpack_from(">I", buffer, total - 4)[0] != crc32(buffer[: total - 4]):
                raise DecodeError("an event stream message with a wrong checksum")
            messages.append(buffer[:total])
            buffer = buffer[total:]
        self._buffer = buffer
        return messages

    def frame(self, piece: bytes) -> Frame:
        """The payload of a message, with the type of its event or exception as the event name."""
        headers_end = 12 + struct.unpack_from(">I", piece, 4)[0]
        read = _read_small_headers if headers_end <= _SMALL else _read_headers
        headers = read(piece[12:headers_end])
        if headers.get(":message-type") == "error":  # an error has no payload: its headers hold it
            payload = dump({"message": headers.get(":error-message", "")})
            return Frame(f"{headers.get(':error-code', 'unknown')}Exception", payload)
        event = headers.get(":exception-type") or headers.get(":event-type") or ""
        return Frame(event, piece[headers_end:-4])

    def end(self) -> list[Frame]:
        """No frames: a message that was cut off cannot be verified."""
        self._buffer = b""
        return []


def complete_size(data: bytes) -> int:
    """The size of the complete messages at the start of these bytes; all if a length is invalid."""
    end = 0
    while len(data) - end >= 4:
        total: int = struct.unpack_from(">I", data, end)[0]
        if total < 16 or total > MAX_FRAME_SIZE:
            return len(data)
        if end + total > len(data):
            break
        end += total
    return end


def _read_headers(data: bytes) -> dict[str, str]:
    """The headers with a string value."""
    headers: dict[str, str] = {}
    index = 0
    try:
        while index < len(data):
            length = data[index]
            name = data[index + 1 : index + 1 + length].decode()
            value_type = data[index + 1 + length]
            index += 2 + length
            if value_type in _VALUE_SIZES:
                index += _VALUE_SIZES[value_type]
                continue
            size = struct.unpack_from(">H", data, index)[0]
            if value_type == _STRING:
                headers[name] = data[index + 2 : index + 2 + size].decode()
            index += 2 + size
    except (IndexError, struct.error, UnicodeDecodeError):
        raise DecodeError("an event stream message with broken headers") from None
    return headers


_SMALL = 256
"""The maximum size of headers that are cached: a stream has the same few headers."""
_read_small_headers = lru_cache(maxsize=64)(_read_headers)


def write(data: bytes, event: str, *, kind: str = "event") -> bytes:
    """One message; `kind` is `event` or `exception`."""
    headers = _write_headers(event, kind)
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + data
    return body + struct.pack(">I", crc32(body))


@lru_cache(maxsize=64)
def _write_headers(event: str, kind: str) -> bytes:
    """The headers of a message: a stream has the same few."""
    fields = {f":{kind}-type": event, ":content-type": "application/json", ":message-type": kind}
    return b"".join(_write_header(name, value) for name, value in fields.items())


def _write_header(name: str, value: str) -> bytes:
    text = value.encode()
    return (
        bytes((len(name),))
        + name.encode()
        + bytes((_STRING,))
        + struct.pack(">H", len(text))
        + text
    )
