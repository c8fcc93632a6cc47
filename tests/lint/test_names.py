"""Names of tools and shapes of messages: what the examples of the rules do not show."""

from __future__ import annotations

import pytest

from toolwire import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.lint import check, repair

USER: JSON = {"role": "user", "content": "hi"}


def tool_definition(name: str) -> JSON:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {}}},
        "cache": {"a": 1},
    }


def assistant_call(name: str, call_id: str = "c1") -> JSON:
    call: JSON = {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def tool_result_message(call_id: str = "c1", **more: JSON) -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": "1", **more}


def rule_names(body: JSON, wire: str = "openai-chat", *, target: str | None = None) -> list[str]:
    return [finding.name for finding in check(body, wire, target=target)]


# --- charset and length ---------------------------------------------------------------------------


def test_a_name_is_changed_in_definition_choice_call_and_result() -> None:
    choice: JSON = {"type": "function", "function": {"name": "gmail.search"}}
    body: Object = {
        "messages": [
            USER,
            assistant_call("gmail.search"),
            tool_result_message(name="gmail.search"),
            USER,
        ],
        "tools": [tool_definition("gmail.search"), tool_definition("clock")],
        "tool_choice": choice,
    }
    repaired = repair(body, "openai-chat")
    new = get(repaired.body, ("tools", 0, "function", "name"))
    assert isinstance(new, str) and new.startswith("gmail_search") and new != "gmail.search"
    assert get(repaired.body, ("messages", 1, "tool_calls", 0, "function", "name")) == new
    assert get(repaired.body, ("messages", 2, "name")) == new
    assert get(repaired.body, ("tool_choice", "function", "name")) == new
    assert [str(change) for change in repaired.changes] == [
        f"/tools/0: TW059 name-bad-charset: renamed the tool gmail.search to {new} everywhere"
    ]


def test_a_renamed_definition_keeps_its_other_fields_verbatim() -> None:
    body: Object = {"messages": [USER], "tools": [tool_definition("a.b"), tool_definition("c")]}
    repaired = repair(body, "openai-chat")
    assert get(repaired.body, ("tools", 0, "cache")) == {"a": 1}
    assert get(repaired.body, ("tools", 1)) == tool_definition("c")


@pytest.mark.parametrize("others", [["a_b"], ["a_b", "a/b"], ["a/b", "a b", "a:b"]], ids=" ".join)
def test_similar_names_stay_distinct(others: list[str]) -> None:
    body: Object = {
        "messages": [USER],
        "tools": [tool_definition(name) for name in ["a.b", *others]],
    }
    repaired = repair(body, "openai-chat")
    assert len({tool.name for tool in decode(repaired.body, "openai-chat").tools}) == 1 + len(
        others
    )
    assert rule_names(repaired.body) == []


def test_long_names_with_the_same_prefix_stay_distinct() -> None:
    long = "server__" + "x" * 70
    body: Object = {
        "messages": [USER, assistant_call(f"{long}1"), tool_result_message()],
        "tools": [tool_definition(f"{long}1"), tool_definition(f"{long}2")],
    }
    repaired = repair(body, "openai-chat")
    first, second = (tool.name for tool in decode(repaired.body, "openai-chat").tools)
    assert first != second
    assert decode(repaired.body, "openai-chat").calls()[0].name == first


@pytest.mark.parametrize("target", ["openai-chat", "kimi", "azure-openai"])
def test_an_accepted_name_is_no_finding(target: str) -> None:
    body: Object = {
        "messages": [USER, assistant_call("get-weather_2"), tool_result_message()],
        "tools": [tool_definition("get-weather_2")],
    }
    assert [name for name in rule_names(body, target=target) if name.startswith("name-")] == []


def test_a_name_is_reported_once_for_several_calls() -> None:
    turns: list[JSON] = [
        message
        for n in range(5)
        for message in (assistant_call("a.b", f"c{n}"), tool_result_message(f"c{n}"))
    ]
    assert rule_names({"messages": [USER, *turns]}).count("name-bad-charset") == 1


def test_names_of_provider_tools_are_not_checked() -> None:
    tools: JSON = [{"type": "web_search_20250305", "name": "web.search"}]
    assert rule_names({"max_tokens": 9, "messages": [USER], "tools": tools}, "anthropic") == []


# --- no name --------------------------------------------------------------------------------------


def test_a_missing_name_is_restored_from_the_result() -> None:
    repaired = repair(
        {"messages": [USER, assistant_call(""), tool_result_message(name="f")]}, "openai-chat"
    )
    assert decode(repaired.body, "openai-chat").calls()[0].name == "f"
    assert repaired.findings == []


def test_a_name_in_the_id_is_used_only_if_the_tool_is_defined() -> None:
    body: Object = {
        "messages": [
            USER,
            assistant_call("", "functions.f:0"),
            tool_result_message("functions.f:0"),
        ]
    }
    unknown = repair(body, "openai-chat")
    assert decode(unknown.body, "openai-chat").calls()[0].name == "toolwire_unknown_tool"
    offered: Object = {**body, "tools": [tool_definition("f")]}
    repaired = repair(offered, "openai-chat")
    assert decode(repaired.body, "openai-chat").calls()[0].name == "f"


def test_a_nameless_call_gets_a_placeholder_and_the_pair_stays() -> None:
    body: Object = {"messages": [USER, assistant_call(""), tool_result_message(), USER]}
    repaired = repair(body, "openai-chat")
    assert repaired.body == {
        "messages": [USER, assistant_call("toolwire_unknown_tool"), tool_result_message(), USER]
    }
    assert repaired.findings == []


# --- definitions and choices ----------------------------------------------------------------------


def test_a_call_of_a_tool_that_is_no_longer_defined_is_no_finding() -> None:
    assert (
        rule_names(
            {
                "messages": [USER, assistant_call("gone"), tool_result_message(), USER],
                "tools": [tool_definition("f")],
            }
        )
        == []
    )


def test_stubs_are_marked_and_say_that_they_are_not_to_be_called() -> None:
    messages: list[JSON] = [
        {"role": "user", "content": [{"text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}],
        },
    ]
    repaired = repair({"messages": messages}, "bedrock")
    (stub,) = decode(repaired.body, "bedrock").tools
    assert stub.name == "f"
    assert stub.description is not None and stub.description.startswith("[toolwire]")
    assert get(repaired.body, ("messages",)) == messages


def test_of_two_different_tools_with_one_name_the_first_keeps_it() -> None:
    tools: list[JSON] = [
        {"name": "f", "input_schema": {"type": "object"}, "description": text}
        for text in ("one", "two")
    ]
    body: Object = {"max_tokens": 9, "messages": [USER], "tools": tools}
    repaired = repair(body, "anthropic")
    first, second = decode(repaired.body, "anthropic").tools
    assert (first.name, first.description, second.description) == ("f", "one", "two")
    assert second.name.startswith("f_")
    assert repaired.ids.names == {second.name: "f"}


# --- shapes ---------------------------------------------------------------------------------------


def test_legacy_function_calls_become_tool_calls_and_every_result_finds_its_call() -> None:
    old: list[JSON] = []
    for n in range(3):
        old.append(
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": f'{{"n":{n}}}'},
            }
        )
        old.append({"role": "function", "name": "f", "content": str(n)})
    repaired = repair(
        {"messages": [USER, *old], "functions": [{"name": "f"}]}, "openai-chat", target="deepseek"
    )
    read = decode(repaired.body, "openai-chat")
    joined = [
        (pair.call.arguments, pair.result.text, pair.how)
        for pair in read.pairs()
        if pair.call and pair.result
    ]
    assert joined == [(f'{{"n":{n}}}', str(n), "id") for n in range(3)]
    assert [tool.name for tool in read.tools] == ["f"]
    assert isinstance(repaired.body, dict) and "functions" not in repaired.body


def test_a_picture_beside_a_call_is_quoted_where_only_text_is_accepted() -> None:
    picture: JSON = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    asking = assistant_call("f")
    assert isinstance(asking, dict)
    body: Object = {"messages": [USER, {**asking, "content": [picture]}, tool_result_message()]}
    repaired = repair(body, "openai-chat", target="groq")
    content = get(repaired.body, ("messages", 1, "content"))
    assert (
        content == '[toolwire] {"type":"image_url","image_url":{"url":"https://example.com/a.png"}}'
    )


def test_an_empty_result_that_is_no_error_is_left_alone() -> None:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    answer: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
    messages: list[JSON] = [
        USER,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [answer]},
    ]
    assert rule_names({"max_tokens": 9, "messages": messages}, "anthropic") == []


def test_a_function_call_with_nothing_in_it_is_no_call_without_a_name() -> None:
    body: Object = {
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "ok",
                    "function_call": {"name": "", "arguments": ""},
                },
            }
        ]
    }
    assert [
        finding.name
        for finding in check(body, "openai-chat", "response")
        if finding.name.startswith("name-")
    ] == []
