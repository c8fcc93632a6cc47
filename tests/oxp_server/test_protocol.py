"""OXP without a socket: requests as values, and the response for every result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import get_args

import pytest
from oxp_server.toolkit import tools

from toolwire.conversation.json import JSON, Object, dump
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.tool_call import ToolCallResult
from toolwire.oxp import protocol as oxp
from toolwire.oxp.protocol import OxpRejection, OxpRequest
from toolwire.oxp.responses import REJECTED_STATES, WITHOUT_OUTCOME, RejectionReason

WHOLE: Object = {
    "$schema": "urn:oxp:1.0",
    "request": {
        "tool_id": "Gmail.GetEmails@1.2.0",
        "call_id": "c1",
        "trace_id": "t1",
        "input": {"query": "is:unread", "deep": [{"a": [1, None]}]},
        "context": {
            "authorization": [{"id": "google", "token": "t0ken"}],
            "secrets": [{"id": "KEY", "value": "s3cret"}],
            "user_id": "u1",
        },
    },
}


def read(body: JSON, version: str | None = None) -> OxpRequest | OxpRejection:
    return oxp.read_call(dump(body), version)


def test_a_whole_request_is_read_whole() -> None:
    assert read(WHOLE) == OxpRequest(
        tool_id="Gmail.GetEmails@1.2.0",
        call_id="c1",
        trace_id="t1",
        input={"query": "is:unread", "deep": [{"a": [1, None]}]},
        user_id="u1",
        tokens={"google": "t0ken"},
        secrets={"KEY": "s3cret"},
        enveloped=True,
    )


def test_a_request_does_not_show_its_secrets() -> None:
    shown = f"{read(WHOLE)!r} {read(WHOLE)}"
    assert "t0ken" not in shown and "s3cret" not in shown


def test_integers_keep_every_digit() -> None:
    found = read({"tool_id": "A.B", "input": {"n": 90071992547409931234567890}})
    assert isinstance(found, OxpRequest) and found.input == {"n": 90071992547409931234567890}


def test_unknown_keys_are_named_and_their_values_are_not() -> None:
    found = read({"tool_id": "A.B", "color": "v4lue", "context": {"locale": "v4lue"}})
    assert isinstance(found, OxpRequest) and found.ignored == ("color", "context.locale")


ODD: list[JSON] = [None, True, -1, 1.5, "", "\0", [], {}, [None], {"": None}, "urn:oxp:2.0"]


def variants_of(value: JSON) -> Iterator[JSON]:
    """The value with each of its nodes taken away or replaced, one at a time."""
    if isinstance(value, dict):
        for key in value:
            yield {other: held for other, held in value.items() if other != key}
            for odd in ODD:
                yield {**value, key: odd}
            for inner in variants_of(value[key]):
                yield {**value, key: inner}
        yield {**value, "": 1}
    if isinstance(value, list):
        for n, item in enumerate(value):
            yield [*value, item]
            for inner in variants_of(item):
                yield [*value[:n], inner, *value[n + 1 :]]


def test_every_mistake_in_a_request_is_a_value_and_never_an_exception() -> None:
    request = WHOLE["request"]
    kinds = {OxpRequest: 0, OxpRejection: 0}
    for whole in (WHOLE, request):
        for body in variants_of(whole):
            before = deepcopy(body)
            found = read(body)
            kinds[type(found)] += 1
            assert body == before
            if isinstance(found, OxpRejection):
                assert (
                    found.status == 400
                    and found.body["message"]
                    and found.body["developer_message"]
                )
                assert "t0ken" not in str(found.body) and "s3cret" not in str(found.body)
    assert kinds[OxpRequest] > 50 and kinds[OxpRejection] > 50


def test_any_bytes_are_parsed_or_rejected() -> None:
    text = dump(WHOLE)
    for n in range(len(text)):
        for body in (
            text[:n],
            text[:n] + b"\xff" + text[n:],
            text[:n] + b'"' + text[n:],
            text[:n] + b":" + text[n + 1 :],
        ):
            assert isinstance(oxp.read_call(body), OxpRequest | OxpRejection)


@pytest.mark.parametrize(
    "other", [{"a": 1.0}, {"a": True}, {"a": "1"}, {"a": [1]}, {}, {"a": 1, "b": None}], ids=str
)
def test_inputs_that_are_equal_only_in_python_differ(other: Object) -> None:
    assert isinstance(read({"tool_id": "A.B", "input": {"a": 1}, "inputs": other}), OxpRejection)
    assert isinstance(read({"tool_id": "A.B", "input": other, "inputs": other}), OxpRequest)


# --- replies --------------------------------------------------------------------------------------


STATUS = {
    "malformed": 400,
    "unsupported-version": 400,
    "unknown-tool": 400,
    "missing-requirements": 400,
    "mismatch": 400,
    "unavailable": 400,
    "running": 400,
    "too-old": 400,
    "unauthorized": 401,
    "foreign-origin": 403,
    "unknown-path": 404,
    "method-not-allowed": 405,
    "timeout": 408,
    "too-large": 413,
    "media-type": 415,
    "unknown-host": 421,
    "invalid-input": 422,
    "internal-error": 500,
}


def test_every_rejection_has_its_status() -> None:
    assert {reason: row.status for reason, row in oxp.REJECTIONS.items()} == STATUS
    assert set(get_args(RejectionReason)) == set(oxp.REJECTIONS)


def test_every_state_of_a_result_has_a_response() -> None:
    states = (
        set(get_args(ToolCallResult.__annotations__["state"]))
        if not isinstance(ToolCallResult.__annotations__["state"], str)
        else None
    )
    known = {"done", "failed"} | set(REJECTED_STATES) | set(WITHOUT_OUTCOME)
    assert known == (
        states
        or {"done", "failed", "running", "lost", "mismatch", "gone", "unavailable", "too-old"}
    )


@pytest.mark.parametrize("enveloped", [True, False])
@pytest.mark.parametrize(
    ("result", "status", "error"),
    [
        (ToolCallResult(state="mismatch", call_id="c"), 400, None),
        (ToolCallResult(state="too-old", call_id="c"), 400, None),
        (ToolCallResult(state="unavailable", call_id="c"), 400, None),
        (ToolCallResult(state="running", call_id="c", retry_after_ms=2500), 400, None),
        (
            ToolCallResult(state="lost", call_id="c", attempt=2, started_at=1742000000000),
            200,
            {
                "can_retry": False,
                "kind": "outcome_unknown",
                "attempt": 2,
                "started_at": 1742000000000,
            },
        ),
        (
            ToolCallResult(state="gone", call_id="c"),
            200,
            {"can_retry": False, "kind": "result_expired", "attempt": 1},
        ),
    ],
    ids=lambda one: one.state if isinstance(one, ToolCallResult) else "",
)
def test_the_response_for_a_result_without_an_outcome(
    result: ToolCallResult, status: int, error: Object | None, enveloped: bool
) -> None:
    response = oxp.call_response(result, enveloped=enveloped)
    assert response.status == status
    assert ("$schema" in response.body) is enveloped
    if error is None:
        assert response.body["message"]
        return
    body = response.body["result"] if enveloped else response.body
    assert isinstance(body, dict) and isinstance(body["error"], dict)
    assert (body["call_id"], body["success"], "value" in body) == ("c", False, False)
    assert {key: value for key, value in body["error"].items() if key != "message"} == error


def test_retry_headers_say_whether_and_when_to_repeat_a_request() -> None:
    headers = dict(
        oxp.call_response(ToolCallResult(state="running", call_id="c", retry_after_ms=2500)).headers
    )
    assert headers == {b"x-should-retry": b"true", b"retry-after": b"3", b"retry-after-ms": b"2500"}
    assert dict(oxp.reject("internal-error").headers) == {b"x-should-retry": b"false"}
    assert oxp.call_response(ToolCallResult(state="mismatch", call_id="c")).headers == ()


def test_extra_fields_of_a_failure_do_not_replace_the_known_fields() -> None:
    failure = Failure(
        "broke", kind="upstream", extra={"message": "other", "can_retry": True, "status_code": 503}
    )
    response = oxp.call_response(
        ToolCallResult(
            state="failed", call_id="c", outcome=Outcome(failure=failure, duration_ms=1.23456)
        )
    )
    assert response.body == {
        "call_id": "c",
        "success": False,
        "duration": 1.235,
        "error": {"message": "broke", "can_retry": False, "kind": "upstream", "status_code": 503},
    }


def test_an_outcome_that_could_not_be_recorded_is_marked() -> None:
    response = oxp.call_response(
        ToolCallResult(state="done", call_id="c", outcome=Outcome(1), replayed=True, recorded=False)
    )
    assert response.headers == ((b"idempotent-replayed", b"true"), (b"toolwire-recorded", b"false"))


def test_a_duration_is_never_negative() -> None:
    assert (
        oxp.call_response(
            ToolCallResult(state="done", call_id="c", outcome=Outcome(1, duration_ms=-3.0))
        ).body["duration"]
        == 0
    )


def test_the_tool_list_does_not_depend_on_the_order_of_the_tools() -> None:
    held = list(tools())
    assert json.dumps(oxp.tool_list(held)) == json.dumps(oxp.tool_list(reversed(held)))


def test_the_input_schema_has_the_hints_of_a_tool() -> None:
    packed = oxp.tool_definition(tools().resolve("Shop.Pack"))
    assert isinstance(packed["input_schema"], dict)
    assert packed["input_schema"]["x-read-only"] is True
