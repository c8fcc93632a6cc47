"""Shapes of real traffic that are easily overlooked: each was lost, refused or misread once."""

from __future__ import annotations

import pytest
from cases import MODELS
from msgspec.structs import replace

from toolwire import (
    Call,
    Reasoning,
    Result,
    Text,
    check,
    decode,
    encode,
    fold,
    repair,
    restream,
    translate,
)
from toolwire.conversation.json import JSON, Object, get

CALL: Object = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def chat(*messages: JSON, **more: JSON) -> Object:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}, *messages], **more}


@pytest.mark.parametrize(
    "mime, name",
    [
        ("audio/mpeg", "mp3"),
        ("audio/mp3", "mp3"),
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/vnd.wave", "wav"),
    ],
)
def test_audio_has_the_format_names_of_its_api(mime: str, name: str) -> None:
    part: JSON = {"inlineData": {"mimeType": mime, "data": "AAAA"}}
    body: JSON = {"contents": [{"role": "user", "parts": [part]}]}
    written = translate(body, "gemini", "openai-chat").body
    assert get(written, ("messages", 0, "content", 0, "input_audio", "format")) == name


def test_audio_that_an_api_refuses_is_named_in_text() -> None:
    part: JSON = {"inlineData": {"mimeType": "audio/ogg", "data": "AAAA"}}
    body: JSON = {"contents": [{"role": "user", "parts": [part]}]}
    encoded = translate(body, "gemini", "openai-chat")
    assert get(encoded.body, ("messages", 0, "content")) == "[audio audio/ogg]"
    assert [loss.pointer for loss in encoded.losses] == ["/contents/0/parts/0"]


def test_a_search_on_x_is_a_call_of_the_provider() -> None:
    item: JSON = {"type": "x_search_call", "id": "xs_1", "action": {"query": "q"}}
    parts = decode({"output": [item]}, "openai-responses", "response").messages[0].parts
    assert [(p.name, p.executor) for p in parts if isinstance(p, Call)] == [
        ("x_search", "provider")
    ]


@pytest.mark.parametrize(
    "value, choice",
    [
        ({"name": "f"}, {"type": "tool", "name": "f"}),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
    ],
)
def test_a_legacy_choice_of_a_function_is_a_tool_choice(value: JSON, choice: JSON) -> None:
    functions: JSON = [{"name": "f", "parameters": {"type": "object"}}]
    encoded = translate(chat(functions=functions, function_call=value), "openai-chat", "anthropic")
    assert (get(encoded.body, ("tool_choice",)), encoded.losses) == (choice, [])


def test_an_answer_with_calls_and_no_finish_reason_stopped_for_tools() -> None:
    message: Object = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    choice: JSON = {"index": 0, "finish_reason": None, "message": message}
    encoded = translate({"choices": [choice]}, "openai-chat", "anthropic", "response")
    assert get(encoded.body, ("stop_reason",)) == "tool_use"


@pytest.mark.parametrize(
    "texts, joined",
    [
        (["The weather", "in Oslo"], "The weather in Oslo"),
        (["It is ", "wet."], "It is wet."),
        (["It is", " wet."], "It is wet."),
        (["First.", "Second."], "First.\nSecond."),
        (["# Title", "Text"], "# Title\nText"),
    ],
)
def test_a_sentence_in_two_texts_has_no_line_break(texts: list[str], joined: str) -> None:
    content: JSON = [{"type": "text", "text": text} for text in texts]
    body: JSON = {"max_tokens": 5, "messages": [{"role": "user", "content": content}]}
    written = translate(body, "anthropic", "ollama").body
    assert get(written, ("messages", 0, "content")) == joined


PIECES: list[JSON] = [{"type": "text", "text": text} for text in ("In Os", "lo, it is", " warm.")]
SENTENCE = "In Oslo, it is warm."
ANSWER: Object = {"type": "message", "id": "msg_1", "role": "assistant", "model": "m", "usage": {}}


def test_the_texts_of_an_answer_are_pieces_of_one_text() -> None:
    answer: JSON = {**ANSWER, "content": PIECES, "stop_reason": "end_turn"}
    written = translate(answer, "anthropic", "ollama", "response").body
    assert get(written, ("message", "content")) == SENTENCE


def test_the_texts_of_a_streamed_answer_are_pieces_of_one_text() -> None:
    events: list[JSON] = [{"type": "message_start", "message": {**ANSWER, "content": []}}]
    for index, piece in enumerate(PIECES):
        events += [
            {"type": "content_block_start", "index": index, "content_block": piece},
            {"type": "content_block_stop", "index": index},
        ]
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}]
    lines = list(restream([*events, {"type": "message_stop"}], "anthropic", "ollama"))
    assert get(fold(b"".join(lines), "ollama"), ("message", "content")) == SENTENCE


def test_the_texts_of_an_assistant_in_a_history_are_pieces_of_one_text() -> None:
    body: JSON = {"max_tokens": 5, "messages": [{"role": "assistant", "content": PIECES}]}
    written = translate(body, "anthropic", "ollama").body
    assert get(written, ("messages", 0, "content")) == SENTENCE


def test_a_text_that_names_another_part_of_an_answer_is_a_line_of_its_own() -> None:
    image: JSON = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content: JSON = [{"type": "text", "text": "Look:"}, image, {"type": "text", "text": "Nice."}]
    body: JSON = {"messages": [{"role": "assistant", "content": content}]}
    written = get(translate(body, "openai-chat", "ollama").body, ("messages", 0, "content"))
    assert isinstance(written, str)
    first, _, last = written.split("\n")
    assert (first, last) == ("Look:", "Nice.")


@pytest.mark.parametrize("target", [wire for wire in MODELS if wire != "openai-responses"])
def test_a_tool_that_a_history_defines_again_is_defined_once(target: str) -> None:
    def definition(name: str) -> JSON:
        return {"type": "function", "name": name, "parameters": {"type": "object"}}

    more: JSON = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [definition("a"), definition("b")],
    }
    body: JSON = {
        "model": "m",
        "tools": [definition("a")],
        "input": [{"role": "user", "content": "hi"}, more, more],
    }
    written = translate(body, "openai-responses", target)
    assert [tool.name for tool in decode(written.body, target).tools] == ["a", "b"]
    assert not written.losses


@pytest.mark.parametrize("target", [wire for wire in MODELS if wire != "gemini"])
def test_a_history_that_begins_with_a_call_goes_to_gemini_and_back(target: str) -> None:
    """Gemini refuses a call without a message before it: such a message is added."""
    call: JSON = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    result: JSON = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "x"}}}
    body: JSON = {
        "contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    }
    assert [finding.name for finding in check(body, "gemini")] == ["history-starts-with-call"]
    there = translate(body, "gemini", target)
    assert not [finding for finding in check(there.body, target) if finding.severity == "error"]
    back = translate(there.body, target, "gemini")
    assert not check(back.body, "gemini")
    (pair,) = decode(back.body, "gemini").pairs()
    assert pair.call is not None and pair.result is not None


def test_a_message_with_two_fields_of_reasoning_keeps_both_when_it_is_edited() -> None:
    message: JSON = {
        "role": "assistant",
        "content": "old",
        "reasoning": "A",
        "reasoning_content": "B",
    }
    conversation = decode(chat(message), "openai-chat")
    text = next(part for part in conversation.parts() if part == Text("old"))
    edited = encode(conversation.replace(text, replace(text, text="new")), "openai-chat").body
    assert get(edited, ("messages", 1)) == {**message, "content": "new"}  # type: ignore[dict-item]
    reasoning = next(part for part in conversation.parts() if isinstance(part, Reasoning))
    edited = encode(
        conversation.replace(reasoning, replace(reasoning, text="C")), "openai-chat"
    ).body
    assert get(edited, ("messages", 1, "reasoning")) == "A"


def test_content_that_is_an_object_is_read() -> None:
    call: JSON = {"name": "f", "arguments": {"a": 1}}
    body = chat(
        {"role": "assistant", "content": "", "function_call": call},
        {"role": "function", "name": "f", "content": {"x": 1}},
        {"role": "user", "content": {"text": "so?"}},
    )
    results = [part for part in decode(body, "openai-chat").parts() if isinstance(part, Result)]
    assert [result.output for result in results] == [{"x": 1}]
    assert encode(decode(body, "openai-chat"), "openai-chat").body == body
    check(body, "openai-chat")


@pytest.mark.parametrize(
    "result",
    [
        {
            "role": "tool",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "wet"}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "wet"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "wet"}]},
    ],
)
def test_the_role_tool_is_read_found_and_repaired_where_results_are_blocks(result: JSON) -> None:
    call: JSON = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    body = chat({"role": "assistant", "content": [call]}, result, max_tokens=5)
    assert [finding.name for finding in check(body, "anthropic")] == ["wrong-vocabulary"]
    repaired = repair(body, "anthropic").body
    assert get(repaired, ("messages", 2, "role")) == "user"
    assert [part.text for part in decode(repaired, "anthropic").results()] == ["wet"]
    assert check(repaired, "anthropic") == []


def test_blocks_of_calls_and_results_in_chat_messages_are_read_found_and_repaired() -> None:
    body = chat(
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "wet"},
                {"type": "text", "text": "so?"},
            ],
        },
    )
    assert [finding.name for finding in check(body, "openai-chat")] == ["wrong-vocabulary"] * 2
    repaired = repair(body, "openai-chat").body
    assert check(repaired, "openai-chat") == []
    roles = [message["role"] for message in get(repaired, ("messages",))]  # type: ignore
    assert roles == ["user", "assistant", "tool", "user"]
    encoded = translate(body, "openai-chat", "anthropic")
    assert encoded.losses == []
    [pair] = decode(encoded.body, "anthropic").pairs()
    assert pair.call is not None and pair.call.input == {"a": 1}
    assert pair.result is not None and pair.result.text == "wet"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini", "bedrock"])
def test_tools_of_two_toolsets_stay_apart_and_come_back(target: str) -> None:
    toolsets = ("browser", "computer")
    calls: list[JSON] = []
    results: list[JSON] = []
    for n, toolset in enumerate(toolsets):
        calls.append(
            {
                "type": "tool_use",
                "id": f"c{n}",
                "name": "screenshot",
                "toolset_name": toolset,
                "input": {},
            }
        )
        results.append(
            {
                "type": "tool_result",
                "tool_use_id": f"c{n}",
                "toolset_name": toolset,
                "content": toolset,
            }
        )
    body = chat(
        {"role": "assistant", "content": calls}, {"role": "user", "content": results}, max_tokens=5
    )
    assert encode(decode(body, "anthropic"), "anthropic").body == body
    there = translate(body, "anthropic", target)
    assert not [loss for loss in there.losses if "toolset" in loss.pointer]
    names = {call.name for call in decode(there.body, target).calls()}
    assert len(names) == 2
    home = translate(there.body, target, "anthropic", ids=there.ids).body
    assert get(home, ("messages", 1, "content")) == calls
    found = get(home, ("messages", 2, "content"))
    assert isinstance(found, list)
    assert [block["toolset_name"] for block in found if isinstance(block, dict)] == [*toolsets]
