"""`translate` mends a history for whoever it goes to, tells it, and pays nothing for a tidy one."""

from __future__ import annotations

import pytest
from cases import CASES, WIRES, Case, recorded

import toolwire
from toolwire import Call, check, decode, encode, repair, translate
from toolwire.codec import resolve
from toolwire.conversation.json import JSON

REQUESTS = [case for case in CASES if case.kind == "request"]


def asks(*ids: str) -> JSON:
    calls: list[JSON] = [
        {"id": one, "type": "function", "function": {"name": "search", "arguments": "{}"}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(one: str, text: str = "found") -> JSON:
    return {"role": "tool", "tool_call_id": one, "content": text}


def says(role: str = "user") -> JSON:
    return {"role": role, "content": "Go on."}


STUCK: dict[str, list[JSON]] = {
    "partial-batch": [says(), asks("c1", "c2"), told("c2"), says()],
    "result-separated": [says(), asks("c1"), says(), told("c1"), says()],
    "dup-result": [says(), asks("c1"), told("c1"), told("c1"), says()],
}


@pytest.mark.parametrize("name", STUCK)
@pytest.mark.parametrize("target", ["anthropic", "bedrock", "openai-chat", "gemini", "mistral"])
def test_a_stuck_history_is_mended_on_the_way_and_it_is_told(name: str, target: str) -> None:
    made = translate({"messages": STUCK[name]}, "openai-chat", target)
    assert [one for one in check(made.body, target) if one.fix == "safe"] == []
    plain = translate({"messages": STUCK[name]}, "openai-chat", target, repair=False)
    refused = [one for one in check(plain.body, target) if one.fix == "safe"]
    assert bool(made.changes) == bool(refused)
    assert (made.body == plain.body) == (not refused)


@pytest.mark.parametrize("name", STUCK)
def test_what_is_mended_for_one_target_is_left_alone_for_one_that_takes_it(name: str) -> None:
    strict = translate({"messages": STUCK[name]}, "openai-chat", "anthropic")
    assert name in {change.name for change in strict.changes} or name == "dup-result"
    assert translate({"messages": STUCK[name]}, "openai-chat", "xai").changes == []


def test_only_safe_fixes_are_made() -> None:
    """A result without a call can be mended only by leaving something out."""
    body: JSON = {"messages": [says(), told("c9"), says()]}
    made = translate(body, "openai-chat", "anthropic")
    assert [one.name for one in check(made.body, "anthropic") if one.fix == "unsafe"]


def test_an_id_that_repair_had_to_change_still_leads_home() -> None:
    body: JSON = {
        "messages": [
            says(),
            asks("c1"),
            told("c1", "one"),
            says(),
            asks("c1"),
            told("c1", "two"),
            says(),
        ]
    }
    made = translate(body, "openai-chat", "anthropic")
    calls = decode(made.body, "anthropic").calls()
    assert len({call.id for call in calls}) == 2
    home = translate(made.body, "anthropic", "openai-chat", ids=made.ids)
    assert [call.id for call in decode(home.body, "openai-chat").calls()] == ["c1", "c1"]


def test_an_answer_is_never_mended() -> None:
    answer: JSON = {
        "choices": [
            {"index": 0, "message": asks("x" * 90, "x" * 90), "finish_reason": "tool_calls"}
        ]
    }
    assert translate(answer, "openai-chat", "anthropic", "response").changes == []


def test_on_its_own_wire_a_clean_history_keeps_its_bytes() -> None:
    raw = b'{ "messages": [ {"role":"user", "content":"Hello"} ] }'
    assert translate(raw, "openai-chat", "openai-chat").json() == raw
    assert translate(raw, "openai-chat", "kimi").json() == raw


def test_on_its_own_wire_a_stuck_history_is_mended() -> None:
    made = translate({"messages": STUCK["partial-batch"]}, "openai-chat", "openai-chat")
    assert [change.name for change in made.changes] == ["partial-batch"]
    assert [pair.result is not None for pair in decode(made.body, "openai-chat").pairs()] == [
        True,
        True,
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_seen_to_be_tidy_has_nothing_to_mend(wire: str) -> None:
    """The short look that spares a tidy history all rules is right: the rules would have changed
    nothing."""
    for case in [
        *(one for one in REQUESTS if one.wire == wire),
        *(one for one in recorded(wire) if one.kind == "request"),
    ]:
        conversation = decode(case.body, wire)
        for target in toolwire.profiles():
            made = encode(conversation, target)
            if made.tidy:
                assert repair(made.body, resolve(target)[0].name, target=target).changes == [], (
                    case.name,
                    target,
                )


def test_the_short_look_spares_most_histories() -> None:
    tidy = [
        encode(decode(case.body, case.wire), "openai-chat").tidy
        for case in REQUESTS
        if _whole(case)
    ]
    assert sum(tidy) > len(tidy) / 2


def _whole(case: Case) -> bool:
    pairs = decode(case.body, case.wire).pairs()
    return case.wire != "openai-chat" and all(
        isinstance(pair.call, Call) and pair.result is not None for pair in pairs
    )
