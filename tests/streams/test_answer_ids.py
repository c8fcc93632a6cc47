"""The ids of answers whose source has none: one for each stream, and the same for the same stream."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from toolwire import restream
from toolwire.conversation.json import Object, text_of
from toolwire.wires.engine.encode_context import RequestInfo

TARGETS = ("openai-chat", "openai-responses", "anthropic", "gemini", "cohere", "mistral")
_ANSWER_ID = re.compile(r'"(?:id|responseId)":"((?:chatcmpl-|resp_|msg_|v1_)?tw-[0-9a-f]{16})"')


def bedrock(text: str) -> list[Object]:
    return [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": text}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]


def ollama(text: str) -> list[Object]:
    start: Object = {"role": "assistant", "content": text}
    end: Object = {"role": "assistant", "content": ""}
    return [
        {"model": "m", "message": start, "done": False},
        {"model": "m", "message": end, "done": True, "done_reason": "stop"},
    ]


def chat(text: str) -> list[Object]:
    """A server that sends chunks with an empty id."""
    choices: list[Object] = [
        {"index": 0, "delta": {"role": "assistant"}},
        {"index": 0, "delta": {"content": text}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    return [{"id": "", "model": "m", "choices": [choice]} for choice in choices]


STREAMS = {"bedrock": bedrock, "ollama": ollama, "openai-chat": chat}


def answer_id(events: list[Object], source: str, target: str, request: str = "") -> str:
    info = RequestInfo(id=request)
    out = [text_of(c) for c in restream(events, source, target, framed=False, request=info)]
    found = _ANSWER_ID.search("".join(out))
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("source", "target"),
    [(source, target) for source in STREAMS for target in TARGETS if source != target],
)
def test_each_stream_of_a_source_without_ids_has_an_answer_id_of_its_own(
    source: str, target: str
) -> None:
    first, second = (STREAMS[source](text) for text in ("Oslo is cold.", "Rome is warm."))
    assert answer_id(first, source, target) != answer_id(second, source, target)
    assert answer_id(first, source, target) == answer_id(first, source, target)
    assert answer_id(first, source, target, "a") == answer_id(second, source, target, "a")


@pytest.mark.parametrize("source", STREAMS)
def test_an_answer_without_an_id_starts_with_its_first_word_at_the_latest(source: str) -> None:
    events, read = STREAMS[source]("Oslo is cold."), 0

    def pull() -> Iterator[Object]:
        nonlocal read
        for event in events:
            read += 1
            yield event

    for chunk in restream(pull(), source, "anthropic", framed=False):
        if "Oslo" in text_of(chunk):
            break
        assert read <= 2
    assert read <= 2


@pytest.mark.parametrize("source", STREAMS)
def test_an_answer_that_breaks_off_before_its_first_word_has_a_start(source: str) -> None:
    chunks = list(restream(STREAMS[source]("")[:1], source, "anthropic", framed=False))
    assert chunks[0]["type"] == "message_start"
