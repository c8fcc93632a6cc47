"""What is peculiar to Gemini generateContent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from toolwire import (
    Call,
    Choice,
    Conversation,
    DecodeError,
    Format,
    Media,
    Message,
    Reasoning,
    Result,
    Text,
    Usage,
    catalogue,
    decode,
    encode,
    fold,
    translate,
)
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

NAME = "gemini"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == NAME and entry["core_wire"] and entry["form"] != "response-stream"
]


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A whole body around a minimal example of a part; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "user" if discriminator["part_field"] == "functionResponse" else "model"
    return {"contents": [{"role": role, "parts": [example]}]}, "request"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["type_name"]))
def test_every_part_of_the_catalogue_is_read_as_what_it_is(entry: dict[str, str]) -> None:
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


def call_part(name: str = "f", call_id: str | None = None) -> JSON:
    return {"functionCall": {"name": name, "args": {}, **({"id": call_id} if call_id else {})}}


def response_part(response: JSON, name: str = "f", call_id: str | None = None) -> JSON:
    return {
        "functionResponse": {
            "name": name,
            "response": response,
            **({"id": call_id} if call_id else {}),
        }
    }


def history(calls: list[JSON], answers: list[JSON]) -> JSON:
    return {"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]}


def pairs(body: JSON) -> list[tuple[str | None, str | None]]:
    return [
        (pair.how, pair.result.text if pair.result else None) for pair in decode(body, NAME).pairs()
    ]


def chat(*messages: JSON, **more: JSON) -> JSON:
    return {"messages": list(messages), **more}


def function_call(call_id: str) -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def translate_to_gemini(
    body: JSON, source: str = "openai-chat", kind: Kind = "request"
) -> dict[str, JSON]:
    written_body = translate(body, source, NAME, kind, repair=False).body
    assert isinstance(written_body, dict)
    return written_body


def test_without_ids_order_decides_among_calls_of_one_tool() -> None:
    assert pairs(
        history(
            [call_part(), call_part()],
            [response_part({"output": "1"}), response_part({"output": "2"})],
        )
    ) == [("order", "1"), ("order", "2")]


def test_without_ids_too_few_answers_of_one_tool_are_not_guessed() -> None:
    assert pairs(history([call_part(), call_part()], [response_part({"output": "1"})])) == [
        (None, None),
        (None, None),
        (None, "1"),
    ]


def test_without_ids_calls_of_different_tools_pair_by_name_in_any_order() -> None:
    body = history(
        [call_part("f"), call_part("g")],
        [response_part({"output": "g"}, "g"), response_part({"output": "f"}, "f")],
    )
    assert pairs(body) == [("name", "f"), ("name", "g")]


def test_an_id_is_echoed_if_the_call_had_one_and_a_minted_id_is_not_sent() -> None:
    body = history(
        [call_part(), call_part()], [response_part({"output": "1"}), response_part({"output": "2"})]
    )
    over = translate(body, NAME, "openai-chat")
    written_body = translate(over.body, "openai-chat", NAME, ids=over.ids).body
    assert written_body == body
    with_ids = history(
        [call_part(call_id="a"), call_part(call_id="b")],
        [response_part({"output": "2"}, call_id="b"), response_part({"output": "1"}, call_id="a")],
    )
    over = translate(with_ids, NAME, "anthropic")
    written_body = translate(over.body, "anthropic", NAME, ids=over.ids).body
    assert pairs(written_body) == [("id", "1"), ("id", "2")]


def test_all_responses_are_alone_in_one_content_in_call_order() -> None:
    body = translate_to_gemini(
        chat(
            {"role": "assistant", "tool_calls": [function_call("a"), function_call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "B"},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
            {"role": "user", "content": "go"},
        )
    )
    assert body["contents"] == [
        {"role": "model", "parts": [call_part(call_id="a") | {}, call_part(call_id="b") | {}]},  # type: ignore[operator]
        {
            "role": "user",
            "parts": [
                response_part({"output": "A"}, call_id="a"),
                response_part({"output": "B"}, call_id="b"),
            ],
        },
        {"role": "user", "parts": [{"text": "go"}]},
    ]


@pytest.mark.parametrize(
    ("response", "text", "error"),
    [
        ({"output": "x"}, "x", False),
        ({"error": "x"}, "x", True),
        ({"celsius": 18}, '{"celsius":18}', False),
        ({"output": {"a": 1}}, '{"a":1}', False),
        ({"output": "x", "more": 1}, '{"output":"x","more":1}', False),
        ({}, "{}", False),
        (None, "", False),
    ],
    ids=str,
)
def test_a_response_holds_output_or_error_or_is_the_result_itself(
    response: JSON, text: str, error: bool
) -> None:
    (result,) = decode(history([], [response_part(response)]), NAME).results()
    assert (result.text, result.error) == (text, error)


@pytest.mark.parametrize(
    "value", [{"output": "x"}, {"error": "x"}, {"a": 1}, [1], 7, None, "x", {}], ids=str
)
def test_a_result_that_looks_like_an_envelope_is_wrapped_and_restored(value: JSON) -> None:
    start = decode(
        history([call_part(call_id="a")], [response_part({"output": "x"}, call_id="a")]), NAME
    )
    result = start.results()[0]
    new = start.calls()[0].result(value)
    body = encode(start.replace(result, new), NAME).body
    (restored,) = decode(body, NAME).results()
    assert (restored.output, restored.error) == ("" if value is None else value, False)


def test_a_response_names_its_function_also_when_the_source_did_not() -> None:
    body = translate_to_gemini(
        chat(
            {"role": "assistant", "tool_calls": [function_call("a")]},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
        )
    )
    assert body["contents"][1]["parts"][0]["functionResponse"]["name"] == "f"  # type: ignore[index,call-overload]


def test_a_signature_stays_on_the_part_of_an_edited_call() -> None:
    body = history([{**call_part(), "thoughtSignature": "s"}], [])  # type: ignore[dict-item]
    conversation = decode(body, NAME)
    (call,) = conversation.calls()
    assert call.signature == "s"
    edited = encode(conversation.replace(call, Call(call.id, "g", call.args)), NAME).body
    assert edited == history([{**call_part("g"), "thoughtSignature": "s"}], [])  # type: ignore[dict-item]


def test_both_spellings_are_read_alike_and_are_written_back_unchanged() -> None:
    camel: JSON = {
        "contents": [
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}],
            }
        ],
        "generationConfig": {"maxOutputTokens": 7},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }
    snake: JSON = {
        "contents": [
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "args": {}}, "thought_signature": "s"}],
            }
        ],
        "generation_config": {"max_output_tokens": 7},
        "tool_config": {"function_calling_config": {"mode": "ANY"}},
    }
    assert decode(camel, NAME) == decode(snake, NAME)
    assert encode(decode(snake, NAME), NAME).body == snake


def test_an_answer_in_snake_case_is_read_as_one_in_camel_case() -> None:
    camel: JSON = {
        "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}],
        "responseId": "r",
        "modelVersion": "m",
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    }
    snake: JSON = {
        "candidates": [{"content": {"parts": [{"text": "x"}]}, "finish_reason": "MAX_TOKENS"}],
        "response_id": "r",
        "model_version": "m",
        "usage_metadata": {"prompt_token_count": 1, "candidates_token_count": 2},
    }
    read = decode(camel, NAME, "response")
    assert read.settings == {"id": "r", "model": "m", "usage": Usage(1, 2)}
    assert decode(snake, NAME, "response") == read


def test_a_thought_part_is_read_as_reasoning() -> None:
    body: JSON = {
        "contents": [
            {
                "role": "model",
                "parts": [{"text": "hm", "thought": True}, {"thought": False, "text": "yes"}],
            }
        ]
    }
    parts = list(decode(body, NAME).parts())
    assert parts == [Reasoning("hm"), Text("yes")]


def test_a_format_is_read_from_either_kind_of_schema_and_written_as_json_schema() -> None:
    for key, schema in (
        ("responseSchema", {"type": "STRING"}),
        ("responseJsonSchema", {"type": "string"}),
    ):
        body: JSON = {
            "contents": [],
            "generationConfig": {"responseMimeType": "application/json", key: schema},  # type: ignore[dict-item]
        }
        assert decode(body, NAME).settings["format"] == Format({"type": "string"})
    expected: JSON = {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "string"}},
    }
    config = translate_to_gemini(chat({"role": "user", "content": "hi"}, response_format=expected))[
        "generationConfig"
    ]
    assert config == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "string"},
    }


def test_any_of_some_tools_is_a_required_choice_with_names() -> None:
    body: JSON = {
        "contents": [],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
        },
    }
    assert decode(body, NAME).settings["choice"] == Choice("required", ("f", "g"))


def test_a_response_with_calls_stops_for_tools_although_the_wire_says_stop() -> None:
    body: JSON = {"candidates": [{"content": {"parts": [call_part()]}, "finishReason": "STOP"}]}
    assert decode(body, NAME, "response").messages[0].stop == "tool"
    restored = translate_to_gemini(
        translate(body, NAME, "openai-chat", "response").body, "openai-chat", "response"
    )
    assert restored["candidates"][0]["finishReason"] == "STOP"  # type: ignore[index,call-overload]


def test_a_system_instruction_that_is_plain_text_stays_plain_text() -> None:
    body: JSON = {"systemInstruction": "Be brief.", "contents": []}
    conversation = decode(body, NAME)
    (part,) = conversation.parts()
    assert isinstance(part, Text)
    edited = conversation.replace(part, replace(part, text="Be kind."))
    assert encode(edited, NAME).body == {"systemInstruction": "Be kind.", "contents": []}


def test_a_declaration_that_is_no_object_is_named_in_the_error() -> None:
    body: JSON = {"contents": [], "tools": [{"functionDeclarations": [5]}]}
    with pytest.raises(DecodeError, match="/tools/0/functionDeclarations/0"):
        decode(body, NAME)


def test_a_call_that_opens_with_arguments_keeps_them_beside_those_by_path() -> None:
    def chunk(call: JSON, **more: JSON) -> JSON:
        return {"candidates": [{"content": {"parts": [{"functionCall": call}]}, **more}]}

    value: JSON = {"jsonPath": "$.b", "stringValue": "x"}
    first = chunk({"name": "f", "args": {"a": 1}, "willContinue": True})
    second = chunk({"partialArgs": [value], "willContinue": True})
    last = chunk({}, finishReason="STOP")
    for events, expected in (
        ([first, last], {"a": 1}),
        ([first, second, last], {"a": 1, "b": "x"}),
    ):
        (call,) = decode(fold(events, NAME), NAME, "response").calls()
        assert call.input == expected


PICTURE: Media = Media("image", "image/png", "QUJD")


def contents_with_pictures(model: str, *ids: str) -> list[JSON]:
    """A request to a model: two parallel calls, each with a picture in its result."""
    calls = [Call(call_id, "draw", {"n": n}) for n, call_id in enumerate(ids)]
    results = [call.result((Text(f"picture {n}"), PICTURE)) for n, call in enumerate(calls)]
    messages = (
        Message("user", "Draw."),
        Message("assistant", tuple(calls)),
        Message("tool", tuple(results)),
    )
    encoded = encode(Conversation(messages, settings={"model": model}), NAME)
    assert isinstance(encoded.body, dict)
    contents = encoded.body["contents"]
    assert isinstance(contents, list)
    return contents


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-2.0-flash", "models/gemini-2.5-pro"])
def test_pictures_of_results_follow_in_a_user_content_for_models_that_take_text(model: str) -> None:
    responses, pictures = contents_with_pictures(model, "a", "b")[2:]
    assert '"parts": [{"inlineData"' not in json.dumps(responses)
    image: JSON = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    labels: list[JSON] = [{"text": f"From tool call {call_id} (draw):"} for call_id in "ab"]
    assert pictures == {"role": "user", "parts": [labels[0], image, labels[1], image]}


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-flash-latest", "gemini-10-pro"])
def test_pictures_of_results_stay_inside_for_models_that_take_them(model: str) -> None:
    (responses,) = contents_with_pictures(model, "a", "b")[2:]
    assert json.dumps(responses).count('"parts": [{"inlineData"') == 2


def test_a_picture_is_named_by_the_number_of_its_call_if_the_call_has_no_id() -> None:
    pictures = contents_with_pictures("gemini-2.5-flash", "tw-" + "0" * 16, "tw-" + "1" * 16)[3]
    labels = [f"From tool call number {n} (draw):" for n in (1, 2)]
    assert all(label in json.dumps(pictures) for label in labels)


def body_of_client(output: JSON, name: str = "weather") -> dict[str, JSON]:
    """A request of a client that wraps results in `name` and `content`."""
    response: JSON = {"name": name, "content": output}
    contents: list[JSON] = [
        {"role": "user", "parts": [{"text": "The weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "weather", "response": response}}],
        },
    ]
    return {"contents": contents}


@pytest.mark.parametrize("output", ["-3 degrees", {"degrees": -3}, ["cold", "wet"], 0, False])
def test_other_wires_get_the_output_that_a_client_wrapped(output: JSON) -> None:
    translated = translate(body_of_client(output), NAME, "openai-chat")
    (result,) = decode(translated.body, "openai-chat").results()
    assert result.text == (
        output if isinstance(output, str) else json.dumps(output).replace(" ", "")
    )
    back = translate(translated.body, "openai-chat", NAME, ids=translated.ids)
    assert decode(back.body, NAME).results()[0].output == output


def test_the_wrapper_of_a_client_stays_on_its_own_wire_and_holds_an_edited_result() -> None:
    body = body_of_client("-3 degrees")
    conversation = decode(body, NAME)
    assert encode(conversation, NAME).body == body
    edited = conversation.replace_result(conversation.calls()[0], "hot")
    assert encode(edited, NAME).body == body_of_client("hot")
    added = replace(edited, messages=(*edited.messages, Message("user", "And now?")))
    written = encode(added, NAME).body
    assert isinstance(written, dict) and isinstance(written["contents"], list)
    assert written["contents"][:3] == body_of_client("hot")["contents"]


def test_an_output_with_a_name_of_its_own_is_no_wrapper() -> None:
    (result,) = decode(body_of_client("a city", name="Oslo"), NAME).results()
    assert result.output == {"name": "Oslo", "content": "a city"}


@pytest.mark.parametrize("outer", ["generationConfig", "generation_config"])
@pytest.mark.parametrize("inner", ["maxOutputTokens", "max_output_tokens"])
def test_each_name_of_a_path_may_have_either_spelling(outer: str, inner: str) -> None:
    contents: JSON = [{"role": "user", "parts": [{"text": "Hi"}]}]
    body: JSON = {"contents": contents, outer: {inner: 7}}
    assert decode(body, "gemini").settings["max_tokens"] == 7
    assert encode(decode(body, "gemini"), "gemini").body == body
