"""Arguments of calls: what each target refuses, and that a fix never touches anything but them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object
from toolwire.lint import check, repair
from toolwire.lint.arguments import argument_faults
from toolwire.lint.facts import Facts
from toolwire.profiles.table import PROFILES

CUT = '{"path": "/et'
TWICE = '"{\\"a\\":1}"'
BOTH = '{"a":1}{"a":2}'
RAW_CUT = '{"_raw":"{\\"path\\": \\"/et"}'
RAW_BOTH = '{"_raw":"{\\"a\\":1}{\\"a\\":2}"}'


def chat(*arguments: JSON) -> Object:
    calls: list[JSON] = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": one}}
        for n, one in enumerate(arguments)
    ]
    told: list[JSON] = [
        {"role": "tool", "tool_call_id": f"c{n}", "content": "1"} for n in range(len(arguments))
    ]
    return {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *told,
        ]
    }


def blocks(given: JSON) -> Object:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": given}
    told: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    return {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [told]},
        ],
    }


def converse(given: JSON) -> Object:
    use: JSON = {"toolUse": {"toolUseId": "t1", "name": "f", "input": given}}
    told: JSON = {"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}
    spec: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}
    return {
        "toolConfig": {"tools": [spec]},
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [told]},
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
    ("given", "name", "wanted"),
    [
        (CUT, "args-invalid-json", '{"_raw":"{\\"path\\": \\"/et"}'),
        ("", "args-empty-string", "{}"),
        ("\n", "args-empty-string", "{}"),
        (TWICE, "args-double-encoded", '{"a":1}'),
        ({"a": 1}, "args-wrong-type", '{"a":1}'),
        (None, "args-wrong-type", "{}"),
    ],
)
def test_where_arguments_are_text_that_must_parse_each_fault_has_its_name_and_its_fix(
    given: str, name: str, wanted: str
) -> None:
    body = chat('{"b": 2}', given)
    assert names(body, "openai-chat", "minimax") == [name]
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        '{"b": 2}', wanted
    )


@pytest.mark.parametrize(
    ("given", "name", "wanted"),
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
@pytest.mark.parametrize(("wire", "made"), [("anthropic", blocks), ("bedrock", converse)])
def test_where_arguments_are_an_object_each_fault_has_its_name_and_its_fix(
    wire: str, made: Callable[[JSON], Object], given: JSON, name: str, wanted: JSON
) -> None:
    assert names(made(given), wire) == [name]
    assert repair(made(given), wire, unsafe=True).body == made(wanted)


@pytest.mark.parametrize(
    ("body", "wire", "target", "wanted"),
    [
        (chat(CUT), "openai-chat", "xai", chat(RAW_CUT)),
        (blocks([1]), "anthropic", "anthropic", blocks({"_raw": [1]})),
    ],
)
def test_arguments_that_cannot_be_restored_are_kept_under_raw_by_default(
    body: Object, wire: str, target: str, wanted: Object
) -> None:
    done = repair(body, wire, target=target)
    assert done.body == wanted
    assert [finding for finding in done.findings if finding.severity == "error"] == []


@pytest.mark.parametrize("given", [CUT, "", TWICE, BOTH, "[1]", "null"])
def test_a_server_that_does_not_look_into_arguments_is_told_nothing(given: str) -> None:
    assert names(chat(given), "openai-chat") == []
    assert names(chat(given), "openai-chat", "groq") == []


def test_free_text_of_a_custom_tool_is_no_json_and_need_not_be() -> None:
    body = chat("{}")
    custom: JSON = {"id": "c0", "type": "custom", "custom": {"name": "f", "input": CUT}}
    held = body["messages"]
    assert isinstance(held, list)
    held[1] = {"role": "assistant", "content": None, "tool_calls": [custom]}
    assert names(body, "openai-chat", "xai") == []


def test_merged_arguments_go_back_to_the_calls_that_lost_them() -> None:
    body = chat(BOTH, "", "{}")
    # Three calls, two sets of arguments: the history does not show which calls lost theirs.
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        RAW_BOTH, "{}", "{}"
    )
    body = chat(BOTH, "")
    assert repair(body, "openai-chat", target="minimax").body == chat(RAW_BOTH, "{}")
    assert repair(body, "openai-chat", target="minimax", unsafe=True).body == chat(
        '{"a":1}', '{"a":2}'
    )


@pytest.mark.parametrize("unsafe", [False, True])
def test_merged_arguments_whose_calls_are_gone_are_kept_under_raw(unsafe: bool) -> None:
    done = repair(chat(BOTH), "openai-chat", target="minimax", unsafe=unsafe)
    assert done.body == chat(RAW_BOTH)
    assert [finding for finding in done.findings if finding.severity == "error"] == []


def test_braces_inside_an_object_are_not_taken_for_several() -> None:
    assert names(chat('{"a":"}{"}'), "openai-chat", "minimax") == []
    assert names(chat('{"a":1}{"a":'), "openai-chat", "minimax") == ["args-invalid-json"]


def test_arguments_are_looked_at_once_for_all_rules() -> None:
    view = Facts(decode(chat(CUT), "openai-chat"), PROFILES["minimax"])
    (first,) = argument_faults(view, "invalid")
    (again,) = argument_faults(view, "invalid")
    assert first is again
