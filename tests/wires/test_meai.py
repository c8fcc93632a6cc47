"""Microsoft.Extensions.AI: contents with a `$type`, tools that a service ran, responses of several
turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from toolwire import (
    Call,
    Choice,
    Conversation,
    Format,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Text,
    Tool,
    Usage,
    catalogue,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Kind

NAME = "meai"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
ENTRIES = [
    entry
    for entry in (json.loads(CATALOGUE.read_text()) if CATALOGUE.is_file() else [])
    if entry["wire"] == NAME and entry["core_wire"] and entry["form"] != "response-stream"
]


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A request of one message around a minimal example of a content; None for a streamed one."""
    if form == "response-stream":
        return None
    role = "tool" if discriminator["$type"] == "functionResult" else "assistant"
    return {"messages": [message(role, example)]}, "request"


def message(role: str, *contents: JSON, **more: JSON) -> JSON:
    return {"role": role, "contents": list(contents), **more}


def content(kind: str, **fields: JSON) -> JSON:
    return {"$type": kind, **fields}


def text(value: str) -> JSON:
    return content("text", text=value)


def call(call_id: JSON = "c1", name: str = "f", **value: JSON) -> JSON:
    return content("functionCall", callId=call_id, name=name, arguments=value)


def result(value: JSON, call_id: JSON = "c1") -> JSON:
    return content("functionResult", callId=call_id, result=value)


def value_at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


TYPES = [
    ("functionCall", {"callId": "1", "name": "f"}, Call, "function", "client"),
    ("functionResult", {"callId": "1", "result": "x"}, Result, "function", "client"),
    ("mcpServerToolCall", {"callId": "1", "name": "f", "serverName": "s"}, Call, "mcp", "provider"),
    ("mcpServerToolResult", {"callId": "1"}, Result, "mcp", "provider"),
    ("codeInterpreterToolCall", {"callId": "1"}, Call, "code-interpreter", "provider"),
    ("codeInterpreterToolResult", {"callId": "1"}, Result, "code-interpreter", "provider"),
    ("imageGenerationToolCall", {"callId": "1"}, Call, "image-gen", "provider"),
    ("imageGenerationToolResult", {"callId": "1"}, Result, "image-gen", "provider"),
    ("webSearchToolCall", {"callId": "1"}, Call, "web-search", "provider"),
    ("webSearchToolResult", {"callId": "1"}, Result, "web-search", "provider"),
    ("toolCall", {"callId": "1"}, Call, "generic-server-tool", "provider"),
    ("toolResult", {"callId": "1"}, Result, "generic-server-tool", "provider"),
    (
        "toolApprovalRequest",
        {"requestId": "1", "toolCall": {"$type": "toolCall", "callId": "2"}},
        Call,
        "tool-approval",
        "client",
    ),
    (
        "toolApprovalResponse",
        {"requestId": "1", "approved": True},
        Result,
        "tool-approval",
        "client",
    ),
    ("inputRequest", {"requestId": "1"}, Call, "input", "client"),
    ("inputResponse", {"requestId": "1"}, Result, "input", "client"),
]


@pytest.mark.parametrize(
    ("kind", "fields", "part", "family", "executor"), TYPES, ids=[row[0] for row in TYPES]
)
def test_every_type_of_call_and_result_is_read_as_what_it_is(
    kind: str, fields: dict[str, JSON], part: type, family: str, executor: str
) -> None:
    wrapped = wrap_example(content(kind, **fields), {"$type": kind}, "both")
    assert wrapped is not None
    body, form = wrapped
    conversation = decode(body, NAME, form)
    (inner,) = conversation.parts()
    assert isinstance(inner, Call | Result)
    assert isinstance(inner, part)
    assert (inner.family, inner.executor, inner.origin) == (family, executor, "wire")
    assert (inner.id if isinstance(inner, Call) else inner.call_id) == "1"
    assert encode(conversation, NAME, form).body == body
    direction = "call" if part is Call else "output"
    assert (direction, family, "natural") in {
        (row.direction, row.family, row.origin) for row in catalogue() if row.wire == NAME
    }


def test_every_type_of_the_catalogue_is_tried_above() -> None:
    types = {row.type for row in catalogue() if row.wire == NAME}
    assert types == {row[0] for row in TYPES}
    assert (
        ENTRIES == []
    )  # the shared catalogue has none of this wire; if that changes, try them here


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (text("x"), Text("x")),
        (content("reasoning", text="x", protectedData="s"), Reasoning("x", signature="s")),
        (content("reasoning", protectedData="s"), Reasoning("", signature="s")),
        (
            content("data", uri="data:image/png;base64,AAAA", name="n"),
            Media("image", "image/png", "AAAA", name="n"),
        ),
        (
            content("uri", uri="https://e.org/x", mediaType="image/*"),
            Media("image", url="https://e.org/x"),
        ),
        (
            content("uri", uri="https://e.org/x", mediaType="audio/mpeg"),
            Media("audio", "audio/mpeg", url="https://e.org/x"),
        ),
        (
            content("hostedFile", fileId="f1", mediaType="application/pdf"),
            Media("file", "application/pdf", file="f1"),
        ),
        (content("error", message="no", errorCode="Refusal"), Text("no", True)),
    ],
)
def test_every_other_type_is_read_as_what_it_is(block: JSON, part: object) -> None:
    assert list(decode([message("user", block)], NAME).parts()) == [part]


@pytest.mark.parametrize("kind", ["hostedVectorStore", "usage", "error", "hologram"])
def test_a_content_without_a_neutral_form_is_kept_and_reported(kind: str) -> None:
    body: JSON = [message("user", text("x"), content(kind, message="m", details={}))]
    conversation = decode(body, NAME)
    (_, part) = conversation.parts()
    assert isinstance(part, Opaque)
    assert encode(replace(conversation, settings={}), NAME).body == body
    assert [loss.pointer for loss in encode(conversation, "openai-chat").losses] == [
        "/0/contents/1"
    ]


# --- ids ------------------------------------------------------------------------------------------


def test_a_minted_id_is_sent_because_ids_must_not_be_null() -> None:
    source: JSON = {
        "contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}]
    }
    translated = translate(source, "gemini", NAME)
    result = value_at(translated.body, "messages", 0, "contents", 0, "callId")
    assert str(result).startswith("tw-")
    assert translate(translated.json(), NAME, "gemini", ids=translated.ids).body == source


@pytest.mark.parametrize("missing", [None, "", " ", "null"])
def test_a_call_without_an_id_is_read_and_paired_by_nothing(missing: JSON) -> None:
    conversation = decode(
        [message("assistant", call(missing), call(missing)), message("tool", result("x", missing))],
        NAME,
    )
    assert [call.origin for call in conversation.calls()] == ["minted", "minted"]
    assert [pair.how for pair in conversation.pairs()] == [None, None, None]


def test_parallel_results_in_another_order_find_their_calls() -> None:
    body: JSON = [
        message("assistant", call("a"), call("b")),
        message("tool", result("of b", "b")),
        message("tool", result("of a", "a")),
    ]
    pairs = decode(body, NAME).pairs()
    assert [(pair.call and pair.call.id, pair.result and pair.result.text) for pair in pairs] == [
        ("a", "of a"),
        ("b", "of b"),
    ]


def test_the_ids_of_a_services_tools_survive_where_the_model_can_hold_them() -> None:
    body: JSON = [
        message(
            "assistant",
            content("mcpServerToolCall", callId="mcp_1", name="f"),
            content("mcpServerToolResult", callId="mcp_1"),
        )
    ]
    written_body = translate(body, NAME, "openai-chat", server_tools="call").body
    assert (
        value_at(written_body, "messages", 0, "tool_calls", 0, "id")
        == value_at(written_body, "messages", 1, "tool_call_id")
        == "mcp_1"
    )


# --- results --------------------------------------------------------------------------------------


def test_a_result_may_be_any_json_or_contents() -> None:
    contents = [text("see"), content("data", uri="data:image/png;base64,AAAA")]
    body: JSON = [
        message(
            "tool",
            result({"n": [1, None]}),
            result(contents, "c2"),
            result(None, "c3"),
            result(contents[1], "c4"),
        )
    ]
    outputs = [result.output for result in decode(body, NAME).results()]
    picture = Media("image", "image/png", "AAAA")
    assert outputs == [{"n": [1, None]}, (Text("see"), picture), "", (picture,)]


def test_an_error_among_the_outputs_of_a_service_makes_the_result_an_error() -> None:
    body: JSON = [
        message(
            "assistant",
            content("mcpServerToolResult", callId="m", outputs=[content("error", message="down")]),
        )
    ]
    (result,) = decode(body, NAME).results()
    assert (result.error, result.text) == (True, "down")


def test_the_flag_of_a_failed_result_is_reported_and_is_restored_with_the_id_map() -> None:
    source: JSON = {
        "max_tokens": 5,
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "broken",
                        "is_error": True,
                    }
                ],
            },
        ],
    }
    translated = translate(source, "anthropic", NAME)
    assert value_at(translated.body, "messages", 1) == message(
        "tool", result("[error] broken", "t1")
    )
    assert [loss.pointer for loss in translated.losses] == ["/messages/1/content/0"]
    assert (
        decode(
            translate(translated.json(), NAME, "anthropic", ids=translated.ids).json(), "anthropic"
        )
        .results()[0]
        .error
    )


def test_parts_that_are_added_to_a_message_of_this_wire_are_lowered_and_reported() -> None:
    conversation = decode([message("assistant", text("Hi"))], NAME)
    answer = conversation.messages[0]
    added = (Media("file", text="doc"), Opaque("hologram", {}))
    edited = replace(conversation, messages=(replace(answer, parts=(*answer.parts, *added)),))
    encoded = encode(edited, NAME)
    assert encoded.body == [message("assistant", text("Hi"), text("doc"))]
    assert len(encoded.losses) == 2


def test_the_edit_of_a_result_keeps_the_contents_that_have_no_neutral_form() -> None:
    counts = content("usage", details={"inputTokenCount": 1})
    conversation = decode([message("tool", result([text("a"), counts]))], NAME)
    (old,) = conversation.results()
    assert isinstance(old.output, tuple)
    edited = conversation.replace(old, replace(old, output=(Text("b"), old.output[1])))
    assert encode(edited, NAME).body == [message("tool", result([text("b"), counts]))]


# --- approvals ------------------------------------------------------------------------------------


def test_an_approval_has_its_own_id_in_request_and_response() -> None:
    approval_request = content(
        "toolApprovalRequest", requestId="ficc_c1", toolCall=call("c1", "delete", path="/x")
    )
    response = content(
        "toolApprovalResponse",
        requestId="ficc_c1",
        approved=False,
        reason="no",
        toolCall=call("c1", "delete", path="/x"),
    )
    body: JSON = [
        message("assistant", approval_request),
        message("user", response),
        message("assistant", call("c1", "delete", path="/x")),
    ]
    conversation = decode(body, NAME)
    assert [(pair.call and pair.call.id, pair.how) for pair in conversation.pairs()] == [
        ("ficc_c1", "id"),
        ("c1", None),
    ]
    request, answer = conversation.calls()[0], conversation.results()[0]
    assert (request.name, request.input) == ("delete", {"path": "/x"})
    assert answer.output == {"approved": False, "reason": "no"}
    assert "/0/contents/0/toolCall/callId" in [
        loss.pointer for loss in encode(conversation, "openai-chat").losses
    ]


def test_editing_a_decision_changes_only_the_decision() -> None:
    response = content("toolApprovalResponse", requestId="r", approved=False, toolCall=call())
    conversation = decode([message("user", response)], NAME)
    (result,) = conversation.results()
    body = encode(
        conversation.replace(result, replace(result, output={"approved": True})), NAME
    ).body
    assert body == [
        message(
            "user", content("toolApprovalResponse", requestId="r", approved=True, toolCall=call())
        )
    ]


def test_an_informational_call_is_not_the_clients() -> None:
    block = content("functionCall", callId="c1", name="f", informationalOnly=True)
    assert [call.executor for call in decode([message("assistant", block)], NAME).calls()] == [
        "provider"
    ]


# --- requests -------------------------------------------------------------------------------------

OPTIONS: dict[str, JSON] = {
    "modelId": "m",
    "temperature": 0.5,
    "maxOutputTokens": 9,
    "topP": 0.1,
    "topK": 3,
    "seed": 4,
    "frequencyPenalty": 0.2,
    "presencePenalty": 0.3,
    "stopSequences": ["."],
    "allowMultipleToolCalls": False,
    "toolMode": {"$type": "required", "requiredFunctionName": "f"},
    "responseFormat": {"$type": "json", "schema": {"type": "object"}, "schemaName": "n"},
    "reasoning": {"effort": "ExtraHigh"},
}


def test_options_are_read_and_written() -> None:
    body: JSON = {
        "messages": [message("user", text("x"))],
        "options": {**OPTIONS, "conversationId": "v"},
    }
    conversation = decode(body, NAME)
    assert conversation.settings == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 9,
        "top_p": 0.1,
        "top_k": 3,
        "seed": 4,
        "frequency_penalty": 0.2,
        "presence_penalty": 0.3,
        "stop": (".",),
        "parallel": False,
        "choice": Choice("required", ("f",)),
        "format": Format({"type": "object"}, "n"),
        "effort": "xhigh",
    }
    assert conversation.source.unknown_fields == (("options", "conversationId"),)
    with_tool = replace(conversation, tools=(Tool("f", None, {"type": "object"}),))
    chat = encode(with_tool, "openai-chat")
    written_body = translate(chat.json(), "openai-chat", NAME).body
    tools: JSON = [{"jsonSchema": {"type": "object"}, "name": "f"}]
    kept = {key: value for key, value in OPTIONS.items() if key != "topK"}
    assert value_at(written_body, "options") == {**kept, "tools": tools}


def test_instructions_are_read_as_a_system_prompt_and_stay_in_their_field() -> None:
    body: JSON = {"messages": [message("user", text("x"))], "options": {"instructions": "Be kind."}}
    conversation = decode(body, NAME)
    assert [message.role for message in conversation.messages] == ["system", "user"]
    assert value_at(encode(conversation, "openai-chat").body, "messages", 0) == {
        "role": "system",
        "content": "Be kind.",
    }
    longer = replace(
        conversation, messages=(*conversation.messages, Message("assistant", (Text("y"),)))
    )
    assert encode(longer, NAME).body == {
        "messages": [message("user", text("x")), message("assistant", text("y"))],
        "options": {"instructions": "Be kind."},
    }
    assert encode(replace(conversation, messages=conversation.messages[1:]), NAME).body == {
        "messages": [message("user", text("x"))],
        "options": {},
    }


def test_tools_are_read_by_the_names_of_their_properties() -> None:
    tool: JSON = {
        "name": "f",
        "description": "d",
        "jsonSchema": {"type": "object"},
        "additionalProperties": {"strict": True},
    }
    hosted = content("hostedWebSearch", name="web")
    conversation = decode(
        {"messages": [message("user", text("x"))], "options": {"tools": [tool, hosted]}}, NAME
    )
    assert [(tool.name, tool.schema, tool.strict, tool.kind) for tool in conversation.tools] == [
        ("f", {"type": "object"}, True, "function"),
        ("", None, None, "hostedWebSearch"),
    ]
    chat = encode(conversation, "openai-chat")
    assert [loss.pointer for loss in chat.losses] == ["/options/tools/1"]
    assert value_at(translate(chat.json(), "openai-chat", NAME).body, "options", "tools") == [tool]


# --- responses ------------------------------------------------------------------------------------


def test_calls_with_results_in_a_response_are_complete_and_open_calls_are_the_clients() -> None:
    body: JSON = {
        "messages": [
            message("assistant", call("a")),
            message("tool", result("x", "a")),
            message("assistant", call("b")),
        ],
        "finishReason": "tool_calls",
    }
    conversation = decode(body, NAME, "response")
    assert [(call.id, call.executor) for call in conversation.calls()] == [
        ("a", "provider"),
        ("b", "client"),
    ]
    chat = encode(conversation, "openai-chat", "response")
    assert [
        value_at(choice, "id")
        for choice in value_at(chat.body, "choices", 0, "message", "tool_calls")  # type: ignore[union-attr]
    ] == ["b"]
    assert [loss.pointer for loss in chat.losses] == [
        "/messages/0/contents/0",
        "/messages/1/contents/0",
    ]


def test_a_part_added_to_a_response_keeps_its_position() -> None:
    body: JSON = {
        "messages": [
            message("assistant", call("a")),
            message("tool", result("x", "a")),
            message("assistant", text("y")),
        ]
    }
    conversation = decode(body, NAME, "response")
    (answer,) = conversation.messages
    longer = replace(conversation, messages=(replace(answer, parts=(*answer.parts, Text("z"))),))
    assert value_at(encode(longer, NAME, "response").body, "messages", 2) == message(
        "assistant", text("y"), text("z")
    )


def test_a_response_survives_a_round_trip() -> None:
    body: JSON = {
        "messages": [message("assistant", text("x"), call())],
        "responseId": "chatcmpl-r",
        "modelId": "m",
        "createdAt": "2026-03-01T12:00:00+00:00",
        "finishReason": "tool_calls",
        "usage": {
            "inputTokenCount": 5,
            "outputTokenCount": 3,
            "totalTokenCount": 8,
            "cachedInputTokenCount": 2,
            "reasoningTokenCount": 1,
        },
    }
    conversation = decode(body, NAME, "response")
    assert conversation.settings == {
        "id": "chatcmpl-r",
        "model": "m",
        "created": 1772366400,
        "usage": Usage(5, 3, 2, None, 1),
    }
    chat = encode(conversation, "openai-chat", "response")
    assert chat.losses == []
    assert translate(chat.json(), "openai-chat", NAME, "response").body == body


@pytest.mark.parametrize(
    "moment", ["2026-03-01T12:00:00.1234567Z", "2026-03-01T13:00:00.5+01:00", "2026-03-01T12:00:00"]
)
def test_a_timestamp_is_read_in_every_form_that_dotnet_writes(moment: str) -> None:
    body: JSON = {"messages": [message("assistant", text("x"))], "createdAt": moment}
    assert decode(body, NAME, "response").settings["created"] == 1772366400


@pytest.mark.parametrize(
    "body", [[message("user", text("x"))], {"messages": [message("tool", result("x"))]}]
)
def test_detect_finds_this_wire_for_its_bodies_only(body: JSON) -> None:
    assert detect(body) == NAME


@pytest.mark.parametrize("body", [[], {"messages": []}])
def test_a_response_without_messages_stays_without_them(body: JSON) -> None:
    answer = decode(body, "meai", "response")
    edited = replace(answer, settings={"id": "r1"})
    encoded = encode(edited, "meai", "response")
    assert encoded.body == {"responseId": "r1", "messages": []}
    assert encode(replace(answer, messages=()), "meai", "response").body == body


def test_a_text_added_to_a_response_without_an_answer_is_an_answer() -> None:
    prompt: JSON = {"role": "system", "contents": [{"$type": "text", "text": "Be brief."}]}
    read = decode([prompt], "meai", "response")
    edited = replace(read, messages=(replace(read.messages[0], parts=(Text("Hi."),)),))
    answer = {"role": "assistant", "contents": [{"$type": "text", "text": "Hi."}]}
    assert encode(edited, "meai", "response").body == [prompt, answer]


@pytest.mark.parametrize("created", ["soon", 1e30])
def test_a_timestamp_without_a_date_is_reported(created: JSON) -> None:
    answer = Conversation([Message("assistant", "Hi.")], (), {"created": created}, "", "response")
    encoded = encode(answer, "meai", "response")
    assert [loss.pointer for loss in encoded.losses] == ["/created"]
