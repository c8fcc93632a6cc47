"""Arguments of calls: what each target refuses, and that a fix never touches anything but them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolwire import decode, translate
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Result, Text
from toolwire.lint import check, repair
from toolwire.lint.arguments import faults_of_kind
from toolwire.lint.facts import Facts
from toolwire.profiles.table import PROFILES

CUT = '{"path": "/et'
TWICE = '"{\\"a\\":1}"'
MERGED = '{"a":1}{"a":2}'
RAW_CUT = '{"_raw":"{\\"path\\": \\"/et"}'
MERGED_UNDER_RAW = '{"_raw":"{\\"a\\":1}{\\"a\\":2}"}'


def chat(*arguments: JSON) -> Object:
    calls: list[JSON] = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": text}}
        for n, text in enumerate(arguments)
    ]
    result: list[JSON] = [
        {"role": "tool", "tool_call_id": f"c{n}", "content": "1"} for n in range(len(arguments))
    ]
    return {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *result,
        ]
    }


def blocks(value: JSON) -> Object:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": value}
    result: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    return {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
    }


def converse(value: JSON) -> Object:
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "f", "input": value}}
    result: JSON = {"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}
    spec: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}
    return {
        "toolConfig": {"tools": [spec]},
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ],
    }


def names(body: JSON, wire: str, target: str | None = None) -> list[str]:
    """What the rules of this file find; others have tests of their own."""
    return [
        finding.name
        for finding in check(body, wire, target=target)
        if "TW053" <= finding.code <= "TW057"
    ]


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        (CUT, "args-invalid-json", '{"_raw":"{\\"path\\": \\"/et"}'),
        ("", "args-empty-string", "{}"),
        ("\n", "args-empty-string", "{}"),
        (TWICE, "args-double-encoded", '{"a":1}'),
        ({"a": 1}, "args-wrong-type", '{"a":1}'),
        (None, "args-wrong-type", "{}"),
    ],
)
def test_each_fault_of_text_arguments_has_a_rule_and_a_fix(
    arguments: str, name: str, expected: str
) -> None:
    body = chat('{"b": 2}', arguments)
    assert names(body, "openai-chat", "minimax") == [name]
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        '{"b": 2}', expected
    )


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (CUT, "args-invalid-json", {"_raw": CUT}),
        ("", "args-empty-string", {}),
        (TWICE, "args-double-encoded", {"a": 1}),
        ('{"a":1}', "args-wrong-type", {"a": 1}),
        ("null", "args-wrong-type", {}),
        ("[1]", "args-wrong-type", {"_raw": "[1]"}),
        ([1], "args-wrong-type", {"_raw": [1]}),
    ],
)
@pytest.mark.parametrize(("wire", "build"), [("anthropic", blocks), ("bedrock", converse)])
def test_each_fault_of_object_arguments_has_a_rule_and_a_fix(
    wire: str, build: Callable[[JSON], Object], value: JSON, name: str, expected: JSON
) -> None:
    assert names(build(value), wire) == [name]
    assert repair(build(value), wire, unsafe=True).body == build(expected)


@pytest.mark.parametrize(
    ("body", "wire", "target", "expected"),
    [
        (chat(CUT), "openai-chat", "xai", chat(RAW_CUT)),
        (blocks([1]), "anthropic", "anthropic", blocks({"_raw": [1]})),
    ],
)
def test_arguments_that_cannot_be_restored_are_kept_under_raw_by_default(
    body: Object, wire: str, target: str, expected: Object
) -> None:
    repaired = repair(body, wire, target=target)
    assert repaired.body == expected
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []


@pytest.mark.parametrize("action, arguments", [(" ", {}), ("ls", {"_raw": "ls"})])
def test_text_in_a_call_that_is_no_function_call_becomes_an_object(
    action: str, arguments: JSON
) -> None:
    call: JSON = {"type": "local_shell_call", "call_id": "c", "action": action}
    sent = translate({"input": [call]}, "openai-responses", "vllm")
    assert decode(sent.body, "vllm").calls()[0].input == arguments


def test_merged_arguments_are_named_even_where_they_are_accepted() -> None:
    (finding,) = check(chat(MERGED), "openai-chat")
    assert (finding.name, finding.severity, finding.fix) == ("args-merged", "info", None)
    repaired = repair(chat(MERGED), "openai-chat", unsafe=True)
    assert not repaired.changes


def test_merged_arguments_go_back_to_the_calls_after_them_only_if_unsafe() -> None:
    body = chat(MERGED, "")
    assert not repair(body, "openai-chat").changes
    repaired = repair(body, "openai-chat", unsafe=True)
    calls = decode(repaired.body, "openai-chat").calls()
    assert [call.arguments for call in calls] == ['{"a":1}', '{"a":2}']


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("target", ["openai-chat", "minimax"])
@pytest.mark.parametrize("second", ["one", "two"])
def test_no_result_of_merged_calls_is_removed(target: str, second: str, unsafe: bool) -> None:
    """Equal results, too: each is the result of another call."""
    results: list[JSON] = [
        {"role": "tool", "tool_call_id": "c0", "content": text} for text in ("one", second)
    ]
    messages = chat(MERGED)["messages"]
    assert isinstance(messages, list)
    body: JSON = {"messages": [*messages[:2], *results]}
    repaired = repair(body, "openai-chat", target=target, unsafe=unsafe)
    texts = [
        part.text
        for part in decode(repaired.body, "openai-chat").parts()
        if isinstance(part, Result | Text)
    ]
    told = " ".join(texts)
    assert (told.count("one"), told.count("two")) == ((2, 0) if second == "one" else (1, 1))


@pytest.mark.parametrize("arguments", [CUT, "", TWICE, "[1]", "null"])
def test_arguments_are_not_checked_for_a_server_that_does_not_parse_them(arguments: str) -> None:
    assert names(chat(arguments), "openai-chat") == []
    assert names(chat(arguments), "openai-chat", "groq") == []


def test_the_free_text_of_a_custom_tool_need_not_be_json() -> None:
    body = chat("{}")
    custom: JSON = {"id": "c0", "type": "custom", "custom": {"name": "f", "input": CUT}}
    messages = body["messages"]
    assert isinstance(messages, list)
    messages[1] = {"role": "assistant", "content": None, "tool_calls": [custom]}
    assert names(body, "openai-chat", "xai") == []


def test_merged_arguments_go_back_to_the_calls_that_lost_them() -> None:
    body = chat(MERGED, "", "{}")
    # Three calls, two sets of arguments: the history does not show which calls lost theirs.
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        MERGED_UNDER_RAW, "{}", "{}"
    )
    body = chat(MERGED, "")
    assert repair(body, "openai-chat", target="minimax").body == chat(MERGED_UNDER_RAW, "{}")
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        '{"a":1}', '{"a":2}'
    )


@pytest.mark.parametrize("unsafe", [False, True])
def test_merged_arguments_whose_calls_are_gone_are_kept_under_raw(unsafe: bool) -> None:
    repaired = repair(chat(MERGED), "openai-chat", target="minimax", unsafe=unsafe)
    assert repaired.body == chat(MERGED_UNDER_RAW)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []


def test_nested_objects_are_not_mistaken_for_merged_arguments() -> None:
    assert names(chat('{"a":"}{"}'), "openai-chat", "minimax") == []
    assert names(chat('{"a":1}{"a":'), "openai-chat", "minimax") == ["args-invalid-json"]


def test_arguments_are_checked_once_for_all_rules() -> None:
    view = Facts(decode(chat(CUT), "openai-chat"), PROFILES["minimax"])
    (first,) = faults_of_kind(view, "invalid")
    (again,) = faults_of_kind(view, "invalid")
    assert first is again


@pytest.mark.parametrize("target", ["openai-chat", "kimi", "deepseek", "vllm", "minimax"])
def test_merged_arguments_are_named_for_every_server(target: str) -> None:
    names = [finding.name for finding in check(chat(MERGED), "openai-chat", target=target)]
    assert names == ["args-merged"]
