"""Names of tools and shapes of messages: what the examples of the rules do not say."""

from __future__ import annotations

import pytest

from toolwire import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.lint import check, repair

USER: JSON = {"role": "user", "content": "hi"}


def spec(name: str) -> JSON:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {}}},
        "cache": {"a": 1},
    }


def asks(name: str, one: str = "c1") -> JSON:
    call: JSON = {"id": one, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def told(one: str = "c1", **more: JSON) -> JSON:
    return {"role": "tool", "tool_call_id": one, "content": "1", **more}


def names(body: JSON, wire: str = "openai-chat", *, target: str | None = None) -> list[str]:
    return [finding.name for finding in check(body, wire, target=target)]


# --- charset and length ---------------------------------------------------------------------------


def test_a_name_is_changed_alike_where_it_is_offered_chosen_called_and_answered() -> None:
    choice: JSON = {"type": "function", "function": {"name": "gmail.search"}}
    body: Object = {
        "messages": [USER, asks("gmail.search"), told(name="gmail.search"), USER],
        "tools": [spec("gmail.search"), spec("clock")],
        "tool_choice": choice,
    }
    done = repair(body, "openai-chat")
    new = get(done.body, ("tools", 0, "function", "name"))
    assert isinstance(new, str) and new.startswith("gmail_search") and new != "gmail.search"
    assert get(done.body, ("messages", 1, "tool_calls", 0, "function", "name")) == new
    assert get(done.body, ("messages", 2, "name")) == new
    assert get(done.body, ("tool_choice", "function", "name")) == new
    assert [str(change) for change in done.changes] == [
        f"/tools/0: TW059 name-bad-charset: the tool gmail.search is renamed to {new} everywhere"
    ]


def test_a_fitted_offer_keeps_its_other_fields_to_the_letter() -> None:
    body: Object = {"messages": [USER], "tools": [spec("a.b"), spec("c")]}
    done = repair(body, "openai-chat")
    assert get(done.body, ("tools", 0, "cache")) == {"a": 1}
    assert get(done.body, ("tools", 1)) == spec("c")


@pytest.mark.parametrize("others", [["a_b"], ["a_b", "a/b"], ["a/b", "a b", "a:b"]], ids=" ".join)
def test_names_that_others_merge_stay_apart(others: list[str]) -> None:
    body: Object = {"messages": [USER], "tools": [spec(name) for name in ["a.b", *others]]}
    done = repair(body, "openai-chat")
    assert len({tool.name for tool in decode(done.body, "openai-chat").tools}) == 1 + len(others)
    assert names(done.body) == []


def test_two_long_names_with_one_beginning_stay_apart() -> None:
    long = "server__" + "x" * 70
    body: Object = {
        "messages": [USER, asks(f"{long}1"), told()],
        "tools": [spec(f"{long}1"), spec(f"{long}2")],
    }
    done = repair(body, "openai-chat")
    first, second = (tool.name for tool in decode(done.body, "openai-chat").tools)
    assert first != second
    assert decode(done.body, "openai-chat").calls()[0].name == first


@pytest.mark.parametrize("target", ["openai-chat", "kimi", "azure-openai"])
def test_a_name_that_the_target_takes_is_no_finding(target: str) -> None:
    body: Object = {
        "messages": [USER, asks("get-weather_2"), told()],
        "tools": [spec("get-weather_2")],
    }
    assert [name for name in names(body, target=target) if name.startswith("name-")] == []


def test_a_name_is_found_once_however_often_it_is_called() -> None:
    turns: list[JSON] = [one for n in range(5) for one in (asks("a.b", f"c{n}"), told(f"c{n}"))]
    assert names({"messages": [USER, *turns]}).count("name-bad-charset") == 1


def test_the_names_of_a_providers_own_tools_are_its_own_affair() -> None:
    tools: JSON = [{"type": "web_search_20250305", "name": "web.search"}]
    assert names({"max_tokens": 9, "messages": [USER], "tools": tools}, "anthropic") == []


# --- no name --------------------------------------------------------------------------------------


def test_a_name_that_the_result_bears_is_put_back_without_asking() -> None:
    done = repair({"messages": [USER, asks(""), told(name="f")]}, "openai-chat")
    assert decode(done.body, "openai-chat").calls()[0].name == "f"
    assert done.findings == []


def test_a_name_that_the_id_bears_counts_only_if_the_tool_is_on_offer() -> None:
    body: Object = {"messages": [USER, asks("", "functions.f:0"), told("functions.f:0")]}
    unknown = repair(body, "openai-chat")
    assert decode(unknown.body, "openai-chat").calls()[0].name == "toolwire_unknown_tool"
    offered: Object = {**body, "tools": [spec("f")]}
    done = repair(offered, "openai-chat")
    assert decode(done.body, "openai-chat").calls()[0].name == "f"


def test_a_nameless_call_gets_a_placeholder_and_the_pair_stays() -> None:
    body: Object = {"messages": [USER, asks(""), told(), USER]}
    done = repair(body, "openai-chat")
    assert done.body == {"messages": [USER, asks("toolwire_unknown_tool"), told(), USER]}
    assert done.findings == []


# --- offers and choices ---------------------------------------------------------------------------


def test_a_call_of_a_tool_that_is_no_longer_offered_is_no_finding() -> None:
    assert names({"messages": [USER, asks("gone"), told(), USER], "tools": [spec("f")]}) == []


def test_stubs_are_marked_and_say_that_they_are_not_to_be_called() -> None:
    said: list[JSON] = [
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
    done = repair({"messages": said}, "bedrock")
    (stub,) = decode(done.body, "bedrock").tools
    assert stub.name == "f"
    assert stub.description is not None and stub.description.startswith("[toolwire]")
    assert get(done.body, ("messages",)) == said


def test_of_two_different_tools_with_one_name_the_first_keeps_it() -> None:
    tools: list[JSON] = [
        {"name": "f", "input_schema": {"type": "object"}, "description": text}
        for text in ("one", "two")
    ]
    body: Object = {"max_tokens": 9, "messages": [USER], "tools": tools}
    done = repair(body, "anthropic")
    first, second = decode(done.body, "anthropic").tools
    assert (first.name, first.description, second.description) == ("f", "one", "two")
    assert second.name.startswith("f_")
    assert done.ids.names == {second.name: "f"}


# --- shapes ---------------------------------------------------------------------------------------


def test_the_old_style_becomes_the_new_one_and_every_result_finds_its_call() -> None:
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
    done = repair(
        {"messages": [USER, *old], "functions": [{"name": "f"}]}, "openai-chat", target="deepseek"
    )
    read = decode(done.body, "openai-chat")
    joined = [
        (pair.call.arguments, pair.result.text, pair.how)
        for pair in read.pairs()
        if pair.call and pair.result
    ]
    assert joined == [(f'{{"n":{n}}}', str(n), "id") for n in range(3)]
    assert [tool.name for tool in read.tools] == ["f"]
    assert isinstance(done.body, dict) and "functions" not in done.body


def test_a_picture_beside_a_call_is_quoted_where_only_text_is_accepted() -> None:
    picture: JSON = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    asking = asks("f")
    assert isinstance(asking, dict)
    body: Object = {"messages": [USER, {**asking, "content": [picture]}, told()]}
    done = repair(body, "openai-chat", target="groq")
    content = get(done.body, ("messages", 1, "content"))
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
    assert names({"max_tokens": 9, "messages": messages}, "anthropic") == []


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
