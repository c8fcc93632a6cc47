"""Secrets are taken out of text by their value, however they were written down."""

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
from toolwire.execution.redaction import MASK, RedactionFilter, Redactor, hiding, scrubber

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
def test_a_value_is_found_however_it_was_written(form: str, value: str) -> None:
    text = WRITTEN[form](value)
    scrubbed = Redactor([value])(f"before {text} after")
    assert MASK in scrubbed
    assert scrubbed.startswith("before ") and scrubbed.endswith(" after")
    left = scrubbed.removeprefix("before ").removesuffix(" after").replace(MASK, "")
    assert len(left) <= len(WRITTEN[form]("")) + 4, (
        left
    )  # what stands around it anyway, and shares a character with it in base64


@pytest.mark.parametrize(
    ("values", "text", "scrubbed"),
    [
        (["hunter2"], "hunter2", MASK),
        (["hunter2"], "hunter2hunter2 x hunter2", f"{MASK} x {MASK}"),
        (["abcd", "abcdefgh"], "an abcdefgh, an abcd", f"an {MASK}, an {MASK}"),
        (["abcdef", "defghi"], "abcdefghi!", f"{MASK}!"),
        (["removed"], "[removed] removed", f"[{MASK}] {MASK}"),
        (
            ["123"],
            "pin 123, not 1234 nor a123; id_123",
            f"pin {MASK}, not 1234 nor a123; id_{MASK}",
        ),
        (["a"], "a cat", f"{MASK} cat"),
        (["", "long-secret"], "nothing here", "nothing here"),
    ],
)
def test_what_is_removed(values: list[str], text: str, scrubbed: str) -> None:
    assert Redactor(values)(text) == scrubbed


def test_a_key_of_several_lines_is_found_line_by_line() -> None:
    key = "-----BEGIN-----\n" + "\n".join(f"{n}{'x' * 40}" for n in range(3)) + "\n-----END-----"
    text = repr(key.splitlines())
    assert "xxxx" not in Redactor([key])(text)


@given(st.lists(st.text(min_size=4), min_size=1, max_size=4), st.lists(st.text(), max_size=5))
def test_no_value_is_left_and_scrubbing_hides_nothing_else(
    values: list[str], between: list[str]
) -> None:
    text = "".join(one + values[n % len(values)] for n, one in enumerate(between))
    scrubbed = Redactor(values)(text)
    for value in values:
        assert value not in scrubbed.replace(MASK, "\n\n\n") or value in MASK or not value.strip()


def test_nothing_to_hide_is_no_scrubber() -> None:
    assert scrubber({}, {"a": ""}) is None
    found = scrubber({"a": "token-1"}, {"b": "secret-2"})
    assert found is not None and found("token-1 secret-2") == f"{MASK} {MASK}"
    assert "token-1" not in repr(found)


def test_every_text_of_a_failure_is_scrubbed() -> None:
    failure = Failure(
        "m s3cret", "d s3cret", True, 5, "p s3cret", "k s3cret", {"s3cret": [{"x": "s3cret"}, 1]}
    )
    assert "s3cret" not in repr(Redactor(["s3cret"]).failure(failure))


class Shown(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s %(more)s", defaults={"more": ""}))
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += self.format(record) + repr(vars(record))


def test_a_filter_cleans_messages_arguments_tracebacks_and_extras() -> None:
    handler = Shown()
    handler.addFilter(RedactionFilter())
    logger = logging.Logger("apart")
    logger.addHandler(handler)
    with hiding(Redactor(["s3cret"])):
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
