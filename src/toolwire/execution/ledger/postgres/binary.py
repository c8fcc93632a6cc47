"""Arrays of parameters in PostgreSQL's binary format, and ids as bytes that fit into an index.

Written by hand: the driver converts arrays item by item, which was most of the cost of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b, sha256
from struct import Struct

import psycopg
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_HEAD = Struct("!iiIii")
_LENGTH = [n.to_bytes(4) for n in range(1024)]
_NULL = b"\xff\xff\xff\xff"
_INT = Struct("!ii")
_MAX_INDEX_BYTES = 512
"""Bytes of a tenant or call id in the index, whose limit is 2,700. A longer one is truncated, and
its hash is added."""


class Bytes:
    """A `bytea[]` parameter."""

    __slots__ = ("data",)
    ELEMENT = 17

    def __init__(self, items: Sequence[bytes | None]) -> None:
        parts = [_HEAD.pack(1, 1, self.ELEMENT, len(items), 1)]
        add = parts.append
        for item in items:
            if item is None:
                add(_NULL)
                continue
            size = len(item)
            add(_LENGTH[size] if size < 1024 else size.to_bytes(4))
            add(item)
        self.data = b"".join(parts)


class Texts(Bytes):
    """A `text[]` parameter of UTF-8 strings."""

    __slots__ = ()
    ELEMENT = 25


class Longs(Bytes):
    """A `bigint[]` parameter."""

    __slots__ = ()
    ELEMENT = 20

    def __init__(self, items: Sequence[int | None]) -> None:
        super().__init__(
            [None if item is None else item.to_bytes(8, signed=True) for item in items]
        )


class Ints:
    """An `int[]` parameter without nulls."""

    __slots__ = ("data",)

    def __init__(self, items: Sequence[int]) -> None:
        pack = _INT.pack
        self.data = _HEAD.pack(1, 0, 23, len(items), 1) + b"".join(
            [pack(4, item) for item in items]
        )


class _PreparedArray(Dumper):
    format = Format.BINARY

    def dump(self, obj: Bytes | Ints) -> bytes:
        return obj.data


class _PreparedBytes(_PreparedArray):
    oid = 1001


class _PreparedTexts(_PreparedArray):
    oid = 1009


class _PreparedLongs(_PreparedArray):
    oid = 1016


class _PreparedInts(_PreparedArray):
    oid = 1007


ADAPTERS = AdaptersMap(psycopg.adapters)
for _kind, _dumper in (
    (Bytes, _PreparedBytes),
    (Texts, _PreparedTexts),
    (Longs, _PreparedLongs),
    (Ints, _PreparedInts),
):
    ADAPTERS.register_dumper(_kind, _dumper)


def encode_text(text: str) -> bytes:
    """Encode any text, also with NUL and lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """Decode the bytes of `encode_text`."""
    return data.decode("utf-8", "surrogatepass")


def index_bytes(id: str) -> bytes:
    """An id as bytes for an index. UTF-8 has no 0xff, so a truncated id equals no other one."""
    data = id.encode("utf-8", "surrogatepass")
    if len(data) <= _MAX_INDEX_BYTES:
        return data
    return data[: _MAX_INDEX_BYTES - 33] + b"\xff" + sha256(data).digest()


def notification_name(tenant: bytes, call_id: bytes) -> str:
    """A short name of a call for notifications. Two calls may share one."""
    return blake2b(b"%d:%b%b" % (len(tenant), tenant, call_id), digest_size=9).hexdigest()
