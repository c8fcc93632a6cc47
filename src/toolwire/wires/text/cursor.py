"""Recognizers: decide whether a growing text can still become what its start suggests.

A recognizer is a generator that moves a cursor forward. It yields when it needs more text, returns
True when the recognized text is complete, and False as soon as it can no longer be completed. It
does not keep text that it has passed. This module knows JSON and brackets, but no dialect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import TypeAlias

Recognizer: TypeAlias = "Generator[None, None, bool]"


class Cursor:
    """A growing text and the position that a recognizer has reached in it."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position

    def append(self, text: str) -> None:
        """Add text at the end and drop the text before the position."""
        self.text = self.text[self.position :] + text
        self.position = 0

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Move past the match of a pattern, which may be empty, and return it."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found[0]

    def starts_with(self, text: str) -> bool:
        """True if this text starts at the position."""
        return self.text.startswith(text, self.position)

    @property
    def at_end(self) -> bool:
        """True if no text is left after the position."""
        return self.position >= len(self.text)


def proper_prefixes(*words: str) -> str:
    """A pattern that matches any start of these words, but not a whole word."""
    return "|".join(re.escape(word[:n]) for word in words for n in range(len(word) - 1, 0, -1))


def recognize(cursor: Cursor, whole: re.Pattern[str], partial: re.Pattern[str]) -> Recognizer:
    """Move past a pattern; `partial` matches text that can still become the pattern."""
    while (found := whole.match(cursor.text, cursor.position)) is None:
        if partial.fullmatch(cursor.text, cursor.position) is None:
            return False
        yield
    cursor.position = found.end()
    return True


def skip_blanks(cursor: Cursor, blanks: re.Pattern[str]) -> Generator[None, None, None]:
    """Move to the next character that is not blank."""
    cursor.skip(blanks)
    while cursor.at_end:
        yield
        cursor.skip(blanks)


# --- JSON -----------------------------------------------------------------------------------------

SPACE = re.compile(r"[ \t\n\r]*")
_STRING_TEXT = re.compile(r'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_PARTIAL_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_SCALAR_TEXT = re.compile(r"[-+.0-9A-Za-z]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_CLOSERS = {"{": "}", "[": "]"}


def _recognize_string(cursor: Cursor, allowed: frozenset[str] | None = None) -> Recognizer:
    """Move past the rest of a string after its opening quote.

    With `allowed`, the string must be one of these values.
    """
    pieces: list[str] = []
    while True:
        piece = cursor.skip(_STRING_TEXT)
        if allowed is not None:
            pieces.append(piece)
        if cursor.starts_with('"'):
            cursor.position += 1
            return allowed is None or json.loads(f'"{"".join(pieces)}"') in allowed
        if _PARTIAL_ESCAPE.fullmatch(cursor.text, cursor.position) is None:
            return False
        yield


def recognize_json(cursor: Cursor, allowed_keys: frozenset[str] | None = None) -> Recognizer:
    """Move past a JSON object or list.

    `allowed_keys` are the only keys that the outermost object may have.
    """
    closers: list[str] = []
    expected = "value"
    while True:
        yield from skip_blanks(cursor, SPACE)
        character = cursor.text[cursor.position]
        if expected in ("value", "first item") and character in _CLOSERS:
            cursor.position += 1
            closers.append(_CLOSERS[character])
            expected = "first key" if character == "{" else "first item"
            continue
        if not closers:
            return False
        if character == '"' and expected in ("key", "first key"):
            cursor.position += 1
            allowed = allowed_keys if len(closers) == 1 else None
            if not (yield from _recognize_string(cursor, allowed)):
                return False
            expected = "colon"
        elif character == ":" and expected == "colon":
            cursor.position += 1
            expected = "value"
        elif character == "," and expected == "next":
            cursor.position += 1
            expected = "key" if closers[-1] == "}" else "value"
        elif character == closers[-1] and expected in ("next", "first key", "first item"):
            cursor.position += 1
            closers.pop()
            if not closers:
                return True
            expected = "next"
        elif expected in ("value", "first item"):
            if not (yield from _recognize_scalar(cursor, character)):
                return False
            expected = "next"
        else:
            return False


def _recognize_scalar(cursor: Cursor, character: str) -> Recognizer:
    if character == '"':
        cursor.position += 1
        return (yield from _recognize_string(cursor))
    while True:
        found = _SCALAR_TEXT.match(cursor.text, cursor.position)
        if found is None or found.end() < len(cursor.text):
            break
        yield
    if found is None or _SCALAR.fullmatch(found[0]) is None:
        return False
    cursor.position = found.end()
    return True


# --- brackets -------------------------------------------------------------------------------------

_UNQUOTED = re.compile(r"[^\[\](){}'\"]*")
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]+|\\.)*", re.DOTALL) for quote in "'\""}


def recognize_brackets(cursor: Cursor) -> Recognizer:
    """Move past a bracketed text such as a Python list: only strings and brackets are checked."""
    depth = 0
    while True:
        cursor.skip(_UNQUOTED)
        if cursor.at_end:
            yield
            continue
        character = cursor.text[cursor.position]
        cursor.position += 1
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth <= 0:
                return True
        else:
            cursor.skip(_QUOTED[character])
            while not cursor.starts_with(character):
                yield
                cursor.skip(_QUOTED[character])
            cursor.position += 1
