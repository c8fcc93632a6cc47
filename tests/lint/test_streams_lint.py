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

STREAMS = [case for wire in cases.streaming() for case in cases.load_streams(wire)]
RECORDED = [case for wire in cases.streaming() for case in cases.load_recorded_streams(wire)]
IRREGULAR = {
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


def frame_events(events: list[JSON]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def stream_rule_names(stream: object, wire: str) -> list[str]:
    return [
        finding.name
        for finding in check(stream, wire, "stream")  # type: ignore[arg-type]
        if finding.name.startswith("stream-")
    ]


def one_by_one(events: list[JSON]) -> Iterator[JSON]:
    yield from events


@pytest.mark.parametrize(
    "stream",
    [CUT, frame_events(CUT), frame_events(CUT).decode(), one_by_one(CUT)],
    ids=["events", "bytes", "text", "iterator"],
)
def test_a_stream_may_be_bytes_text_or_events(stream: object) -> None:
    assert stream_rule_names(stream, "openai-chat") == ["stream-aborted-call"]


def test_bytes_in_pieces_are_a_stream_too() -> None:
    stream = frame_events(CUT)
    assert stream_rule_names(
        [stream[n : n + 7] for n in range(0, len(stream), 7)], "openai-chat"
    ) == ["stream-aborted-call"]


def test_a_finding_about_a_stream_points_to_its_event() -> None:
    events = [chunk(), *CUT]
    (finding,) = (
        finding
        for finding in check(events, "openai-chat", "stream")
        if finding.name == "stream-aborted-call"
    )
    assert finding.pointer == "/1"
    assert finding.severity == "error"


def test_only_a_call_that_was_cut_off_is_an_error() -> None:
    about = {rule.name: rule.severity for rule in all_rules() if rule.name.startswith("stream-")}
    assert {name for name, severity in about.items() if severity == "error"} == {
        "stream-aborted-call"
    }


def test_the_answer_that_a_stream_folds_to_is_checked_as_well() -> None:
    events = [chunk(piece("{}", index=0, id="c1", name="a.b")), chunk(stop="tool_calls")]
    (finding,) = (
        finding
        for finding in check(events, "openai-chat", "stream")
        if finding.name == "name-bad-charset"
    )
    assert finding.pointer == "/choices/0/message/tool_calls/0"
    assert finding.fix is None


def test_repair_returns_a_stream_unchanged() -> None:
    repaired = repair(frame_events(CUT), "openai-chat", "stream", unsafe=True)
    assert (repaired.body, repaired.changes) == (CUT, [])
    assert [finding.name for finding in repaired.findings if finding.fix is not None] == []
    assert "stream-aborted-call" in [finding.name for finding in repaired.findings]


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(DecodeError):
        check(b"data: {not json\n\n", "openai-chat", "stream")
    with pytest.raises(UsageError):
        check(7, "openai-chat", "stream")


def test_a_body_that_is_an_iterator_is_refused_unless_it_is_a_stream() -> None:
    with pytest.raises(UsageError):
        check(one_by_one(CUT), "openai-chat")


@rows("stream", STREAMS)
def test_a_regular_stream_has_no_finding_about_streams(stream: cases.StreamCase) -> None:
    assert bool(stream_rule_names(stream.events, stream.wire)) is (str(stream) in IRREGULAR)


@cases.needs_recordings
@pytest.mark.parametrize("wire", cases.streaming())
def test_a_recorded_stream_has_no_error_about_streams(wire: str) -> None:
    errors = [
        f"{case}: {finding}"
        for case in RECORDED
        if case.wire == wire
        for finding in check(case.stream, wire, "stream")
        if finding.name.startswith("stream-") and finding.severity == "error"
    ]
    assert errors == []


@pytest.mark.parametrize("wire", [name for name in cases.streaming() if name in cases.MODELS])
def test_a_stream_that_breaks_off_at_any_event_never_raises(wire: str) -> None:
    for stream in cases.load_streams(wire):
        events = stream.events
        for end in range(1, len(events)):
            check(events[:end], wire, "stream")
