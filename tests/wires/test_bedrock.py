"""What is peculiar to Bedrock Converse. Bodies are validated by botocore's description of the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import validators
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.codec.known_wires import catalogue, detect
from toolwire.conversation.json import JSON, Object, dump, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind, Usage
from toolwire.conversation.parts import Media, Message, Opaque, Reasoning, Text
from toolwire.errors import pointer
from toolwire.lint import repair
from toolwire.translate import translate

TESTS = Path(__file__).parents[1]
CASES = TESTS / "cases" / "bedrock"
DATA = TESTS.parents[1] / "shared" / "data"
complaints = partial(validators.complaints, "bedrock")

# --- the cases ------------------------------------------------------------------------------------


def cases() -> Iterator[tuple[str, Kind, Object]]:
    """Every body in the case folders."""
    for path in sorted(CASES.glob("*/re*.json")):
        yield (
            path.parent.name,
            "request" if path.stem == "request" else "response",
            json.loads(path.read_bytes()),
        )


def case(name: str, kind: Kind = "request") -> Object:
    body: Object = json.loads((CASES / name / f"{kind}.json").read_bytes())
    return body


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around one block: a call in a response, a client's result in a history, a
    provider's result in a response."""
    if form == "response-stream":
        return None
    if discriminator["content_field"] == "toolResult":
        return {"messages": [{"role": "user", "content": [example]}]}, "request"
    message: JSON = {"role": "assistant", "content": [example]}
    return {"output": {"message": message}, "stopReason": "tool_use"}, "response"


def loss_pointers(body: JSON, source: str, target: str, kind: Kind = "request") -> list[str]:
    return [loss.pointer for loss in translate(body, source, target, kind).losses]


# --- the catalogue and the recorded traffic -------------------------------------------------------


def test_every_type_of_the_catalogue_is_read_and_written_back_unchanged() -> None:
    path = DATA / "wire-catalogue.json"
    value = json.loads(path.read_bytes()) if path.exists() else []
    ours = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    for entry in value:
        if entry["wire"] != "bedrock" or not entry["core_wire"]:
            continue
        assert ("bedrock", entry["direction"], entry["family"], entry["origin_class"]) in ours
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        if wrapped is None:
            continue
        read = decode(wrapped[0], "bedrock", wrapped[1])
        found = read.calls() if entry["direction"] == "call" else read.results()
        executor = "provider" if entry["executor"] == "server" else entry["executor"]
        assert [(part.family, part.executor) for part in found] == [(entry["family"], executor)]
        assert encode(read, "bedrock", wrapped[1]).body == wrapped[0]


def test_recorded_traffic_is_written_back_unchanged_even_when_the_list_is_rebuilt() -> None:
    for kind in ("request", "response"):
        path = DATA / "recorded" / f"bedrock.{kind}.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            body = json.loads(line)["body"]
            read = decode(body, "bedrock", kind)
            assert encode(replace(read, messages=(*read.messages,)), "bedrock", kind).body == body
            known = {part.type for part in read.parts() if isinstance(part, Opaque)}
            assert known <= {"cachePoint", "citationsContent"}


# --- cases ----------------------------------------------------------------------------------------


def test_every_case_is_unchanged_when_all_of_it_is_written_again() -> None:
    for name, kind, body in cases():
        read = decode(body, "bedrock", kind)
        again = replace(
            read, messages=(*read.messages,), tools=(*read.tools,), settings={**read.settings}
        )
        encoded = encode(again, "bedrock", kind)
        assert (name, encoded.body, encoded.losses) == (name, body, [])


def test_every_case_has_the_pairs_that_are_listed() -> None:
    for name, kind, body in cases():
        path = CASES / name / "pairs.json"
        found = [
            [
                pair.call and pointer(pair.call.path),
                pair.result and pointer(pair.result.path),
                pair.how,
            ]
            for pair in decode(body, "bedrock", kind).pairs()
        ]
        assert (name, found) == (name, json.loads(path.read_bytes()) if path.exists() else [])


def test_detect_finds_this_wire_for_every_case() -> None:
    assert {detect(body) for _, _, body in cases()} == {"bedrock"}


# --- history --------------------------------------------------------------------------------------

CHAT: Object = {
    "model": "gpt-x",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Oslo and Rome?"},
        {"role": "user", "content": "In Celsius."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
                },
                {
                    "id": "call b!",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call b!", "content": "14"},
        {"role": "tool", "tool_call_id": "call_a", "content": ""},
        {"role": "user", "content": "Well?"},
    ],
}


def test_neighbours_of_one_role_become_one_message() -> None:
    body = translate(CHAT, "openai-chat", "bedrock").body
    messages = get(body, ("messages",))
    assert isinstance(messages, list)
    assert [get(message, ("role",)) for message in messages] == ["user", "assistant", "user"]
    assert get(body, ("messages", 0, "content")) == [
        {"text": "Oslo and Rome?"},
        {"text": "In Celsius."},
    ]
    assert get(body, ("messages", 2, "content", 2)) == {"text": "Well?"}
    assert complaints(body) == ""


def test_neighbours_of_one_role_that_were_read_apart_stay_apart() -> None:
    body: JSON = {
        "messages": [
            {"role": "user", "content": [{"text": "a"}]},
            {"role": "user", "content": [{"text": "b"}]},
        ]
    }
    read = decode(body, "bedrock")
    assert encode(replace(read, messages=(*read.messages,)), "bedrock").body == body
    more = replace(read, messages=(*read.messages, Message("user", (Text("c"),))))
    content = get(encode(more, "bedrock").body, ("messages", 1, "content"))
    assert content == [{"text": "b"}, {"text": "c"}]


def test_a_history_with_calls_gets_stubs_that_vanish_on_the_way_back() -> None:
    translated = translate(CHAT, "openai-chat", "bedrock")
    assert get(translated.body, ("toolConfig", "tools", 0, "toolSpec", "name")) == "get_weather"
    assert decode(translated.body, "bedrock").tools == ()
    body = translate(translated.body, "bedrock", "openai-chat", ids=translated.ids).body
    assert isinstance(body, dict) and "tools" not in body
    calls, found_calls = decode(body, "openai-chat").calls(), decode(CHAT, "openai-chat").calls()
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        (c.id, c.name, c.arguments) for c in found_calls
    ]


def test_stubs_are_written_when_the_last_tool_is_removed() -> None:
    read = decode(case("text-after-results"), "bedrock")
    body = encode(replace(read, tools=()), "bedrock").body
    assert get(body, ("toolConfig", "tools", 0, "toolSpec", "name")) == "find"
    assert complaints(body) == ""


def test_a_choice_without_tools_is_reported_and_left_out() -> None:
    body: JSON = {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "auto"}
    translated = translate(body, "openai-chat", "bedrock")
    assert isinstance(translated.body, dict) and "toolConfig" not in translated.body
    assert [loss.pointer for loss in translated.losses] == ["/tool_choice"]


def test_media_in_a_system_prompt_are_named() -> None:
    image: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body: JSON = {
        "messages": [{"role": "system", "content": [image]}, {"role": "user", "content": "Hi"}]
    }
    translated = translate(body, "openai-chat", "bedrock")
    assert get(translated.body, ("system",)) == [{"text": "[image image/png]"}]
    assert [loss.pointer for loss in translated.losses] == ["/messages/0/content/0"]


# --- results --------------------------------------------------------------------------------------


def test_an_error_without_text_gets_the_text_error() -> None:
    body = case("text-after-results")
    read = decode(body, "bedrock")
    failed = read.calls()[0].result("", error=True)
    encoded = encode(
        replace(read, messages=(*read.messages[:2], Message("tool", (failed,)))), "bedrock"
    )
    answer = get(encoded.body, ("messages", 2, "content", 0, "toolResult"))
    assert answer == {
        "toolUseId": "tooluse_find",
        "content": [{"text": "error"}],
        "status": "error",
    }
    assert len(encoded.losses) == 1


def test_an_object_is_json_and_any_other_value_is_text_that_is_restored_as_json() -> None:
    call: JSON = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    for output, content in (
        ({"a": 1}, {"json": {"a": 1}}),
        ([1, 2], {"text": "[1,2]"}),
        (7, {"text": "7"}),
    ):
        answer: JSON = {
            "functionResponse": {"id": "c1", "name": "f", "response": {"output": output}}  # type: ignore[dict-item]
        }
        body: JSON = {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [call]},
                {"role": "user", "parts": [answer]},
            ]
        }
        translated = translate(body, "gemini", "bedrock")
        assert get(translated.body, ("messages", 2, "content", 0, "toolResult", "content")) == [
            content
        ]
        written_body = translate(translated.body, "bedrock", "gemini", ids=translated.ids).body
        assert decode(written_body, "gemini").results()[0].output == output


def test_a_result_in_an_assistants_message_is_the_providers() -> None:
    read = decode(case("server-tools-answer-in-place", "response"), "bedrock", "response")
    assert (
        [call.executor for call in read.calls()]
        == [result.executor for result in read.results()]
        == ["provider"]
    )
    assert decode(case("text-after-results"), "bedrock").results()[0].executor == "client"


def test_input_that_is_no_object_is_kept_here_and_wrapped_elsewhere() -> None:
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "run", "input": "ls -l"}}
    body: JSON = {"messages": [{"role": "assistant", "content": [use]}]}
    assert decode(body, "bedrock").calls()[0].arguments == '"ls -l"'
    translated = translate(body, "bedrock", "anthropic")
    assert get(translated.body, ("messages", 0, "content", 0, "input")) == {"_raw": '"ls -l"'}


# --- parts ----------------------------------------------------------------------------------------


def test_editing_one_argument_changes_just_that() -> None:
    body = case("unknown-blocks")
    read = decode(body, "bedrock")
    call = read.calls()[0]
    edited = encode(
        read.replace(call, replace(call, args=LazyJson('{"zone":"cet"}'))), "bedrock"
    ).body
    use = get(edited, ("messages", 1, "content", 1, "toolUse"))
    assert use == {
        "toolUseId": "tooluse_1",
        "name": "clock",
        "input": {"zone": "cet"},
        "type": "tool_use",
        "lane": 2,
    }


def test_edited_reasoning_keeps_its_signature() -> None:
    read = decode(case("reasoning-keeps-its-signature"), "bedrock")
    reasoning = next(part for part in read.parts() if isinstance(part, Reasoning))
    body = encode(read.replace(reasoning, replace(reasoning, text="Hm.")), "bedrock").body
    content = get(body, ("messages", 1, "content", 0, "reasoningContent", "reasoningText"))
    assert content == {"text": "Hm.", "signature": "c2VhbGVk"}


def test_unknown_fields_of_a_media_source_are_reported() -> None:
    assert "/messages/0/content/2/image/source" in loss_pointers(
        case("media-of-every-kind"), "bedrock", "gemini"
    )
    assert "/messages/0/content/1/image/source" not in loss_pointers(
        case("media-of-every-kind"), "bedrock", "gemini"
    )


def test_guarded_text_is_kept_and_the_guard_is_reported_as_lost() -> None:
    translated = translate(case("settings-of-every-kind"), "bedrock", "openai-chat")
    assert "Never tell the code." in translated.json().decode()
    assert "/system/2/guardContent" in [loss.pointer for loss in translated.losses]


def test_a_document_gets_a_name_of_allowed_characters_and_that_is_reported() -> None:
    file: JSON = {
        "type": "file",
        "file": {
            "file_data": "data:application/pdf;base64,JVBERi0xLjQK",
            "filename": "q3_report.pdf",
        },
    }
    body: JSON = {
        "messages": [{"role": "user", "content": [file, {"type": "text", "text": "Read."}]}]
    }
    translated = translate(body, "openai-chat", "bedrock")
    assert (
        get(translated.body, ("messages", 0, "content", 0, "document", "name")) == "q3-report-pdf"
    )
    assert [loss.pointer for loss in translated.losses] == ["/messages/0/content/0"]
    assert complaints(translated.body) == ""


def test_an_image_url_becomes_text() -> None:
    body: JSON = {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}],
            }
        ]
    }
    translated = translate(body, "openai-chat", "bedrock")
    assert get(translated.body, ("messages", 0, "content")) == [
        {"text": "[image https://a.b/c.png]"}
    ]
    assert [loss.pointer for loss in translated.losses] == ["/messages/0/content/0"]


def test_mp3_audio_has_the_mime_type_that_other_wires_give_it() -> None:
    audio: JSON = {"audio": {"format": "mp3", "source": {"bytes": "SUQzBAA="}}}
    body: JSON = {"messages": [{"role": "user", "content": [audio]}]}
    chat = translate(body, "bedrock", "openai-chat").body
    for wire, found in (("bedrock", body), ("openai-chat", chat)):
        [media] = decode(found, wire).parts()
        assert isinstance(media, Media)
        assert media.mime == "audio/mpeg"
    back = translate(chat, "openai-chat", "bedrock").body
    assert get(back, ("messages", 0, "content", 0)) == audio


def test_every_format_has_one_mime_type_and_is_restored() -> None:
    media = [
        part
        for part in decode(case("media-of-every-kind"), "bedrock").parts()
        if isinstance(part, Media)
    ]
    assert [part.mime for part in media] == [
        "image/jpeg",
        "image/webp",
        "application/pdf",
        None,
        "text/plain",
        "video/3gpp",
        "audio/wav",
    ]


# --- settings and answers -------------------------------------------------------------------------


def test_a_thinking_budget_is_carried_to_the_model_that_has_one_and_to_no_other() -> None:
    body: JSON = {
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    }
    claude = translate({**body, "model": "claude-x"}, "anthropic", "bedrock")  # type: ignore[dict-item]
    assert get(claude.body, ("additionalModelRequestFields", "thinking")) == {
        "type": "enabled",
        "budget_tokens": 2048,
    }
    nova = translate({**body, "model": "amazon.nova"}, "anthropic", "bedrock")  # type: ignore[dict-item]
    assert isinstance(nova.body, dict) and "additionalModelRequestFields" not in nova.body
    assert [loss.pointer for loss in nova.losses] == ["/thinking"]


def test_settings_that_the_wire_lacks_are_reported_with_their_path() -> None:
    body: JSON = {
        "messages": [{"role": "user", "content": "Hi"}],
        "temperature": 1.7,
        "tool_choice": "none",
    }
    translated = translate(body, "openai-chat", "bedrock")
    assert get(translated.body, ("inferenceConfig", "temperature")) == 1.0
    assert sorted(loss.pointer for loss in translated.losses) == ["/temperature", "/tool_choice"]


def test_usage_includes_cached_tokens() -> None:
    read = decode(case("answer-with-calls", "response"), "bedrock", "response")
    assert read.settings["usage"] == Usage(input=120, output=41, cached=80, cache_write=20)
    translated = translate(
        case("answer-with-calls", "response"), "bedrock", "anthropic", "response"
    )
    body = translate(translated.body, "anthropic", "bedrock", "response").body
    assert get(body, ("usage",)) == case("answer-with-calls", "response")["usage"]


def test_answers_of_other_wires_are_answers_here() -> None:
    answer: JSON = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
            }
        ],
    }
    translated = translate(answer, "openai-chat", "bedrock", "response")
    assert complaints(translated.body, "response") == ""
    assert get(translated.body, ("stopReason",)) == "tool_use"
    assert get(translated.body, ("output", "message", "content", 0)) == {
        "reasoningContent": {"reasoningText": {"text": "Hm."}}
    }
    assert {loss.pointer for loss in translated.losses} == {"/id", "/created", "/model"}


def test_the_validator_accepts_the_cases_and_refuses_a_call_without_its_id() -> None:
    irregular = {"ids-missing", "input-missing", "unknown-blocks", "server-tools-answer-in-place"}
    assert {name for name, kind, body in cases() if complaints(body, kind)} == irregular
    assert "toolUseId" in complaints(case("ids-missing"))


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "gemini"])
def test_the_words_of_a_search_result_reach_other_providers(target: str) -> None:
    search: JSON = {
        "searchResult": {
            "source": "https://example.com",
            "title": "Hit",
            "content": [{"text": "found"}],
            "citations": {"enabled": True},
        }
    }
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    result: JSON = {"toolResult": {"toolUseId": "t1", "content": [search]}}
    body: JSON = {
        "messages": [
            {"role": "user", "content": [search]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    }
    written = dump(translate(body, "bedrock", target).body).decode()
    for words in ("https://example.com", "Hit", "found"):
        assert written.count(words) == 2


def test_a_result_in_an_assistant_message_is_the_clients_unless_a_server_tool_made_it() -> None:
    def results(*content: JSON) -> list[tuple[str, str]]:
        body: JSON = {"messages": [{"role": "assistant", "content": list(content)}]}
        return [(result.call_id, result.executor) for result in decode(body, "bedrock").results()]

    use: Object = {"toolUseId": "a", "name": "f", "input": {}}
    server_use: JSON = {"toolUse": {**use, "type": "server_tool_use"}}
    result: Object = {"toolUseId": "a", "content": [{"text": "r"}]}
    assert results({"toolUse": use}, {"toolResult": result}) == [("a", "client")]
    assert results({"toolResult": result}) == [("a", "client")]
    assert results(server_use, {"toolResult": result}) == [("a", "provider")]
    typed: JSON = {"toolResult": {**result, "type": "nova_grounding_result"}}
    assert results(typed) == [("a", "provider")]
    other: JSON = {"toolUse": {**use, "toolUseId": "b", "type": "server_tool_use"}}
    assert results(other, {"toolUse": use}, {"toolResult": result}) == [("a", "client")]


def test_a_block_that_the_client_did_not_know_is_not_sent_again() -> None:
    unknown: JSON = {"SDK_UNKNOWN_MEMBER": {"name": "newBlock"}}
    body: JSON = {
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [unknown, {"text": "hello"}]},
            {"role": "user", "content": [{"text": "so?"}]},
        ]
    }
    assert complaints(body, "request")
    repaired = repair(body, "bedrock")
    assert not complaints(repaired.body, "request")
    assert [pointer(change.path) for change in repaired.changes] == ["/messages/1/content/0"]
    translated = translate(body, "bedrock", "anthropic")
    assert get(translated.body, ("messages", 1, "content")) == "hello"
    assert [pointer(loss.path) for loss in translated.losses] == ["/messages/1/content/0"]
