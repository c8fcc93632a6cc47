"""AWS event streams: binary messages with typed headers and two checksums. Knows no wire.

Layout: total length, header length, CRC of these eight bytes; headers; payload; CRC of all before
it. Integers are big-endian.
"""

from __future__ import annotations

import struct
from zlib import crc32

from toolwire.conversation.json import dump
from toolwire.errors import RemoteError
from toolwire.streaming.framing import LARGEST, Decoder, Frame

_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; 6 and 7 have a length of their own."""
_STRING = 7


class AwsEvents(Decoder):
    """Cuts bytes into messages; a wrong checksum is a RemoteError."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def cut(self, chunk: bytes) -> list[bytes]:
        """The messages that these bytes complete."""
        held = self._held + chunk
        found: list[bytes] = []
        while len(held) >= 12:
            total, header, check = struct.unpack_from(">III", held)
            if check != crc32(held[:8]):
                raise RemoteError("", (), "an event stream message with a wrong prelude checksum")
            if total > LARGEST or total < header + 16:
                raise RemoteError("", (), f"an event stream message of {total} bytes")
            if len(held) < total:
                break
            if struct.unpack_from(">I", held, total - 4)[0] != crc32(held[: total - 4]):
                raise RemoteError("", (), "an event stream message with a wrong checksum")
            found.append(held[:total])
            held = held[total:]
        self._held = held
        return found

    def frame(self, piece: bytes) -> Frame:
        """A message's payload, under the type of the event or exception that it is."""
        header = struct.unpack_from(">I", piece, 4)[0]
        named = _headers(piece[12 : 12 + header])
        if (
            named.get(":message-type") == "error"
        ):  # it has no payload: what it says stands in its headers
            said = dump({"message": named.get(":error-message", "")})
            return Frame(f"{named.get(':error-code', 'unknown')}Exception", said)
        return Frame(
            named.get(":exception-type") or named.get(":event-type") or "", piece[12 + header : -4]
        )

    def end(self) -> list[Frame]:
        """A message that was cut off has no frame: its checksum never came."""
        self._held = b""
        return []


def _headers(data: bytes) -> dict[str, str]:
    """The headers that are text."""
    found: dict[str, str] = {}
    path = 0
    try:
        while path < len(data):
            length = data[path]
            name = data[path + 1 : path + 1 + length].decode()
            kind = data[path + 1 + length]
            path += 2 + length
            if kind in _SIZES:
                path += _SIZES[kind]
                continue
            size = struct.unpack_from(">H", data, path)[0]
            if kind == _STRING:
                found[name] = data[path + 2 : path + 2 + size].decode()
            path += 2 + size
    except (IndexError, struct.error, UnicodeDecodeError):
        raise RemoteError("", (), "an event stream message with broken headers") from None
    return found


def write(data: bytes, event: str, *, kind: str = "event") -> bytes:
    """One message: an event, or an exception."""
    named = {f":{kind}-type": event, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(_header(name, value) for name, value in named.items())
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + data
    return body + struct.pack(">I", crc32(body))


def _header(name: str, value: str) -> bytes:
    text = value.encode()
    return (
        bytes((len(name),))
        + name.encode()
        + bytes((_STRING,))
        + struct.pack(">H", len(text))
        + text
    )
