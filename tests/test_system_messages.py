"""A system message in mid-conversation, as coding agents send it: a target that accepts one there
gets a system message, any other a marked message of the user."""

from __future__ import annotations

import pytest
from cases import MODELS

from toolwire import decode, translate
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Message, Text
from toolwire.lint import check, repair
from toolwire.profiles.table import PROFILES

TAKES_IT_ANYWHERE = {
    "openai-chat": "the reference of the API has no rule about it",
    "openai-responses": "an item of its own, with the role system or developer",
    "azure-foundry": "as openai-responses",
    "cohere": "roles may come in any order: SillyTavern#2916",
    "ollama": "servers render each message by its role",
}
"""Why these wires keep the role."""
MARKED = "<system>\nBe brief.\n</system>"
TARGETS = sorted({*MODELS, *(name for name, row in PROFILES.items() if row.system_comes_first)})


def history(wire: str) -> Object:
    """A conversation with a system message after a result."""
    if wire == "anthropic":
        use: JSON = {"type": "tool_use", "id": "c1aaaaaaa", "name": "f", "input": {}}
        result: JSON = {"type": "tool_result", "tool_use_id": "c1aaaaaaa", "content": "1"}
        anthropic: list[JSON] = [
            {"role": "user", "content": "Run f."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "And?"},
        ]
        return {"model": "m", "max_tokens": 9, "messages": anthropic}
    call: JSON = {
        "id": "c1aaaaaaa",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    messages: list[JSON] = [
        {"role": "system", "content": "First."},
        {"role": "user", "content": "Run f."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1aaaaaaa", "content": "1"},
        {"role": "assistant", "content": "Done."},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "And?"},
    ]
    return {"model": "m", "messages": messages}


def places(messages: tuple[Message, ...], text: str) -> list[tuple[str, str]]:
    """The role of each message with a text, and that text."""
    return [
        (message.role, part.text)
        for message in messages
        for part in message.parts
        if isinstance(part, Text) and text in part.text
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["anthropic", "openai-chat"])
def test_a_late_system_message_keeps_its_role_or_is_marked(source: str, target: str) -> None:
    wire = PROFILES[target].wire
    if wire == source and not PROFILES[target].system_comes_first:
        return
    encoded = translate(history(source), source, target)
    (found,) = places(decode(encoded.body, wire).messages, "Be brief.")
    if target in TAKES_IT_ANYWHERE:
        assert found == ("system", "Be brief.")
        assert not [loss for loss in encoded.losses if "system message" in loss.reason]
    else:
        assert found == ("user", MARKED)
        reports = [*(loss.reason for loss in encoded.losses), *(c.message for c in encoded.changes)]
        assert [text for text in reports if "system message" in text]
    assert check(encoded.body, wire, target=target) == []


@pytest.mark.parametrize(
    "target", [name for name in TARGETS if PROFILES[name].wire in ("openai-chat", "mistral")]
)
def test_a_late_system_message_is_repaired_on_its_own_wire_only_where_it_is_refused(
    target: str,
) -> None:
    wire, body = PROFILES[target].wire, history("openai-chat")
    repaired = repair(body, wire, target=target)
    refused = PROFILES[target].system_comes_first
    assert [change.name for change in repaired.changes] == (
        ["late-system-message"] if refused else []
    )
    found = places(decode(repaired.body, wire).messages, "Be brief.")
    assert found == ([("user", MARKED)] if refused else [("system", "Be brief.")])
    assert places(decode(repaired.body, wire).messages, "First.") == [("system", "First.")]


def test_the_first_system_message_stays_on_every_target() -> None:
    for target in TARGETS:
        encoded = translate(history("openai-chat"), "openai-chat", target)
        found = places(decode(encoded.body, PROFILES[target].wire).messages, "First.")
        assert found == [("system", "First.")], target
