"""What is peculiar to Anthropic Messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolwire import Call, Opaque, Reasoning, Result, Usage, catalogue, decode, encode, translate
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

NAME = "anthropic"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == NAME and entry["core_wire"] and entry["form"] != "response-stream"
]


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around a minimal example of a block; None for a streamed one."""
    if form == "response-stream":
        return None
    if form == "request":
        role = "user" if discriminator["type"] == "tool_result" else "assistant"
        return {"max_tokens": 1, "messages": [{"role": role, "content": [example]}]}, "request"
    return {"role": "assistant", "type": "message", "content": [example]}, "response"


@pytest.mark.parametrize(
    "entry",
    ENTRIES,
    ids=lambda entry: (
        f"{entry['form']}-{entry['type_name']}-{entry['discriminator'].get('toolset_name', '')}"
    ),
)
def test_every_block_of_the_catalogue_is_read_as_what_it_is(entry: dict[str, str]) -> None:
    wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])  # type: ignore[arg-type]
    assert wrapped is not None
    body, kind = wrapped
    conversation = decode(body, NAME, kind)
    (part,) = (part for part in conversation.parts() if isinstance(part, Call | Result))
    assert isinstance(part, Call if entry["direction"] == "call" else Result)
    assert (part.family, part.executor) == (
        entry["family"],
        {"server": "provider"}.get(entry["executor"], entry["executor"]),
    )
    assert encode(conversation, NAME, kind).body == body
    rows = {(row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME}
    assert (entry["direction"], entry["family"], entry["origin_class"]) in rows


def chat(*messages: JSON, **more: JSON) -> JSON:
    return {"messages": list(messages), **more}


def translate_to_anthropic(
    body: JSON, source: str = "openai-chat", kind: Kind = "request"
) -> dict[str, JSON]:
    written_body = translate(body, source, NAME, kind).body
    assert isinstance(written_body, dict)
    return written_body


def function_call(call_id: str, arguments: str = "{}") -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def test_all_results_of_a_turn_are_in_one_user_message_before_any_text() -> None:
    body = translate_to_anthropic(
        chat(
            {"role": "assistant", "tool_calls": [function_call("a"), function_call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "B"},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
            {"role": "user", "content": "go"},
        )
    )
    conversation = decode(body, NAME)
    assert [
        [type(part).__name__ for part in message.parts] for message in conversation.messages
    ] == [["Call", "Call"], ["Result", "Result"], ["Text"]]
    assert conversation.messages[1].role == "user"


@pytest.mark.parametrize("arguments", ['{"a', "[1]", '"x"', "7"])
def test_arguments_that_are_no_object_are_sent_under_raw_and_reported_and_are_restored(
    arguments: str,
) -> None:
    source = chat({"role": "assistant", "tool_calls": [function_call("a", arguments)]})
    translated = translate(source, "openai-chat", NAME)
    assert decode(translated.body, NAME).calls()[0].input == {"_raw": arguments}
    assert ("messages", 0, "tool_calls", 0) in [loss.path for loss in translated.losses]
    restored = translate(translated.body, NAME, "openai-chat", ids=translated.ids)
    assert decode(restored.body, "openai-chat").calls()[0].arguments == arguments


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    translated = translate(
        chat({"role": "assistant", "tool_calls": [function_call("a", arguments)]}),
        "openai-chat",
        NAME,
    )
    assert decode(translated.body, NAME).calls()[0].input == {}
    assert translated.losses == []


def test_the_system_prompt_is_a_field_of_the_request() -> None:
    body = translate_to_anthropic(
        chat(
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "hi"},
        )
    )
    assert body["system"] == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind."},
    ]
    assert body["messages"] == [{"role": "user", "content": "hi"}]


def test_a_request_has_max_tokens() -> None:
    assert translate_to_anthropic(chat({"role": "user", "content": "hi"}))["max_tokens"]
    assert (
        translate_to_anthropic(chat({"role": "user", "content": "hi"}, max_completion_tokens=7))[
            "max_tokens"
        ]
        == 7
    )


def test_thinking_keeps_its_signature_and_reasoning_of_others_is_left_out() -> None:
    body: JSON = {
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "d"},
                ],
            }
        ]
    }
    parts = list(decode(body, NAME).parts())
    assert [(p.text, p.signature, p.hidden) for p in parts if isinstance(p, Reasoning)] == [
        ("hm", "s", None),
        ("", None, "d"),
    ]
    foreign: JSON = {
        "contents": [{"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "yes"}]}]
    }
    translated = translate(foreign, "gemini", NAME)
    assert translated.body["messages"] == [{"role": "assistant", "content": "yes"}]  # type: ignore[index,call-overload]
    assert [loss.path for loss in translated.losses] == [("contents", 0, "parts", 0)]


def test_an_id_is_fitted_to_the_charset_and_unique_in_the_whole_request() -> None:
    source = chat(
        {"role": "assistant", "tool_calls": [function_call("functions.f:0")]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": "1"},
        {"role": "assistant", "tool_calls": [function_call("functions.f:0")]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": "2"},
    )
    translated = translate(source, "openai-chat", NAME)
    read = decode(translated.body, NAME)
    ids = [call.id for call in read.calls()]
    assert len(set(ids)) == 2
    assert all(call_id.replace("_", "").replace("-", "").isalnum() for call_id in ids)
    assert [(p.how, p.result.text) for p in read.pairs() if p.result] == [("id", "1"), ("id", "2")]
    restored = translate(translated.body, NAME, "openai-chat", ids=translated.ids)
    assert [call.id for call in decode(restored.body, "openai-chat").calls()] == [
        "functions.f:0"
    ] * 2


def test_a_server_tool_and_its_result_are_paired_in_one_message() -> None:
    body: JSON = {
        "content": [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s",
                "content": {"type": "web_search_tool_result_error", "error_code": "x"},
            },
        ],
        "role": "assistant",
    }
    (pair,) = decode(body, NAME, "response").pairs()
    assert pair.how == "id"
    assert pair.result is not None
    assert pair.result.error


def test_usage_includes_tokens_read_from_the_cache() -> None:
    usage: JSON = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 100,
    }
    body: JSON = {"content": [], "role": "assistant", "usage": usage}
    assert decode(body, NAME, "response").settings["usage"] == Usage(111, 2, 10, 100)
    written_body = translate(body, NAME, "openai-chat", "response").body
    again = translate_to_anthropic(written_body, "openai-chat", "response")["usage"]
    assert isinstance(again, dict) and isinstance(usage, dict)
    assert {name: again[name] for name in usage} == usage


def test_a_block_that_does_not_match_its_type_is_opaque() -> None:
    body: JSON = {
        "messages": [{"role": "user", "content": [{"type": "image", "source": 7}, {"type": 7}, {}]}]
    }
    assert [type(part) for part in decode(body, NAME).parts()] == [Opaque] * 3


def test_the_parallel_flag_is_inverted_inside_the_tool_choice() -> None:
    tools: list[JSON] = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    ]
    body = translate_to_anthropic(
        chat({"role": "user", "content": "hi"}, parallel_tool_calls=False, tools=tools)
    )
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert decode(body, NAME).settings["parallel"] is False


@pytest.mark.parametrize(
    ("model", "longest"),
    [
        ("claude-sonnet-4-5", 32000),
        ("claude-opus-5", 32000),
        ("claude-3-haiku-20240307", 4096),
        ("claude-3-5-sonnet-20241022", 8192),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 32000),
        ("kimi-k2", 4096),
    ],
)
def test_without_a_limit_max_tokens_is_that_of_the_model(model: str, longest: int) -> None:
    body = translate_to_anthropic({"model": model, "messages": [{"role": "user", "content": "hi"}]})
    assert body["max_tokens"] == longest


def test_max_tokens_exceeds_the_thinking_budget() -> None:
    request: JSON = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 9000}},
    }
    body = translate(request, "gemini", NAME).body
    assert isinstance(body, dict)
    assert (body["thinking"], body["max_tokens"]) == (
        {"type": "enabled", "budget_tokens": 9000},
        13096,
    )


def test_unknown_fields_inside_sources_and_settings_are_reported() -> None:
    source: JSON = {"type": "url", "url": "https://example.com/cat.png", "mood": "calm"}
    body: JSON = {
        "model": "claude-opus-4-7",
        "max_tokens": 9000,
        "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}],
        "thinking": {"type": "enabled", "budget_tokens": 2000, "display": "omitted"},
        "output_config": {
            "format": {"type": "json_schema", "schema": {"type": "object"}, "mode": "exact"}
        },
    }
    pointers = [loss.pointer for loss in translate(body, NAME, "openai-chat").losses]
    assert "/messages/0/content/0/source/mood" in pointers
    assert "/thinking/display" in pointers
    assert "/output_config/format/mode" in pointers
    assert not any(pointer.startswith("/output_config/format/schema") for pointer in pointers)
