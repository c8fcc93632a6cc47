"""Tools that a provider ran itself, on their way to a wire that has no such tools."""

from __future__ import annotations

from itertools import pairwise

import pytest
from cases import CASES, WIRES, Case, load, same
from rows import rows

from toolwire import Call, Conversation, Encoded, LocalError, Result, Text, decode, encode
from toolwire.wires import wire
from toolwire.wires.engine.server_tools import ServerToolPolicy

SERVER = next(case for case in load("anthropic") if case.name == "server-tools")


def made(
    case: Case, target: str, policy: ServerToolPolicy
) -> tuple[Conversation, Encoded, Conversation]:
    source = decode(case.body, case.wire, case.kind)
    encoded = encode(source, target, case.kind, server_tools=policy)
    return source, encoded, decode(encoded.json(), target, case.kind)


def hosted(conversation: Conversation) -> list[tuple[str | int, ...]]:
    return [
        part.path
        for part in conversation.parts()
        if isinstance(part, Call | Result) and part.executor == "provider"
    ]


CASES_WITH = [case for case in CASES if hosted(decode(case.body, case.wire, case.kind))]
POLICIES: list[ServerToolPolicy] = ["text", "call", "drop"]


@pytest.mark.parametrize("policy", POLICIES)
@rows("case", CASES_WITH)
def test_whatever_becomes_of_a_providers_call_is_reported_and_none_arrives_as_a_providers_call(
    case: Case, policy: ServerToolPolicy
) -> None:
    for target in WIRES:
        if target == case.wire or (case.kind == "response" and wire(target).hosts):
            continue
        try:
            source, encoded, found = made(case, target, policy)
        except LocalError:
            continue
        told = {loss.path for loss in encoded.losses}
        assert [at for at in hosted(source) if at not in told] == []
        assert hosted(found) == []


@pytest.mark.parametrize("policy", POLICIES)
@rows("case", CASES_WITH)
def test_the_own_wire_keeps_them_whatever_the_policy(case: Case, policy: ServerToolPolicy) -> None:
    assert same(made(case, case.wire, policy)[1].body, case.body)


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_as_text_they_are_told_and_the_clients_own_call_stays_a_call(target: str) -> None:
    _, _, found = made(SERVER, target, "text")
    assert [call.id for call in found.calls()] == ["toolu_1"]
    said = " ".join(part.text for part in found.parts() if isinstance(part, Text))
    assert "web_search" in said
    assert "https://example.com" in said
    assert "encrypted" not in said


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_as_calls_each_is_answered_before_the_assistant_speaks_again(target: str) -> None:
    _, _, found = made(SERVER, target, "call")
    assert [call.id for call in found.calls()] == [f"srvtoolu_{n}" for n in range(1, 7)] + [
        "toolu_1"
    ]
    assert [pair for pair in found.pairs() if pair.call is None or pair.result is None] == []
    roles = [message.role for message in found.messages if message.role != "system"]
    assert all(a != b for a, b in pairwise(roles) if a == "assistant")


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_dropped_they_leave_no_trace_but_the_report(target: str) -> None:
    _, _, found = made(SERVER, target, "drop")
    assert [call.id for call in found.calls()] == ["toolu_1"]
    assert "web_search" not in " ".join(
        part.text for part in found.parts() if isinstance(part, Text)
    )
