"""The outcome of a response, read without its content, is that of the response read as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cases import load, load_recorded

from toolwire.codec import decode, resolve
from toolwire.codec.known_wires import wires
from toolwire.conversation.json import JSON, Object
from toolwire.errors import InputError
from toolwire.gateway.translation.outcome import usage_of
from toolwire.wires.engine.specs import Outcome

QUICK = [name for name in wires() if resolve(name)[0].read_outcome is not None]
"""The wires that read an outcome without the content."""
WORDS = ("end_turn", "stop", "tool_use", "tool_calls", "length", "new", "", None, 5)


def _whole(body: Object, wire: str) -> Outcome:
    response = decode(body, wire, "response")
    return usage_of(response), response.messages[0].stop if response.messages else None


def _variants(body: Object) -> Iterator[Object]:
    """The body, without usage, and with every word for its finish reason."""
    yield body
    yield {key: value for key, value in body.items() if key != "usage"}
    yield {**body, "usage": None}
    yield {**body, "usage": {}}
    for word in WORDS:
        if "stop_reason" in body:
            yield {**body, "stop_reason": word}
        choices = body.get("choices")
        if isinstance(choices, list):
            changed: list[JSON] = [
                {**choice, "finish_reason": word} for choice in choices if isinstance(choice, dict)
            ]
            yield {**body, "choices": changed}


@pytest.mark.parametrize("wire", QUICK)
def test_the_fields_of_a_response_give_the_outcome_of_the_whole_response(wire: str) -> None:
    read = resolve(wire)[0].read_outcome
    assert read is not None
    found = 0
    for case in (*load(wire), *load_recorded(wire)):
        if case.kind != "response" or not isinstance(case.body, dict):
            continue
        for body in _variants(case.body):
            outcome = read(body)
            found += outcome is not None
            try:
                expected = _whole(body, wire)
            except InputError:
                continue
            assert outcome is None or outcome == expected, case
    assert found, "no response was read by its fields"


def test_a_turn_that_ends_with_calls_is_read_as_a_whole() -> None:
    call: Object = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
    body: Object = {"content": [call], "stop_reason": "end_turn"}
    read = resolve("anthropic")[0].read_outcome
    assert read is not None and read(body) is None
    assert _whole(body, "anthropic") == (None, "tool")
