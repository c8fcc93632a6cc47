"""The message of a server's error, in any format."""

from __future__ import annotations

import json

import pytest

from toolwire.agent import http_model as model
from toolwire.conversation.json import JSON
from toolwire.gateway import forward as exchange
from toolwire.providers.api_errors import MAX_MESSAGE, read_error_message


def nest_error(deep: int) -> JSON:
    body: JSON = "no"
    for _ in range(deep):
        body = {"error": body}
    return body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("no", "no"),
        ({"error": "no"}, "no"),
        ({"error": {"message": "no", "code": 1}}, "no"),
        ({"message": "no", "type": "x"}, "no"),
        ([{"error": {"message": "no"}}], "no"),
        ({"detail": [{"msg": "one", "loc": ["a"]}, {"msg": "two"}]}, "one; two"),
        ({"errors": [f"{n}" for n in range(9)]}, "0; 1; 2; 3; 4"),
        ({"error": None, "message": "no"}, "no"),
        (nest_error(8), "no"),
        ("x" * 9_000, "x" * MAX_MESSAGE),
    ],
    ids=str,
)
def test_the_message_of_an_error_is_found_in_every_known_field(body: JSON, message: str) -> None:
    assert read_error_message(json.dumps(body).encode()) == message


@pytest.mark.parametrize(
    "raw",
    [json.dumps(nest_error(900)), '{"why": "no"}', "{}", "Bad Gateway"],
    ids=lambda raw: raw[:20],
)
def test_an_error_of_unknown_format_is_returned_verbatim(raw: str) -> None:
    assert read_error_message(raw.encode()) == raw[:MAX_MESSAGE]


def test_an_error_that_is_not_text_is_still_reported() -> None:
    assert read_error_message(b" \xff ") == "\N{REPLACEMENT CHARACTER}"


def test_a_model_and_a_gateway_find_them_in_one_way() -> None:
    name = "read_error_message"
    assert vars(model)[name] is vars(exchange)[name] is read_error_message


def test_a_page_of_another_server_is_not_quoted() -> None:
    message = read_error_message(b"\n<!DOCTYPE html><html><h1>502 Bad Gateway</h1></html>")
    assert message.startswith("HTML instead of JSON") and "base URL" in message
