"""Halves of pairs that a translation has to place, pair or tell, because its target cannot."""

from __future__ import annotations

import pytest

from toolwire import decode, translate
from toolwire.conversation.json import JSON, dump, get
from toolwire.lint.examples.chat import USER, assistant, tool_call, tool_message

REPLY: JSON = {"role": "assistant", "content": "one moment"}
ORPHANS: dict[str, list[JSON]] = {
    "its call is gone": [USER, REPLY, tool_message("c9", "forty-two"), USER],
    "it comes first": [tool_message("c9", "forty-two"), USER],
    "its call has another": [
        USER,
        assistant(tool_call("c1")),
        tool_message("c1"),
        REPLY,
        tool_message("c1", "forty-two"),
        USER,
    ],
}


@pytest.mark.parametrize("messages", ORPHANS.values(), ids=ORPHANS)
def test_a_wire_whose_results_are_fields_of_calls_gets_an_orphan_in_words(
    messages: list[JSON],
) -> None:
    assert b"forty-two" in dump(translate(messages, "openai-chat", "ai-sdk").body)


@pytest.mark.parametrize("target", ["cohere", "ollama"])
def test_results_follow_their_calls_directly_even_if_the_target_is_not_known_to_check(
    target: str,
) -> None:
    calls = assistant(tool_call("c1"), tool_call("c2", "g"))
    messages = [USER, calls, tool_message("c1"), REPLY, tool_message("c2"), USER]
    written = translate(messages, "openai-chat", target).body
    roles = [get(written, ("messages", n, "role")) for n in range(6)]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]


_CALL_WITHOUT_ID: JSON = {
    "id": None,
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}
_LEGACY: JSON = {
    "role": "assistant",
    "content": None,
    "function_call": {"name": "f", "arguments": "{}"},
}


@pytest.mark.parametrize("call", [assistant(_CALL_WITHOUT_ID), _LEGACY], ids=["null", "legacy"])
@pytest.mark.parametrize("target", ["anthropic", "mistral", "gemini", "openai-chat"])
def test_the_only_call_without_an_id_gets_that_of_the_only_result(call: JSON, target: str) -> None:
    messages = [USER, call, tool_message("c1", "one"), USER]
    body = translate(messages, "openai-chat", target).body
    [pair] = decode(body, target).pairs()
    assert pair.call is not None and pair.result is not None
    assert pair.result.text == "one"
