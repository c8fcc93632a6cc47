"""A cache for source events that differ from an earlier one only in their text.

Most events of a stream are such deltas. When an event has been translated in full and turned out to
be one delta, the cache stores the bytes before and after its text, of the source event and of the
output. For a later event with the same bytes around another text, the output is the stored output
bytes around the new text, still quoted as in the source: only that text is parsed. A delta that the
writer keeps for later has no output yet. Any other event clears the cache, because it may change
the meaning of a delta. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import DecodeError
from msgspec.json import Decoder

from toolwire.conversation.json import dump

OnRead: TypeAlias = "Callable[[str], bool]"
"""Updates the reader with the text of a delta. Returns False, and changes nothing, if the event
must be read in full."""
OnWrite: TypeAlias = "Callable[[str], object]"
"""Updates the writer with the text of a delta; `bool` if there is nothing to update."""

_parse_text = Decoder(str).decode
_BEFORE_VALUE = (b":", b",", b"[")
_LINE_BREAKS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")
"""Unicode line breaks, which the output escapes."""
_MAX_TEMPLATES = 64
"""The maximum number of templates: events that never repeat must not fill the cache."""


class _Template:
    """The bytes around the text of a delta, in the source and in the output."""

    __slots__ = (
        "has_output",
        "on_read",
        "on_write",
        "output_prefix",
        "output_suffix",
        "prefix",
        "size",
        "suffix",
        "text_end",
        "text_start",
    )

    def __init__(
        self,
        prefix: bytes,
        suffix: bytes,
        output: tuple[bytes, bytes] | None,
        *,
        on_read: OnRead,
        on_write: OnWrite | None,
    ) -> None:
        self.prefix = prefix
        """The source bytes up to the opening quote, inclusive."""
        self.suffix = suffix
        """The source bytes from the closing quote on."""
        self.text_start = len(prefix) - 1
        """The index of the opening quote."""
        self.text_end = 1 - len(suffix) or None
        """The index after the closing quote, counted from the end; None stands for the end."""
        self.size = len(prefix) + len(suffix)
        """The length of an event with an empty text; any other event is longer."""
        self.has_output = output is not None
        self.output_prefix, self.output_suffix = output or (b"", b"")
        self.on_read = on_read
        self.on_write = on_write


class DeltaCache:
    """The templates of the deltas of one stream, by the length and bytes of their prefix."""

    __slots__ = ("_count", "_latest", "_templates")

    def __init__(self) -> None:
        self._templates: dict[int, dict[bytes, _Template]] = {}
        self._count = 0
        self._latest: _Template | None = None
        """The template of the last event, which usually fits the next one too."""

    def translate(self, piece: bytes) -> bytes | None:
        """The output of a source event, which may be empty; None if the event has to be translated
        in full."""
        template = self._latest
        if template is None:
            return None
        if not piece.startswith(template.prefix):
            template = self._find(piece)
            if template is None:
                return None
            self._latest = template
        if not piece.endswith(template.suffix) or len(piece) <= template.size:
            return None
        quoted = piece[template.text_start : template.text_end]
        if not quoted.isascii() and any(mark in quoted for mark in _LINE_BREAKS):
            return None
        try:
            text = _parse_text(quoted)
        except (DecodeError, UnicodeDecodeError):
            return None
        if not template.on_read(text):
            return None
        if template.on_write is not None:
            template.on_write(text)
        if not template.has_output:
            return b""
        return template.output_prefix + quoted + template.output_suffix

    def _find(self, piece: bytes) -> _Template | None:
        for length, templates in self._templates.items():
            template = templates.get(piece[:length])
            if template is not None and piece.endswith(template.suffix):
                return template
        return None

    @property
    def empty(self) -> bool:
        """True if there is no template."""
        return not self._count

    @property
    def full(self) -> bool:
        """True if the limit is reached, because the events of this stream hardly repeat."""
        return self._count >= _MAX_TEMPLATES

    def add(
        self, piece: bytes, text: str, output: bytes | None, *, on_read: OnRead, on_write: OnWrite
    ) -> None:
        """Store a template of a source event that was one delta, unless the place of its text is
        ambiguous.

        Args:
            piece: The source event. As in `translate`, it may have an end that all events have.
            text: The text of its delta.
            output: The output of the event; None if the writer keeps its text for later.
            on_read: Updates the reader with the text of a later delta.
            on_write: Updates the writer with the text of a later delta.
        """
        quoted = dump(text)
        source_halves = _split_at_value(piece, quoted)
        output_halves = None if output is None else _split_at_value(output, quoted)
        if source_halves is None or (output is not None and output_halves is None):
            return
        prefix, suffix = source_halves
        # An escape elsewhere may stand for the same text: then this may be another field.
        if b"\\" in prefix or b"\\" in suffix:
            return
        template = _Template(
            prefix + b'"',
            b'"' + suffix,
            output_halves,
            on_read=on_read,
            on_write=None if on_write is bool else on_write,
        )
        templates = self._templates.setdefault(len(template.prefix), {})
        self._count += template.prefix not in templates
        templates[template.prefix] = template
        self._latest = template

    def clear(self) -> None:
        """Remove all templates."""
        if self._count:
            self._templates.clear()
            self._count = 0
            self._latest = None


def _split_at_value(event: bytes, quoted: bytes) -> tuple[bytes, bytes] | None:
    """The bytes before and after a JSON string that occurs once in an event, as a value."""
    if event.count(quoted) != 1:
        return None
    before, _, after = event.partition(quoted)
    # Inside another string every quote has a backslash before it; a key has a colon after it.
    if before.rstrip()[-1:] not in _BEFORE_VALUE or after.lstrip()[:1] == b":":
        return None
    return before, after
