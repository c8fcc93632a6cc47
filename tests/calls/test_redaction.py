"""Secrets are removed from text by their value, in every form in which programs write them."""

from __future__ import annotations

import html
import json
import logging
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from toolwire.execution.ledger.base import Failure
from toolwire.execution.log_redaction import RedactionFilter, redact_logs
from toolwire.execution.redaction import MASK, Redactor, call_redactor

VALUES = [
    "sk-Aa1+/=&?~ b",
    "p@ss:wörd/☃\\n",
    "quo\"te's and \\ back",
    "line one of a key\nline two of a key\n",
    "<tag>&amp;",
    "tab\there\x00nul",
]
WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "repr": repr,
    "repr of a dict": lambda value: repr({"token": value}),
    "repr of a repr": lambda value: repr(repr(value)),
    "bytes": lambda value: repr(value.encode()),
    "json": json.dumps,
    "json without escapes": lambda value: json.dumps(value, ensure_ascii=False),
    "json in json": lambda value: json.dumps({"body": json.dumps({"a": value})}),
    "url": quote,
    "url, all": lambda value: quote(value, safe=""),
    "form": quote_plus,
    "query": lambda value: urlencode({"key": value}),
    "url, lower case": lambda value: "".join(
        one
        if one.isalnum() and one.isascii()
        else "".join(f"%{byte:02x}" for byte in one.encode())
        if one not in "-_.~"
        else one
        for one in value
    ),
    "url in url": lambda value: quote(quote(value, safe="")),
    "html": html.escape,
    "base64": lambda value: b64encode(value.encode()).decode(),
    "base64 for urls": lambda value: urlsafe_b64encode(value.encode()).decode(),
    "basic auth": lambda value: b64encode(b"me:" + value.encode() + b":x").decode(),
    "basic auth, one on": lambda value: b64encode(b"user:" + value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
}


@rows("value", VALUES)
@rows("form", WRITTEN)
def test_a_value_is_found_in_every_form(form: str, value: str) -> None:
    text = WRITTEN[form](value)
    redacted = Redactor([value])(f"before {text} after")
    assert MASK in redacted
    assert redacted.startswith("before ") and redacted.endswith(" after")
    left = redacted.removeprefix("before ").removesuffix(" after").replace(MASK, "")
    assert len(left) <= len(WRITTEN[form]("")) + 4, (
        left
    )  # what stands around it anyway, and shares a character with it in base64


@pytest.mark.parametrize(
    ("values", "text", "redacted"),
    [
        (["hunter2"], "hunter2", MASK),
        (["hunter2"], "hunter2hunter2 x hunter2", f"{MASK} x {MASK}"),
        (["abcd", "abcdefgh"], "an abcdefgh, an abcd", f"an {MASK}, an {MASK}"),
        (["abcdef", "defghi"], "abcdefghi!", f"{MASK}!"),
        (["removed"], "[removed] removed", f"[{MASK}] {MASK}"),
        (["123", "a"], "a cat with pin 123", "a cat with pin 123"),
        (["", "long-secret"], "nothing here", "nothing here"),
    ],
)
def test_values_are_replaced_from_a_minimum_length_on(
    values: list[str], text: str, redacted: str
) -> None:
    assert Redactor(values, min_length=4)(text) == redacted


def test_the_lines_of_a_multi_line_key_are_found() -> None:
    key = "-----BEGIN-----\n" + "\n".join(f"{n}{'x' * 40}" for n in range(3)) + "\n-----END-----"
    text = repr(key.splitlines())
    assert "xxxx" not in Redactor([key])(text)


@given(st.lists(st.text(min_size=4), min_size=1, max_size=4), st.lists(st.text(), max_size=5))
def test_no_value_remains(values: list[str], between: list[str]) -> None:
    text = "".join(one + values[n % len(values)] for n, one in enumerate(between))
    redacted = Redactor(values, min_length=4)(text)
    for value in values:
        assert value not in redacted.replace(MASK, "\n\n\n") or value in MASK or not value.strip()


def test_a_call_without_credentials_has_no_redactor() -> None:
    assert call_redactor({}, {"a": ""}) is None
    found = call_redactor({"a": "token-1"}, {"b": "secret-2"})
    assert found is not None and found("token-1 secret-2") == f"{MASK} {MASK}"
    assert "token-1" not in repr(found)


def test_every_text_of_a_failure_is_redacted() -> None:
    failure = Failure(
        "m s3cret", "d s3cret", True, 5, "p s3cret", "k s3cret", {"s3cret": [{"x": "s3cret"}, 1]}
    )
    assert "s3cret" not in repr(Redactor(["s3cret"], min_length=4).redact_failure(failure))


class RecordingHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s %(more)s", defaults={"more": ""}))
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += self.format(record) + repr(vars(record))


def test_a_filter_redacts_messages_arguments_tracebacks_and_extras() -> None:
    handler = RecordingHandler()
    handler.addFilter(RedactionFilter())
    logger = logging.Logger("separate")
    logger.addHandler(handler)
    with redact_logs(Redactor(["s3cret"], min_length=4)):
        logger.warning(
            "given %s and %r",
            "s3cret",
            {"k": "s3cret"},
            extra={"more": ["s3cret"]},
            stack_info=True,
        )
        logger.warning("broken %d", "s3cret")
        try:
            raise ValueError("s3cret")
        except ValueError:
            logger.exception("oh s3cret")
    assert "s3cret" not in handler.text.replace('["s3cret"]', "").replace(
        '"s3cret"', ""
    )  # the source line of this test
    assert handler.text.count(MASK) >= 5
    assert "ValueError" in handler.text


@pytest.mark.parametrize("key", ["none", "EMPTY", "dummy", "test"])
def test_a_placeholder_key_leaves_ordinary_words_alone(key: str) -> None:
    text = f'{{"tool_choice":"{key}"}} {key}theless'
    assert Redactor([key])(text) == text
