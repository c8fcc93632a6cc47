"""Payloads for Temporal workers: a call and its result arrive as they were sent."""

from __future__ import annotations

import pytest

from toolwire.conversation.json import Object
from toolwire.execution.failures import ExecutorBusy
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.temporal.payload import (
    PayloadError,
    call_fingerprint,
    decode_call,
    decode_result,
    encode_call,
    encode_result,
)
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

FINGERPRINT = call_fingerprint("T.A@1.0.0", {"n": 1})


def transfer(outcome: Outcome | NoEffect | ExecutorBusy) -> Outcome:
    return decode_result(encode_result(FINGERPRINT, outcome, max_bytes=1000), FINGERPRINT)


def test_a_call_arrives_as_it_was_sent() -> None:
    arguments: Object = {"n": 2**80, "t": "\ud800", "deep": [{"x": None}]}
    context = ToolContext(
        "c",
        "T.A@1.0.0",
        3,
        "u",
        {"github": "token"},
        {"KEY": "secret"},
        "trace",
        idempotency_key="k",
    )
    assert decode_call(encode_call(arguments, context), "T.A@1.0.0") == (arguments, context)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"arguments": {}}', b"\xff"])
def test_bytes_that_are_not_a_call_are_rejected(data: bytes) -> None:
    with pytest.raises(PayloadError):
        decode_call(data, "T.A@1.0.0")


def test_tokens_that_are_not_strings_are_rejected() -> None:
    data = encode_call({}, ToolContext("c", "T", 1, None, {"a": "b"})).replace(b'"b"', b"1")
    with pytest.raises(PayloadError):
        decode_call(data, "T")


@pytest.mark.parametrize(
    "outcome",
    [Outcome({"x": [2**80]}), Outcome(None, Failure("no", kind="k", extra={"a": 1}), 2.5)],
)
def test_an_outcome_arrives_as_it_was_sent(outcome: Outcome) -> None:
    assert transfer(outcome) == outcome


def test_no_effect_arrives_with_its_details() -> None:
    error = NoEffect("not today", developer_message="why", kind="closed", extra={"a": 1})
    with pytest.raises(NoEffect) as raised:
        transfer(error)
    arrived = raised.value
    assert (arrived.message, arrived.developer_message, arrived.kind, arrived.extra) == (
        "not today",
        "why",
        "closed",
        {"a": 1},
    )


def test_a_busy_worker_is_reported_as_busy() -> None:
    with pytest.raises(ExecutorBusy, match="full"):
        transfer(ExecutorBusy("full"))


def test_a_result_that_is_too_large_is_a_failure() -> None:
    failure = transfer(Outcome("x" * 1000)).failure
    assert failure is not None and failure.kind == "result_not_kept"


def test_the_result_of_another_call_is_rejected() -> None:
    other = call_fingerprint("T.A@1.0.0", {"n": 2})
    assert call_fingerprint("T.A@1.0.0", {"n": 1.0}) == FINGERPRINT != other
    with pytest.raises(PayloadError, match="another call"):
        decode_result(encode_result(other, Outcome(1), max_bytes=1000), FINGERPRINT)


@pytest.mark.parametrize(
    "data",
    [
        None,
        "outcome",
        b"",
        b"outcome",
        b"outcome " + FINGERPRINT.encode() + b"\n{",
        b"else " + FINGERPRINT.encode() + b"\n{}",
    ],
)
def test_data_that_is_not_a_result_is_rejected(data: object) -> None:
    with pytest.raises(PayloadError):
        decode_result(data, FINGERPRINT)
