"""Recorded streams under the rules: how they may be given, where findings point to, and that clean
ones have none."""

from __future__ import annotations

import json
from collections.abc import Iterator

import cases
import pytest
from rows import rows

from toolwire import DecodeError, UsageError
from toolwire.conversation.json import JSON, Object
from toolwire.lint import all_rules, check, repair

STREAMS = [one for wire in cases.streaming() for one in cases.load_streams(wire)]
RECORDED = [one for wire in cases.streaming() for one in cases.recorded_streams(wire)]
ODD = {
    "mistral-stream-calls-in-pieces",
    "openai-chat-stream-parallel-calls-interleaved",
    "openai-responses-stream-cut-off-by-tokens",
}
"""Streams that were made to be odd in just the way that a rule is about."""


def chunk(*calls: JSON, stop: str | None = None) -> JSON:
    delta: Object = {"tool_calls": list(calls)} if calls else {}
    return {
        "id": "r",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
    }


def piece(arguments: str, **more: JSON) -> JSON:
    name = more.pop("name", None)
    return {**more, "function": {"arguments": arguments, **({"name": name} if name else {})}}


CUT: list[JSON] = [chunk(piece('{"a"', index=0, id="c1", name="f")), chunk(piece(": ", index=0))]


def framed(events: list[JSON]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def about_streams(stream: object, wire: str) -> list[str]:
    return [
        finding.name
        for finding in check(stream, wire, "stream")  # type: ignore[arg-type]
        if finding.name.startswith("stream-")
    ]


def one_by_one(events: list[JSON]) -> Iterator[JSON]:
    yield from events


@pytest.mark.parametrize(
    "given",
    [CUT, framed(CUT), framed(CUT).decode(), one_by_one(CUT)],
    ids=["events", "bytes", "text", "iterator"],
)
def test_a_stream_may_be_bytes_text_or_events(given: object) -> None:
    assert about_streams(given, "openai-chat") == ["stream-aborted-call"]


def test_bytes_in_pieces_are_a_stream_too() -> None:
    whole = framed(CUT)
    assert about_streams([whole[n : n + 7] for n in range(0, len(whole), 7)], "openai-chat") == [
        "stream-aborted-call"
    ]


def test_a_finding_about_a_stream_points_to_its_event() -> None:
    events = [chunk(), *CUT]
    (found,) = (
        finding
        for finding in check(events, "openai-chat", "stream")
        if finding.name == "stream-aborted-call"
    )
    assert found.pointer == "/1"
    assert found.severity == "error"


def test_only_a_call_that_was_cut_off_is_an_error() -> None:
    about = {rule.name: rule.severity for rule in all_rules() if rule.name.startswith("stream-")}
    assert {name for name, severity in about.items() if severity == "error"} == {
        "stream-aborted-call"
    }


def test_the_answer_that_a_stream_folds_to_is_checked_as_well() -> None:
    events = [chunk(piece("{}", index=0, id="c1", name="a.b")), chunk(stop="tool_calls")]
    (found,) = (
        finding
        for finding in check(events, "openai-chat", "stream")
        if finding.name == "name-bad-charset"
    )
    assert found.pointer == "/choices/0/message/tool_calls/0"
    assert found.fix is None


def test_a_stream_comes_back_from_repair_as_it_was_sent() -> None:
    done = repair(framed(CUT), "openai-chat", "stream", unsafe=True)
    assert (done.body, done.changes) == (CUT, [])
    assert [finding.name for finding in done.findings if finding.fix is not None] == []
    assert "stream-aborted-call" in [finding.name for finding in done.findings]


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(DecodeError):
        check(b"data: {not json\n\n", "openai-chat", "stream")
    with pytest.raises(UsageError):
        check(7, "openai-chat", "stream")


def test_a_body_that_is_an_iterator_is_refused_unless_it_is_a_stream() -> None:
    with pytest.raises(UsageError):
        check(one_by_one(CUT), "openai-chat")


@rows("stream", STREAMS)
def test_a_regular_stream_has_no_finding_about_streams(stream: cases.Streamed) -> None:
    assert bool(about_streams(stream.events, stream.wire)) is (str(stream) in ODD)


@cases.needs_recordings
@pytest.mark.parametrize("wire", cases.streaming())
def test_a_recorded_stream_has_no_error_about_streams(wire: str) -> None:
    errors = [
        f"{one}: {finding}"
        for one in RECORDED
        if one.wire == wire
        for finding in check(one.stream, wire, "stream")
        if finding.name.startswith("stream-") and finding.severity == "error"
    ]
    assert errors == []


@pytest.mark.parametrize("wire", [name for name in cases.streaming() if name in cases.MODELS])
def test_a_stream_that_breaks_off_at_any_event_never_raises(wire: str) -> None:
    for stream in cases.load_streams(wire):
        events = stream.events
        for end in range(1, len(events)):
            check(events[:end], wire, "stream")
