"""What is sent to workers elsewhere arrives as it was sent, and nothing else is taken for it."""

from __future__ import annotations

import pytest

from toolwire.conversation.json import Object
from toolwire.execution.failures import ExecutorBusy
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.temporal import payload as sendings
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

MARK = sendings.mark_of("T.A@1.0.0", {"n": 1})


def test_a_call_arrives_as_it_was_sent() -> None:
    arguments: Object = {"n": 2**80, "t": "\ud800", "deep": [{"x": None}]}
    context = ToolContext("c", "T.A@1.0.0", 3, "u", {"github": "token"}, {"KEY": "secret"}, "trace")
    assert sendings.called(sendings.call(arguments, context), "T.A@1.0.0") == (arguments, context)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"arguments": {}}', b"\xff"])
def test_what_is_no_call_is_refused(data: bytes) -> None:
    with pytest.raises(sendings.PayloadError):
        sendings.called(data, "T.A@1.0.0")


def test_tokens_that_are_no_text_are_refused() -> None:
    sent = sendings.call({}, ToolContext("c", "T", 1, None, {"a": "b"})).replace(b'"b"', b"1")
    with pytest.raises(sendings.PayloadError):
        sendings.called(sent, "T")


@pytest.mark.parametrize(
    "outcome",
    [Outcome({"x": [2**80]}), Outcome(None, Failure("no", kind="k", extra={"a": 1}), 2.5)],
)
def test_an_answer_arrives_as_it_was_sent(outcome: Outcome) -> None:
    assert sendings.answered(sendings.answer(MARK, outcome, 1000), MARK) == outcome


def test_a_promise_that_nothing_happened_arrives() -> None:
    sent = NoEffect("not today", developer_message="why", kind="shy", extra={"a": 1})
    with pytest.raises(NoEffect) as raised:
        sendings.answered(sendings.answer(MARK, sent, 1000), MARK)
    got = raised.value
    assert (got.message, got.developer_message, got.kind, got.extra) == (
        "not today",
        "why",
        "shy",
        {"a": 1},
    )


def test_a_lack_of_room_arrives() -> None:
    with pytest.raises(ExecutorBusy, match="full"):
        sendings.answered(sendings.answer(MARK, ExecutorBusy("full"), 1000), MARK)


def test_a_result_that_is_too_large_is_a_failure() -> None:
    failure = sendings.answered(sendings.answer(MARK, Outcome("x" * 1000), 1000), MARK).failure
    assert failure is not None and failure.kind == "result_not_kept"


def test_the_answer_of_another_call_is_refused() -> None:
    other = sendings.mark_of("T.A@1.0.0", {"n": 2})
    assert sendings.mark_of("T.A@1.0.0", {"n": 1.0}) == MARK != other
    with pytest.raises(sendings.PayloadError, match="another call"):
        sendings.answered(sendings.answer(other, Outcome(1), 1000), MARK)


@pytest.mark.parametrize(
    "data",
    [
        None,
        "ended",
        b"",
        b"ended",
        b"ended " + MARK.encode() + b"\n{",
        b"else " + MARK.encode() + b"\n{}",
    ],
)
def test_what_is_no_answer_is_refused(data: object) -> None:
    with pytest.raises(sendings.PayloadError):
        sendings.answered(data, MARK)
