"""Histories that attack the promise itself: each would silently give a result to another call, or
call a history clean that its provider refuses."""

from __future__ import annotations

import pytest
from cases import MODELS, WIRES

from toolwire import Conversation, decode, translate
from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, Object
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES

HOLDS_HISTORIES = [name for name in WIRES if name not in ("mcp", "oxp")]


def answers(conversation: Conversation) -> list[tuple[str | None, str | None]]:
    """The arguments and the result of every pair, in order; None for a missing half."""
    return [
        (
            pair.call.arguments if pair.call is not None else None,
            pair.result.text if pair.result is not None else None,
        )
        for pair in conversation.pairs()
    ]


# --- results of calls that are not there ----------------------------------------------------------


def contents(*turns: tuple[str, list[JSON]]) -> Object:
    first: JSON = {"role": "user", "parts": [{"text": "Go."}]}
    others: list[JSON] = [{"role": role, "parts": parts} for role, parts in turns]
    return {"contents": [first, *others]}


def function_call(name: str, n: int) -> JSON:
    return {"functionCall": {"name": name, "args": {"n": n}}}


def function_response(name: str, text: str) -> JSON:
    return {"functionResponse": {"name": name, "response": {"r": text}}}


STRAY_RESPONSE = contents(
    ("model", [function_call("balance", 1)]),
    ("user", [function_response("balance", "ALICE")]),
    ("model", [function_call("transfer", 2)]),
    ("user", [function_response("balance", "BOB")]),
)
"""The call for BOB's balance was removed, and so was the result of the transfer."""


@pytest.mark.parametrize("target", HOLDS_HISTORIES)
def test_a_response_that_names_another_tool_does_not_answer_the_open_call(target: str) -> None:
    written = translate(STRAY_RESPONSE, "gemini", target)
    found = answers(decode(written.json(), target))
    assert ('{"n":1}', '{"r":"ALICE"}') in found
    assert [result for arguments, result in found if arguments == '{"n":2}'] != ['{"r":"BOB"}']
    if target in MODELS and PROFILES[target].rejects_orphan_results:
        assert "BOB" in written.json().decode()
        assert [change.name for change in written.changes] != []


def test_two_responses_of_one_tool_are_not_shared_with_the_call_of_another_tool() -> None:
    body = contents(
        ("model", [function_call("balance", 1), function_call("transfer", 2)]),
        ("user", [function_response("balance", "A"), function_response("balance", "B")]),
    )
    assert [pair.how for pair in decode(body, "gemini").pairs()] == [None] * 4


def test_a_response_with_an_id_for_a_name_still_answers_the_only_call() -> None:
    body = contents(
        ("model", [function_call("balance", 1)]), ("user", [function_response("call_176130", "A")])
    )
    assert answers(decode(body, "gemini")) == [('{"n":1}', '{"r":"A"}')]


def test_the_minted_id_of_a_stray_result_is_not_that_of_a_call() -> None:
    taken = mint(" result", 1, "f")
    body = contents(
        ("model", [{"functionCall": {"id": taken, "name": "g", "args": {"n": 1}}}]),
        ("user", [function_response("f", "A"), function_response("h", "B")]),
    )
    conversation = decode(body, "gemini")
    assert [call.id for call in conversation.calls()] == [taken]
    assert [result.call_id == taken for result in conversation.results()] == [False, False]


def adk_event(role: str, part: JSON) -> Object:
    return {"author": "agent", "content": {"role": role, "parts": [part]}}


def test_a_result_without_an_id_has_one_in_adk_and_stands_in_a_pair() -> None:
    two_calls: list[JSON] = [
        {"functionCall": {"id": name, "name": "f", "args": {}}} for name in ("a", "b")
    ]
    stray: JSON = {"functionResponse": {"name": "f", "response": {"r": 1}}}
    for body in (
        [adk_event("user", stray)],
        [*(adk_event("model", call) for call in two_calls), adk_event("user", stray)],
    ):
        conversation = decode(body, "adk")
        (result,) = conversation.results()
        assert result.call_id not in ("", "a", "b")
        assert [pair.call for pair in conversation.pairs() if pair.result is result] == [None]


# --- ids that several calls have ------------------------------------------------------------------


def ai_sdk_part(n: int, text: str) -> JSON:
    return {
        "type": "tool-f",
        "toolCallId": "c",
        "state": "output-available",
        "input": {"n": n},
        "output": text,
    }


@pytest.mark.parametrize("target", HOLDS_HISTORIES)
def test_two_ai_sdk_calls_under_one_id_keep_the_results_that_stand_inside_them(target: str) -> None:
    step: JSON = {"type": "step-start"}
    body: JSON = {
        "messages": [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Go."}]},
            {
                "id": "2",
                "role": "assistant",
                "parts": [step, ai_sdk_part(1, "ONE"), step, ai_sdk_part(2, "TWO")],
            },
        ]
    }
    expected = [('{"n":1}', "ONE"), ('{"n":2}', "TWO")]
    assert answers(decode(body, "ai-sdk")) == expected
    assert answers(decode(translate(body, "ai-sdk", target).json(), target)) == expected


MCP_IDS: tuple[JSON, ...] = (1, "1", "abc", 0, -3, 10**20)


@pytest.mark.parametrize("over", HOLDS_HISTORIES)
def test_mcp_request_ids_come_back_as_the_numbers_and_texts_that_they_were(over: str) -> None:
    calls: list[JSON] = [
        {
            "jsonrpc": "2.0",
            "id": request_id,
            "method": "tools/call",
            "params": {"name": "f", "arguments": {"n": n}},
        }
        for n, request_id in enumerate(MCP_IDS)
    ]
    results: list[JSON] = [
        {
            "jsonrpc": "2.0",
            "id": request_id,
            "result": {"content": [{"type": "text", "text": f"r{n}"}]},
        }
        for n, request_id in reversed(list(enumerate(MCP_IDS)))
    ]
    there = translate([*calls, *results], "mcp", over)
    back = translate(there.json(), over, "mcp", ids=there.ids).body
    assert isinstance(back, list)
    assert [one["id"] for one in back if "method" in one] == list(MCP_IDS)  # type: ignore[index,operator,call-overload]
    texts = {
        repr(one["id"]): one["result"]["content"][0]["text"]  # type: ignore[index,call-overload]
        for one in back
        if "result" in one  # type: ignore[operator]
    }
    assert texts == {repr(request_id): f"r{n}" for n, request_id in enumerate(MCP_IDS)}


REJECTS_ORPHANS = [
    name
    for name, row in sorted(PROFILES.items())
    if row.wire == "openai-chat" and row.rejects_orphan_results
]
ACCEPTS_DUPLICATES = [
    name
    for name in REJECTS_ORPHANS
    if PROFILES[name].result_placement and not PROFILES[name].rejects_duplicate_results
]
SAME_TURN = [{"role": "user", "content": "Two."}]
NEXT_TURN = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Two."}]


@pytest.mark.parametrize(
    ("target", "between"),
    [(name, NEXT_TURN) for name in REJECTS_ORPHANS]
    + [(name, SAME_TURN) for name in ACCEPTS_DUPLICATES],
)
def test_a_late_result_under_an_answered_id_is_found_and_becomes_text(
    target: str, between: list[JSON]
) -> None:
    call: JSON = {
        "id": "read:0",
        "type": "function",
        "function": {"name": "read", "arguments": "{}"},
    }
    body: JSON = {
        "messages": [
            {"role": "user", "content": "One."},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "Hm."},
            {"role": "tool", "tool_call_id": "read:0", "content": "first"},
            *between,
            {"role": "tool", "tool_call_id": "read:0", "content": "second"},
            {"role": "user", "content": "Three."},
        ]
    }
    assert {finding.name for finding in check(body, "openai-chat", target=target)} & {
        "orphan-result",
        "dup-result",
    }
    repaired = repair(body, "openai-chat", target=target)
    assert answers(decode(repaired.body, "openai-chat")) == [("{}", "first")]
    assert "second" in str(repaired.body)
    assert repaired.findings == []
