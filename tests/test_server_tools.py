"""Tools that a provider ran itself, on their way to a wire that has no such tools."""

from __future__ import annotations

from itertools import pairwise

import pytest
from cases import CASES, WIRES, Case, load, same
from msgspec.structs import replace
from rows import rows

from toolwire import Call, Conversation, Encoded, Message, Result, Text, UsageError, decode, encode
from toolwire.wires import wire
from toolwire.wires.engine.server_tools import ServerToolPolicy

SERVER = next(case for case in load("anthropic") if case.name == "server-tools")


def translate_with(
    case: Case, target: str, policy: ServerToolPolicy
) -> tuple[Conversation, Encoded, Conversation]:
    source = decode(case.body, case.wire, case.kind)
    encoded = encode(source, target, case.kind, server_tools=policy)
    return source, encoded, decode(encoded.json(), target, case.kind)


def server_parts(conversation: Conversation) -> list[tuple[str | int, ...]]:
    return [
        part.path
        for part in conversation.parts()
        if isinstance(part, Call | Result) and part.executor == "provider"
    ]


CASES_WITH = [case for case in CASES if server_parts(decode(case.body, case.wire, case.kind))]
POLICIES: list[ServerToolPolicy] = ["text", "call", "drop"]


@pytest.mark.parametrize("policy", POLICIES)
@rows(
    "case, target",
    [
        (case, target)
        for case in CASES_WITH
        for target in WIRES
        if target != case.wire and not (case.kind == "response" and wire(target).hosts)
    ],
)
def test_a_call_that_a_provider_ran_is_reported_and_does_not_arrive_as_one(
    case: Case, target: str, policy: ServerToolPolicy
) -> None:
    try:
        source, encoded, losses = translate_with(case, target, policy)
    except UsageError:
        return
    reported = {loss.path for loss in encoded.losses}
    assert [path for path in server_parts(source) if path not in reported] == []
    assert server_parts(losses) == []


@pytest.mark.parametrize("policy", POLICIES)
@rows("case", CASES_WITH)
def test_their_own_wire_keeps_server_tools_under_every_policy(
    case: Case, policy: ServerToolPolicy
) -> None:
    assert same(translate_with(case, case.wire, policy)[1].body, case.body)


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_server_tools_become_text_and_a_call_of_the_client_stays_a_call(target: str) -> None:
    _, _, losses = translate_with(SERVER, target, "text")
    assert [call.id for call in losses.calls()] == ["toolu_1"]
    text = " ".join(part.text for part in losses.parts() if isinstance(part, Text))
    assert "web_search" in text
    assert "https://example.com" in text
    assert "encrypted" not in text


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_server_tools_as_calls_have_their_results_before_the_next_assistant_message(
    target: str,
) -> None:
    _, _, losses = translate_with(SERVER, target, "call")
    assert [call.id for call in losses.calls()] == [f"srvtoolu_{n}" for n in range(1, 7)] + [
        "toolu_1"
    ]
    assert [pair for pair in losses.pairs() if pair.call is None or pair.result is None] == []
    roles = [message.role for message in losses.messages if message.role != "system"]
    assert all(a != b for a, b in pairwise(roles) if a == "assistant")


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_server_tools_that_are_dropped_are_reported_as_losses(target: str) -> None:
    _, _, losses = translate_with(SERVER, target, "drop")
    assert [call.id for call in losses.calls()] == ["toolu_1"]
    assert "web_search" not in " ".join(
        part.text for part in losses.parts() if isinstance(part, Text)
    )


def test_a_result_of_the_client_for_a_call_of_a_provider_goes_to_no_other_call() -> None:
    search = Call("search", "search", {}, executor="provider")
    result = replace(search.result("found"), executor="client")
    conversation = Conversation(
        [
            Message("assistant", [search, Call("tw-1", "f", {}, origin="minted")], wire="meai"),
            Message("tool", [result], wire="meai"),
        ]
    )
    sent = decode(encode(conversation, "openai-chat").json(), "openai-chat")
    assert [(pair.call and pair.call.name, pair.result) for pair in sent.pairs()] == [("f", None)]
    assert "found" in "".join(part.text for part in sent.parts() if isinstance(part, Text))
