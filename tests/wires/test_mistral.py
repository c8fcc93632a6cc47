"""What is peculiar to Mistral's chat completions. The judges are the models of its own SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import judges
import pytest
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Choice, Kind, Usage
from toolwire.conversation.parts import Media, Opaque, Reasoning
from toolwire.errors import UsageError, pointer
from toolwire.translate import catalogue, detect, translate

HERE = Path(__file__).parents[1]
CASES = HERE / "cases" / "mistral"
DATA = HERE.parents[1] / "shared" / "data"
complaints = partial(judges.complaints, "mistral")

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


def hold(example: JSON, discriminator: dict[str, str], form: str) -> tuple[JSON, Kind] | None:
    """A whole body around a call or a tool message."""
    if form == "response-stream":
        return None
    if discriminator.get("role") == "tool":
        return {"model": "m", "messages": [example]}, "request"
    message: JSON = {"role": "assistant", "content": "", "tool_calls": [example]}
    choice: JSON = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return {"id": "x", "object": "chat.completion", "choices": [choice]}, "response"


# --- the catalogue and the recorded traffic -------------------------------------------------------


def test_every_type_of_the_catalogue_is_read_and_goes_back_as_it_came() -> None:
    path = DATA / "wire-catalogue.json"
    listed = json.loads(path.read_bytes()) if path.exists() else []
    ours = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    for entry in listed:
        if entry["wire"] != "mistral" or not entry["core_wire"]:
            continue
        assert ("mistral", entry["direction"], entry["family"], entry["origin_class"]) in ours
        held = hold(entry["min_example"], entry["discriminator"], entry["form"])
        if held is None:
            continue
        read = decode(held[0], "mistral", held[1])
        found = read.calls() if entry["direction"] == "call" else read.results()
        assert [(part.family, part.executor) for part in found] == [
            (entry["family"], entry["executor"])
        ]
        assert encode(read, "mistral", held[1]).body == held[0]


def test_recorded_traffic_goes_back_as_it_came_also_when_the_list_is_rebuilt() -> None:
    for kind in ("request", "response"):
        path = DATA / "recorded" / f"mistral.{kind}.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            body = json.loads(line)["body"]
            read = decode(body, "mistral", kind)
            assert encode(replace(read, messages=(*read.messages,)), "mistral", kind).body == body
            assert not any(isinstance(part, Opaque) for part in read.parts())


# --- cases ----------------------------------------------------------------------------------------


def test_every_case_goes_back_as_it_came_when_everything_is_written_anew() -> None:
    for name, kind, body in cases():
        read = decode(body, "mistral", kind)
        again = replace(
            read, messages=(*read.messages,), tools=(*read.tools,), settings={**read.settings}
        )
        written = encode(again, "mistral", kind)
        assert (name, written.body, written.losses) == (name, body, [])


def test_every_case_has_the_pairs_it_says() -> None:
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


def test_only_marks_of_its_own_tell_it_from_other_chats() -> None:
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
        raise AssertionError("a body without any mark is nobody's in particular")


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


def test_ids_are_nine_letters_or_digits_and_come_home() -> None:
    there = translate(CHAT, "openai-chat", "mistral")
    assert complaints(there.body) == ""
    calls = decode(there.body, "mistral").calls()
    assert all(len(call.id) == 9 and call.id.isalnum() for call in calls)
    assert calls[1].id == "aB3dE6gH9"
    assert [pair.how for pair in decode(there.body, "mistral").pairs()] == ["id", "id"]
    home = decode(
        translate(there.body, "mistral", "openai-chat", ids=there.ids).body, "openai-chat"
    )
    came = decode(CHAT, "openai-chat")
    assert [(call.id, call.arguments) for call in home.calls()] == [
        (call.id, call.arguments) for call in came.calls()
    ]
    assert [(result.call_id, result.text) for result in home.results()] == [
        ("aB3dE6gH9", "14"),
        ("call_oslo", "-3"),
    ]


def test_the_word_null_names_no_call() -> None:
    read = decode(case("null-is-a-word"), "mistral")
    assert [call.origin for call in read.calls()] == ["minted"] * 3
    assert len({call.id for call in read.calls()}) == 3
    there = translate(case("null-is-a-word"), "mistral", "openai-chat")
    assert [pair.how for pair in decode(there.body, "openai-chat").pairs()] == ["id"] * 3


def test_two_calls_of_one_tool_without_ids_stay_unpaired() -> None:
    assert [
        pair.how for pair in decode(case("two-of-one-tool-without-ids"), "mistral").pairs()
    ] == [None] * 4


# --- parts ----------------------------------------------------------------------------------------


def test_arguments_are_text_or_the_object_itself() -> None:
    calls = decode(case("arguments-as-object"), "mistral").calls()
    assert [call.input for call in calls] == [{"path": "/tmp", "deep": [1, None]}, {}, None]
    there = translate(case("arguments-as-object"), "mistral", "openai-chat").body
    assert (
        get(there, ("messages", 1, "tool_calls", 0, "function", "arguments"))
        == '{"path":"/tmp","deep":[1,null]}'
    )
    assert get(there, ("messages", 1, "tool_calls", 2, "function", "arguments")) == '{"path": "/et'


def test_thoughts_are_read_from_their_chunk_and_keep_their_signature() -> None:
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


def test_what_a_thought_refers_to_is_reported() -> None:
    there = translate(case("reasoning-in-a-history"), "mistral", "openai-chat")
    assert "/messages/4/content/0/thinking" in [loss.pointer for loss in there.losses]


def test_reasoning_of_others_is_shown_in_an_answer_and_left_out_of_a_history() -> None:
    message: JSON = {"role": "assistant", "content": "42", "reasoning_content": "Six times seven."}
    answer: JSON = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    there = translate(answer, "openai-chat", "mistral", "response")
    assert get(there.body, ("choices", 0, "message", "content", 0, "type")) == "thinking"
    assert complaints(there.body, "response") == "" and there.losses == []
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


def test_a_prefix_is_reported_and_its_absence_is_not() -> None:
    there = translate(case("settings-of-every-kind"), "mistral", "openai-chat")
    assert "/messages/1/prefix" in [loss.pointer for loss in there.losses]
    assert translate(case("parallel-calls-of-one-tool"), "mistral", "openai-chat").losses == []


def test_a_refusal_becomes_text_and_a_custom_call_a_function_that_comes_home() -> None:
    call: JSON = {"id": "call_1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    body: JSON = {
        "messages": [{"role": "assistant", "content": None, "refusal": "No.", "tool_calls": [call]}]
    }
    there = translate(body, "openai-chat", "mistral")
    assert get(there.body, ("messages", 0, "content")) == "No."
    assert (
        get(there.body, ("messages", 0, "tool_calls", 0, "function", "arguments"))
        == '{"input":"ls -l"}'
    )
    assert {loss.pointer for loss in there.losses} == {
        "/messages/0/refusal",
        "/messages/0/tool_calls/0",
    }
    home = translate(there.body, "mistral", "openai-chat", ids=there.ids).body
    assert get(home, ("messages", 0, "tool_calls", 0)) == call


# --- settings and answers -------------------------------------------------------------------------


def test_any_and_required_mean_the_same() -> None:
    for word in ("any", "required"):
        read = decode({"messages": [], "tool_choice": word}, "mistral")
        assert read.settings["choice"] == Choice("required")
    there = translate({"messages": [], "tool_choice": "required"}, "openai-chat", "mistral").body
    assert get(there, ("tool_choice",)) == "any"


def test_the_seed_has_another_name_here() -> None:
    assert decode(case("settings-of-every-kind"), "mistral").settings["seed"] == 7
    assert (
        get(translate({"messages": [], "seed": 3}, "openai-chat", "mistral").body, ("random_seed",))
        == 3
    )


def test_a_choice_of_several_tools_is_reported_where_it_stood() -> None:
    config: JSON = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}}
    there = translate({"contents": [], "toolConfig": config}, "gemini", "mistral")
    assert get(there.body, ("tool_choice",)) == "any"
    assert [loss.pointer for loss in there.losses] == ["/toolConfig/functionCallingConfig"]


def test_a_tool_that_is_only_allowed_cannot_be_named() -> None:
    function: JSON = {"type": "function", "function": {"name": "a"}}
    choice: JSON = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [function]}}
    body: JSON = {"messages": [], "tools": [function], "tool_choice": choice}
    there = translate(body, "openai-chat", "mistral")
    assert get(there.body, ("tool_choice",)) == "auto"
    assert [loss.pointer for loss in there.losses] == ["/tool_choice"]


def test_a_full_context_is_told_from_a_full_answer() -> None:
    read = decode(case("stopped-at-the-context", "response"), "mistral", "response")
    assert [message.stop for message in read.messages] == ["context", "error", "length"]


def test_usage_counts_what_came_from_the_cache() -> None:
    read = decode(case("answer-with-calls", "response"), "mistral", "response")
    assert read.settings["usage"] == Usage(input=90, output=41, cached=64)


def test_the_judge_takes_the_cases_and_refuses_a_call_without_a_function() -> None:
    assert {name for name, kind, body in cases() if complaints(body, kind)} == {"unknown-chunks"}
    assert "tool_calls" in complaints(case("unknown-chunks"))


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
    written = encode(conversation.replace(audio, replace(audio, data="BBBB")), "mistral")
    assert get(written.body, ("messages", 0, "content", 0, "input_audio")) == after
    assert written.losses == []


def test_an_edited_file_id_is_written() -> None:
    block: JSON = {"type": "file", "file_id": "f1"}
    conversation = decode({"messages": [{"role": "user", "content": [block]}]}, "mistral")
    [file] = conversation.parts()
    written = encode(conversation.replace(file, Media("file", file="f2")), "mistral")
    assert get(written.body, ("messages", 0, "content", 0)) == {"type": "file", "file_id": "f2"}
