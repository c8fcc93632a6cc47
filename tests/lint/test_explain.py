"""A refusal, as each provider writes it, leads to the rule and the place in the body."""

from __future__ import annotations

import pytest
from growth import GROWTH_LIMIT, growth
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields
from rows import rows

from toolwire.conversation.json import JSON, dump
from toolwire.errors import DecodeError, UsageError
from toolwire.lint import all_rules, check
from toolwire.lint.examples.chat import USER, assistant, tool_call
from toolwire.lint.examples.chat import tool_message as answer
from toolwire.lint.explain import Explanation, explain
from toolwire.lint.provider_errors import (
    ERROR_KINDS,
    ERROR_PATTERNS,
    PROVIDER_PATTERNS,
    match_error,
    read_references,
)
from toolwire.lint.provider_errors.completion import KnownMessages
from toolwire.lint.rule import Rule
from toolwire.profiles.table import PROFILES, Profile

REFUSALS = (
    (
        "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
        "id-too-long",
    ),
    (
        "Invalid 'messages[4].tool_call_id': string too long. Expected a string with maximum length 64, but got a string with length 1721 instead.",
        "id-too-long",
    ),
    (
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
        "id-too-long",
    ),
    ("Invalid 'input[2].id': 'call_Ab1'. Expected an ID that begins with 'fc'.", "item-id-prefix"),
    ("Invalid 'input[5].id': 'fc_1'. Expected an ID that begins with 'ctc'.", "item-id-prefix"),
    (
        "Invalid 'input[1].id': 'msg-1'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.",
        "item-id-prefix",
    ),
    (
        "Invalid 'input[3].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        "id-empty",
    ),
    (
        "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a string with minimum length 1",
        "name-empty",
    ),
    (
        "Invalid 'messages[2].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "empty-tool-calls",
    ),
    (
        "Invalid type for 'messages[1].tool_calls[0].id': expected a string, but got null instead.",
        "id-missing",
    ),
    ("Invalid parameter: messages with role 'tool' must have a 'tool_call_id'.", "id-missing"),
    (
        "'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.tool_call_id' : property 'tool_call_id' is missing)]",
        "id-missing",
    ),
    ("messages.2.content.0.tool_result.tool_use_id: Field required", "id-missing"),
    ("tool_calls[0] id cannot be empty", "id-missing"),
    (
        "Invalid parameter: 'tool_call_id' of 'Sum: 15' not found in 'tool_calls' of previous message.",
        "id-is-result-content",
    ),
    ("Duplicate value for 'tool_call_id' of 'call_1' in messages[7] and messages[8]", "dup-result"),
    ("The toolResult blocks at messages.2.content contain duplicate Ids: tooluse_a1", "dup-result"),
    (
        "messages.4: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
        "dup-result",
    ),
    ("messages.3.content.1: `tool_use` ids must be unique", "id-dup-in-turn"),
    ("Invalid request: tool call id write:12 is duplicated", "id-dup-in-turn"),
    (
        "The toolUse blocks at messages.1.content contain duplicate Ids: http_request",
        "id-dup-in-turn",
    ),
    (
        "Duplicate item found with id fc_68ab12. Remove duplicate items from your input and try again.",
        "duplicate-item",
    ),
    (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
        "missing-result",
    ),
    (
        "Messages with role 'tool': (insufficient tool messages following tool_calls message)",
        "missing-result",
    ),
    (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        "missing-result",
    ),
    ("No tool output found for function call call_1.", "missing-result"),
    (
        "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1, tooluse_2",
        "missing-result",
    ),
    ("Did not find 1 `tool_result` block(s) at the beginning of this message.", "missing-result"),
    ("Tool results are missing for tool calls call_1", "missing-result"),
    (
        "Found AIMessages with tool_calls that do not have a corresponding ToolMessage.",
        "missing-result",
    ),
    (
        '<400> InternalError.Algo.InvalidParameter: An assistant message with \\"tool_calls\\" must be followed by tool messages responding to each \\"tool_call_id\\". message[15].role',
        "missing-result",
    ),
    (
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "orphan-result",
    ),
    (
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        "orphan-result",
    ),
    ("messages.3: `tool_result` blocks can only be in `user` messages", "wrong-role"),
    (
        "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01",
        "orphan-result",
    ),
    ("No tool call found for function call output with call_id call_9.", "orphan-result"),
    (
        "Message has tool role, but there was no previous assistant message with a tool call!",
        "orphan-result",
    ),
    (
        "invalid params, tool result's tool id(call_function_ab12_1) not found (2013)",
        "orphan-result",
    ),
    ("Invalid request: tool_call_id  is not found", "id-empty"),
    ("Unexpected tool call id AbC123xyz in tool results", "orphan-result"),
    ("ToolResult with ID tooluse_1 has no corresponding ToolUse", "orphan-result"),
    ("Missing corresponding tool call for tool response message.", "orphan-result"),
    ("invalid params, tool call result does not follow tool call (2013)", "result-separated"),
    ("invalid params, tool call and result not match (2013)", "result-separated"),
    (
        "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
        "server-tool-unpaired",
    ),
    (
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        "count-mismatch",
    ),
    ("Not the same number of function calls and responses", "count-mismatch"),
    (
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
        "count-mismatch",
    ),
    (
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "history-starts-with-call",
    ),
    (
        "Please ensure that function response turn comes immediately after a function call turn.",
        "result-separated",
    ),
    ("functionResponse.id 'b' does not match functionCall.id 'a'", "results-out-of-order"),
    (
        "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",
        "name-empty",
    ),
    (
        "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[1].function_call': Cannot find field.",
        "id-field-unsupported",
    ),
    (
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "id-bad-charset",
    ),
    ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "id-wrong-length"),
    ("Tool call IDs should be alphanumeric strings with length 9!", "id-wrong-length"),
    ("Unexpected role 'user' after role 'tool'", "user-after-tool"),
    ("Expected last role to be one of: [tool, user] but got assistant", "trailing-assistant"),
    (
        "Function call `f` in the 2. content block is missing a `thought_signature`.",
        "signature-missing",
    ),
    ("Corrupted thought signature.", "signature-foreign"),
    ("messages.1.content.0: Invalid `signature` in `thinking` block", "signature-foreign"),
    (
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        "reasoning-missing",
    ),
    (
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "reasoning-dangling",
    ),
    (
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        "item-id-stale",
    ),
    (
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        "thinking-missing",
    ),
    (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "reasoning-content-missing",
    ),
    (
        "Missing `reasoning_content` field in the assistant message at message index 1.",
        "reasoning-content-missing",
    ),
    (
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "reasoning-content-missing",
    ),
    (
        "The `reasoning_text` in the thinking mode must be passed back to the API.",
        "reasoning-content-missing",
    ),
    (
        "The arguments to a tool_call with ID 'call_1' are not a valid JSON string: EOF while parsing a value",
        "args-invalid-json",
    ),
    (
        "invalid params, invalid function arguments json string, tool_call_id: call_function_1 (2013)",
        "args-invalid-json",
    ),
    ("Can only get item pairs from a mapping.", "args-wrong-type"),
    (
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "tools-undefined",
    ),
    (
        "The content field of toolResult cannot be empty when status value is error.",
        "content-shape",
    ),
    (
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches '^[a-zA-Z0-9_-]+$'.",
        "name-bad-charset",
    ),
    (
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        "name-bad-charset",
    ),
    ("Invalid function name. Must start with a letter or an underscore.", "name-bad-charset"),
    (
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        "wrong-vocabulary",
    ),
    (
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
        "name-too-long",
    ),
    (
        "Invalid 'input[3].id': string too long. Expected a string with maximum length 64, but got a string with length 949 instead.",
        "id-carries-payload",
    ),
    ("'NoneType' object is not iterable (wrong_api_format)", "content-shape"),
    (
        "Invalid type for 'messages[2].tool_call_id': expected a string, but got an integer instead.",
        "id-not-string",
    ),
    ("messages.1.content.0.tool_use.id: Field required", "id-missing"),
    (
        "Value '' at 'messages.1.member.content.0.member.toolUse.toolUseId' failed to satisfy constraint: Member must have length greater than or equal to 1",
        "id-missing",
    ),
    (
        "Value '' at 'messages.1.member.content.0.member.toolUse.name' failed to satisfy constraint: Member must have length greater than or equal to 1",
        "name-empty",
    ),
    (
        "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
        "server-tool-unpaired",
    ),
    ("Missing required parameter: 'messages[1].role'.", "wrong-vocabulary"),
    (
        "Invalid type for 'messages[2].content': expected one of a string or array of objects, but got an object instead.",
        "output-not-string",
    ),
    ("messages.1.content.0.tool_use.input: Input should be a valid dictionary", "args-wrong-type"),
    ("messages.1.content.0.tool_use.name: String should have at least 1 character", "name-empty"),
    ("Tool names must be unique.", "name-collision"),
    ("Tool choice 'nope' not found in 'tools' parameter.", "name-unknown"),
    (
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.content' : value must be a string)]",
        "content-shape",
    ),
    ("messages: text content blocks must be non-empty", "content-shape"),
    (
        "Failed to deserialize the JSON body into the target type: messages[2].role: unknown variant `function`, expected one of `system`, `user`, `assistant`, `tool`",
        "legacy-function-call",
    ),
    (
        "API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.",
        "missing-result",
    ),
    (
        "The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        "signature-foreign",
    ),
    (
        "ValidationException: The model returned the following errors: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        "result-with-extra",
    ),
    (
        'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
        "same-role-twice",
    ),
    ("Output of tool call should be 'Input text'", "output-not-string"),
)
"""Errors, and the rule that each one means."""
TEXTS = [text for text, _ in REFUSALS]


def error_body(words: str) -> str:
    """The error text that contains these words."""
    (text,) = (text for text in TEXTS if words in text)
    return text


@rows("text, rule", REFUSALS)
def test_the_first_explanation_of_an_error_is_its_rule(text: str, rule: str) -> None:
    assert explain(text)[0].name == rule


@rows("text", TEXTS)
def test_an_error_text_in_capitals_or_inside_json_is_recognized(text: str) -> None:
    names = [explanation.name for explanation in explain(text)]
    assert names == [explanation.name for explanation in explain(text.upper())]
    wrapped = dump({"error": {"message": text}}).decode()
    assert names == [explanation.name for explanation in explain(wrapped)]
    assert names == [explanation.name for explanation in explain(dump({"raw": wrapped}).decode())]


def test_every_pattern_matches_its_example() -> None:
    missed = [
        text
        for row in ERROR_PATTERNS
        for text in row.examples
        if row not in match_error(text).patterns
    ]
    assert missed == []


def test_every_suggested_rule_exists() -> None:
    rules = {rule.name for rule in all_rules()}
    assert {name for pattern in ERROR_PATTERNS for name in pattern.rules} - rules == set()


def test_implied_profile_fields_and_provider_names_exist() -> None:
    known = {field.name for field in fields(Profile)}
    assert {key for pattern in ERROR_PATTERNS for key in pattern.implies} <= known
    assert {name for _, names in PROVIDER_PATTERNS for name in names} <= set(PROFILES)


# --- with the body --------------------------------------------------------------------------------


def tool_use(call_id: JSON, name: str = "f") -> JSON:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def assistant_message(*blocks: JSON) -> JSON:
    return {"role": "assistant", "content": list(blocks)}


def tool_result(call_id: JSON) -> JSON:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "1"}


def converse_call(call_id: str) -> JSON:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}}}


def converse_result(call_id: str) -> JSON:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": "1"}]}}


def call_item(call_id: str, **more: JSON) -> JSON:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def output_item(call_id: str) -> JSON:
    return {"type": "function_call_output", "call_id": call_id, "output": "1"}


HI: JSON = {"role": "user", "content": [{"text": "hi"}]}
USER_CONTENT: JSON = {"role": "user", "parts": [{"text": "hi"}]}
TOOL_CONFIG: JSON = {
    "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]
}
TOO_LONG = "call_" + "a" * 80


def chat(*messages: JSON) -> JSON:
    return {"model": "m", "messages": list(messages)}


def model_message(*parts: JSON) -> JSON:
    return {"role": "model", "parts": list(parts)}


def call_part(name: str, **more: JSON) -> JSON:
    return {"functionCall": {"name": name, "args": {}}, **more}


def response_part(name: str) -> JSON:
    return {"functionResponse": {"name": name, "response": {"x": 1}}}


CASES: tuple[tuple[str, str, JSON, str, str], ...] = (
    (
        error_body("messages[3].tool_calls[0].id").replace("41", "85"),
        "openai-chat",
        chat(USER, assistant(tool_call("a" * 50)), answer("a" * 50)),
        "id-too-long",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("input[2].call_id"),
        "openai-responses",
        {"input": [USER, call_item(TOO_LONG), output_item(TOO_LONG)]},
        "id-too-long",
        "/input/1",
    ),
    (
        error_body("begins with 'fc'"),
        "openai-responses",
        {"input": [USER, call_item("call_Ab1", id="call_Ab1"), output_item("call_Ab1")]},
        "item-id-prefix",
        "/input/1",
    ),
    (
        error_body("tool_calls[0].function.name'"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1", "")), answer("call_1")),
        "name-empty",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("empty array"),
        "openai-chat",
        chat(USER, assistant(), USER),
        "empty-tool-calls",
        "/messages/1",
    ),
    (
        error_body("got null"),
        "openai-chat",
        chat(USER, assistant(tool_call(None)), answer("call_1")),
        "id-missing",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("Sum: 15"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1")), answer("Sum: 15", "Sum: 15")),
        "id-is-result-content",
        "/messages/2",
    ),
    (
        error_body("Duplicate value"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1")), answer("call_1"), answer("call_1", "2")),
        "dup-result",
        "/messages/",
    ),
    (
        error_body("ids must be unique"),
        "anthropic",
        {
            "max_tokens": 9,
            "messages": [
                USER,
                assistant_message(tool_use("t1"), tool_use("t1", "g")),
                {"role": "user", "content": [tool_result("t1"), tool_result("t1")]},
            ],
        },
        "id-dup-in-turn",
        "/messages/1/content",
    ),
    (
        error_body("write:12"),
        "openai-chat",
        chat(
            USER,
            assistant(tool_call("write:12")),
            answer("write:12"),
            USER,
            assistant(tool_call("write:12", "g")),
            answer("write:12"),
        ),
        "id-reused-across-turns",
        "/messages/4/tool_calls/0",
    ),
    (
        error_body("Duplicate item"),
        "openai-responses",
        {
            "input": [
                USER,
                call_item("c1", id="fc_68ab12"),
                output_item("c1"),
                call_item("c1", id="fc_68ab12"),
            ]
        },
        "duplicate-item",
        "/input/3",
    ),
    (
        error_body("did not have response messages"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1")), USER),
        "missing-result",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("immediately after: toolu_01"),
        "anthropic",
        {"max_tokens": 9, "messages": [USER, assistant_message(tool_use("toolu_01")), USER]},
        "missing-result",
        "/messages/1/content/0",
    ),
    (
        error_body("No tool output found"),
        "openai-responses",
        {"input": [USER, call_item("call_1"), USER]},
        "missing-result",
        "/input/1",
    ),
    (
        error_body("Expected toolResult"),
        "bedrock",
        {
            "toolConfig": TOOL_CONFIG,
            "messages": [HI, {"role": "assistant", "content": [converse_call("tooluse_1")]}, HI],
        },
        "missing-result",
        "/messages/1/content/0",
    ),
    (
        error_body("blocks: toolu_01"),
        "anthropic",
        {
            "max_tokens": 9,
            "messages": [{"role": "user", "content": [tool_result("toolu_01")]}, USER],
        },
        "history-starts-with-result",
        "/messages/0",
    ),
    (
        error_body("No tool call found"),
        "openai-responses",
        {"input": [USER, call_item("call_1"), output_item("call_1"), USER, output_item("call_9")]},
        "orphan-result",
        "/input/4",
    ),
    (
        error_body("does not follow"),
        "openai-chat",
        chat(
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            answer("call_1"),
            USER,
            answer("call_2"),
        ),
        "result-separated",
        "/messages/",
    ),
    (
        error_body("function call turn comes"),
        "gemini",
        {
            "contents": [
                model_message(call_part("f")),
                {"role": "user", "parts": [response_part("f")]},
                USER_CONTENT,
            ]
        },
        "history-starts-with-call",
        "/contents/0",
    ),
    (
        error_body("Unknown name"),
        "gemini",
        {
            "contents": [
                USER_CONTENT,
                model_message({"functionCall": {"id": "x", "name": "f", "args": {}}}),
                {"role": "user", "parts": [response_part("f")]},
            ]
        },
        "id-field-unsupported",
        "/contents/1/parts/0",
    ),
    (
        error_body("tool_use.id: String"),
        "anthropic",
        {
            "max_tokens": 9,
            "messages": [
                USER,
                assistant_message(tool_use("functions.f:0")),
                {"role": "user", "content": [tool_result("functions.f:0")]},
            ],
        },
        "id-bad-charset",
        "/messages/1/content/0",
    ),
    (
        error_body("Tool call id was"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1")), answer("call_1")),
        "id-wrong-length",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("after role 'tool'"),
        "mistral",
        chat(USER, assistant(tool_call("AbC123xyz")), answer("AbC123xyz"), USER),
        "user-after-tool",
        "/messages/3",
    ),
    (
        error_body("thinking is enabled"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1")), answer("call_1"), USER),
        "reasoning-content-missing",
        "/messages/1",
    ),
    (
        error_body("with ID 'call_1'"),
        "openai-chat",
        chat(USER, assistant(tool_call("call_1", arguments='{"a": ')), answer("call_1")),
        "args-invalid-json",
        "/messages/1/tool_calls/0",
    ),
    (
        error_body("toolConfig"),
        "bedrock",
        {
            "messages": [
                HI,
                {"role": "assistant", "content": [converse_call("tooluse_1")]},
                {"role": "user", "content": [converse_result("tooluse_1")]},
            ]
        },
        "tools-undefined",
        "",
    ),
    (
        error_body("Invalid value: 'tool'"),
        "openai-responses",
        {"input": [USER, call_item("c1"), {"role": "tool", "tool_call_id": "c1", "content": "1"}]},
        "wrong-vocabulary",
        "/input/2",
    ),
)


@pytest.mark.parametrize(
    ("text", "wire", "body", "name", "place"), CASES, ids=[f"{case[3]}-{case[1]}" for case in CASES]
)
def test_with_a_body_the_first_explanation_is_the_violation_with_its_path(
    text: str, wire: str, body: JSON, name: str, place: str
) -> None:
    first = explain(text, body, wire)[0]
    assert first.name == name
    assert (first.pointer or "").startswith(place)
    assert "The provider says" in first.message
    assert "What to do" in first.message


def test_the_wire_of_the_body_is_detected() -> None:
    body = chat(USER, assistant(tool_call("call_1")), USER)
    assert explain(error_body("did not have response messages"), body) == explain(
        error_body("did not have response messages"), body, "openai-chat"
    )
    assert explain(error_body("did not have response messages"), dump(body)) == explain(
        error_body("did not have response messages"), body
    )


def test_an_id_in_the_error_text_ranks_the_explanations() -> None:
    body = chat(USER, assistant(tool_call("call_1")), USER, assistant(tool_call("call_2")), USER)
    for call_id, place in (
        ("call_1", "/messages/1/tool_calls/0"),
        ("call_2", "/messages/3/tool_calls/0"),
    ):
        explanations = explain(
            f"tool_call_ids did not have response messages: {call_id}", body, "openai-chat"
        )
        assert explanations[0].pointer == place
        assert len(explanations) == 2


def test_an_index_in_the_error_text_ranks_the_explanations() -> None:
    body = chat(USER, assistant(tool_call("call_1")), USER, assistant(tool_call("call_2")), USER)
    text = "An assistant message with 'tool_calls' must be followed by tool messages"
    for param, place in (
        ("messages.[2].role", "/messages/1/tool_calls/0"),
        ("message[4].role", "/messages/3/tool_calls/0"),
    ):
        assert explain(f"{text} (param: {param})", body, "openai-chat")[0].pointer == place


def test_an_error_overrules_a_lenient_profile() -> None:
    body = chat(USER, assistant(tool_call("call_1")), USER)
    assert (
        explain(error_body("did not have response messages"), body, "openrouter")[0].name
        == "missing-result"
    )
    assert (
        explain(
            error_body("Tool call id was"),
            chat(USER, assistant(tool_call("a")), answer("a")),
            "openrouter",
        )[0].name
        == "id-wrong-length"
    )


def test_other_violations_come_after_the_one_that_the_error_is_about() -> None:
    body = chat(
        USER,
        assistant(tool_call(TOO_LONG)),
        answer(TOO_LONG),
        USER,
        assistant(tool_call("call_1")),
        USER,
    )
    assert [
        explanation.name
        for explanation in explain(
            error_body("did not have response messages"), body, "openai-chat"
        )
    ] == ["missing-result", "id-too-long"]


def test_an_explanation_says_that_the_body_has_no_such_violation() -> None:
    explanations = explain(
        error_body("did not have response messages"),
        chat(USER, assistant(tool_call("call_1")), answer("call_1")),
        "openai-chat",
    )
    assert explanations[0].name == "missing-result"
    assert "no such violation was found" in explanations[0].message


# --- without one ----------------------------------------------------------------------------------


def test_without_a_body_path_and_id_come_from_the_error_text() -> None:
    first = explain(error_body("Duplicate value"))[0]
    assert first == Explanation(
        "TW019", "dup-result", "/messages/7", first.message, command="toolwire repair FILE"
    )
    assert "call_1" in first.message
    assert explain(error_body("preceeding"))[0].pointer is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("messages.[3].role", ("messages", 3)),
        ("messages[7]", ("messages", 7)),
        ("messages.2.content.1: no", ("messages", 2, "content", 1)),
        ("message[15].role", ("messages", 15)),
        ("messages.1.content.0.tool_use.id: no", ("messages", 1, "content", 0)),
        ("'contents[1].parts[2].function_call'", ("contents", 1, "parts", 2)),
        ("the assistant message at message index 4.", ("messages", 4)),
    ],
)
def test_paths_are_read_from_the_error_text(text: str, place: tuple[str | int, ...]) -> None:
    assert read_references(text).paths == (place,)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("tool call id write:12 is duplicated", ("write:12",)),
        ("tool result's tool id(abc) not found (2013)", ("abc",)),
        ("'tool_call_id' of 'Found 3 documents' not found", ("Found 3 documents",)),
        ("immediately after: toolu_01A, toolu_02B. Each `tool_use`", ("toolu_01A", "toolu_02B")),
        ("for the following Ids: x-1, y-2", ("x-1", "y-2")),
        ("with call_id call_9.", ("call_9",)),
        ("Tool call id was AbC but must be", ("AbC",)),
        ("tool_call_id  is not found", ()),
    ],
)
def test_ids_are_read_from_the_error_text(text: str, ids: tuple[str, ...]) -> None:
    assert read_references(text).ids == ids


def test_an_unknown_error_has_no_explanation() -> None:
    assert explain("") == explain("the moon is full") == []
    assert explain("the moon is full", chat(USER), "openai-chat") == []


def test_an_error_that_is_not_about_tool_calls_is_reported_as_such() -> None:
    (only,) = explain("Rate limit reached for requests")
    assert (only.code, only.name, only.likely, only.command) == ("TW000", "rate-limit", False, "")
    assert only.message.startswith("This error is not about tool calls: ")


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: islice expected at most 4 arguments, got 5",
        "TypeError: Argument is not an instance of a codec",
        "TypeError: _run() missing 1 required positional argument: 'available_names'",
        "SchemaParseException: All symbols in an enum must be unique in the schema",
        "InvalidSchema: No connection adapters were found for the value",
        "BadSignatureError: Duplicate symbols detected",
        "ValueError: 'x' is not a valid signature of a ufunc",
        "ValueError: Need at least one path part to construct a path",
    ],
)
def test_the_words_of_a_call_are_not_about_calls_in_an_error_of_a_program(text: str) -> None:
    assert [one.code for one in explain(text)] == ["TW000"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Retrying in 4s: rate limit\nAssistant message has empty content", "content-shape"),
        ("fetch failed: timeout\nretry\n400 system message must come first", "late-system-message"),
    ],
)
def test_the_line_about_the_history_decides_in_a_log_with_other_errors(
    text: str, rule: str
) -> None:
    assert explain(text)[0].name == rule


TOOL_ERRORS = {
    "registry.ollama.ai/library/phi does not support tools (status code: 400)": "tools-unsupported",
    '"auto" tool choice requires --enable-auto-tool-choice to be set': "tools-unsupported",
    "No endpoints found that support tool use": "tools-unsupported",
    '{"jsonrpc": "2.0", "error": {"code": -32001, "message": "Session not found"}}': "mcp-session",
    "Tool result is too large: 90,000 characters": "tool-output",
    "Thinking mode does not support this tool_choice": "tool-setting",
    "The user rejected the tool use": "tool-run",
}


@pytest.mark.parametrize(("text", "kind"), TOOL_ERRORS.items())
def test_an_error_about_tools_that_no_rule_explains_says_what_to_do(text: str, kind: str) -> None:
    (only,) = explain(text)
    assert (only.code, only.name, only.likely) == ("TW000", kind, True)
    assert "What to do: " in only.message
    assert only.command.startswith("toolwire ")


def test_there_is_an_example_of_every_kind_of_error_about_tools() -> None:
    kinds = {error.kind for error in ERROR_KINDS if error.about_tools}
    assert kinds == set(TOOL_ERRORS.values())
    assert all(error.command for error in ERROR_KINDS if error.about_tools)


@pytest.mark.parametrize(
    "text",
    [
        "Anthropic doesn't support tool calling without `tools=` param",
        "for 'role:user': property 'tool_calls' is unsupported",
        "'messages[6].role' does not support 'function' with this model",
        "Empty tool_calls is not supported in message",
        "User message does not support ToolUse",
        "Hosted tools are not supported with the ChatCompletions API",
    ],
)
def test_what_a_model_does_not_support_about_calls_is_no_lack_of_tools(text: str) -> None:
    assert explain(text)[0].code != "TW000"


@pytest.mark.parametrize(
    ("text", "rule", "command"),
    [
        ("Invalid schema for function 'f'", "schema-refused", "check FILE"),
        ("No tool output found for function call call_1.", "missing-result", "repair FILE"),
        ("tool call call_1 is pending", "pending-tail", "repair FILE --abandon-pending"),
    ],
)
def test_a_suspected_rule_has_the_command_that_fixes_or_shows_it(
    text: str, rule: str, command: str
) -> None:
    commands = {one.name: one.command for one in explain(text)}
    assert commands[rule] == f"toolwire {command}"


@pytest.mark.parametrize("text", ["the model is overloaded", "the moon is full"])
def test_what_check_finds_is_explained_whatever_the_error_says(text: str) -> None:
    body = chat(USER, assistant(tool_call("call_1")), USER)
    found = explain(text, body)[-1]
    assert (found.name, found.pointer, found.likely) == (
        "missing-result",
        "/messages/1/tool_calls/0",
        False,
    )
    assert found.command == "toolwire repair FILE --from openai-chat"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_explanations_with_a_body_contain_every_finding_of_check(rule: Rule) -> None:
    """Whatever the error says, and although it implies another profile than the given one."""
    for example in rule.bad[:3]:
        if example.kind != "request":
            continue
        findings = check(example.body, example.target)
        wanted = {(finding.name, finding.pointer) for finding in findings}
        for text in TEXTS[:: len(TEXTS) // 2]:
            found = explain(text, example.body, example.target)
            assert wanted <= {(one.name, one.pointer) for one in found}
            if any(finding.severity == "error" for finding in findings):
                assert not any("no such violation" in one.message for one in found)


EXAMPLES = {
    rule.name: [
        text
        for pattern in ERROR_PATTERNS
        if rule.name in pattern.rules
        for text in pattern.examples
    ]
    for rule in all_rules()
}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_an_error_about_a_rule_leads_to_its_place_in_the_body(rule: Rule) -> None:
    for example in rule.bad[:3]:
        if example.kind != "request":
            continue
        findings = check(example.body, example.target)
        places = {(one.name, one.pointer) for one in findings if one.name == rule.name}
        for text in EXAMPLES[rule.name][:3]:
            found = explain(text, example.body, example.target)
            assert found[0].likely
            assert places & {(one.name, one.pointer) for one in found if one.likely}
            assert all(one.command for one in found)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_an_unrelated_error_with_a_body_is_reported_as_such_before_the_findings(rule: Rule) -> None:
    for example in rule.bad[:1]:
        if example.kind == "request":
            first, *others = explain("429 Too Many Requests", example.body, example.target)
            assert (first.code, first.name) == ("TW000", "rate-limit")
            assert not any(one.likely for one in others)
            assert {(one.name, one.pointer) for one in others} >= {
                (one.name, one.pointer) for one in check(example.body, example.target)
            }


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("prompt is too long: 210171 tokens > 200000 maximum", 200_000),
        ("request (25,837 tokens) exceeds the available context size (25,088 tokens)", 25_088),
        ("maximum context length is 8192 tokens, but you requested 9023 tokens", 8192),
        ("your input exceeds the context window of this model", 100_000),
    ],
)
def test_a_history_that_is_too_long_is_shortened_by_a_command(text: str, limit: int) -> None:
    (only,) = explain(text)
    assert (only.name, only.command) == ("context-length", f"toolwire cut FILE --tokens {limit}")


def test_the_frames_of_a_traceback_and_the_source_of_a_template_are_not_read() -> None:
    frame = '  File "timeout/api_key.py", line 3, in duplicate_tool_call_id'
    (only,) = explain(f"Traceback:\n{frame}\nValueError: the moon is full")
    assert only.name == "other"
    assert explain("oh {%- if tool_call_id is missing %} dear") == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("400 messages with role 'tool' must be a response to a prece", "orphan-result"),
        ("API Error: 400 due to tool use", "missing-result"),
        ("messages.4.content: Conversation blocks and tool result blo", "result-with-extra"),
        ("g' was provided without its required following item.", "reasoning-dangling"),
        ("pecify both message and tool_results in multistep mode", "user-after-tool"),
        ("er of function call parts of the function call turn.", "count-mismatch"),
    ],
)
def test_a_clipped_error_is_completed_by_a_message_that_is_known(text: str, rule: str) -> None:
    assert explain(text)[0].name == rule


def test_a_message_is_completed_by_the_one_that_has_most_words_in_common() -> None:
    known = KnownMessages(
        ("a call of a tool must be alone", "every call of a tool must have an id, please")
    )
    assert known.complete("x call of a tool mus") == "x call of a tool mus"
    assert (
        known.complete("every call of a tool mus") == "every call of a tool must have an id, please"
    )
    assert known.complete("must have an id") == "must have an id"  # a comma may end it
    assert known.complete("must have an id.") == "must have an id."
    assert known.complete("a call of a tool must be alone") == "a call of a tool must be alone"
    assert known.complete("a tool") == "a tool"
    assert known.complete("") == ""


def test_the_start_of_a_message_is_completed_if_its_end_has_enough_words() -> None:
    whole = "Error. Every call of a tool must have an id"
    known = KnownMessages((whole, "no call of a tool ends"))
    assert known.complete("ry call of a tool must have an id") == whole
    assert known.complete("tool must have an id.") == f"{whole}."
    assert known.complete("must have an id.") == "must have an id."
    sentence = "Every call of a tool must have an id"  # it starts after a full stop
    assert known.complete(sentence) == sentence


def test_a_message_is_completed_as_far_as_all_candidates_agree() -> None:
    known = KnownMessages(
        (
            "a message of a tool must be a response to a preceding call",
            "a message of a tool must be a response to a preceeding call",
        )
    )
    assert known.complete("a tool must be a respo") == "a tool must be a response to a"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("TOOL_RESULT_MISSING", "missing-result"),
        ("error: ORPHANED_TOOL_RESULT (call_7)", "orphan-result"),
        ("duplicate_tool_call_id", "id-dup-in-turn"),
        ("tool_call_id_required", "id-missing"),
    ],
)
def test_the_name_of_an_error_is_read_like_a_sentence(text: str, rule: str) -> None:
    assert explain(text)[0].name == rule


def test_an_unreadable_body_raises_even_for_an_unknown_error() -> None:
    with pytest.raises(DecodeError):
        explain(error_body("did not have response messages"), "{", "openai-chat")
    with pytest.raises(UsageError):
        explain(error_body("did not have response messages"), {"nothing": 1})


@given(st.lists(st.sampled_from(TEXTS) | st.text(), max_size=4).map(" ".join), st.booleans())
def test_explain_accepts_any_text(text: str, with_body: bool) -> None:
    explain(
        text, chat(USER, assistant(tool_call("call_1")), USER) if with_body else None, "openai-chat"
    )


ENDLESS = (
    "messages[",
    "9",
    "[1]",
    "tool_call_id ",
    "tool_call_id:",
    ":",
    "call_",
    "call_a:",
    "tool id(",
    "\\",
    " ",
    "id: a, ",
    "'",
)


@pytest.mark.parametrize("words", ENDLESS)
def test_explain_takes_four_times_as_long_for_four_times_the_text(words: str) -> None:
    start = f"{error_body('did not have response messages')} tool_call_id messages"
    texts = [start + words * count for count in (500, 2_000)]
    assert explain(texts[1])[0].name == "missing-result"
    # A pattern that backtracks takes at least sixteen times as long.
    assert growth(*(lambda text=text: explain(text) for text in texts)) < GROWTH_LIMIT


def test_the_position_in_a_text_counts_for_a_bare_list_of_messages() -> None:
    history: list[JSON] = [USER]
    for n in range(3):
        history += [assistant(tool_call(f"c{n}")), answer(f"c{n}", {"n": n})]
    text = "Invalid type for 'messages[4].content': expected a string, but got an object instead."
    assert explain(text, history, "openai-chat")[0].pointer == "/4/content"
    assert explain(text, {"messages": history})[0].pointer == "/messages/4/content"


def test_an_error_at_the_named_position_comes_before_a_suspected_one_elsewhere() -> None:
    history: list[JSON] = [USER, assistant(tool_call("c1")), answer("c1", ["one", "two"])]
    text = "Invalid type for 'messages[2].content[0]': expected an object, but got a string."
    first = explain(text, history, "openai-chat")[0]
    assert (first.name, first.pointer) == ("output-not-string", "/2/content")
