"""Approvals of MCP calls: a client decides about them and runs nothing."""

from __future__ import annotations

import pytest
from cases import MODELS

from toolwire import decode, fold, restream, resume, translate
from toolwire.conversation.json import JSON, get, text_of
from toolwire.conversation.parts import Text

NAME = "openai-responses"
OTHERS = [name for name in MODELS if name not in (NAME, "azure-foundry")]
QUESTION: JSON = {"role": "user", "content": "Remove page 3."}
REQUEST: JSON = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "docs",
    "name": "remove",
    "arguments": '{"page":3}',
}


def decision(approve: bool) -> JSON:
    return {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": approve}


def request(*items: JSON) -> JSON:
    return {"model": "any-model", "input": [QUESTION, *items]}


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("approve, words", [(True, "[approved]"), (False, "[not approved]")])
def test_an_approval_and_its_decision_become_text(target: str, approve: bool, words: str) -> None:
    encoded = translate(request(REQUEST, decision(approve)), NAME, target)
    conversation = decode(encoded.body, target)
    assert (conversation.calls(), conversation.results()) == ([], [])
    texts = [part.text for part in conversation.parts() if isinstance(part, Text)]
    assert texts[1:] == ['[approval of remove with {"page":3} is requested]', words]
    assert {loss.pointer for loss in encoded.losses} >= {"/input/1", "/input/2"}


@pytest.mark.parametrize("target", OTHERS)
def test_a_decision_without_its_request_is_no_result(target: str) -> None:
    encoded = translate(request(decision(True)), NAME, target)
    assert decode(encoded.body, target).results() == []
    assert encoded.findings == []


@pytest.mark.parametrize("target", OTHERS)
def test_an_answer_that_requests_an_approval_calls_no_tool(target: str) -> None:
    answer: JSON = {"id": "resp_1", "status": "completed", "output": [REQUEST]}
    encoded = translate(answer, NAME, target, "response")
    [message] = decode(encoded.body, target, "response").messages
    assert message.stop == "stop"
    assert decode(encoded.body, target, "response").calls() == []
    assert "approval of remove" in text_of(encoded.body)


def test_a_streamed_request_for_an_approval_is_text() -> None:
    response: JSON = {"id": "resp_1", "status": "completed", "output": [REQUEST]}
    events: list[JSON] = [
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": REQUEST},
        {"type": "response.output_item.done", "output_index": 0, "item": REQUEST},
        {"type": "response.completed", "response": response},
    ]
    body = fold(list(restream(events, NAME, "openai-chat", framed=False)), "openai-chat")
    message = get(body, ("choices", 0, "message"))
    assert "approval of remove" in str(get(body, ("choices", 0, "message", "content")))
    assert "tool_calls" not in message  # type: ignore[operator]
    assert get(body, ("choices", 0, "finish_reason")) == "stop"


def test_on_its_own_wire_a_decision_can_still_be_added() -> None:
    encoded = resume(request(REQUEST), NAME, {"mcpr_1": {"approve": True}})
    assert decode(encoded.body, NAME).pairs()[0].result is not None


# --- namespaces that repeat the name of their tool -------------------------------------------------


def function_call(**fields: JSON) -> JSON:
    return {"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{}", **fields}


@pytest.mark.parametrize("target", OTHERS)
def test_a_namespace_that_repeats_the_name_does_not_rename_the_call(target: str) -> None:
    items: list[JSON] = [
        function_call(namespace="get"),
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    body: JSON = {
        "model": "m",
        "input": [QUESTION, *items],
        "tools": [{"type": "function", "name": "get"}],
    }
    [call] = decode(translate(body, NAME, target).body, target).calls()
    assert call.name == "get"


def test_a_tool_that_is_defined_in_a_namespace_of_its_name_keeps_it() -> None:
    tool: JSON = {"type": "function", "name": "get", "parameters": {"type": "object"}}
    space: JSON = {"type": "namespace", "name": "get", "description": "", "tools": [tool]}
    output: JSON = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    body: JSON = {
        "model": "m",
        "input": [QUESTION, function_call(namespace="get"), output],
        "tools": [space],
    }
    there = translate(body, NAME, "anthropic")
    home = translate(there.body, "anthropic", NAME, ids=there.ids).body
    item = get(home, ("input", 1))
    assert isinstance(item, dict)
    assert (item["name"], item["namespace"]) == ("get", "get")
