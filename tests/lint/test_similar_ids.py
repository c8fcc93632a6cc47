"""Ids that resemble each other: a call may have been removed, so its result is never paired with another."""

from __future__ import annotations

import pytest

from toolwire import decode, translate
from toolwire.conversation.json import JSON

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
DIFFERENT_CALLS = [
    (f"run-{UUID}-0", f"run-{UUID}-1"),
    ("functions.get_ts_data:0", "functions.get_ts_data:1"),
    ("turn-1-11", "turn-11-1"),
    ("call_1.1", "call_11"),
    ("call_11", "call_1.1"),
    ("call:2:31", "call231"),
    ("call_1", "call_12"),
    ("call_1", "call_1 "),
    ("call_1", "\tcall_1\n"),
    (" call_1", "call_1"),
    ("call_1", '"call_1"'),
    ("call_1", "'call_1'"),
    ("call_1", "CALL_1"),
    ("call_1", "call1"),
    ("call_1", "call-1"),
    ("call_1", "fc_1"),
    ("call_abc", "call_abc_1"),
    ("functions.f:0", "f:0"),
    ("call_1", "tooluse_" + "a" * 70),
]
"""The id of the only call that is left, and the id of a result of a call that was cut away."""


def history(call_id: str, result_id: str) -> JSON:
    function: JSON = {"name": "balance", "arguments": "{}"}
    call: JSON = {"id": call_id, "type": "function", "function": function}
    return {
        "model": "any-model",
        "messages": [
            {"role": "user", "content": "What does ALICE have?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": result_id, "content": "BOB has 7"},
            {"role": "user", "content": "Well?"},
        ],
        "tools": [{"type": "function", "function": {"name": "balance"}}],
    }


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini", "mistral", "bedrock"])
@pytest.mark.parametrize("call_id, result_id", DIFFERENT_CALLS)
def test_a_result_never_goes_to_a_call_with_a_similar_id(
    call_id: str, result_id: str, target: str
) -> None:
    encoded = translate(history(call_id, result_id), "openai-chat", target)
    pairs = decode(encoded.body, target).pairs()
    assert not any("BOB" in pair.result.text for pair in pairs if pair.call and pair.result)
    assert b"BOB has 7" in encoded.json()
    assert encoded.findings == []


@pytest.mark.parametrize(
    "call_id, result_id",
    [("functions.read:0", "functions_read_0"), ("call_A1b2C3|fc_9", "call_A1b2C3")],
)
def test_a_known_rewriting_of_one_half_is_undone(call_id: str, result_id: str) -> None:
    encoded = translate(history(call_id, result_id), "openai-chat", "anthropic")
    [pair] = decode(encoded.body, "anthropic").pairs()
    assert pair.result is not None and pair.result.text == "BOB has 7"
    assert encoded.changes


def test_a_cleaned_id_is_not_undone_if_a_call_was_cut_away() -> None:
    body = history("functions.read:0", "functions_read_0")
    assert isinstance(body, dict)
    messages = body["messages"]
    assert isinstance(messages, list)
    old: JSON = {"role": "tool", "tool_call_id": "functions_write_3", "content": "CAROL has 5"}
    trimmed: JSON = {**body, "messages": [old, *messages]}
    for target in ("openai-chat", "anthropic", "mistral"):
        encoded = translate(trimmed, "openai-chat", target)
        pairs = decode(encoded.body, target).pairs()
        assert not any("BOB" in pair.result.text for pair in pairs if pair.call and pair.result)
        assert b"BOB has 7" in encoded.json() and b"CAROL has 5" in encoded.json()
        assert encoded.findings == []
