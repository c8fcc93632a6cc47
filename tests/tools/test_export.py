"""The same tools on every model wire, accepted by the official types, with names that lead back to
the tool."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from cases import WIRES, facts
from msgspec import Struct
from validators import VALIDATORS

from toolwire import Call, decode, encode
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, Object
from toolwire.errors import UsageError
from toolwire.tools import Runnable, Tools, export_tools, tool

OFFERING = [wire for wire in WIRES if not facts(wire).exempt.no_tools]
NOT_OFFERING = [wire for wire in WIRES if facts(wire).exempt.no_tools]


class Filter(Struct):
    field: Literal["name", "size"]
    values: list[str | int] = []


def search(
    query: Annotated[str, "What to look for."],
    filters: Annotated[list[Filter] | None, "What to leave out."] = None,
    limit: Annotated[int, "How many."] = 10,
) -> list[str]:
    """Search the stock."""
    return []


LONG = "Warehouse_With_A_Very_Long_Name.ListAllItemsByLocation"
IDS = (
    "Stock.Search@1.9.0",
    "Stock.Search@1.10.0",
    "Stock.Search_1_9_0@1.0.0",
    f"{LONG}@1.0.0",
    f"{LONG}@2.0.0",
)


def shelf() -> Tools:
    return Tools(*(tool(search, id=id) for id in IDS))


def request(wire: str, fields: Object) -> JSON:
    """A request with a user message and the tool definitions."""
    made = decode(
        {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}, "openai-chat"
    )
    body = encode(made, wire).body
    assert isinstance(body, dict)
    return {**body, **fields}


@pytest.mark.parametrize("wire", OFFERING)
def test_the_official_types_take_the_tools_as_they_are_offered(wire: str) -> None:
    offered = export_tools(shelf(), wire)
    body = request(wire, offered.fields)
    if wire in VALIDATORS:
        VALIDATORS[wire](body, "request")
    read = decode(body, wire).tools
    assert [one.name for one in read] == list(offered.names)
    assert [one.schema for one in read] == [one.input_schema for one in offered.names.values()]
    assert [one.description for one in read] == ["Search the stock."] * len(IDS)
    assert offered.losses == []


@pytest.mark.parametrize("wire", OFFERING)
def test_names_are_of_the_wire_no_two_alike_and_lead_back(wire: str) -> None:
    tools = shelf()
    offered = export_tools(tools, wire)
    assert sorted(str(one.id) for one in offered.names.values()) == sorted(IDS)
    assert [name for name in offered.names if not resolve(wire)[1].name_rule.fits(name)] == []
    assert all(offered.names[offered.name(one)] is one for one in tools)
    assert offered.name(tools.resolve("Stock.Search")) == "Stock_Search"
    assert offered.name(tools.resolve("Stock.Search_1_9_0")) == "Stock_Search_1_9_0"
    assert offered.name(tools.resolve("Stock.Search@1.9.0")).startswith("Stock_Search_1_9_0")
    assert export_tools(shelf(), wire).names.keys() == offered.names.keys()


@pytest.mark.parametrize("wire", NOT_OFFERING)
def test_a_wire_without_tools_in_a_request_says_so(wire: str) -> None:
    with pytest.raises(UsageError, match="no tool definitions"):
        export_tools(shelf(), wire)


def test_a_profile_is_a_wire_too_and_its_own_names_hold() -> None:
    assert export_tools(shelf(), "kimi").tools == export_tools(shelf(), "openai-chat").tools


def test_the_list_is_the_value_of_the_wires_own_field() -> None:
    tools = [tool(search, id="Stock.Search@1.0.0").runnable]
    assert export_tools(tools, "bedrock").fields == {
        "toolConfig": {"tools": export_tools(tools, "bedrock").tools}
    }
    assert export_tools(tools, "openai-chat").fields == {
        "tools": export_tools(tools, "openai-chat").tools
    }
    assert isinstance(export_tools(tools, "ai-sdk").tools, dict)


def test_no_tools_are_an_empty_list() -> None:
    offered = export_tools(Tools(), "openai-chat")
    assert (offered.tools, offered.fields, offered.names, offered.losses) == ([], {}, {}, [])


def test_a_call_of_a_model_finds_its_tool() -> None:
    tools = shelf()
    offered = export_tools(tools, "openai-chat")
    name = offered.name(tools.resolve(f"{LONG}@1.0.0"))
    call: JSON = {
        "id": "call_1",
        "type": "function",
        "function": {"name": name, "arguments": '{"query": "sails"}'},
    }
    answer = decode(
        {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]},
        "openai-chat",
        "response",
    )
    found: Call = answer.calls()[0]
    one: Runnable = offered.names[found.name]
    assert str(one.id) == f"{LONG}@1.0.0"
    assert isinstance(found.input, dict)
    assert one.decode_arguments(found.input) == {"query": "sails"}
    with pytest.raises(KeyError, match="Other"):
        offered.name(tool(search, id="Other.Search@1.0.0").runnable)
