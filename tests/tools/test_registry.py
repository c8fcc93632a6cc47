"""Tools are found by an exact version, a major version or none; the error for an unknown tool names
similar ones."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from tools.tool_helpers import make_tool

from toolwire import McpClient, OxpClient
from toolwire.tools import Runnable, ToolDefinitionError, Tools, ToolWarning, UnknownTool, tool


def do() -> None:
    """Do it."""


def one(id: str) -> Runnable:
    return tool(do, id=id).runnable


IDS = (
    "SMS.Send@0.1.2",
    "Calculator.Add@1.9.0",
    "Calculator.Add@1.0.0",
    "Calculator.Add@1.10.0",
    "Calculator.Add@3.1.0",
)


def shelf() -> Tools:
    return Tools(*map(one, IDS))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Calculator.Add", "Calculator.Add@3.1.0"),
        ("Calculator.Add@1", "Calculator.Add@1.0.0"),
        ("Calculator.Add@1.9.0", "Calculator.Add@1.9.0"),
        ("Calculator.Add@01.010.0", "Calculator.Add@1.10.0"),
        ("SMS.Send", "SMS.Send@0.1.2"),
    ],
)
def test_an_id_means_one_tool(text: str, found: str) -> None:
    assert str(shelf().resolve(text).id) == found


MALFORMED: tuple[object, ...] = (
    "",
    "Add",
    "A.B.C",
    "Calculator.Add@1.0",
    "Calculator.Add@latest",
    "Calculator.Add@1.0.0-rc1",
    "Calculator.Add@",
    "Calculator.Add\n",
    "Calculator.Add@1\n",
    " Calculator.Add",
    "My-Kit.Add",
    "Größe.Add",
    "Calculator.Add@١",
    "Calculator.Add@" + "9" * 5000,
    7,
    None,
    [],
    "x" * 100_000,
)


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text)[:30])
def test_text_that_is_not_an_id_is_malformed(text: str) -> None:
    with pytest.raises(UnknownTool) as caught:
        shelf().resolve(text)
    assert caught.value.malformed
    assert len(caught.value.developer_message) < 500


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("calculator.add", "calculator_add", "did you mean Calculator.Add?"),
        ("Calculator.Ad@1.0.0", "Calculator_Ad", "did you mean Calculator.Add?"),
        ("SMS.Sent", "SMS_Sent", "did you mean SMS.Send?"),
        ("Calculator.Add@2.0.0", "Calculator_Add", "available: 1.0.0, 1.9.0, 1.10.0, 3.1.0"),
        ("Calculator.Add@3", "Calculator_Add", "(3 means 3.0.0)"),
        ("Nothing.Like", "Nothing_Like", "no such tool"),
    ],
)
def test_the_error_for_an_unknown_tool_names_similar_ones(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(UnknownTool) as caught:
        shelf().resolve(text)
    assert not caught.value.malformed
    assert message in caught.value.message
    assert hint in caught.value.developer_message
    assert text.partition("@")[0] in caught.value.developer_message


@pytest.mark.parametrize("text", ["Calculator_Add", "Add", "Calculator-Add"])
def test_the_error_for_a_malformed_id_names_similar_tools(text: str) -> None:
    with pytest.raises(UnknownTool) as caught:
        shelf().resolve(text)
    assert "did you mean Calculator.Add?" in str(caught.value)


def test_the_name_for_models_means_the_newest_version() -> None:
    assert str(shelf().by_name("Calculator_Add").id) == "Calculator.Add@3.1.0"
    with pytest.raises(UnknownTool, match="Calculator_Sub"):
        shelf().by_name("Calculator_Sub")


def test_all_are_sorted_by_id_and_by_version_as_numbers() -> None:
    tools = shelf()
    assert [str(tool.id) for tool in tools] == [
        "Calculator.Add@1.0.0",
        "Calculator.Add@1.9.0",
        "Calculator.Add@1.10.0",
        "Calculator.Add@3.1.0",
        "SMS.Send@0.1.2",
    ]
    assert tools.all() == list(tools)
    assert len(tools) == 5
    assert [str(tool.id) for tool in tools.newest()] == ["Calculator.Add@3.1.0", "SMS.Send@0.1.2"]


def test_a_version_added_later_is_the_newest_only_if_it_is() -> None:
    tools = Tools(one("A.B@2.0.0"))
    tools.add(one("A.B@1.0.0"))
    assert str(tools.resolve("A.B").id) == "A.B@2.0.0"
    tools.add(one("A.B@10.0.0"))
    assert str(tools.resolve("A.B").id) == "A.B@10.0.0"


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (("A.B@1.0.0", "A.B@1.0.0"), "two tools have this id"),
        (("A_B.C@1.0.0", "A.B_C@1.0.0"), "models see it as A_B_C, and A_B.C too"),
    ],
)
def test_a_repeated_id_or_name_is_an_error_and_adds_nothing(ids: tuple[str, ...], why: str) -> None:
    tools = shelf()
    with pytest.raises(ToolDefinitionError, match=why):
        tools.add(one("New.Tool@1.0.0"), *map(one, ids))
    assert len(tools) == 5


def test_adding_a_tool_twice_adds_it_once() -> None:
    send = one("SMS.Send@0.1.2")
    assert len(Tools(send, send)) == 1


def test_functions_tools_modules_and_other_sets_can_be_added() -> None:
    module = ModuleType("my_tools")
    setattr(module, "do", tool(do, toolkit="Module"))  # noqa: B010
    tools = Tools(
        tool(do, toolkit="Function"), one("Runnable.Do@1.0.0"), module, Tools(one("Other.Do@1.0.0"))
    )
    assert [tool.id.toolkit for tool in tools] == ["Function", "Module", "Other", "Runnable"]


def test_a_function_without_the_decorator_becomes_a_tool() -> None:
    assert [tool.name for tool in Tools(do)] == [tool(do).runnable.name]
    assert Tools.of(do).all()[0].definition() == tool(do).runnable.definition()


def test_a_warning_about_a_function_names_the_line_that_adds_it() -> None:
    def look(city: str) -> str:
        """Look out of the window."""
        return city

    with pytest.warns(ToolWarning, match="lacks a description of city") as caught:
        Tools(look)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("what", [5, "SMS.Send", sys.argv], ids=lambda what: type(what).__name__)
def test_an_object_that_is_not_a_tool_is_an_error_that_says_what_to_do(what: object) -> None:
    with pytest.raises(ToolDefinitionError, match="decorate a function with @tool"):
        Tools(what)  # type: ignore[arg-type]
    with pytest.raises(ToolDefinitionError, match="decorate a function with @tool"):
        Tools.of(what)  # type: ignore[arg-type]


@pytest.mark.parametrize("client", [OxpClient("http://127.0.0.1:1"), McpClient(["program"])])
def test_a_client_of_a_server_is_not_a_tool_but_has_some(client: object) -> None:
    with pytest.raises(ToolDefinitionError, match=r"pass `await client\.tools\(\)`"):
        Tools(client)  # type: ignore[arg-type]


def test_a_class_is_not_a_tool() -> None:
    with pytest.raises(ToolDefinitionError, match="a tool is a function"):
        Tools(dict)


def test_no_tools_are_no_tools() -> None:
    assert (len(Tools()), list(Tools()), Tools(make_tool(do)).all()[0].name) == (0, [], "Kit_Do")
