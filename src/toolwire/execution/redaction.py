"""Secrets taken out of text by their value, in every form they are likely to be written in.

A value is looked for as it is, and as URLs, JSON, Python, HTML, base64 and hexadecimal would show
it; a value of several lines also line by line. What is shorter than `SHORT` is only removed where
it stands alone: anything else would eat ordinary words. Cannot find what a tool has cut up or
encrypted itself. Knows no calls.
"""

from __future__ import annotations

import html
import json
import logging
import re
import traceback
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from toolwire.conversation.json import JSON
from toolwire.execution.ledger.base import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

MASK = "[removed]"
SHORT = 4
LINE = 12
"""A line of a secret with several lines is looked for by itself if it has so many characters."""


class Redactor:
    """The secrets of one call. Their forms are worked out when there is the first text to
    look at.
    """

    __slots__ = ("_forms", "_short", "_values")

    def __init__(self, values: Iterable[str]) -> None:
        self._values = {value for value in values if value}
        self._forms: tuple[str, ...] | None = None
        self._short: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"Scrubber({len(self._values)} values)"

    def _prepare(self) -> tuple[str, ...]:
        forms: set[str] = set()
        short: list[str] = []
        for value in self._values:
            if len(value) < SHORT:
                short.append(re.escape(value))
                continue
            forms.update(_forms(value))
            lines = [line for line in value.splitlines() if len(line.strip()) >= LINE]
            for line in lines if len(lines) > 1 or lines != [value] else ():
                forms.update(_forms(line.strip()))
        if short:
            self._short = re.compile(
                rf"(?<![^\W_])(?:{'|'.join(sorted(short, key=len, reverse=True))})(?![^\W_])"
            )
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        return self._forms

    def __call__(self, text: str) -> str:
        """The text without any of the values. Forms that overlap are removed together."""
        forms = self._prepare() if self._forms is None else self._forms
        spans: list[tuple[int, int]] = []
        for form in forms:
            at = text.find(form)
            while at >= 0:
                spans.append((at, at + len(form)))
                at = text.find(form, at + 1)
        if self._short is not None:
            spans += (found.span() for found in self._short.finditer(text))
        return _cut(text, spans) if spans else text

    def tree(self, value: JSON) -> JSON:
        """A JSON value with every text in it scrubbed, keys too."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.tree(one) for one in value]
        if isinstance(value, dict):
            return {self(name): self.tree(one) for name, one in value.items()}
        return value

    def failure(self, failure: Failure) -> Failure:
        """A failure as it may be told and recorded."""
        more, prompt, kind = (
            failure.developer_message,
            failure.additional_prompt_content,
            failure.kind,
        )
        return Failure(
            self(failure.message),
            None if more is None else self(more),
            failure.can_retry,
            failure.retry_after_ms,
            None if prompt is None else self(prompt),
            None if kind is None else self(kind),
            {self(name): self.tree(one) for name, one in failure.extra.items()},
        )


def scrubber(*given: Mapping[str, str]) -> Redactor | None:
    """A scrubber for all these values; None if there is nothing to hide."""
    values = [value for some in given for value in some.values() if value]
    return Redactor(values) if values else None


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    spans.sort()
    kept: list[str] = []
    end = 0
    for start, stop in spans:
        if start > end or (start == 0 and not kept):
            kept += (text[end:start], MASK)
        end = max(end, stop)
    return "".join(kept) + text[end:]


def _forms(value: str) -> set[str]:
    """How a value may look when something has written it down."""
    raw = value.encode("utf-8", "replace")
    written = {value, value.strip()}
    for quoted in (
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(raw)[2:-1],
    ):
        written |= {
            quoted,
            quoted.lower(),
            repr(quoted)[1:-1],
            json.dumps(quoted)[1:-1],
        }  # once more: a text inside a text
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        written |= {
            quoted,
            quote(quoted),
            re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted),
        }
    written |= {html.escape(value), html.escape(value, quote=False), raw.hex(), raw.hex().upper()}
    if len(raw) >= 2 * SHORT:
        written |= set(_base64(raw))
    return {form for form in written if len(form) >= SHORT}


def _base64(raw: bytes) -> Iterator[str]:
    """The characters that a value always gives in base64, wherever in a longer text it begins
    ("user:secret")."""
    for before in range(3):
        whole = b64encode(b"\0" * before + raw).decode()
        first = (0, 2, 3)[before]  # these characters also depend on what stands before
        last = len(raw) + before
        middle = whole[first : last * 8 // 6]  # and what follows these on what stands after
        yield middle
        yield middle.replace("+", "-").replace("/", "_")
        if before == 0:
            yield whole.rstrip("=")


# --- logs -----------------------------------------------------------------------------------------

_here: ContextVar[Redactor | None] = ContextVar("toolwire_secrets", default=None)
_active: dict[int, Redactor] = {}
"""Of all calls under way: for what is logged by threads and tasks that a tool has started on its
own."""
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def hiding(secrets: Redactor | None) -> Iterator[None]:
    """While this lasts, no log record of this process shows these secrets (see `guard_logs`)."""
    if secrets is None:
        yield
        return
    token = _here.set(secrets)
    _active[id(secrets)] = secrets
    try:
        yield
    finally:
        del _active[id(secrets)]
        _here.reset(token)


def _clean(text: str) -> str:
    here = _here.get()
    if here is not None:
        text = here(text)
    for secrets in list(_active.values()):
        if secrets is not here:
            text = secrets(text)
    return text


def cleaned(record: logging.LogRecord) -> logging.LogRecord:
    """The record without the secrets of the calls under way: its message, its traceback and what
    was put beside them."""
    if not _active and _here.get() is None:
        return record
    try:
        message = record.getMessage()
    except Exception:  # broken arguments: logging would print them with a traceback of its own
        message = f"{record.msg} {record.args!r}"
        record.msg, record.args = message, ()
    if (clean := _clean(message)) != message:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[0] is not None:
        text = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (clean := _clean(text)) != text:
            record.exc_info, record.exc_text = None, clean
    elif record.exc_text:
        record.exc_text = _clean(record.exc_text)
    if record.stack_info:
        record.stack_info = _clean(record.stack_info)
    for name, value in list(vars(record).items()):
        if name not in _STANDARD and not isinstance(value, (int, float, type(None))):
            text = value if isinstance(value, str) else repr(value)
            if (clean := _clean(text)) != text:
                setattr(record, name, clean)
    return record


class RedactionFilter(logging.Filter):
    """For a handler or a logger: what passes shows no secret of a call under way. It also sees what
    `extra` brought."""

    def filter(self, record: logging.LogRecord) -> bool:
        cleaned(record)
        return True


class _RecordFactory:
    """A factory of log records around another one."""

    def __init__(self, inner: Callable[..., logging.LogRecord]) -> None:
        self.inner = inner

    def __call__(self, *args: object, **kwargs: object) -> logging.LogRecord:
        return cleaned(self.inner(*args, **kwargs))


def guard_logs() -> None:
    """From now on every log record of this process is cleaned when it is made, whichever logger and
    handler it goes to.

    Doing it twice is doing it once. `extra` is put into a record later: `ScrubFilter` on a handler
    cleans that too.
    """
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _RecordFactory):
        logging.setLogRecordFactory(_RecordFactory(factory))
