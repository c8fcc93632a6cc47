"""Parameters for many rows at once, in the binary form of PostgreSQL arrays, and ids as bytes that
fit into an index.

Written by hand because one array per column and batch, item by item through the driver, was most of
the cost of a call. Knows no ledger.
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
_LONGEST = 512
"""Bytes of a tenant or call id in the index, which takes 2,700 altogether; what is longer is cut
and marked by its hash."""


class Bytes:
    """`bytea[]`, ready to send."""

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
    """`text[]`, of UTF-8."""

    __slots__ = ()
    ELEMENT = 25


class Longs(Bytes):
    """`bigint[]`."""

    __slots__ = ()
    ELEMENT = 20

    def __init__(self, items: Sequence[int | None]) -> None:
        super().__init__(
            [None if item is None else item.to_bytes(8, signed=True) for item in items]
        )


class Ints:
    """`int[]`, without nulls."""

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


def binary(text: str) -> bytes:
    """A text as bytes, any text: NUL and half a surrogate pair too."""
    return text.encode("utf-8", "surrogatepass")


def text(data: bytes) -> str:
    """The text of such bytes."""
    return data.decode("utf-8", "surrogatepass")


def indexed(word: str) -> bytes:
    """An id as bytes that an index takes. 0xff is in no UTF-8, so a cut one is never mistaken for
    another."""
    data = word.encode("utf-8", "surrogatepass")
    return (
        data if len(data) <= _LONGEST else data[: _LONGEST - 33] + b"\xff" + sha256(data).digest()
    )


def word(tenant: bytes, call_id: bytes) -> str:
    """A short name of a call for a notification; two calls may share one."""
    return blake2b(b"%d:%b%b" % (len(tenant), tenant, call_id), digest_size=9).hexdigest()
