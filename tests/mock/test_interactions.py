"""The refusals of the mock of Gemini Interactions, and their form."""

from __future__ import annotations

import pytest
from mock.asking import send

from toolwire.conversation.json import JSON, Object
from toolwire.mock.server import MockProvider

WIRE, PATH = "gemini-interactions", "/v1beta/interactions"
RESULT: JSON = {"type": "function_result", "call_id": "a", "result": "7"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"input": "hi"}, "`model` or `agent` is required"),
        ({"model": "m"}, "`input` is required"),
        ({"model": "m", "input": "hi", "temperature": 1}, 'Unknown name "temperature"'),
        ({"model": "m", "input": "hi", "generation_config": {"top_k": 1}}, 'Unknown name "top_k"'),
        ({"model": "m", "input": [{"role": "user", "content": "hi"}]}, "input[0].type"),
        (
            {"model": "m", "input": [{"type": "function_call", "id": "a", "name": "f"}]},
            "Missing required field 'input[0].arguments'",
        ),
        ({"model": "m", "input": [RESULT]}, "function call turn"),
    ],
)
def test_a_broken_request_is_refused_in_the_form_of_the_api(body: Object, words: str) -> None:
    answer = send(MockProvider(WIRE), "POST", PATH, body)
    error: JSON = answer.json["error"]
    assert answer.status == 400
    assert isinstance(error, dict) and error.keys() == {"code", "message"}
    assert words in str(error["message"])


def test_a_stored_interaction_is_continued_shown_and_deleted() -> None:
    mock = MockProvider(WIRE)
    tool: JSON = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    asked: Object = {"model": "m", "input": "[[call look {}]]", "tools": [tool]}
    first = send(mock, "POST", PATH, asked).json
    match first:
        case {"id": str(one), "status": "requires_action", "steps": [{"id": str(call_id)}]}:
            path = f"{PATH}/{one}"
        case _:
            raise AssertionError(first)
    result: JSON = {"type": "function_result", "call_id": call_id, "name": "look", "result": "7"}
    more: Object = {"model": "m", "input": [result], "previous_interaction_id": one}
    second = send(mock, "POST", PATH, more).json
    assert second["status"] == "completed" and "7" in str(second["steps"])
    assert send(mock, "GET", path).json == first
    assert send(mock, "DELETE", path).json == {}
    assert send(mock, "GET", path).status == 404
    assert "not found" in send(mock, "POST", PATH, more).text
