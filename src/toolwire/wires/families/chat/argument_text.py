"""The argument text of one streamed call: what each piece adds to it.

- arguments-may-be-repeated: some servers repeat the whole text at the end, or send all of it so
  far with every piece. Nothing is ever added to a complete object.
- braces-may-come-first: `{}` is held back, because some servers send it before the real arguments.

Memory does not grow with the text: only its length, its checksum and its open brackets are kept.
This module knows no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.engine.text_digest import TextDigest

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TRAILING_BACKSLASHES = re.compile(r"\\*$")
_MAY_COMPLETE = "}] \n\r\t"
"""A piece that ends with one of these may have completed the object."""
_BEFORE_VALUE = ":[,"
"""A nested object can follow only these."""
_SCAN_AFTER = 64
"""How many pieces are collected before they are scanned together."""


def starts_object(piece: JSON) -> bool:
    """True if a piece of arguments is an object or the start of one."""
    return isinstance(piece, dict) or (isinstance(piece, str) and piece.lstrip()[:1] == "{")


class ArgumentText:
    """The arguments of one call: the texts that `add` and `finish` return, joined."""

    __slots__ = (
        "_ambiguous",
        "_depth",
        "_digest",
        "_empty_object",
        "_escaped",
        "_in_string",
        "_last",
        "_object",
        "_repeated",
        "_simple",
        "_unscanned",
        "free_text",
        "started",
    )

    def __init__(self, *, free_text: bool = False) -> None:
        self.free_text = free_text
        """True for text that is not JSON."""
        self.started = False
        """True if a piece with text was added."""
        self._simple = free_text
        """True if the next piece can only extend the text, unless it starts with a brace."""
        self._empty_object = False
        """True if the text so far is just `{}`, which is held back."""
        self._unscanned: list[str] = []
        self._digest = TextDigest()
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._last = ""
        """The last character that is not blank."""
        self._ambiguous: list[str] = []
        """Pieces that either extend the text or repeat all of it so far."""
        self._repeated = ""
        """Text that followed the complete object and starts another one."""
        self._object: Object | None = None
        """The arguments, if they are sent as objects."""

    def add(self, piece: JSON) -> str:
        """Add a piece; return the new text, as far as it is certain."""
        if piece is None or piece == "":
            return ""
        if not isinstance(piece, str):
            return self._add_value(piece)
        return piece if self.extend(piece) else self._add_checked(piece)

    def extend(self, piece: str) -> bool:
        """Add a piece that can only extend the text; return False and do nothing otherwise."""
        if not piece or not self._simple or (piece[0] == "{" and not self.free_text):
            return False
        self.started = True
        unscanned = self._unscanned
        unscanned.append(piece)
        if len(unscanned) >= _SCAN_AFTER:
            self._scan()
        if piece[-1] in _MAY_COMPLETE and not self.free_text:
            self._simple = False
        return True

    def _add_checked(self, piece: str) -> str:
        """Add a piece that may repeat the text so far."""
        self.started = True
        opens = starts_object(piece)
        if self._ambiguous:
            return self._add_to_ambiguous(piece)
        if self._repeated or (self._object and piece.strip()):
            self._repeated += piece
            return ""
        if self._empty_object:
            if not piece.strip():
                return ""
            self._empty_object = False
            if opens:
                return self._add_checked(piece)
            return self._append("{}") + self._add_checked(piece)
        self._object = None
        if not self._digest.length and not self._unscanned:
            if "".join(piece.split()) == "{}":
                self._empty_object = True
                return ""
            return self._append(piece)
        if self.complete:
            self._repeated = piece if opens else ""
            return "" if piece.strip() else self._append(piece)
        if opens and self._starts_with_text(piece):
            if self._last in _BEFORE_VALUE and self._last:
                self._ambiguous, self._simple = [piece], False
                return ""
            return self._append_snapshot(piece)
        return self._append(piece)

    def _add_to_ambiguous(self, piece: str) -> str:
        ambiguous = self._ambiguous
        if not piece.startswith(ambiguous[-1]):  # not snapshots, so all of them are extensions
            self._ambiguous = []
            return self._append("".join(ambiguous)) + self._add_checked(piece)
        if "".join(ambiguous).rstrip()[-1:] not in _BEFORE_VALUE:
            # An object cannot follow, so each piece is a snapshot of the whole text.
            self._ambiguous = []
            return self._append_snapshot(piece)
        ambiguous.append(piece)
        return ""

    def _add_value(self, piece: JSON) -> str:
        """Add arguments that are not text; objects are merged and returned by `finish`."""
        empty = not self._digest.length and not self._unscanned and not self._empty_object
        if isinstance(piece, dict) and empty:
            self.started = True
            self._object = _merge_objects(self._object or {}, piece)
            return ""
        return self.add(text_of(piece))

    def _append(self, text: str) -> str:
        if text:
            self._unscanned.append(text)
            self._simple = text[-1] not in _MAY_COMPLETE or self.free_text
        return text

    def _append_snapshot(self, piece: str) -> str:
        """Append the end of a snapshot of the whole text, beyond the text so far."""
        self._scan()
        return self._append(piece[self._digest.length :])

    def _starts_with_text(self, piece: str) -> bool:
        self._scan()
        return self._digest.is_start_of(piece)

    def _scan(self) -> None:
        """Update length, checksum and open brackets with the unscanned pieces."""
        if not self._unscanned:
            return
        text = "".join(self._unscanned)
        self._unscanned.clear()
        self._digest.append(text)
        if self._escaped:
            text = text[1:]
        if self._in_string:
            text = '"' + text
        outside = _STRINGS.sub('""', text)
        quote = outside.replace('""', "  ").find('"')
        self._in_string = quote >= 0
        self._escaped = False
        if self._in_string:
            backslashes = _TRAILING_BACKSLASHES.search(outside)
            self._escaped = backslashes is not None and len(backslashes.group()) % 2 == 1
            outside = outside[:quote]
        self._depth += (
            outside.count("{") + outside.count("[") - outside.count("}") - outside.count("]")
        )
        self._last = '"' if self._in_string else (outside.rstrip()[-1:] or self._last)

    @property
    def complete(self) -> bool:
        """True if the text is a complete object or list."""
        if self._object is not None or self._empty_object:
            return True
        self._scan()
        return not self._in_string and self._depth <= 0 and self._last in ("}", "]")

    @property
    def final(self) -> bool:
        """True if the text is complete and is not `{}`, which real arguments may still replace."""
        return self._object is None and not self._empty_object and self.complete

    def equals(self, piece: JSON) -> bool:
        """True if a piece is equal to the arguments so far."""
        if isinstance(piece, dict) and self._object is not None:
            return piece == self._object
        text = piece if isinstance(piece, str) else text_of(piece)
        self._scan()
        return len(text) == self._digest.length and self._digest.is_start_of(text)

    def finish(self) -> tuple[str, str | None]:
        """The text that is still to be added, and the whole text if it differs from what was
        added."""
        repeated = self._repeated if isinstance(LazyJson(self._repeated or "0").value, dict) else ""
        if self._object is not None:
            return repeated or text_of(self._object), None
        if self._empty_object:
            return "{}", None
        if self._ambiguous:
            return self._finish_ambiguous(), None
        return "", repeated if repeated and not self.equals(repeated) else None

    def _finish_ambiguous(self) -> str:
        """The ambiguous pieces as extensions if they complete the object, else as snapshots."""
        pieces = "".join(self._ambiguous)
        self._scan()
        length, state = self._digest.length, (self._depth, self._in_string, self._last)
        self._unscanned.append(pieces)
        if self.complete:
            return pieces
        self._depth, self._in_string, self._last = state
        return self._ambiguous[-1][length:]


def _merge_objects(old: Object, new: Object) -> Object:
    out = dict(old)
    for key, value in new.items():
        previous = out.get(key)
        if isinstance(previous, dict) and isinstance(value, dict):
            value = _merge_objects(previous, value)
        out[key] = value
    return out
