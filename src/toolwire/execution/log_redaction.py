"""Keep tokens and secrets of running tool calls out of log records.

The loggers of the execution package redact their own records. `redact_all_logs` does the same for
every logger of the process; the command line calls it, a library never does.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from toolwire.conversation.part_map import PartSet
from toolwire.execution.redaction import Redactor

_current: ContextVar[Redactor | None] = ContextVar("toolwire_redactor", default=None)
_active: PartSet[Redactor] = PartSet()
"""The redactors of all running calls, for records of threads and tasks that tools started."""
_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def redact_logs(redactor: Redactor | None) -> Iterator[None]:
    """Redact log records inside this context."""
    if redactor is None:
        yield
        return
    token = _current.set(redactor)
    _active.add(redactor)
    try:
        yield
    finally:
        _active.discard(redactor)
        _current.reset(token)


def _redact(text: str) -> str:
    current = _current.get()
    if current is not None:
        text = current(text)
    for redactor in list(_active):
        if redactor is not current:
            text = redactor(text)
    return text


def redact_record(record: logging.LogRecord) -> logging.LogRecord:
    """Redact a record in place: its message, its traceback and its extra fields."""
    if not _active and _current.get() is None:
        return record
    try:
        message = record.getMessage()
    except Exception:  # arguments that do not match: logging would print them itself
        message = f"{record.msg} {record.args!r}"
        record.msg, record.args = message, ()
    if (clean := _redact(message)) != message:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[0] is not None:
        text = record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (clean := _redact(text)) != text:
            record.exc_info, record.exc_text = None, clean
    elif record.exc_text:
        record.exc_text = _redact(record.exc_text)
    if record.stack_info:
        record.stack_info = _redact(record.stack_info)
    for name, value in list(vars(record).items()):
        if name not in _STANDARD_FIELDS and not isinstance(value, (int, float, type(None))):
            text = value if isinstance(value, str) else repr(value)
            if (clean := _redact(text)) != text:
                setattr(record, name, clean)
    return record


class RedactionFilter(logging.Filter):
    """Redacts the records of a logger or handler, with the fields that `extra` added."""

    def filter(self, record: logging.LogRecord) -> bool:
        redact_record(record)
        return True


def redacting_logger(name: str) -> logging.Logger:
    """The logger of this name, with a RedactionFilter."""
    logger = logging.getLogger(name)
    if not any(isinstance(log_filter, RedactionFilter) for log_filter in logger.filters):
        logger.addFilter(RedactionFilter())
    return logger


class _RedactingFactory:
    """A log record factory that redacts the records of another one."""

    def __init__(self, inner: Callable[..., logging.LogRecord]) -> None:
        self.inner = inner

    def __call__(self, *args: object, **kwargs: object) -> logging.LogRecord:
        return redact_record(self.inner(*args, **kwargs))


def redact_all_logs() -> None:
    """Redact every log record of this process, for any logger and handler.

    This replaces the process's log record factory, so call it in a program, not in a library. A
    second call does nothing. Fields of `extra` are added to a record later: put a RedactionFilter
    on the handlers to redact them, too.
    """
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _RedactingFactory):
        logging.setLogRecordFactory(_RedactingFactory(factory))
