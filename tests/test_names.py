"""Names of tools go through a reversible map in every direction: fitted where a wire is stricter,
and always mapped back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cases import child_environment
from msgspec.structs import replace
from rows import rows

from toolwire import Choice, Conversation, Encoded, decode, encode, translate
from toolwire.conversation.json import JSON
from toolwire.profiles.table import profile

TARGETS = ("openai-chat", "anthropic", "gemini", "bedrock")
LONG = "warehouse.inventory/list_all_items_by_location_and_supplier_and_season"
NAMES = (
    "server___tool",
    "Calculator.Add@1.0.0",
    "a.b/c",
    LONG,
    "a.b",
    "a_b",
    "a:b",
    "2fast",
    "größe",
    "plain-name",
)
"""Valid everywhere, of a tool protocol, with dots and slashes, too long, three similar ones, and
some invalid ones."""
CHOSEN = "Calculator.Add@1.0.0"


def rpc_log() -> JSON:
    """A log in which every tool is defined and called and has a result."""
    tools: list[JSON] = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
    calls: list[JSON] = [
        {
            "jsonrpc": "2.0",
            "id": n,
            "method": "tools/call",
            "params": {"name": name, "arguments": {"n": n}},
        }
        for n, name in enumerate(NAMES)
    ]
    results: list[JSON] = [
        {"jsonrpc": "2.0", "id": n, "result": {"content": [{"type": "text", "text": name}]}}
        for n, name in enumerate(NAMES)
    ]
    return [
        {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
        {"jsonrpc": "2.0", "id": "list", "result": {"tools": tools}},
        *calls,
        *results,
    ]


def conversation() -> Conversation:
    read = decode(rpc_log(), "mcp")
    return replace(read, settings={"choice": Choice("required", (CHOSEN,))})


def encode_for(target: str) -> tuple[Encoded, Conversation]:
    """The conversation as a body of a wire, and what a reader of that body sees."""
    encoded = encode(conversation(), target)
    return encoded, decode(encoded.json(), target)


def call_names(conversation: Conversation) -> list[str]:
    return [call.name for call in conversation.calls()]


def tool_choice_names(conversation: Conversation) -> tuple[str, ...]:
    chosen = conversation.settings["choice"]
    assert isinstance(chosen, Choice)
    return chosen.names


@pytest.mark.parametrize("target", TARGETS)
def test_every_name_that_is_sent_is_one_the_wire_allows(target: str) -> None:
    _, decoded = encode_for(target)
    names = [
        *call_names(decoded),
        *(tool.name for tool in decoded.tools),
        *tool_choice_names(decoded),
    ]
    assert [name for name in names if not profile(target).name_rule.fits(name)] == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_tool_its_calls_and_the_tool_choice_have_the_same_name(target: str) -> None:
    _, decoded = encode_for(target)
    assert [tool.name for tool in decoded.tools] == call_names(decoded)
    assert tool_choice_names(decoded) == (call_names(decoded)[NAMES.index(CHOSEN)],)


@pytest.mark.parametrize("target", TARGETS)
def test_a_valid_name_is_left_byte_identical(target: str) -> None:
    _, decoded = encode_for(target)
    fits = profile(target).name_rule.fits
    assert "server___tool" in call_names(decoded)
    assert [
        (name, fitted)
        for name, fitted in zip(NAMES, call_names(decoded), strict=True)
        if fits(name) and fitted != name
    ] == []


@pytest.mark.parametrize("target", TARGETS)
def test_similar_names_stay_distinct(target: str) -> None:
    _, decoded = encode_for(target)
    assert len(set(call_names(decoded))) == len(NAMES)
    assert len({tool.name for tool in decoded.tools}) == len(NAMES)


@pytest.mark.parametrize("target", TARGETS)
def test_the_id_map_restores_every_name(target: str) -> None:
    encoded, decoded = encode_for(target)
    reverse_map = encoded.ids.names
    assert [reverse_map.get(name, name) for name in call_names(decoded)] == list(NAMES)
    assert [reverse_map.get(tool.name, tool.name) for tool in decoded.tools] == list(NAMES)
    assert [reverse_map.get(name, name) for name in tool_choice_names(decoded)] == [CHOSEN]


@pytest.mark.parametrize("target", TARGETS)
def test_calls_results_and_tools_return_under_their_own_names(target: str) -> None:
    encoded, _ = encode_for(target)
    through_json = json.loads(json.dumps(encoded.ids.to_dict()))
    restored = translate(encoded.json(), target, "mcp", ids=through_json)
    conversation = decode(restored.json(), "mcp")
    assert call_names(conversation) == list(NAMES)
    assert [tool.name for tool in conversation.tools] == list(NAMES)
    assert {
        call.id: result.output
        for call in conversation.calls()
        for result in conversation.results()
        if result.call_id == call.id
    } == {str(n): name for n, name in enumerate(NAMES)}


@pytest.mark.parametrize("middle", [name for name in TARGETS if name != "openai-chat"])
def test_a_tool_choice_returns_under_its_own_name(middle: str) -> None:
    body: JSON = {
        "messages": [{"role": "user", "content": "Go."}],
        "tools": [
            {"type": "function", "function": {"name": "x" * 64, "parameters": {"type": "object"}}}
        ],
        "tool_choice": {"type": "function", "function": {"name": "x" * 64}},
    }
    translated = translate(body, "openai-chat", middle)
    restored = translate(translated.json(), middle, "openai-chat", ids=translated.ids)
    assert isinstance(restored.body, dict)
    assert isinstance(body, dict)
    assert (restored.body["tool_choice"], restored.body["tools"]) == (
        body["tool_choice"],
        body["tools"],
    )


def test_a_function_response_has_the_name_that_its_call_has_on_gemini() -> None:
    encoded, _ = encode_for("gemini")
    parts: list[JSON] = [
        part for content in items(encoded.body, "contents") for part in items(content, "parts")
    ]
    blocks = {
        key: [part[key] for part in parts if isinstance(part, dict) and key in part]
        for key in ("functionCall", "functionResponse")
    }
    names = {
        key: [block["name"] for block in decoded if isinstance(block, dict)]
        for key, decoded in blocks.items()
    }
    assert names["functionResponse"] == names["functionCall"]
    assert len(names["functionCall"]) == len(NAMES)


def items(value: JSON, key: str) -> list[JSON]:
    assert isinstance(value, dict)
    decoded = value[key]
    assert isinstance(decoded, list)
    return decoded


@pytest.mark.parametrize("target", TARGETS)
def test_a_request_with_a_tool_id_is_restored_after_a_round_trip(target: str) -> None:
    request: JSON = {
        "$schema": "urn:oxp:1.0",
        "request": {"tool_id": CHOSEN, "call_id": "c1", "input": {"a": 10, "b": 5}},
    }
    translated = translate(request, "oxp", target)
    assert profile(target).name_rule.fits(call_names(decode(translated.json(), target))[0])
    assert translate(translated.json(), target, "oxp", ids=translated.ids).body == request


@rows("name", NAMES)
@rows("source", TARGETS)
def test_a_name_without_a_toolkit_gets_one_and_loses_it_on_the_way_back(
    source: str, name: str
) -> None:
    only = replace(conversation(), settings={}, tools=())
    first = only.messages[0]
    call = first.parts[NAMES.index(name)]
    body = encode(replace(only, messages=(replace(first, parts=(call,)),)), source)
    translated = translate(body.json(), source, "oxp", ids=body.ids)
    restored = translate(translated.json(), "oxp", source, ids=translated.ids)
    decoded = call_names(decode(translated.json(), "oxp"))
    assert translated.ids.names.get(decoded[0], decoded[0]) in (
        name,
        *call_names(decode(body.json(), source)),
    )
    assert call_names(decode(restored.json(), source)) == call_names(decode(body.json(), source))


def fingerprint() -> str:
    encoded = {target: encode_for(target)[0] for target in TARGETS}
    return json.dumps(
        {target: [name.json().decode(), name.ids.to_dict()] for target, name in encoded.items()},
        sort_keys=True,
    )


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_names_are_the_same_in_another_process_with_another_hash_seed(seed: str) -> None:
    env = child_environment(seed)
    process = subprocess.run(
        [sys.executable, __file__], env=env, capture_output=True, text=True, check=True, timeout=600
    )
    assert process.stdout.strip() == fingerprint()


if __name__ == "__main__":
    print(fingerprint())
