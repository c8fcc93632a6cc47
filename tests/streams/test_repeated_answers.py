"""Streams of frameworks whose last events repeat the answer, and may differ from what was sent."""

from __future__ import annotations

import pytest

from toolwire import decode
from toolwire.conversation.json import JSON, get
from toolwire.streaming.restream import fold, restream
from toolwire.wires.engine.encode_context import VALUE_CHANGED


def genkit_chunk(*content: JSON) -> JSON:
    return {"message": {"role": "model", "content": [*content]}}


def genkit_result(*content: JSON) -> JSON:
    return {"result": {"message": {"role": "model", "content": [*content]}}}


def adk_event(*parts: JSON, **more: JSON) -> JSON:
    return {"author": "a", "content": {"role": "model", "parts": [*parts]}, **more}


REQUEST: JSON = {"toolRequest": {"ref": "c1", "name": "f", "input": {"a": 1}}}
OTHER_INPUT: JSON = {"toolRequest": {"ref": "c1", "name": "f", "input": {"a": 2}}}
CALL: JSON = {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}}
OTHER_CALL: JSON = {"functionCall": {"id": "c2", "name": "f", "args": {"a": 1}}}
CHANGES: dict[str, tuple[str, list[JSON]]] = {
    "genkit-text": ("genkit", [genkit_chunk({"text": "Oslo"}), genkit_result({"text": "Bergen"})]),
    "genkit-input": ("genkit", [genkit_chunk(REQUEST), genkit_result(OTHER_INPUT)]),
    "genkit-call": ("genkit", [genkit_chunk(REQUEST, {"text": "a"}), genkit_result({"text": "a"})]),
    "adk-text": ("adk", [adk_event({"text": "Oslo"}, partial=True), adk_event({"text": "Rome"})]),
    "adk-call": ("adk", [adk_event(CALL, partial=True), adk_event(OTHER_CALL)]),
}


@pytest.mark.parametrize("wire, events", CHANGES.values(), ids=CHANGES)
def test_a_value_that_changes_after_it_was_sent_is_reported(wire: str, events: list[JSON]) -> None:
    stream = restream(events, wire, "anthropic")
    list(stream)
    assert VALUE_CHANGED in [loss.reason for loss in stream.losses]


AGGREGATED: JSON = {"role": "model", "aggregated": True, "content": [{"text": "Bergen."}]}
OTHER_TEXTS: dict[str, tuple[str, list[JSON]]] = {
    "genkit": CHANGES["genkit-text"],
    "genkit-aggregated": ("genkit", [genkit_chunk({"text": "Oslo"}), {"message": AGGREGATED}]),
    "adk": ("adk", [adk_event({"text": "Oslo"}, partial=True), adk_event({"text": "Bergen"})]),
}


@pytest.mark.parametrize("wire, events", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_nothing_is_added_to_a_text_that_is_repeated_with_a_change(
    wire: str, events: list[JSON]
) -> None:
    written = fold(b"".join(restream(events, wire, "openai-chat")), "openai-chat")
    assert get(written, ("choices", 0, "message", "content")) == "Oslo"


def test_a_result_without_a_message_keeps_the_message_of_the_chunks() -> None:
    events: list[JSON] = [genkit_chunk({"text": "Oslo"}), {"result": {"finishReason": "stop"}}]
    assert get(fold(events, "genkit"), ("message", "content")) == [{"text": "Oslo"}]


def test_media_of_a_partial_event_that_is_never_completed_are_not_lost() -> None:
    image: JSON = {"fileData": {"fileUri": "https://example.org/a.png", "mimeType": "image/png"}}
    there = fold(b"".join(restream([adk_event(image, partial=True)], "adk", "gemini")), "gemini")
    assert get(there, ("candidates", 0, "content", "parts", 0, "fileData", "fileUri")) == get(
        image, ("fileData", "fileUri")
    )


def test_a_call_that_waits_when_the_stream_fails_is_sent_before_the_error() -> None:
    """A client of a Responses stream reads no items after the error."""
    events: list[JSON] = [genkit_chunk({"toolRequest": {"name": "now"}}, {"text": "And"})]
    there = fold(b"".join(restream(events, "genkit", "openai-responses")), "openai-responses")
    calls = decode(there, "openai-responses", "response").calls()
    assert [call.name for call in calls] == ["now"]
