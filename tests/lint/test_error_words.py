"""Errors in words that no provider is known to use: the vocabulary decides by what they combine.

`error_sentences.json` has more of them, with the names of the rules that are right first, or `=` and
the kind of an error that is not about calls: sentences that say one thing in many ways and
languages, and messages of public agents and frameworks. They were labelled before the vocabulary
knew them, and then learned from: they show that it keeps what it knows, not how it generalizes. Under
`=other` are also errors of databases, compilers and chat programs in words that a history uses too.

`error_templates.json` has sentences with `{C}` and `{R}` for a call and a result, and the names that
providers have for these: what an error means does not depend on them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rows import rows

from toolwire.lint.explain import UNRELATED_CODE, explain

SENTENCES = {
    "orphan-result": (
        "Tool result refers to a tool call that was not made",
        "tool_call_id 'call_1' doesn't correspond to any tool call in the previous assistant message",
        "There is no tool call matching this tool output",
        "A tool message was sent but the previous message isn't an assistant message with tool calls",
        "functionResponse without a preceding functionCall",
        "tool response without matching call id",
        "Received a tool result for an unknown tool call: call_7",
        "invalid tool_call_id: call_7 was never issued",
        "An assistant message must come before a tool message",
    ),
    "missing-result": (
        "Every tool call needs a tool response",
        "You must provide a result for each tool call before continuing",
        "assistant tool calls were not answered",
        "tool call call_7 is still pending",
        "Waiting for tool outputs: call_7",
        "Cannot continue: unresolved function calls [call_7]",
        "assistant message with tool_calls is not followed by tool messages",
        "a tool_use block has no tool_result",
        "The tool results do not cover all tool calls",
        "Each toolUse must be paired with a toolResult",
    ),
    "id-dup-in-turn": ("Tool call id call_7 appears twice", "tool ids have to be distinct"),
    "dup-result": ("Two tool results were given for call_7",),
    "count-mismatch": (
        "Got 3 tool responses for 2 tool calls",
        "The count of function responses does not match function calls",
    ),
    "id-too-long": ("tool call id is 70 characters, the limit is 64",),
    "id-bad-charset": ("tool_call_id has an invalid format",),
    "id-missing": ("tool message has no tool_call_id", "tool_calls[0] is missing an id"),
    "name-bad-charset": (
        "Function name contains invalid characters: foo.bar",
        "The tool name foo/bar is not allowed",
    ),
    "name-too-long": ("tool name length exceeds 64",),
    "args-invalid-json": (
        "Could not decode tool call arguments",
        "ValueError: Invalid JSON input for ToolAction",
    ),
    "id-not-string": (
        "ToolCall::__construct(): Argument #1 ($id) must be of type string, null given",
    ),
    "server-tool-unpaired": ("messages.19.content.2.server_tool_use.name: Input sh",),
    "args-wrong-type": (
        "arguments of function call is not an object",
        "function.arguments should be a JSON string, received object",
        "tool input must be an object",
    ),
    "same-role-twice": ("Two user messages in succession are not allowed",),
    "history-starts-with-call": (
        "conversation must begin with a user turn",
        "Conversation must start with a user message or system message, got tool",
    ),
    "trailing-assistant": ("The final message has to be from the user",),
    "late-system-message": ("system message must come first",),
    "wrong-vocabulary": ('unknown message role "tool"',),
    "reasoning-content-missing": ("Missing reasoning_content in assistant message 4",),
    "signature-foreign": (
        "Bad thought signature",
        "The signature in thinking block does not validate",
    ),
    "thinking-missing": ("thinking block required before tool use",),
    "schema-refused": (
        "Tool parameter schema contains unsupported keyword $ref",
        "function declaration parameters must be type OBJECT",
        "Invalid tool schema: anyOf is not supported",
    ),
    "content-shape": (
        "assistant message has neither content nor tool calls",
        "message 3 has empty content",
        "content may not be null",
    ),
    "output-not-string": ("Tool output must be text",),
    "authentication": (
        "You do not have access to this model",
        "Your organization has been disabled",
        "Your account is suspended",
        "Region not supported",
    ),
    "connection": ("Upstream timed out",),
    "context-length": (
        "Prompt exceeds the model's window",
        "InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]",
    ),
    "overload": ("The server is currently overloaded, try again",),
    "setting": ("Invalid value for temperature",),
    "billing": ("quota used up for today",),
    "other": (
        "Cannot read properties of undefined (reading 'choices')",
        "ModuleNotFoundError: No module named 'openai'",
    ),
    "encoding": ("SyntaxError: Unexpected token < in JSON at position 0",),
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts]
)
def test_a_thing_and_a_complaint_lead_to_the_rule_or_the_kind(name: str, text: str) -> None:
    assert explain(text)[0].name == name


PARAPHRASES = json.loads(
    (Path(__file__).parent / "error_sentences.json").read_text(encoding="utf-8")
)


@rows(
    "expected, text",
    [(expected, text) for expected, texts in PARAPHRASES.items() for text in texts],
    group=lambda expected, text: expected,
    share=2,
)
def test_a_sentence_in_other_words_leads_to_the_same_rule_or_kind(expected: str, text: str) -> None:
    found = [(one.code, one.name) for one in explain(text)]
    if expected == "=other":
        assert all(code == UNRELATED_CODE for code, _ in found)
    elif expected.startswith("="):
        assert found == [(UNRELATED_CODE, expected[1:])]
    else:
        assert found[0][1] in expected.split()


TEMPLATES = json.loads((Path(__file__).parent / "error_templates.json").read_text(encoding="utf-8"))


def fill(template: str) -> list[str]:
    """A template with each name of a call and of a result, used in turn."""
    calls = TEMPLATES["calls"] if "{C}" in template else [""]
    results = TEMPLATES["results"] if "{R}" in template else [""]
    return [
        template.replace("{C}", calls[n % len(calls)]).replace("{R}", results[n % len(results)])
        for n in range(max(len(calls), len(results)))
    ]


@rows(
    "expected, template",
    [
        (expected, template)
        for expected, templates in TEMPLATES["templates"].items()
        for template in templates
    ],
    group=lambda expected, template: expected,
)
def test_an_error_means_the_same_by_every_name_of_a_call_and_a_result(
    expected: str, template: str
) -> None:
    for text in fill(template):
        first = explain(text)[0]
        name = f"={first.name}" if first.code == UNRELATED_CODE else first.name
        assert name in expected.split(), text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("403 while trying to fetch the answer: Premature close", "connection"),
        ("503 from upstream: invalid api key", "authentication"),
        ("HTTP 403", "authentication"),
    ],
)
def test_words_say_more_about_the_kind_than_a_status(text: str, kind: str) -> None:
    assert [(one.code, one.name) for one in explain(text)] == [(UNRELATED_CODE, kind)]


@pytest.mark.parametrize("word", ["does not", "doesn't", "doesn’t", "doesnt"])
def test_a_contraction_means_the_same_as_its_words(word: str) -> None:
    text = f"tool_call_id call_1 {word} match any call"
    assert explain(text) == explain("tool_call_id call_1 does not match any call")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "After a tool call without a result was compacted away, my agent says: {'error':"
            " {'message': \"Invalid 'input[1].name': string does not match pattern.\"}}",
            "name-bad-charset",
        ),
        (
            "The history has tool results and calls. We get `The toolConfig field must be defined"
            " when using toolUse and toolResult content blocks` from Bedrock.",
            "tools-undefined",
        ),
        (
            "messages.3.content.1.thinking.cache_control: Extra inputs are not permitted",
            "field-refused",
        ),
        ("`input[4]` missing required field `summary`", "item-shape"),
    ],
)
def test_the_message_of_the_provider_outranks_the_words_around_it(text: str, rule: str) -> None:
    assert explain(text)[0].name == rule


@pytest.mark.parametrize(
    "report",
    [
        "messages.2.tool_call_id: Field required",
        "[{'type': 'missing', 'loc': ('body', 'messages', 2, 'tool_call_id'), 'msg': 'Field required'}]",
        '{"detail":[{"loc":["body","messages",2,"tool_call_id"],"msg":"field required"}]}',
        '[{"path": ["messages", 2, "tool_call_id"], "message": "Required"}]',
        "#/messages/2: required key [tool_call_id] not found",
    ],
)
def test_validators_report_a_place_in_different_forms(report: str) -> None:
    first = explain(report)[0]
    assert (first.name, first.pointer) == ("id-missing", "/messages/2")


def test_a_union_branch_is_no_field_of_the_request() -> None:
    report = "'loc': ('body', 'messages', 1, 'typed-dict', 'sent_from'), 'msg': 'Extra inputs are not permitted'"
    assert explain(report)[0].name == "field-refused"
