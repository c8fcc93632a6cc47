"""Remove secrets from text by their value, in every form in which they are likely to appear.

A value is searched verbatim and in its URL, JSON, Python, HTML, base64 and hexadecimal forms. Each
long line of a multi-line value is searched as well. A value that a tool has split or encrypted is
not found. Short values are not searched: `none` or `test` are ordinary words as well.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from toolwire.conversation.json import JSON
from toolwire.execution.ledger.base import Failure

MASK = "[removed]"
MIN_LENGTH = 8
"""The default length from which a value is searched. Placeholders such as `none`, `EMPTY` and
`dummy` are shorter, API keys and tokens are longer."""
MIN_CALL_SECRET_LENGTH = 4
"""The length from which tokens and secrets of a tool call are searched: replacing too much in an
error message does no harm."""
MIN_LINE_LENGTH = 12
"""The length from which a line of a multi-line value is searched."""


class Redactor:
    """Replaces a set of values by a mask. It prepares the forms of the values on first use."""

    __slots__ = ("_forms", "_min_length", "_values")

    def __init__(self, values: Iterable[str], *, min_length: int = MIN_LENGTH) -> None:
        self._min_length = min_length
        self._values = {value for value in values if len(value) >= min_length}
        self._forms: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"Redactor({len(self._values)} values)"

    def _prepare(self) -> tuple[str, ...]:
        forms: set[str] = set()
        for value in self._values:
            forms.update(_forms(value, self._min_length))
            lines = [line.strip() for line in value.splitlines()]
            if len(lines) > 1:
                for line in lines:
                    if len(line) >= MIN_LINE_LENGTH:
                        forms.update(_forms(line, self._min_length))
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        return self._forms

    def __call__(self, text: str) -> str:
        """The text without the values. Overlapping forms are replaced by one mask."""
        forms = self._prepare() if self._forms is None else self._forms
        spans: list[tuple[int, int]] = []
        for form in forms:
            start = text.find(form)
            while start >= 0:
                spans.append((start, start + len(form)))
                start = text.find(form, start + 1)
        return _mask(text, spans) if spans else text

    def redact_json(self, value: JSON) -> JSON:
        """A JSON value with every string redacted, keys included."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.redact_json(item) for item in value]
        if isinstance(value, dict):
            return {self(name): self.redact_json(item) for name, item in value.items()}
        return value

    def redact_failure(self, failure: Failure) -> Failure:
        """A failure with every text redacted."""
        return Failure(
            self(failure.message),
            self._redact_optional(failure.developer_message),
            can_retry=failure.can_retry,
            retry_after_ms=failure.retry_after_ms,
            additional_prompt_content=self._redact_optional(failure.additional_prompt_content),
            kind=self._redact_optional(failure.kind),
            extra={self(name): self.redact_json(item) for name, item in failure.extra.items()},
        )

    def _redact_optional(self, text: str | None) -> str | None:
        return None if text is None else self(text)


def call_redactor(*credentials: Mapping[str, str]) -> Redactor | None:
    """A redactor for the tokens and secrets of a tool call; None if there are none."""
    values = [value for group in credentials for value in group.values()]
    return Redactor(values, min_length=MIN_CALL_SECRET_LENGTH) or None


def _mask(text: str, spans: list[tuple[int, int]]) -> str:
    spans.sort()
    pieces: list[str] = []
    end = 0
    for start, stop in spans:
        if start > end or (start == 0 and not pieces):
            pieces += (text[end:start], MASK)
        end = max(end, stop)
    return "".join(pieces) + text[end:]


def _forms(value: str, min_length: int) -> set[str]:
    """The forms in which programs write a value."""
    raw = value.encode("utf-8", "replace")
    forms = {value, value.strip()}
    for literal in (
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(raw)[2:-1],
    ):
        # The last two: a literal inside a literal
        forms |= {literal, literal.lower(), repr(literal)[1:-1], json.dumps(literal)[1:-1]}
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        lower_hex = re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
        forms |= {quoted, quote(quoted), lower_hex}
    forms |= {html.escape(value), html.escape(value, quote=False), raw.hex(), raw.hex().upper()}
    if len(raw) >= MIN_LENGTH:
        forms |= set(_base64_forms(raw))
    return {form for form in forms if len(form) >= min_length}


def _base64_forms(raw: bytes) -> Iterator[str]:
    """The base64 characters that a value always produces, at any offset in a longer text."""
    for offset in range(3):
        encoded = b64encode(b"\0" * offset + raw).decode()
        first = (0, 2, 3)[offset]  # earlier characters depend on the preceding bytes
        last = (len(raw) + offset) * 8 // 6  # later characters depend on the following bytes
        middle = encoded[first:last]
        yield middle
        yield middle.replace("+", "-").replace("/", "_")
        if offset == 0:
            yield encoded.rstrip("=")
