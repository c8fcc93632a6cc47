"""Whatever text a result holds on one wire, the model on the other side reads."""

from __future__ import annotations

import pytest

from toolwire import Call, Conversation, Message, decode, encode, fold, restream, translate
from toolwire.conversation.json import JSON, dump, get, text_of
from toolwire.conversation.parts import Opaque, Output, Source, readable_text

TARGETS = ["openai-chat", "openai-responses", "gemini", "bedrock", "mistral", "ollama", "cohere"]


def anthropic_history(result: JSON) -> JSON:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    return {
        "model": "any-model",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    }


def tool_result(*content: JSON, **fields: JSON) -> JSON:
    return {"type": "tool_result", "tool_use_id": "t1", "content": list(content), **fields}


SEARCH_RESULT: JSON = {
    "type": "search_result",
    "source": "https://example.org/oslo",
    "title": "Weather in Oslo",
    "content": [{"type": "text", "text": "Seven degrees"}],
}


def result_text(body: JSON, wire: str) -> str:
    [result] = decode(body, wire).results()
    return result.text


@pytest.mark.parametrize("target", TARGETS)
def test_a_search_result_keeps_its_text_title_and_source(target: str) -> None:
    body = translate(anthropic_history(tool_result(SEARCH_RESULT)), "anthropic", target).body
    text = result_text(body, target)
    for words in ("Seven degrees", "Weather in Oslo", "https://example.org/oslo"):
        assert words in text


@pytest.mark.parametrize("target", TARGETS)
def test_a_tool_reference_keeps_the_name_of_its_tool(target: str) -> None:
    reference: JSON = {"type": "tool_reference", "tool_name": "send_mail"}
    body = translate(anthropic_history(tool_result(reference)), "anthropic", target).body
    assert "send_mail" in result_text(body, target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_document_keeps_its_title(target: str) -> None:
    source: JSON = {"type": "text", "media_type": "text/plain", "data": "Seven degrees"}
    document: JSON = {"type": "document", "source": source, "title": "Weather in Oslo"}
    translated = translate(anthropic_history(tool_result(document)), "anthropic", target)
    written = dump(translated.body).decode()
    assert "Seven degrees" in written and "Weather in Oslo" in written


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_block_that_the_target_does_not_have_is_told_in_words(target: str, role: str) -> None:
    new: JSON = {"type": "hologram", "title": "A cat"}
    text: JSON = {"type": "text", "text": "Look."}
    body: JSON = {
        "model": "any-model",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": [text, SEARCH_RESULT] if role == "user" else "Hello."},
            {"role": "assistant", "content": [text, new] if role == "assistant" else "Fine."},
            {"role": "user", "content": "And?"},
        ],
    }
    translated = translate(body, "anthropic", target)
    words = ("A cat",) if role == "assistant" else ("Seven degrees", "https://example.org/oslo")
    for word in words:
        assert word in dump(translated.body).decode()
    assert any("no such block" in loss.reason for loss in translated.losses)


def test_the_reason_of_a_denial_is_told() -> None:
    denial: JSON = {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": False,
        "reason": "too late",
    }
    body: JSON = {"model": "any-model", "input": [{"role": "user", "content": "Hi."}, denial]}
    assert (
        "[not approved: too late]"
        in dump(translate(body, "openai-responses", "openai-chat").body).decode()
    )


def test_markup_of_a_search_is_left_out_of_the_words() -> None:
    response: JSON = {"search_suggestions": "<style>.chip {}</style>", "answer": "Seven degrees"}
    parts: list[JSON] = [
        {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["Oslo"]}}},
        {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": response}},
    ]
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"text": "Look it up."}]},
            {"role": "model", "parts": parts},
            {"role": "user", "parts": [{"text": "And?"}]},
        ]
    }
    written = dump(translate(body, "gemini", "openai-chat").body).decode()
    assert "Seven degrees" in written and "<style>" not in written


@pytest.mark.parametrize("data", ['{"degrees": 7}', "seven degrees"])
@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini"])
def test_a_cohere_document_whose_data_is_text_keeps_it(target: str, data: str) -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    document: JSON = {"type": "document", "document": {"id": "d1", "data": data}}
    body: JSON = {
        "model": "any-model",
        "messages": [
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [document]},
        ],
    }
    assert data in result_text(translate(body, "cohere", target).body, target)
    assert encode(decode(body, "cohere"), "cohere").body == body


def test_identifiers_and_encrypted_content_are_not_readable_text() -> None:
    value: JSON = {
        "type": "page",
        "page_id": "p1",
        "encrypted_content": "Zm9v",
        "title": "Oslo",
        "notes": ["cold", {"text": "wet"}],
    }
    assert readable_text(value) == "title: Oslo\nnotes: cold\nwet"


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "mistral", "ollama"])
def test_a_failed_result_says_so_where_the_target_has_no_flag_and_is_restored(target: str) -> None:
    body = anthropic_history(tool_result({"type": "text", "text": "offline"}, is_error=True))
    there = translate(body, "anthropic", target)
    assert result_text(there.body, target) == "[error] offline"
    [result] = decode(
        translate(there.body, target, "anthropic", ids=there.ids).body, "anthropic"
    ).results()
    assert (result.text, result.error) == ("offline", True)


def test_a_text_that_already_reads_as_an_error_gets_no_prefix() -> None:
    body = anthropic_history(tool_result({"type": "text", "text": "Error: offline"}, is_error=True))
    assert (
        result_text(translate(body, "anthropic", "openai-chat").body, "openai-chat")
        == "Error: offline"
    )


def test_a_failed_result_of_unknown_parts_or_json_says_so_too() -> None:
    call = Call("c1", "look", {})
    outputs: list[Output] = [{"code": 7}, (Opaque("chart", {"title": "Oslo"}, source=Source()),)]
    for output in outputs:
        history = [Message("assistant", [call]), Message("tool", [call.result(output, error=True)])]
        body = encode(Conversation(history), "openai-chat").body
        assert "error" in result_text(body, "openai-chat")


# --- compaction -----------------------------------------------------------------------------------

SUMMARY: JSON = {"type": "compaction", "content": "We chose Oslo."}


def test_the_summary_of_a_compaction_is_read_by_every_other_model() -> None:
    body: JSON = {
        "model": "any-model",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [SUMMARY]},
            {"role": "user", "content": "Go on."},
        ],
    }
    assert encode(decode(body, "anthropic"), "anthropic").body == body
    for target in TARGETS:
        assert "We chose Oslo." in text_of(translate(body, "anthropic", target).body)


def test_a_streamed_compaction_is_read_as_text() -> None:
    message: JSON = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
    }
    block: JSON = {"type": "compaction", "content": ""}
    delta: JSON = {"type": "compaction_delta", "content": "We chose Oslo."}
    events: list[JSON] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": {}},
        {"type": "message_stop"},
    ]
    assert get(fold(events, "anthropic"), ("content",)) == [SUMMARY]
    chat = fold(list(restream(events, "anthropic", "openai-chat", framed=False)), "openai-chat")
    assert get(chat, ("choices", 0, "message", "content")) == "We chose Oslo."
