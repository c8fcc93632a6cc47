"""What is peculiar to Mistral's chat completions. Bodies are validated by the models of its own SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import validators
from cases import MODELS
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.codec.known_wires import catalogue, detect
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Choice, Kind, Usage
from toolwire.conversation.parts import Media, Opaque, Reasoning
from toolwire.errors import UsageError, pointer
from toolwire.translate import translate

TESTS = Path(__file__).parents[1]
CASES = TESTS / "cases" / "mistral"
DATA = TESTS.parents[1] / "shared" / "data"
complaints = partial(validators.complaints, "mistral")

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
    """A whole body around a call or a tool message."""
    if form == "response-stream":
        return None
    if discriminator.get("role") == "tool":
        return {"model": "m", "messages": [example]}, "request"
    message: JSON = {"role": "assistant", "content": "", "tool_calls": [example]}
    choice: JSON = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return {"id": "x", "object": "chat.completion", "choices": [choice]}, "response"


# --- the catalogue and the recorded traffic -------------------------------------------------------


def test_every_type_of_the_catalogue_is_read_and_written_back_unchanged() -> None:
    path = DATA / "wire-catalogue.json"
    value = json.loads(path.read_bytes()) if path.exists() else []
    ours = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    for entry in value:
        if entry["wire"] != "mistral" or not entry["core_wire"]:
            continue
        assert ("mistral", entry["direction"], entry["family"], entry["origin_class"]) in ours
        wrapped = wrap_example(entry["min_example"], entry["discriminator"], entry["form"])
        if wrapped is None:
            continue
        read = decode(wrapped[0], "mistral", wrapped[1])
        found = read.calls() if entry["direction"] == "call" else read.results()
        assert [(part.family, part.executor) for part in found] == [
            (entry["family"], entry["executor"])
        ]
        assert encode(read, "mistral", wrapped[1]).body == wrapped[0]


def test_recorded_traffic_is_written_back_unchanged_even_when_the_list_is_rebuilt() -> None:
    for kind in ("request", "response"):
        path = DATA / "recorded" / f"mistral.{kind}.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            body = json.loads(line)["body"]
            read = decode(body, "mistral", kind)
            assert encode(replace(read, messages=(*read.messages,)), "mistral", kind).body == body
            assert not any(isinstance(part, Opaque) for part in read.parts())


# --- cases ----------------------------------------------------------------------------------------


def test_every_case_is_unchanged_when_all_of_it_is_written_again() -> None:
    for name, kind, body in cases():
        read = decode(body, "mistral", kind)
        again = replace(
            read, messages=(*read.messages,), tools=(*read.tools,), settings={**read.settings}
        )
        encoded = encode(again, "mistral", kind)
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
            for pair in decode(body, "mistral", kind).pairs()
        ]
        assert (name, found) == (name, json.loads(path.read_bytes()) if path.exists() else [])


def test_detect_needs_fields_of_this_wire_to_tell_it_from_other_chat_wires() -> None:
    assert detect(case("media-by-string")) == "mistral"
    assert detect(case("settings-of-every-kind")) == "mistral"
    assert detect(case("reasoning-in-a-history")) == "mistral"
    assert detect(case("parallel-calls-of-one-tool")) == "openai-chat"
    assert detect(case("answer-with-calls", "response")) == "openai-chat"
    try:
        detect({"messages": [{"role": "user", "content": "Hi"}]})
    except UsageError as error:
        assert "mistral" in error.why
    else:
        raise AssertionError("a body without any mark belongs to no particular wire")


# --- ids ------------------------------------------------------------------------------------------

CHAT: Object = {
    "model": "gpt-x",
    "messages": [
        {"role": "user", "content": "Oslo and Rome?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_oslo",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                },
                {
                    "id": "aB3dE6gH9",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Ro'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "aB3dE6gH9", "content": "14"},
        {"role": "tool", "tool_call_id": "call_oslo", "content": "-3"},
    ],
}


def test_ids_are_nine_letters_or_digits_and_are_restored() -> None:
    translated = translate(CHAT, "openai-chat", "mistral")
    assert complaints(translated.body) == ""
    calls = decode(translated.body, "mistral").calls()
    assert all(len(call.id) == 9 and call.id.isalnum() for call in calls)
    assert calls[1].id == "aB3dE6gH9"
    assert [pair.how for pair in decode(translated.body, "mistral").pairs()] == ["id", "id"]
    restored = decode(
        translate(translated.body, "mistral", "openai-chat", ids=translated.ids).body, "openai-chat"
    )
    conversation = decode(CHAT, "openai-chat")
    assert [(call.id, call.arguments) for call in restored.calls()] == [
        (call.id, call.arguments) for call in conversation.calls()
    ]
    assert [(result.call_id, result.text) for result in restored.results()] == [
        ("aB3dE6gH9", "14"),
        ("call_oslo", "-3"),
    ]


def test_the_id_null_counts_as_missing() -> None:
    read = decode(case("null-is-a-word"), "mistral")
    assert [call.origin for call in read.calls()] == ["minted"] * 3
    assert len({call.id for call in read.calls()}) == 3
    translated = translate(case("null-is-a-word"), "mistral", "openai-chat")
    assert [pair.how for pair in decode(translated.body, "openai-chat").pairs()] == ["id"] * 3


def test_two_calls_of_one_tool_without_ids_stay_unpaired() -> None:
    assert [pair.how for pair in decode(case("missing-ids-of-one-tool"), "mistral").pairs()] == [
        None
    ] * 4


# --- parts ----------------------------------------------------------------------------------------


def test_arguments_are_text_or_the_object_itself() -> None:
    calls = decode(case("arguments-as-object"), "mistral").calls()
    assert [call.input for call in calls] == [{"path": "/tmp", "deep": [1, None]}, {}, None]
    body = translate(case("arguments-as-object"), "mistral", "openai-chat").body
    assert (
        get(body, ("messages", 1, "tool_calls", 0, "function", "arguments"))
        == '{"path":"/tmp","deep":[1,null]}'
    )
    assert get(body, ("messages", 1, "tool_calls", 2, "function", "arguments")) == '{"path": "/et'


def test_reasoning_is_read_from_thinking_chunks_and_keeps_its_signature() -> None:
    read = decode(case("reasoning-in-a-history"), "mistral")
    thoughts = [part for part in read.parts() if isinstance(part, Reasoning)]
    assert [(part.text, part.signature) for part in thoughts] == [
        ("like this", None),
        ("It nearly always is, but look.", "c2VhbGVk"),
        ("As expected", None),
    ]
    body = encode(read.replace(thoughts[1], replace(thoughts[1], text="Hm.")), "mistral").body
    chunk: JSON = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "Hm."}],
        "signature": "c2VhbGVk",
    }
    assert get(body, ("messages", 2, "content", 0)) == chunk


def test_references_in_reasoning_are_reported() -> None:
    translated = translate(case("reasoning-in-a-history"), "mistral", "openai-chat")
    assert "/messages/4/content/0/thinking" in [loss.pointer for loss in translated.losses]


def test_reasoning_of_others_is_written_in_a_response_and_left_out_of_a_history() -> None:
    message: JSON = {"role": "assistant", "content": "42", "reasoning_content": "Six times seven."}
    answer: JSON = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    translated = translate(answer, "openai-chat", "mistral", "response")
    assert get(translated.body, ("choices", 0, "message", "content", 0, "type")) == "thinking"
    assert complaints(translated.body, "response") == "" and translated.losses == []
    history = translate({"messages": [message]}, "openai-chat", "mistral")
    assert get(history.body, ("messages", 0, "content")) == "42"
    assert [loss.pointer for loss in history.losses] == ["/messages/0/reasoning_content"]


def test_media_are_read_from_strings_and_objects_alike() -> None:
    media = [
        part
        for part in decode(case("media-by-string"), "mistral").parts()
        if isinstance(part, Media)
    ]
    assert [(part.kind, bool(part.data), bool(part.url), bool(part.file)) for part in media] == [
        ("image", False, True, False),
        ("image", True, False, False),
        ("file", False, True, False),
        ("file", True, False, False),
        ("audio", True, False, False),
        ("audio", False, True, False),
        ("file", False, False, True),
    ]


def test_an_edited_picture_keeps_its_detail() -> None:
    read = decode(case("media-by-string"), "mistral")
    picture = [part for part in read.parts() if isinstance(part, Media)][1]
    body = encode(
        read.replace(picture, replace(picture, data=None, url="https://a.b/c.png")), "mistral"
    ).body
    assert get(body, ("messages", 0, "content", 2, "image_url")) == {
        "url": "https://a.b/c.png",
        "detail": "high",
    }


PREFIX: Object = {"role": "assistant", "content": "{", "prefix": True}
ASKED: JSON = {"role": "user", "content": "Write JSON."}


def test_a_prefix_in_mid_history_is_reported_and_its_absence_is_not() -> None:
    translated = translate({"messages": [ASKED, PREFIX, ASKED]}, "mistral", "openai-chat")
    assert "/messages/1/prefix" in [loss.pointer for loss in translated.losses]
    assert translate(case("parallel-calls-of-one-tool"), "mistral", "openai-chat").losses == []


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire != "mistral"])
def test_a_prefix_at_the_end_is_the_last_message_elsewhere_and_is_restored(wire: str) -> None:
    body: JSON = {"model": "m", "messages": [ASKED, PREFIX]}
    there = translate(body, "mistral", wire)
    assert not there.losses
    assert decode(there.body, wire).messages[-1].role == "assistant"
    assert translate(there.body, wire, "mistral", ids=there.ids).body == body


def test_a_text_of_the_assistant_at_the_end_is_followed_by_a_user_message() -> None:
    """The answer to a prefix repeats it, which clients of other wires do not expect."""
    body: JSON = {"messages": [ASKED, {"role": "assistant", "content": "{"}]}
    translated = translate(body, "openai-chat", "mistral")
    assert get(translated.body, ("messages", 2, "role")) == "user"
    assert b"prefix" not in translated.json()


def test_a_refusal_becomes_text_and_a_custom_call_a_function_that_is_restored() -> None:
    call: JSON = {"id": "call_1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    body: JSON = {
        "messages": [{"role": "assistant", "content": None, "refusal": "No.", "tool_calls": [call]}]
    }
    translated = translate(body, "openai-chat", "mistral")
    assert get(translated.body, ("messages", 0, "content")) == "No."
    assert (
        get(translated.body, ("messages", 0, "tool_calls", 0, "function", "arguments"))
        == '{"input":"ls -l"}'
    )
    assert {loss.pointer for loss in translated.losses} == {
        "/messages/0/refusal",
        "/messages/0/tool_calls/0",
    }
    written_body = translate(translated.body, "mistral", "openai-chat", ids=translated.ids).body
    assert get(written_body, ("messages", 0, "tool_calls", 0)) == call


# --- settings and answers -------------------------------------------------------------------------


def test_any_and_required_mean_the_same() -> None:
    for word in ("any", "required"):
        read = decode({"messages": [], "tool_choice": word}, "mistral")
        assert read.settings["choice"] == Choice("required")
    chat: JSON = {
        "messages": [],
        "tools": [{"type": "function", "function": {"name": "a"}}],
        "tool_choice": "required",
    }
    body = translate(chat, "openai-chat", "mistral").body
    assert get(body, ("tool_choice",)) == "any"


def test_the_seed_has_another_name_here() -> None:
    assert decode(case("settings-of-every-kind"), "mistral").settings["seed"] == 7
    assert (
        get(translate({"messages": [], "seed": 3}, "openai-chat", "mistral").body, ("random_seed",))
        == 3
    )


def test_a_choice_of_several_tools_is_reported_with_its_path() -> None:
    config: JSON = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}}
    tools: JSON = [{"functionDeclarations": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}]
    body: JSON = {"contents": [], "tools": tools, "toolConfig": config}
    translated = translate(body, "gemini", "mistral")
    assert get(translated.body, ("tool_choice",)) == "any"
    assert [loss.pointer for loss in translated.losses] == ["/toolConfig/functionCallingConfig"]


def test_a_tool_that_is_only_allowed_cannot_be_named() -> None:
    function: JSON = {"type": "function", "function": {"name": "a"}}
    choice: JSON = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [function]}}
    body: JSON = {"messages": [], "tools": [function], "tool_choice": choice}
    translated = translate(body, "openai-chat", "mistral")
    assert get(translated.body, ("tool_choice",)) == "auto"
    assert [loss.pointer for loss in translated.losses] == ["/tool_choice"]


def test_a_full_context_is_distinguished_from_a_full_answer() -> None:
    read = decode(case("answer-stopped-at-the-context", "response"), "mistral", "response")
    assert [message.stop for message in read.messages] == ["context", "error", "length"]


def test_usage_includes_cached_tokens() -> None:
    read = decode(case("answer-with-calls", "response"), "mistral", "response")
    assert read.settings["usage"] == Usage(input=90, output=41, cached=64)


def test_the_validator_accepts_the_cases_and_refuses_a_call_without_a_function() -> None:
    assert {name for name, kind, body in cases() if complaints(body, kind)} == {"unknown-chunks"}
    assert "tool_calls" in complaints(case("unknown-chunks"))


@pytest.mark.parametrize("url", ["https://x.example/a.mp3", "gs://bucket/a.mp3", "HTTPS://x/a.mp3"])
def test_audio_by_a_url_of_any_scheme_is_no_base64(url: str) -> None:
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"fileData": {"fileUri": url, "mimeType": "audio/mpeg"}}]}
        ]
    }
    there = translate(body, "gemini", "mistral")
    [audio] = decode(there.body, "mistral").parts()
    assert isinstance(audio, Media)
    assert (audio.kind, audio.url, audio.data) == ("audio", url, None)
    assert translate(there.body, "mistral", "gemini").body == body


EDITED_AUDIO: dict[str, tuple[JSON, JSON]] = {
    "base64": ("AAAA", "BBBB"),
    "object": ({"data": "AAAA", "format": "wav"}, {"data": "BBBB", "format": "wav"}),
    "data URL": ("data:audio/wav;base64,AAAA", "data:audio/wav;base64,BBBB"),
}


@pytest.mark.parametrize("form", EDITED_AUDIO)
def test_edited_audio_keeps_the_form_in_which_it_was_sent(form: str) -> None:
    before, after = EDITED_AUDIO[form]
    block: JSON = {"type": "input_audio", "input_audio": before}
    conversation = decode({"messages": [{"role": "user", "content": [block]}]}, "mistral")
    [audio] = conversation.parts()
    assert isinstance(audio, Media)
    encoded = encode(conversation.replace(audio, replace(audio, data="BBBB")), "mistral")
    assert get(encoded.body, ("messages", 0, "content", 0, "input_audio")) == after
    assert encoded.losses == []


def test_an_edited_file_id_is_written() -> None:
    block: JSON = {"type": "file", "file_id": "f1"}
    conversation = decode({"messages": [{"role": "user", "content": [block]}]}, "mistral")
    [file] = conversation.parts()
    encoded = encode(conversation.replace(file, Media("file", file="f2")), "mistral")
    assert get(encoded.body, ("messages", 0, "content", 0)) == {"type": "file", "file_id": "f2"}


def test_a_field_of_a_tool_choice_that_other_wires_cannot_hold_is_a_loss() -> None:
    choice: Object = {"type": "function", "function": {"name": "f", "strict": True}}
    body: Object = {"messages": [{"role": "user", "content": "hi"}], "tool_choice": choice}
    losses = translate(body, "mistral", "openai-chat").losses
    assert "/tool_choice/function/strict" in [pointer(loss.path) for loss in losses]
