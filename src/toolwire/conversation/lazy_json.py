"""A JSON value that is kept as it arrived and converted only when it is read."""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, decode_text, parse_text, sorted_json, text_of


class LazyJson(Struct, frozen=True, eq=False, gc=False):
    """A JSON value, made from JSON text (a `str`) or from a dict, list, number, boolean or None.

    The text of a value that arrived as text is that text, verbatim. Use `from_value` for a value
    that may itself be a string.
    """

    content: JSON

    @staticmethod
    def from_value(value: JSON) -> LazyJson:
        """Hold a parsed value, which may be a string."""
        return LazyJson(text_of(value) if isinstance(value, str) else value)

    @property
    def text(self) -> str:
        """The JSON text, verbatim if it arrived as text."""
        content = self.content
        return content if content.__class__ is str else text_of(content)

    @property
    def broken(self) -> bool:
        """True if the text is not JSON. Empty text stands for no arguments and is not broken."""
        if not isinstance(self.content, str):
            return False
        try:
            parse_text(self.content or "{}")
        except ValueError:
            return True
        return False

    @property
    def value(self) -> JSON:
        """The parsed value: an empty object for empty text, None for broken text."""
        content = self.content
        if content.__class__ is not str:
            return content
        try:
            return decode_text(content or "{}")
        except (ValueError, RecursionError):  # it may have a lone surrogate
            return None if self.broken else parse_text(content)

    @property
    def canonical(self) -> str:
        """One text for all spellings of a value: no spaces, sorted keys. Broken text stays as it
        is."""
        if self.broken:
            return str(self.content)
        return sorted_json(self.value).decode()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyJson):
            return NotImplemented
        return self.canonical == other.canonical

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.canonical)
