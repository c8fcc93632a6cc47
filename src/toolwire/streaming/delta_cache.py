"""Events that differ from an earlier one only in their text: most of any stream.

Once an event was read in full and gave one piece of text, the bytes around that text are
remembered, in what came and in what went out. When the same bytes come again around another text,
only the text is read, and it goes out between the same bytes as before. Anything else that happens
in the stream makes all of this forgotten. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import DecodeError
from msgspec.json import Decoder

from toolwire.conversation.json import dump

Grow: TypeAlias = "Callable[[str], bool]"
Keep: TypeAlias = "Callable[[str], object]"

_text = Decoder(str).decode
_OPENS = (b":", b",", b"[")
_BREAKS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")
"""Unicode's own line breaks, which do not go out as they are."""
_MOST = 64
"""No more shapes than this are kept: an event that is never the same again is not worth
remembering."""


class _Shape:
    """What stood around a text, and what to do with another one."""

    __slots__ = ("after", "before", "end", "grow", "head", "keep", "room", "start", "tail")

    def __init__(
        self, head: bytes, tail: bytes, before: bytes, after: bytes, grow: Grow, keep: Keep | None
    ) -> None:
        self.head = head
        self.start = len(head) - 1
        """Where the text begins with its quote."""
        self.tail = tail
        self.end = 1 - len(tail)
        """Where the text ends with its quote, counted from behind."""
        self.room = len(head) + len(tail)
        """What is longer has a text between the two."""
        self.before = before
        self.after = after
        self.grow = grow
        self.keep = keep


class DeltaCache:
    """The shapes of a stream's events so far, by what stands before the text."""

    __slots__ = ("_count", "_heads", "_latest")

    def __init__(self) -> None:
        self._heads: dict[int, dict[bytes, _Shape]] = {}
        self._count = 0
        self._latest: _Shape | None = None
        """The shape of the last event: mostly that of the next one too."""

    def take(self, piece: bytes) -> bytes | None:
        """What a piece becomes; None if nothing like it was seen, or its text cannot go out as it
        is."""
        shape = self._latest
        if shape is None:
            return None
        if not piece.startswith(shape.head):
            shape = self._found(piece)
            if shape is None:
                return None
            self._latest = shape
        if not piece.endswith(shape.tail) or len(piece) <= shape.room:
            return None
        quoted = piece[shape.start : shape.end or None]
        if not quoted.isascii() and any(one in quoted for one in _BREAKS):
            return None
        try:
            text = _text(quoted)
        except (DecodeError, UnicodeDecodeError):
            return None
        if not shape.grow(text):
            return None
        if shape.keep is not None:
            shape.keep(text)
        return shape.before + quoted + shape.after

    def _found(self, piece: bytes) -> _Shape | None:
        for length, shapes in self._heads.items():
            shape = shapes.get(piece[:length])
            if shape is not None and piece.endswith(shape.tail):
                return shape
        return None

    def learn(self, piece: bytes, text: str, out: bytes, grow: Grow, keep: Keep) -> None:
        """Remember the shape of an event that gave one text.

        `grow` takes in another one where it came from, or says that it is not so simple; `keep`,
        where it goes.
        """
        word = dump(text)
        if self._count >= _MOST or piece.count(word) != 1 or out.count(word) != 1:
            return
        head, _, tail = piece.partition(word)
        if (
            b"\\" in head or b"\\" in tail
        ):  # the text may be spelled otherwise, and this may be something else
            return
        before, _, after = out.partition(word)
        # Inside another text every quote has a backslash before it; a name has a colon after it.
        if (
            head.rstrip()[-1:] not in _OPENS
            or before.rstrip()[-1:] not in _OPENS
            or tail.lstrip()[:1] == b":"
        ):
            return
        shape = _Shape(
            head + b'"', b'"' + tail, before, after, grow, None if keep is bool else keep
        )
        self._heads.setdefault(len(shape.head), {})[shape.head] = self._latest = shape
        self._count += 1

    def forget(self) -> None:
        """Something else happened: what was true of an open part may not be so any more."""
        if self._count:
            self._heads.clear()
            self._count = 0
            self._latest = None
