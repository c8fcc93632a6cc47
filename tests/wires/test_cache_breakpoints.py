"""Cache breakpoints travel between wires that have them, and are no loss where there are none."""

from __future__ import annotations

import pytest
from cases import MODELS
from msgspec.structs import replace

from toolwire import Message, UsageError, decode, encode, translate
from toolwire.conversation.json import JSON, Object, get

LONG = {"anthropic": "1h", "bedrock": "1h", "openai-chat": "12h", "openai-responses": "12h"}
"""Wires that mark prefixes, and the lifetime of those that are kept for long."""
OTHERS = [name for name in MODELS if name not in LONG and name != "azure-foundry"]


def mark(wire: str, *, lasts: bool = False) -> Object:
    """The mark of a wire, as a field of a block or as a block of its own."""
    ttl: Object = {"ttl": LONG[wire]} if lasts else {}
    if wire == "anthropic":
        return {"cache_control": {"type": "ephemeral", **ttl}}
    if wire == "bedrock":
        return {"cachePoint": {"type": "default", **ttl}}
    return {"prompt_cache_breakpoint": {"mode": "explicit", **ttl}}


def request(wire: str, *, marked: bool = True) -> Object:
    """A request with a marked system prompt, question and result."""
    short, long = (mark(wire), mark(wire, lasts=True)) if marked else ({}, {})
    if wire == "anthropic":
        return {
            "model": "claude-opus-5",
            "max_tokens": 10,
            "system": [{"type": "text", "text": "Be brief.", **long}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Oslo?", **short}]},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "w", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "wet", **short}
                    ],
                },
            ],
            "tools": [{"name": "w", "input_schema": {"type": "object"}}],
        }
    if wire == "bedrock":
        result: Object = {"toolUseId": "c1", "content": [{"text": "wet"}]}

        def marks(block: JSON, mark: JSON) -> list[JSON]:
            return [block, mark] if marked else [block]

        return {
            "modelId": "anthropic.claude-opus-5",
            "system": marks({"text": "Be brief."}, long),
            "messages": [
                {"role": "user", "content": marks({"text": "Oslo?"}, short)},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "c1", "name": "w", "input": {}}}],
                },
                {"role": "user", "content": marks({"toolResult": result}, short)},
            ],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "w", "inputSchema": {"json": {"type": "object"}}}}]
            },
        }
    text = "text" if wire == "openai-chat" else "input_text"
    system: Object = {"role": "system", "content": [{"type": text, "text": "Be brief.", **long}]}
    question: Object = {"role": "user", "content": [{"type": text, "text": "Oslo?", **short}]}
    output: list[JSON] = [{"type": text, "text": "wet", **short}]
    if wire == "openai-chat":
        function: Object = {"name": "w", "arguments": "{}"}
        return {
            "model": "gpt-5.6",
            "messages": [
                system,
                question,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": output},
            ],
            "tools": [{"type": "function", "function": {"name": "w", "parameters": {}}}],
        }
    return {
        "model": "gpt-5.6",
        "input": [
            system,
            question,
            {"type": "function_call", "call_id": "c1", "name": "w", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": output},
        ],
        "tools": [{"type": "function", "name": "w", "parameters": {}}],
    }


def marks_of(value: JSON) -> list[JSON]:
    """The marks in a body, in order."""
    if isinstance(value, list):
        return [mark for item in value for mark in marks_of(item)]
    if not isinstance(value, dict):
        return []
    fields = ("cache_control", "cachePoint", "prompt_cache_breakpoint")
    own: list[JSON] = [value[field] for field in fields if field in value]
    return [mark for item in value.values() for mark in marks_of(item)] + own


def texts_with_mark(value: JSON) -> list[JSON]:
    """The marked texts in a body, in order."""
    if isinstance(value, list):
        found: list[JSON] = []
        for n, item in enumerate(value):
            if isinstance(item, dict) and "cachePoint" in item:
                found.append(innermost_text(value[n - 1]))
            else:
                found += texts_with_mark(item)
        return found
    if not isinstance(value, dict):
        return []
    if "cache_control" in value or "prompt_cache_breakpoint" in value:
        return [innermost_text(value)]
    return [text for item in value.values() for text in texts_with_mark(item)]


def innermost_text(block: JSON) -> JSON:
    assert isinstance(block, dict)
    if "toolResult" in block:
        return get(block, ("toolResult", "content", 0, "text"))  # type: ignore[return-value]
    text = block.get("text", block.get("content", block.get("name")))
    return innermost_text(text[0]) if isinstance(text, list) else text


def with_model(body: Object, wire: str) -> Object:
    """A request for a model that takes marks on every wire."""
    return {**body, "modelId" if wire == "bedrock" else "model": "claude-opus-5"}


@pytest.mark.parametrize("target", LONG)
@pytest.mark.parametrize("source", LONG)
def test_breakpoints_travel_between_wires_that_have_them(source: str, target: str) -> None:
    encoded = translate(with_model(request(source), source), source, target)
    assert not [loss for loss in encoded.losses if "cache" in loss.pointer]
    assert sorted(map(str, texts_with_mark(encoded.body))) == ["Be brief.", "Oslo?", "wet"]
    lasting = [mark for mark in marks_of(encoded.body) if isinstance(mark, dict) and "ttl" in mark]
    assert [mark["ttl"] for mark in lasting] == [LONG[target]]


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("source", LONG)
def test_a_breakpoint_that_a_target_has_no_place_for_is_no_loss(source: str, target: str) -> None:
    marked, plain = (
        translate(request(source, marked=marked), source, target) for marked in (True, False)
    )
    assert [loss.reason for loss in marked.losses] == [loss.reason for loss in plain.losses]
    assert marked.body == plain.body


@pytest.mark.parametrize("source, target", [("anthropic", "bedrock"), ("bedrock", "anthropic")])
def test_marked_tools_stay_marked(source: str, target: str) -> None:
    body = request(source, marked=False)
    tools = body["tools"] if source == "anthropic" else get(body, ("toolConfig", "tools"))
    assert isinstance(tools, list)
    if source == "anthropic":
        assert isinstance(tools[0], dict)
        tools[0].update(mark(source))
    else:
        tools.append(mark(source))
    encoded = translate(body, source, target)
    assert encoded.losses == []
    assert texts_with_mark(encoded.body if target == "anthropic" else None) == (
        ["w"] if target == "anthropic" else []
    )
    written = get(encoded.body, ("tools",) if target == "anthropic" else ("toolConfig", "tools"))
    assert marks_of(written) == list(mark(target).values())  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["cache_control", "prompt_cache_breakpoint"])
def test_chat_clients_may_mark_blocks_and_messages_as_other_apis_do(field: str) -> None:
    body: JSON = {
        "model": "claude-opus-5",
        "messages": [
            {"role": "system", "content": "Be brief.", field: {"type": "ephemeral"}},
            {"role": "user", "content": [{"type": "text", "text": "Hi", field: {}}]},
        ],
    }
    encoded = translate(body, "openai-chat", "anthropic")
    assert texts_with_mark(encoded.body) == ["Be brief.", "Hi"]
    assert [loss.pointer for loss in encoded.losses if field in loss.pointer] == []


@pytest.mark.parametrize("target", [name for name in MODELS if name != "bedrock"])
def test_a_field_beside_a_mark_is_a_loss(target: str) -> None:
    """The mark is a hint that may be left out; of another field that is unknown."""
    body = request("bedrock")
    body["system"] = [{"text": "Be brief."}, {**mark("bedrock"), "region": ""}]
    losses = [loss.pointer for loss in translate(body, "bedrock", target).losses]
    assert [pointer for pointer in losses if pointer.startswith("/system/1")] == [
        "/system/1/region"
    ]


def test_the_mark_of_a_whole_request_becomes_a_mark_at_its_end() -> None:
    body = {**request("anthropic", marked=False), **mark("anthropic")}
    encoded = translate(body, "anthropic", "bedrock")
    assert (texts_with_mark(encoded.body), encoded.losses) == (["wet"], [])
    assert marks_of(encoded.body) == [{"type": "default"}]
    lasting = {**body, **mark("anthropic", lasts=True)}
    assert marks_of(translate(lasting, "anthropic", "bedrock").body) == [
        {"type": "default", "ttl": "1h"}
    ]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", *OTHERS])
def test_the_mark_of_a_whole_request_is_left_out_where_caching_is_automatic(target: str) -> None:
    plain = {**request("anthropic", marked=False), "model": "gpt-5.6"}
    marked = translate({**plain, **mark("anthropic")}, "anthropic", target)
    assert marked.body == translate(plain, "anthropic", target).body
    assert [loss.pointer for loss in marked.losses if "cache" in loss.pointer] == []


def test_the_mark_of_a_whole_request_stays_what_it_is_on_its_own_wire() -> None:
    body = {**request("anthropic", marked=False), **mark("anthropic")}
    read = decode(body, "anthropic")
    edited = replace(read, messages=(*read.messages, Message("user", "Go on.")))
    assert marks_of(encode(edited, "anthropic").body) == list(mark("anthropic").values())


def test_a_mark_on_a_call_moves_to_what_precedes_it_where_calls_cannot_be_marked() -> None:
    body = request("anthropic", marked=False)
    call = get(body, ("messages", 1, "content", 0))
    assert isinstance(call, dict)
    call.update(mark("anthropic"))
    assert texts_with_mark(translate(body, "anthropic", "openai-chat").body) == ["Oslo?"]
    assert marks_of(translate(body, "anthropic", "bedrock").body) == [{"type": "default"}]


def test_of_too_many_marks_the_last_ones_stay() -> None:
    content: list[JSON] = [
        {"type": "text", "text": f"t{n}", **mark("openai-chat", lasts=n == 5)} for n in range(6)
    ]
    body: JSON = {"model": "claude", "messages": [{"role": "user", "content": content}]}
    encoded = translate(body, "openai-chat", "anthropic")
    assert texts_with_mark(encoded.body) == ["t2", "t3", "t4", "t5"]
    # A longer lifetime after a shorter one is refused.
    assert marks_of(encoded.body) == [{"type": "ephemeral"}] * 4


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-4o", "deepseek-chat", "grok-5"])
def test_models_that_know_no_marks_get_none(model: str) -> None:
    body = {**request("anthropic"), "model": model}
    assert marks_of(translate(body, "anthropic", "openai-chat").body) == []


@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_automatic_marks_are_set_for_a_client_that_sets_none(target: str) -> None:
    body = with_model(request("openai-chat", marked=False), "openai-chat")
    assert marks_of(translate(body, "openai-chat", target).body) == []
    marked = translate(body, "openai-chat", target, cache_breakpoints="auto").body
    assert sorted(map(str, texts_with_mark(marked))) == ["Be brief.", "Oslo?", "wet"]


def test_automatic_marks_leave_those_of_the_client_alone() -> None:
    body = with_model(request("openai-chat"), "openai-chat")
    kept, automatic = (
        translate(body, "openai-chat", "anthropic", cache_breakpoints=policy).body
        for policy in ("keep", "auto")
    )
    assert kept == automatic


def test_automatic_marks_without_a_system_prompt_close_the_tools() -> None:
    body = with_model(request("openai-chat", marked=False), "openai-chat")
    messages = body["messages"]
    assert isinstance(messages, list)
    body["messages"] = messages[1:]
    marked = translate(body, "openai-chat", "anthropic", cache_breakpoints="auto").body
    assert sorted(map(str, texts_with_mark(marked))) == ["Oslo?", "w", "wet"]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "ollama"])
def test_no_automatic_marks_where_the_provider_caches_without_them(target: str) -> None:
    body = request("anthropic", marked=False)
    plain = translate(body, "anthropic", target).body
    assert translate(body, "anthropic", target, cache_breakpoints="auto").body == plain


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="cache_breakpoints is one of keep, auto, not 'all'"):
        translate(
            request("anthropic"),
            "anthropic",
            "bedrock",
            cache_breakpoints="all",  # type: ignore[arg-type]
        )
